#include "queue.h"

#include "colors.h"
#include "event.h"
#include "refs.h"

static struct ec_task *lane_first(struct ec_base *base, unsigned pri)
{
	struct ec_lane *lane = &base->lanes[pri];
	struct ec_list *first = ec_list_is_empty(&lane->posts) ? lane->others.next : lane->posts.next;

	return first == &lane->others ? NULL : ec_container_of(first, struct ec_task, link);
}

static void lane_remove(struct ec_base *base, struct ec_task *t)
{
	struct ec_lane *lane = &base->lanes[t->pri];

	ec_list_remove(&t->link);
	if (ec_list_is_empty(&lane->posts) && ec_list_is_empty(&lane->others))
		ec_map_clear(base->lanes_map, t->pri);
}

/* The last post of a queue where all tasks have one priority, found from the nearer end. */
static struct ec_list *last_post(struct ec_color *c)
{
	uint32_t posts = ec_load_relaxed(&c->posts_num) & ~EC_POSTS_COMING, others = c->tasks_num - posts;
	struct ec_list *at;

	if (posts < others) {
		for (at = &c->tasks; posts > 0; posts--)
			at = at->next;
	} else {
		for (at = c->tasks.prev; others > 0; others--)
			at = at->prev;
	}
	return at;
}

/* Inserts `t` after more urgent tasks, after posts (unless it is a post), and after earlier tasks of its kind. */
static void sorted_insert(const struct ec_base *base, struct ec_color *c, struct ec_task *t)
{
	struct ec_list *at = c->tasks.prev;
	struct ec_task *other;

	if (base->lanes_num == 1 && ec_task_is_post(t)) {
		ec_list_insert_after(last_post(c), &t->link);
		return;
	}
	for (; at != &c->tasks; at = at->prev) {
		other = ec_container_of(at, struct ec_task, link);
		if (other->pri < t->pri || (other->pri == t->pri && (!ec_task_is_post(t) || ec_task_is_post(other))))
			break;
	}
	ec_list_insert_after(at, &t->link);
}

struct ec_task *ec_color0_first(struct ec_base *base)
{
	unsigned pri = ec_map_first(base->lanes_map);

	return pri == EC_PRI_MAX ? NULL : lane_first(base, pri);
}

/* The first task of the queue is a post. Returns the first other task of the same priority, or NULL. */
static struct ec_task *other_first(struct ec_base *base, struct ec_color *c, const struct ec_task *first)
{
	struct ec_list *at = c->tasks.next;
	struct ec_task *t;

	if (c == &base->color0) {
		at = base->lanes[first->pri].others.next;
		return at == &base->lanes[first->pri].others ? NULL : ec_container_of(at, struct ec_task, link);
	}
	/* With several priorities, posts are not all at the head. */
	if (base->lanes_num == 1) {
		at = last_post(c)->next;
	} else {
		while (at != &c->tasks && ec_task_is_post(ec_container_of(at, struct ec_task, link)))
			at = at->next;
	}
	t = at == &c->tasks ? NULL : ec_container_of(at, struct ec_task, link);
	return t != NULL && !ec_task_is_post(t) && t->pri == first->pri ? t : NULL;
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
		sorted_insert(b->base, c, t);
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
		ec_map_set(b->base->lanes_map, t->pri);
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
	}
	c->tasks_num--;
	if (c->tasks_num == 0) {
		if (__builtin_expect(c->last_num != 0, 0))	/* no write otherwise: lookups read this line */
			c->last_num = 0;
		if (c->state == EC_COLOR_QUEUED)
			ec_runq_remove(&w->runq, c);
		if (c->state == EC_COLOR_QUEUED || c->state == EC_COLOR_WAITING)
			c->state = EC_COLOR_IDLE;
	}
	if (c != &base->color0)
		ec_color_put(base, c);
}

bool ec_task_is_shared(struct ec_task *t)
{
	return t->kind <= EC_KIND_SIGNAL && (ec_load_relaxed(ec_event_state(ec_task_event(t))) & EC_EV_SHARED) != 0;
}
