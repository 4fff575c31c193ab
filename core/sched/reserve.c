/*
 * Posts that were allocated before, so that posting them cannot fail. A reserved post has all that its color needs: the
 * base is prepared for colors, and the color has a reference, so that it is there. As long as the base is not locked,
 * only the loop's thread may make colors; then the memory that is kept for such posts must do (enum ec_birth).
 */
#include <errno.h>

#include "base.h"
#include "colors.h"
#include "ec.h"
#include "holds.h"
#include "pool.h"
#include "post.h"
#include "refs.h"

struct ec_reserved {
	struct ec_task task;		/* first: once it is posted, it is a post like others */
	/* const */
	struct ec_base *base;
	bool has_ref;			/* on the color */
};

static int color_get(struct ec_base *base, uint32_t color)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c = ec_color_lock(base, color, &hint);

	if (c == NULL)
		return -ENOMEM;
	ec_color_get(c);
	ec_store_relaxed(&base->has_reserved, true);	/* meets several_color_stats: under RUNQ of the color */
	ec_color_unlock(c);
	return 0;
}

static void color_put(struct ec_base *base, uint32_t color)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c = ec_color_lock_existing(base, color, &hint);

	ec_color_put(base, c);
	ec_color_unlock(c);
}

int ec_post_reserve(struct ec_base *base, uint32_t color, struct ec_reserved **ret)
{
	struct ec_reserved *p = ec_malloc(sizeof(*p));
	int r = 0;

	if (p == NULL)
		return -ENOMEM;
	*p = (struct ec_reserved){ .base = base, .task.color = color };
	if (color != 0)
		r = ec_base_prepare_colors(base);
	if (r == 0 && color != 0 && ec_is_colored(base)) {
		r = color_get(base, color);
		p->has_ref = r == 0;
	}
	if (r < 0) {
		ec_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void ec_post_unreserve(struct ec_reserved *p)
{
	if (p->has_ref)
		color_put(p->base, p->task.color);
	ec_free(p);
}

void ec_post_reserved(struct ec_reserved *p, ec_post_fn fn, void *arg)
{
	struct ec_base *base = p->base;
	uint32_t color = p->task.color;
	bool has_ref = p->has_ref;

	if (has_ref)
		ec_base_hold(base);
	ec_post_fill(&p->task, base, color, EC_POST_PRI_MIDDLE, fn, arg);
	ec_post_needed(base, &p->task);
	if (!has_ref)
		return;
	color_put(base, color);
	ec_base_release(base);
}
