#include "post.h"

#include <errno.h>

#include "above.h"
#include "colors.h"
#include "event.h"
#include "handover.h"
#include "holds.h"
#include "mail.h"
#include "mailbox.h"
#include "misuse.h"
#include "observed.h"
#include "park.h"
#include "queue.h"
#include "ready.h"
#include "pool.h"

enum { FETCH = 64 };

/* ---------------------------------------------------------------- the ring of the running color */

/* The ring's posts are older than those in the queue, so they go before them, in order. */
void ec_posts_close(struct ec_worker *w, struct ec_color *c)
{
	struct ec_local *l;
	struct ec_task *t;
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	while (ec_posts_local_num(w) != 0) {
		l = &w->ring->at[--w->local_tail % EC_LOCAL_MAX];
		t = ec_pool_take(w);
		ec_post_fill(t, w->base, l->color, EC_POST_PRI_MIDDLE, l->fn, l->arg);
		ec_task_push_first(&b, c, t);
	}
	w->local_room = 0;
	w->local_of = NULL;
	ec_counter_add(&w->active_num, -w->fetched_num);
	w->fetched_num = 0;
}

void ec_posts_close_in_child(struct ec_worker *w, struct ec_color *c)
{
	struct ec_task *t;

	while (w->free_posts_num < ec_posts_local_num(w)) {
		t = ec_malloc(sizeof(*t));
		if (t == NULL) {
			ec_log(EC_LOG_WARN, "no memory for posts of color %u: some are lost",
			       ec_load_relaxed(&c->number));
			w->local_tail = w->local_head + w->free_posts_num;
			break;
		}
		ec_list_push_front(&w->free_posts, &t->link);
		w->free_posts_num++;
	}
	ec_posts_close(w, c);
}

static inline void local_put(struct ec_worker *w, const struct ec_task *t)
{
	w->ring->at[w->local_tail++ % EC_LOCAL_MAX] = (struct ec_local){ t->fn.post, t->arg, t->color };
}

/* Moves posts of color 0 to the ring, one by one. Returns their number. */
static uint32_t fetch_lane(struct ec_worker *w, struct ec_color *c)
{
	uint32_t num = 0;
	struct ec_task *t;

	while (num < FETCH && (t = ec_color_first(w->base, c)) != NULL &&
	       t->kind == EC_KIND_POST) {
		ec_task_remove(c, t);
		local_put(w, t);
		ec_list_push_front(&w->free_posts, &t->link);
		num++;
	}
	ec_counter_add(&w->active_num, num);
	return num;
}

/* The same for another color: removes a row of tasks at once. They stay active. */
static uint32_t fetch_row(struct ec_worker *w, struct ec_color *c)
{
	uint32_t num = ec_load_relaxed(&c->posts_num), i;
	struct ec_list *first = c->tasks.next, *node = first;

	if (num == 0)
		return 0;
	if (num > FETCH)
		num = FETCH;
	if (__builtin_expect(w->mark != NULL, 0))
		ec_queue_forget_row(w, first, num);
	for (i = 0; i < num; i++, node = node->next)
		local_put(w, ec_container_of(node, struct ec_task, link));
	ec_list_move_row(&w->free_posts, first, node->prev);
	ec_counter_add(&c->posts_num, -num);
	c->refs -= num;
	c->tasks_num -= num;
	return num;
}

void ec_posts_fetch(struct ec_worker *w, struct ec_color *c)
{
	uint32_t num = c == &w->base->color0 ? fetch_lane(w, c) : fetch_row(w, c);

	w->free_posts_num += num;
	w->fetched_num += num;
	w->local_room = w->free_posts_num < EC_LOCAL_MAX ? w->free_posts_num : EC_LOCAL_MAX;
	ec_hand_begin_local(w, num);
}

