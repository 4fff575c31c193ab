#include "deadline.h"

#include <errno.h>

#include "common.h"
#include "ec.h"
#include "far.h"
#include "observe/late.h"
#include "os/wakeup.h"
#include "sched/above.h"
#include "sched/event.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "timer.h"

/* ---------------------------------------------------------------- setting */

struct ec_common *ec_common_of(struct ec_base *base, const struct timeval *tv)
{
	unsigned i;

	if (!EC_HAS_COMMON || !ec_common_is_handle(tv))
		return NULL;
	i = ec_common_index(tv);
	return (int)i < base->commons_num && base->commons[i]->tv.tv_usec == tv->tv_usec &&
	       base->commons[i]->tv.tv_sec == tv->tv_sec ? base->commons[i] : NULL;
}

struct ec_common *ec_common_numbered(struct ec_base *base, uint64_t number, int64_t duration_ns)
{
	if (number == 0 || number > (uint64_t)base->commons_num)
		return NULL;
	return base->commons[number - 1]->duration_ns == (uint64_t)duration_ns ? base->commons[number - 1] : NULL;
}

static int common_insert(struct ec_base *base, struct ec_common *common, struct ec_event *ev)
{
	struct ec_list *at = common->events.prev;
	int r;

	for (; at != &common->events; at = at->prev) {
		if (ec_event_of_common(at)->deadline_ns <= ev->deadline_ns)
			break;
	}
	if (at == &common->events) {
		r = ec_timers_arm(&base->zero.timers, &common->slot, (uint64_t)ev->deadline_ns,
				  ec_common_owner(common));
		if (r < 0)
			return r;
	}
	ec_list_insert_after(at, ec_event_common_link(ev));
	ec_event_set_state(ev, EC_EV_COMMON, EC_EV_COMMON);
	return 0;
}

static void common_remove(struct ec_base *base, struct ec_event *ev)
{
	struct ec_list *head = ec_event_common_link(ev)->next;

	if ((ec_load_relaxed(ec_event_state(ev)) & EC_EV_FAR) != 0) {
		ec_far_remove(&ec_event_at(base, ev)->timers, ev);
		return;
	}
	ec_list_remove(ec_event_common_link(ev));
	ev->timer.slot = EC_TIMER_NONE;
	ec_event_set_state(ev, EC_EV_COMMON, 0);
	if (head->next == head && ec_common_is_head(base, head))
		ec_timers_disarm(&base->zero.timers, &ec_container_of(head, struct ec_common, events)->slot);
}

void ec_deadline_clear(struct ec_base *base, struct ec_event *ev)
{
	if ((ec_load_relaxed(ec_event_state(ev)) & EC_EV_COMMON) != 0)
		common_remove(base, ev);
	else
		ec_timers_disarm(&ec_event_at(base, ev)->timers, &ev->timer.slot);
}

int ec_deadline_set_common(struct ec_worker *w, struct ec_event *ev, struct ec_common *common, int64_t at_ns)
{
	bool is_far = (ec_load_relaxed(ec_event_state(ev)) & EC_EV_FAR) != 0;
	struct ec_base *base = w->base;
	int64_t before_ns = ev->deadline_ns;
	int r;

	if (is_far && common == NULL && at_ns >= before_ns) {
		*ec_event_far_seq(ev) = w->timers.seq++;	/* the bucket is early then */
		ev->deadline_ns = at_ns;
		return 0;
	}
	if ((ev->task.flags & EC_IN_TIMEOUT) != 0) {
		r = ec_timers_reserve(&w->timers);
		if (r < 0)
			return r;
		ec_deadline_clear(base, ev);
	}
	ev->deadline_ns = at_ns;
	r = common != NULL ? common_insert(base, common, ev) :
			     ec_timers_arm(&w->timers, &ev->timer.slot, (uint64_t)at_ns, ev);
	if (r < 0)
		ev->deadline_ns = before_ns;
	return r;
}

void ec_deadline_wake(struct ec_worker *w, int64_t at_ns)
{
	if (at_ns >= w->wait_until_ns)
		return;
	w->wait_until_ns = at_ns;
	ec_wakeup_send(&w->wakeup);
}

/* ---------------------------------------------------------------- expiry */

/*
 * As ec_event_expired, of a base with one worker. The event stops waiting first, so that the maxima never count it
 * twice. The caller has noted the maxima, so there is nothing to note here: what is pending shrinks.
 */
static inline void expired_held(struct ec_base *base, struct ec_event *ev)
{
	if (__builtin_expect((ev->task.flags & EC_IN_ACTIVE) != 0, 0))
		ec_task_remove(&base->color0, &ev->task);
	if ((ev->task.flags & EC_IN_INSERTED) != 0 && ev->task.kind != EC_KIND_TIMED) {
		ec_event_forget(base, &base->color0, ev);
	} else {
		if ((ec_load_relaxed(ec_event_state(ev)) & EC_EV_COMMON) != 0)
			common_remove(base, ev);
		ev->task.flags &= ~EC_IN_TIMEOUT;
		ec_counter_add(&base->zero.pending_num, UINT32_MAX);
		if (__builtin_expect(ec_debug_on(), 0) && (ev->task.flags & EC_IN_INSERTED) == 0)
			ec_debug_note_pending(ev, false);
	}
	ec_event_ready_single(base, ev, EC_TIMEOUT, 1);
}

