#include "queue.h"

#include "colors.h"
#include "event.h"
#include "refs.h"

enum { FAR = 8 };	/* steps from both ends of a queue before the mark is looked at */

static struct ec_task *lane_first(struct ec_base *base, unsigned pri)
{
	struct ec_lane *lane = &base->lanes[pri];
	struct ec_list *first = ec_list_is_empty(&lane->posts) ? lane->others.next : lane->posts.next;

	return first == &lane->others ? NULL : ec_container_of(first, struct ec_task, link);
}

static void lane_remove(struct ec_base *base, struct ec_task *t)
{
	ec_list_remove(&t->link);
	ec_lane_settle(base, t->pri);
}

static inline struct ec_task *task_at(struct ec_list *at)
{
	return ec_container_of(at, struct ec_task, link);
}

/* A task of priority `pri`, a post or not, runs before the earlier task `t`. */
static inline bool precedes(unsigned pri, bool is_post, const struct ec_task *t)
{
	return pri < t->pri || (pri == t->pri && is_post && !ec_task_is_post(t));
}

static inline bool is_of_kind(const struct ec_task *t, uint32_t color, unsigned pri, bool is_post)
{
	return t->color == color && t->pri == pri && ec_task_is_post(t) == is_post;
}

/*
 * After which task of `c` another one of priority `pri` belongs: after more urgent tasks, after posts (unless it is a
 * post), and after earlier tasks of its kind. It is looked for from both ends. What was found far from them is
 * remembered as the worker's mark, so that thousands of posts to a color with thousands of events take no time each.
 */
static struct ec_list *place_in(struct ec_worker *w, struct ec_color *c, unsigned pri, bool is_post, bool *is_far)
{
	uint32_t color = ec_load_relaxed(&c->number);
	struct ec_list *next = c->tasks.next, *prev = c->tasks.prev;
	unsigned steps;

	*is_far = false;
	for (steps = 0; prev != &c->tasks && precedes(pri, is_post, task_at(prev)); steps++) {
		if (precedes(pri, is_post, task_at(next))) {
			prev = next->prev;
			break;
		}
		if (steps == FAR && w->mark != NULL && is_of_kind(w->mark, color, pri, is_post))
			return &w->mark->link;
		prev = prev->prev;
		next = next->next;
	}
	*is_far = steps > FAR;
	return prev;
}

static void sorted_insert(struct ec_worker *w, struct ec_color *c, struct ec_task *t)
{
	bool is_post = ec_task_is_post(t), is_far;

	ec_list_insert_after(place_in(w, c, t->pri, is_post, &is_far), &t->link);
	if (is_far || (w->mark != NULL && is_of_kind(w->mark, t->color, t->pri, is_post)))
		w->mark = t;
}

void ec_queue_forget_row(struct ec_worker *w, struct ec_list *first, uint32_t num)
{
	for (; num > 0 && w->mark != NULL; num--, first = first->next)
		ec_queue_forget(w, task_at(first));
}

struct ec_task *ec_color0_first(struct ec_base *base)
{
	unsigned pri = ec_lanes_first(base);

	return pri == EC_PRI_MAX ? NULL : lane_first(base, pri);
}

/* The first task of the queue is a post. Returns the first other task of the same priority, or NULL. */
static struct ec_task *other_first(struct ec_base *base, struct ec_color *c, const struct ec_task *first)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);
	struct ec_list *at;
	bool is_far;

	if (c == &base->color0) {
		at = base->lanes[first->pri].others.next;
		return at == &base->lanes[first->pri].others ? NULL : task_at(at);
	}
	at = place_in(w, c, first->pri, true, &is_far);		/* the last post */
	if (is_far)
		w->mark = task_at(at);
	at = at->next;
	return at != &c->tasks && task_at(at)->pri == first->pri ? task_at(at) : NULL;
}

struct ec_task *ec_color_due_other(struct ec_base *base, struct ec_color *c)
{
	struct ec_task *first = ec_color_first(base, c), *t = first;

	if (first != NULL && ec_task_is_post(first))
		t = other_first(base, c, first);
	if (t != NULL)
		return t;
	c->flags &= (uint8_t)~EC_COLOR_OTHERS_FIRST;		/* the others were deleted meanwhile */
	return first;
}

void ec_color_enqueue(struct ec_worker *w, struct ec_color *c)
{
	struct ec_task *first = ec_color_due(w->base, c);

	c->state = EC_COLOR_QUEUED;
	ec_runq_push(&w->runq, c, first->pri, ec_task_is_post(first) && (c->flags & EC_COLOR_YIELDED) == 0);
	ec_counter_add(&w->pushes, 1);
}

