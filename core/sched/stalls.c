#include "stalls.h"

#include "above.h"
#include "base.h"
#include "queue.h"
#include "runq.h"

enum {
	LOOK_MAX = 1000,		/* tasks or colors that are counted one by one: under a lock */
	COLORS_MAX = 64,		/* of a single worker */
};

/* ---------------------------------------------------------------- several workers */

/* Under RUNQ. */
static void look_at_runq(struct ec_worker *w, struct ec_stall_queue *ret)
{
	const struct ec_color *c;
	int i = 0;

	ret->colors = ec_load_relaxed(&w->runq.num);
	ret->has_colors = true;
	for (c = ec_runq_first(&w->runq); c != NULL && i < LOOK_MAX; c = ec_runq_next(&w->runq, c), i++) {
		if (c->tasks_num <= ret->most)
			continue;
		ret->most = c->tasks_num;
		ret->most_color = ec_load_relaxed(&c->number);
	}
	c = w->current;
	if (c == NULL)
		return;
	ret->callbacks -= ret->callbacks != 0;	/* the one that runs */
	ret->own = c->tasks_num;
	if (ret->own > ret->most) {
		ret->most = ret->own;
		ret->most_color = ec_load_relaxed(&c->number);
	}
}

/* ---------------------------------------------------------------- one worker with colors */

struct counts {
	uint32_t color[COLORS_MAX], num[COLORS_MAX];
	unsigned colors_num, tasks_num;
	bool is_cut;
};

static void count_task(struct counts *n, uint32_t color)
{
	unsigned i;

	for (i = 0; i < n->colors_num && n->color[i] != color; i++)
		;
	if (i == COLORS_MAX) {
		n->is_cut = true;
		return;
	}
	if (i == n->colors_num) {
		n->color[n->colors_num++] = color;
		n->num[i] = 0;
	}
	n->num[i]++;
}

static void count_list(struct counts *n, const struct ec_list *list)
{
	const struct ec_list *at;

	for (at = list->next; at != list; at = at->next) {
		if (n->tasks_num == LOOK_MAX) {
			n->is_cut = true;
			return;
		}
		n->tasks_num++;
		count_task(n, ec_container_of(at, struct ec_task, link)->color);
	}
}

/* Under RUNQ of worker 0. */
static void look_at_lanes(struct ec_base *base, uint32_t color, struct ec_stall_queue *ret)
{
	struct counts n = { .colors_num = 0 };
	unsigned i;

	for (i = 0; i < base->lanes_num; i++) {
		count_list(&n, &base->lanes[i].posts);
		count_list(&n, &base->lanes[i].others);
	}
	ret->has_colors = true;
	ret->is_cut = n.is_cut;
	for (i = 0; i < n.colors_num; i++) {
		if (n.color[i] == color)
			ret->own = n.num[i];
		else
			ret->colors++;
		if (n.num[i] <= ret->most)
			continue;
		ret->most = n.num[i];
		ret->most_color = n.color[i];
	}
}

/* ---------------------------------------------------------------- what the watchdog asks */

/* Does its loop run, so that its queues should move? The gate is not asked: in a pause they should move soon, too. */
static bool is_looping(const void *worker)
{
	const struct ec_worker *w = worker;

	return ec_load_relaxed(&w->base->is_running) && !ec_loop_must_stop(w->base);
}

/* A base without locks has lists and counts that only its own thread may read. */
static void look(void *worker, uint32_t color, struct ec_stall_queue *ret)
{
	struct ec_worker *w = worker;
	struct ec_base *base = w->base;

	if (!ec_is_locked(base))
		return;
	ec_run_lock(w);
	ret->callbacks = ec_load_relaxed(&w->active_num);
	if (ec_is_colored(base))
		look_at_runq(w, ret);
	else if (ec_load_relaxed(&base->is_single_colored))
		look_at_lanes(base, color, ret);
	ec_run_unlock(w);
}

static const struct ec_stall_ops ops = { ec_fork_prepare, is_looping, look };

void ec_stalls_turn(struct ec_worker *w, struct ec_stall *s)
{
	if (!ec_stall_is_attached(s))
		ec_stall_attach(s, &ops, w);
	ec_stall_sleep(s, false);
}