void ec_posts_open(struct ec_worker *w, struct ec_color *c, uint32_t mask)
{
	if (__builtin_expect(w->ring == NULL, 0))
		return;		/* and it stays closed */
	w->local_color = ec_load_relaxed(&c->number);
	w->local_mask = mask;
	w->local_of = c;
	ec_posts_fetch(w, c);
}

/* ---------------------------------------------------------------- posting */

/*
 * The inbox takes posts of other threads before the base is locked. The loop's thread takes the whole list at once.
 * The first post wakes that thread.
 *
 * A thread that posts to the inbox, and then sees the base locked, must not overtake its own post. So the loop's
 * thread closes the inbox when the base is locked and the inbox is empty. Only a thread that sees it closed (acquire,
 * meets the close) uses the queues.
 */
struct ec_task ec_inbox_closed;

/* False: the inbox was closed. */
static bool inbox_put(struct ec_base *base, struct ec_task *t)
{
	struct ec_task *old = ec_load_acquire(&base->inbox);

	ec_base_hold(base);
	do {
		if (old == &ec_inbox_closed)
			break;
		t->link.next = old == NULL ? NULL : &old->link;
	} while (!ec_cas_weak_acq_rel(&base->inbox, &old, t));
	if (old == NULL)
		ec_wakeup_send(&base->zero.wakeup);
	ec_base_release(base);
	return old != &ec_inbox_closed;
}

/*
 * 1: the post is in the inbox; 0: the inbox was closed; or -errno. Prepares the workers, because the loop's thread,
 * which needs them for the post, cannot report a failure.
 */
static int inbox_push(struct ec_base *base, struct ec_task *t)
{
	int r = t->color != 0 ? ec_base_prepare_colors(base) : 0;

	return r < 0 ? r : inbox_put(base, t);
}

/* Only the loop's thread may bypass an open inbox, and only if it is empty. */
static bool goes_to_inbox(struct ec_base *base, const struct ec_worker *w)
{
	const struct ec_task *first = ec_load_acquire(&base->inbox);

	return first != &ec_inbox_closed && (w != &base->zero || first != NULL);
}

static bool may_use_mailbox(struct ec_base *base, const struct ec_worker *w, int pri)
{
	return ec_post_pri(base, pri) == base->lanes_num / 2 && !goes_to_inbox(base, w);
}

/* As ec_color_guess; a worker first tries a color that it found recently. */
static inline struct ec_color *guess(struct ec_base *base, struct ec_worker *w, uint32_t number)
{
	struct ec_color **known, *c;

	if (w == NULL || __builtin_expect(w->ring == NULL, 0))
		return ec_color_guess(base, number);
	known = &w->ring->known[number % EC_KNOWN_NUM];
	c = *known;
	if (c == NULL || ec_load_relaxed(&c->number) != number)
		*known = c = ec_color_guess(base, number);
	return c;
}

/* `c`: the struct that may be its color, or NULL. */
static int push(struct ec_base *base, struct ec_worker *near, struct ec_color *c, struct ec_task *t,
		enum ec_birth birth)
{
	_Atomic(uint32_t) hint = c != NULL ? c->index + 1 : 0;
	struct ec_batch b;

	ec_batch_begin(&b, base);
	b.near = near;
	b.birth = birth;
	c = ec_batch_color(&b, t->color, &hint);
	if (c != NULL)
		ec_task_push(&b, c, t);
	ec_batch_end(&b);
	return c == NULL ? -ENOMEM : 0;
}

/* As push, for a color that seems to be at `w`, the posting worker. False: it has moved or ended. */
static bool push_here(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	struct ec_batch b;

	ec_batch_begin(&b, w->base);
	ec_run_lock_colored(w);
	if (!ec_color_is(c, w, t->color)) {
		ec_run_unlock_colored(w);
		return false;
	}
	ec_task_push(&b, c, t);		/* no wake-up: `w` posts, so it is awake */
	ec_run_unlock_colored(w);
	if (b.surplus != NULL)
		ec_park_wake_thief(w);
	return true;
}

