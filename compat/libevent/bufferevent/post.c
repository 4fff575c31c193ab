#include "post.h"

#include "bev.h"
#include "lock.h"

struct le_bev_post *le_bev_post_take(struct le_bev *p)
{
	struct le_bev_post *last = p->posts, *first;

	if (last == NULL)
		return NULL;
	first = last->next;
	if (first == last)
		p->posts = NULL;
	else
		last->next = first->next;
	return first;
}

static void append(struct le_bev *p, struct le_bev_post *post)
{
	struct le_bev_post *last = p->posts;

	if (last == NULL) {
		post->next = post;
	} else {
		post->next = last->next;
		last->next = post;
	}
	p->posts = post;
}

void le_bev_post_run(struct le_bev_post *post, struct bufferevent *bev)
{
	bufferevent_post_cb fn = post->fn;
	void *arg = post->arg;

	ec_free(post);
	fn(bev, arg);
}

void le_bev_posts_end(struct le_bev_post *last)
{
	struct le_bev_post *post, *next;

	if (last == NULL)
		return;
	next = last->next;
	do {
		post = next;
		next = post->next;
		le_bev_post_run(post, NULL);
	} while (post != last);
}

/* Without a lock only the color of the bufferevent may use it. */
static bool is_elsewhere(const struct le_bev *p)
{
	struct ec_base *base = le_ec(&p->later)->base;

	return p->lock == NULL && base != NULL && ec_base_is_looping(base) && !le_bev_runs_in(p, p->color);
}

static LE_COLD int refuse(const struct bufferevent *bev)
{
	if (ec_debug_on())
		ec_log(EC_LOG_WARN, "bufferevent_post: bufferevent %p has no lock, and another color than the caller; "
				    "make it with BEV_OPT_THREADSAFE, or use event_base_post()",
		       (const void *)bev);
	return le_result(-EBUSY);
}

int bufferevent_post(struct bufferevent *bev, bufferevent_post_cb cb, void *arg)
{
	struct le_bev_post *post;
	struct le_bev *p;

	if (bev == NULL || cb == NULL)
		return le_result(-EINVAL);
	p = le_bev(bev);
	if (is_elsewhere(p))
		return refuse(bev);
	if (p->color != 0 && le_ec(&p->later)->base != NULL && ec_base_prepare_colors(le_ec(&p->later)->base) < 0)
		return le_result(-ENOMEM);
	post = ec_malloc(sizeof(*post));
	if (post == NULL)
		return le_result(-ENOMEM);
	post->fn = cb;
	post->arg = arg;
	le_bev_lock(bev);
	append(p, post);
	le_bev_do_later(p, LE_WAITING_POST);
	le_bev_unlock(bev);
	return 0;
}