struct ec_list *ec_deadline_queue(void *owner)
{
	struct ec_common *common = ec_common_from_owner(owner);
	struct ec_far_bucket *bucket = ec_far_from_owner(owner);

	return common != NULL ? &common->events : bucket != NULL ? &bucket->events : NULL;
}

void ec_deadlines_visit(struct ec_worker *w, void (*fn)(struct ec_event *ev, void *arg), void *arg)
{
	struct ec_list *queue, *at;
	uint32_t slot;
	void *owner;

	for (slot = 0; (owner = ec_timers_find(&w->timers, &slot)) != NULL; slot++) {
		queue = ec_deadline_queue(owner);
		if (queue == NULL) {
			fn(owner, arg);
			continue;
		}
		for (at = queue->next; at != queue; at = at->next)
			fn(ec_event_of_common(at), arg);
	}
}

/* `b` NULL: the base has one worker. */
static inline void expire_one(struct ec_base *base, struct ec_event *ev, struct ec_batch *b)
{
	if (b == NULL)
		expired_held(base, ev);
	else
		ec_event_expired(base, ev, b);
}

/* The first event of a common timeout is due. Expires it, and those after it that are due. */
static void common_expire(struct ec_base *base, struct ec_common *common, int64_t now_ns, struct ec_batch *b)
{
	struct ec_event *ev;
	int r;

	while (!ec_list_is_empty(&common->events)) {
		ev = ec_event_of_common(common->events.next);
		if (ev->deadline_ns > now_ns) {
			r = ec_timers_arm(&base->zero.timers, &common->slot, (uint64_t)ev->deadline_ns,
					  ec_common_owner(common));
			if (r < 0)
				ec_late_log(EC_LOG_WARN, "no memory to rearm a common timeout");
			return;
		}
		expire_one(base, ev, b);
	}
}

/*
 * The deadline of `ev` has come. As in libevent, this drops other results of the same turn: if they are
 * level-triggered, the poller reports them again. Without a timeout that starts again, the event also stops waiting
 * for its descriptor.
 */
void ec_event_expired(struct ec_base *base, struct ec_event *ev, struct ec_batch *b)
{
	struct ec_color *c = ec_batch_color(b, ev->task.color, ec_event_hint(ev));

	if (c == NULL)
		return;
	if ((ev->task.flags & EC_IN_ACTIVE) != 0)
		ec_task_remove(c, &ev->task);
	ec_event_ready(b, ev, EC_TIMEOUT, 1);
	if (ev->task.kind == EC_KIND_TIMED && (ev->task.flags & EC_IN_INSERTED) != 0) {
		ec_deadline_clear(base, ev);
		ev->task.flags &= ~EC_IN_TIMEOUT;
		ec_event_note_added(base, ec_event_at(base, ev), -1);
	} else {
		ec_event_forget(base, c, ev);
	}
}

/* Events that find no timer, for lack of memory, expire at once. */
static void bucket_expire(struct ec_worker *w, struct ec_far_bucket *bucket, int64_t now_ns, struct ec_batch *b)
{
	struct ec_list due, *at;

	ec_list_init(&due);
	ec_far_open(&w->timers, bucket, (uint64_t)now_ns, &due);
	while (!ec_list_is_empty(&due)) {
		at = due.next;
		ec_list_remove(at);
		ec_event_of_common(at)->timer.slot = EC_TIMER_NONE;
		expire_one(w->base, ec_event_of_common(at), b);
	}
}

/* The first deadline of a queue has come. */
static __attribute__((noinline)) void queue_expire(struct ec_worker *w, void *owner, int64_t now_ns, struct ec_batch *b)
{
	struct ec_common *common = ec_common_from_owner(owner);

	if (common == NULL) {
		bucket_expire(w, ec_far_from_owner(owner), now_ns, b);
		return;
	}
	common->slot = EC_TIMER_NONE;
	common_expire(w->base, common, now_ns, b);
}

static inline __attribute__((always_inline)) void expire(struct ec_worker *w, int64_t now_ns, struct ec_batch *b)
{
	void *owner;

	while ((owner = ec_timers_expire(&w->timers, (uint64_t)now_ns)) != NULL) {
		if (__builtin_expect(((uintptr_t)owner & 1) != 0, 0)) {
			queue_expire(w, owner, now_ns, b);
		} else {
			((struct ec_event *)owner)->timer.slot = EC_TIMER_NONE;
			expire_one(w->base, owner, b);
		}
	}
}

void ec_events_expire(struct ec_worker *w, int64_t now_ns, struct ec_batch *b)
{
	expire(w, now_ns, b);
}

void ec_events_expire_held(struct ec_worker *w, int64_t now_ns)
{
	ec_base_note_max(w->base);
	expire(w, now_ns, NULL);
}