/* As push, for a post that cannot fail. */
static void push_needed(struct ec_base *base, struct ec_worker *near, struct ec_task *t)
{
	if (t->color != 0)
		(void)ec_base_start_colors(base, EC_BIRTH_NEEDED);
	if (push(base, near, NULL, t, EC_BIRTH_NEEDED) == 0)
		return;
	ec_log(EC_LOG_WARN, "no memory for color %u: its post runs in color 0", t->color);
	t->color = 0;
	(void)push(base, NULL, NULL, t, EC_BIRTH_NEEDED);
}

void ec_post_needed(struct ec_base *base, struct ec_task *t)
{
	struct ec_worker *w = ec_worker_self(base);

	ec_hand_to_post(base, t);
	if (!goes_to_inbox(base, w) || !inbox_put(base, t))
		push_needed(base, w, t);
}

/* `t`: the newest post of the list. */
static void inbox_deliver(struct ec_base *base, struct ec_task *t)
{
	struct ec_list *node, *next, *reversed = NULL;

	for (node = &t->link; node != NULL; node = next) {
		next = node->next;
		node->next = reversed;
		reversed = node;
	}
	for (node = reversed; node != NULL; node = next) {
		next = node->next;
		t = ec_container_of(node, struct ec_task, link);
		ec_hand_begin(base, t);
		push_needed(base, NULL, t);
	}
}

void ec_inbox_drain(struct ec_base *base)
{
	struct ec_task *last;

	for (;;) {
		last = ec_load_relaxed(&base->inbox);
		if (last == &ec_inbox_closed)
			return;
		if (last != NULL)
			inbox_deliver(base, ec_swap_acq_rel(&base->inbox, NULL));
		last = NULL;
		if (!ec_is_locked(base) || ec_cas_acq_rel(&base->inbox, &last, &ec_inbox_closed))
			return;
	}
}

/* True: the post is in the ring of the calling worker. */
static inline bool post_local(struct ec_worker *w, uint32_t color, ec_post_fn fn, void *arg)
{
	uint32_t tail = w->local_tail;

	if (tail - w->local_head >= w->local_room || ((color ^ w->local_color) & w->local_mask) != 0 ||
	    !ec_mailbox_is_empty_for(w, w->local_of))
		return false;
	w->ring->at[tail % EC_LOCAL_MAX] = (struct ec_local){ fn, arg, color };
	ec_store_for_child(&w->local_tail, tail + 1);
	return true;
}

/* A function of its own, so that the fast path saves no registers. */
static __attribute__((noinline)) int post_queue(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn,
						void *arg);

int ec_base_post(struct ec_base *base, uint32_t color, ec_post_fn fn, void *arg)
{
	struct ec_worker *w = ec_worker_self(base);

	if (w != NULL && post_local(w, color, fn, arg))
		return 0;
	return post_queue(base, color, EC_POST_PRI_MIDDLE, fn, arg);
}

/* The engine sets errno only here, so that the faces can call a post by a plain jump. */
static __attribute__((cold)) int refuse(int err)
{
	errno = err;
	return -1;
}

/* NULL is the base of event_init. The fast path need not check for it: NULL is no worker's base. */
static __attribute__((noinline, cold)) int post_to_current(uint32_t color, int pri, ec_post_fn fn, void *arg)
{
	struct ec_base *base = ec_current_base();

	if (base == NULL) {
		ec_log(EC_LOG_WARN, "event_base_post: no event_base: event_init() was not called");
		return refuse(EINVAL);
	}
	return post_queue(base, color, pri, fn, arg);
}

int ec_base_post_priority(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn, void *arg)
{
	return pri < 0 ? refuse(EINVAL) : post_queue(base, color, pri, fn, arg);
}

static void job_run(void *arg)
{
	struct ec_job *job = arg;

	job->run(job);
}