/*
 * Under RUNQ of `w`, which does not sleep and got a color. True: there is work for a thief. A worker that polls takes
 * one color itself afterwards.
 */
static bool is_surplus(const struct ec_worker *w, const struct ec_color *c)
{
	if (c == &w->base->color0)
		return false;
	return w->current != NULL || ec_load_relaxed(&w->runq.num) > 1 || !ec_load_relaxed(&w->is_started);
}

/* `c` is in a run queue. True: with `t` it belongs to a better place there. */
static inline bool is_ahead(const struct ec_color *c, const struct ec_task *t)
{
	const unsigned stays = EC_COLOR_IN_POSTS | EC_COLOR_YIELDED | EC_COLOR_OTHERS_FIRST;

	return t->pri < c->level || (t->pri == c->level && ec_task_is_post(t) && (c->flags & stays) == 0);
}

/* `t` has entered the queue of `c`: change the state of `c`. */
static void color_pushed(struct ec_batch *b, struct ec_worker *w, struct ec_color *c, const struct ec_task *t)
{
	switch ((enum ec_color_state)c->state) {
	case EC_COLOR_IDLE:
		ec_color_enqueue(w, c);
		break;
	case EC_COLOR_QUEUED:
		if (is_ahead(c, t)) {
			ec_runq_remove(&w->runq, c);
			ec_color_enqueue(w, c);
		}
		return;
	case EC_COLOR_RUNNING:
	case EC_COLOR_WAITING:
		return;
	}
	if (w->asleep) {
		w->asleep = false;
		b->wake = w;
	} else if (is_surplus(w, c)) {
		b->surplus = w;
	}
}

void ec_task_push(struct ec_batch *b, struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);

	t->flags |= EC_IN_ACTIVE;
	ec_counter_add(&w->active_num, 1);
	if (c == &b->base->color0) {
		ec_store_relaxed(&b->base->has_grown, true);
		ec_lane_push(b->base, t);
		if (ec_task_is_post(t))
			ec_counter_add(&c->posts_num, 1);
		if (!ec_load_relaxed(&b->base->is_colored)) {
			if (w->asleep) {
				w->asleep = false;
				b->wake = w;
			}
			return;
		}
	} else {
		ec_color_get(c);
		sorted_insert(w, c, t);
		if (ec_task_is_post(t))
			ec_counter_add(&c->posts_num, 1);
	}
	c->tasks_num++;
	color_pushed(b, w, c, t);
}

void ec_task_push_first(struct ec_batch *b, struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);

	t->flags |= EC_IN_ACTIVE;
	ec_counter_add(&w->active_num, 1);
	c->tasks_num++;
	ec_counter_add(&c->posts_num, 1);
	if (c == &b->base->color0) {
		ec_list_push_front(&b->base->lanes[t->pri].posts, &t->link);
		ec_store_relaxed(&b->base->has_posts, true);
		ec_lane_note(b->base, t->pri);
	} else {
		ec_color_get(c);
		ec_list_push_front(&c->tasks, &t->link);
	}
}

void ec_task_remove(struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = ec_load_relaxed(&c->worker);
	struct ec_base *base = w->base;

	t->flags &= ~EC_IN_ACTIVE;
	if (c == &base->color0)
		ec_base_note_max(base);
	ec_counter_add(&w->active_num, UINT32_MAX);
	if (ec_task_is_post(t))
		ec_counter_add(&c->posts_num, UINT32_MAX);
	if (c == &base->color0) {
		lane_remove(base, t);
		if (!ec_load_relaxed(&base->is_colored))
			return;
	} else {
		ec_list_remove(&t->link);
		ec_queue_forget(w, t);
	}
	c->tasks_num--;
	if (c->tasks_num == 0 && (c->state == EC_COLOR_QUEUED || c->state == EC_COLOR_WAITING)) {
		if (__builtin_expect(c->last_num != 0, 0))	/* no write otherwise: lookups read this line */
			c->last_num = 0;
		if (c->state == EC_COLOR_QUEUED)
			ec_runq_remove(&w->runq, c);
		c->state = EC_COLOR_IDLE;
	}
	if (c != &base->color0)
		ec_color_put(base, c);
}

bool ec_task_is_shared(struct ec_task *t)
{
	return t->kind <= EC_KIND_SIGNAL && (ec_load_relaxed(ec_event_state(ec_task_event(t))) & EC_EV_SHARED) != 0;
}