/* A post is refused; or any post, in debug mode or if the base is observed. 0, or what refuse() returns. */
static __attribute__((noinline, cold)) int check(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn)
{
	if (fn == NULL || pri >= (int)base->lanes_num)
		return refuse(EINVAL);
	if ((ec_debug_on() || !ec_is_observed(base)) && !ec_misuse_check_post(base, color, fn == job_run))
		return refuse(EINVAL);
	return 0;
}

/* As post_queue, for the race checker. */
static __attribute__((noinline, cold)) int post_by_itself(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn,
							  void *arg)
{
	struct ec_worker *w = ec_worker_self(base);
	struct ec_task *t = ec_post_new(base, w);
	int r;

	if (t == NULL)
		return refuse(ENOMEM);
	ec_post_fill(t, base, color, pri, fn, arg);
	ec_hand_to_post(base, t);
	r = goes_to_inbox(base, w) ? inbox_push(base, t) : 0;
	if (r == 0)
		r = push(base, w, NULL, t, EC_BIRTH_MAY_FAIL);
	if (r >= 0)
		return 0;
	ec_free(t);
	return refuse(-r);
}

/* Compiled twice. is_observed: a mailbox has no room for the time. */
static inline __attribute__((always_inline)) int put(struct ec_base *base, struct ec_worker *w, uint32_t color, int pri,
						     ec_post_fn fn, void *arg, const bool is_observed)
{
	struct ec_worker *at = NULL;
	struct ec_color *c = NULL;
	struct ec_task *t;
	int r;

	ec_hand_to(base, color);
	if (color != 0 && ec_is_colored(base))
		c = guess(base, w, color);
	if (c != NULL) {
		at = ec_load_acquire(&c->worker);			/* meets ec_color_take: its mailbox */
		if (!is_observed && at != w && may_use_mailbox(base, w, pri) &&
		    ec_mailbox_put(at, c, color, fn, arg))
			return 0;
	}
	t = ec_post_new(base, w);
	if (t == NULL)
		return refuse(ENOMEM);
	ec_post_fill(t, base, color, pri, fn, arg);
	if (is_observed)
		ec_observed_post(base, w, t);

	r = goes_to_inbox(base, w) ? inbox_push(base, t) : 0;
	if (r > 0 || (r == 0 && at != NULL && at == w && push_here(w, c, t)))
		return 0;
	if (r == 0 && color != 0 && !ec_has_colors(base))
		r = ec_base_start_colors(base, EC_BIRTH_MAY_FAIL);
	if (r == 0)
		r = push(base, w, c, t, EC_BIRTH_MAY_FAIL);
	if (r < 0) {
		ec_free(t);
		return refuse(-r);
	}
	return 0;
}

static __attribute__((noinline)) int put_observed(struct ec_base *base, struct ec_worker *w, uint32_t color, int pri,
						  ec_post_fn fn, void *arg)
{
	return put(base, w, color, pri, fn, arg, true);
}

static int post_queue(struct ec_base *base, uint32_t color, int pri, ec_post_fn fn, void *arg)
{
	struct ec_worker *w;

	if (__builtin_expect(base == NULL, 0))
		return post_to_current(color, pri, fn, arg);
	w = ec_worker_self(base);
	if (__builtin_expect(fn == NULL || pri >= ec_load_relaxed(&base->posts_pri_end), 0)) {
		if (check(base, color, pri, fn) < 0)
			return -1;
		if (ec_is_observed(base))
			return put_observed(base, w, color, pri, fn, arg);
	}
	if (ec_hand_is_by_post(base))
		return post_by_itself(base, color, pri, fn, arg);
	return put(base, w, color, pri, fn, arg, false);
}

int ec_base_post_job(struct ec_base *base, uint32_t color, struct ec_job *job)
{
	return ec_base_post(base, color, job_run, job);
}

bool ec_post_is_job(const struct ec_task *t)
{
	return t->fn.post == job_run;
}
