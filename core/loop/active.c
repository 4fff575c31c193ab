/*
 * Events become active by hand, one or all that wait for a descriptor or signal; and finalizers.
 */
#include "sched/event.h"

#include "hold.h"
#include "io/deadline.h"
#include "registration.h"
#include "sched/above.h"
#include "sched/handover.h"
#include "sched/holds.h"
#include "sched/observed.h"
#include "sched/park.h"
#include "sched/ready.h"

/*
 * The short way to all of worker 0: the base has no locks, or the caller is the owner and enters both. False: neither,
 * and no lock is held. `role`: EC_FOREIGN before, and for leave_zero.
 */
static inline bool enter_zero(struct ec_base *base, enum ec_role *role)
{
	if (!ec_is_locked(base))
		return true;
	*role = ec_event_enter(base);
	return *role != EC_FOREIGN;
}

static inline void leave_zero(struct ec_base *base, enum ec_role role)
{
	if (role != EC_FOREIGN)
		ec_event_leave(base, role);
}

/* Any event, by the owner. False: the base is not biased to the caller. */
static inline bool active_own(struct ec_base *base, struct ec_event *ev, int res, short ncalls)
{
	enum ec_role role = ec_bias_role(&base->bias);

	if (role == EC_FOREIGN || !ec_bias_enter(&base->bias, &base->zero.run, role))
		return false;
	ec_event_ready_single(base, ev, res, ncalls);
	ec_bias_leave(&base->zero.run, role);
	return true;
}

/* Any event of a base with one worker, by any thread. False: the base has several. */
static bool active_zero(struct ec_base *base, struct ec_event *ev, int res, short ncalls)
{
	struct ec_worker *w = &base->zero;
	bool is_alone, was_asleep;

	if (ec_is_colored(base))
		return false;
	ec_run_lock(w);
	is_alone = !ec_is_colored(base);
	was_asleep = is_alone && w->asleep;
	if (is_alone) {
		ec_event_ready_single(base, ev, res, ncalls);
		w->asleep = false;
	}
	if (was_asleep)
		ec_base_hold(base);
	ec_run_unlock(w);
	if (was_asleep) {
		ec_park_wake(w);
		ec_base_release(base);
	}
	return is_alone;
}

static void active(struct ec_event *ev, int res, short ncalls)
{
	struct ec_base *base = ev->base;
	struct ec_batch b;

	if (ec_event_color_now(ev) == 0 && !ec_is_locked(base)) {
		ec_event_ready_serial(base, ev, res, ncalls);
		return;
	}
	ec_hand_to_event(ev);
	if (ec_event_color_now(ev) != 0 && !ec_has_colors(base))
		(void)ec_base_start_colors(base, EC_BIRTH_NEEDED);
	if (active_own(base, ev, res, ncalls) || active_zero(base, ev, res, ncalls))
		return;
	(void)ec_event_hold_color(&b, ev, EC_BIRTH_NEEDED);
	ec_event_ready(&b, ev, res, ncalls);
	ec_batch_end(&b);
}

/* Of an observed base: what is plain but for that. False: `ev` is not, or another thread may use the base. */
static inline bool active_observed(struct ec_event *ev, int res)
{
	struct ec_base *base = ev->base;
	bool is_locked = ec_is_locked(base), is_short;

	if (is_locked && (!ec_is_observed(base) || !ec_bias_is_first(&base->bias) ||
			  !ec_bias_enter(&base->bias, &base->zero.run, EC_FIRST_LOOP)))
		return false;
	is_short = ec_event_ready_observed(base, ev, res);
	if (is_locked)
		ec_bias_leave(&base->zero.run, EC_FIRST_LOOP);
	return is_short;
}

/* Apart (noinline), so that the short ways need no frame. */
static __attribute__((noinline)) void active_slowly(struct ec_event *ev, int res, short ncalls)
{
	if (ev->base == NULL) {
		ec_log(EC_LOG_WARN, "event_active: event has no event_base set.");
		return;
	}
	if (active_observed(ev, res))
		return;
	ec_debug_assert_is_setup(ev);
	if (ec_log_debug_on())
		ec_log(EC_LOG_DEBUG, "event_active: %p (fd %d), res %d, callback %p", (void *)ev, ev->fd, res,
		       (void *)(uintptr_t)ev->task.fn.event);
	active(ev, res, ncalls);
}

/* By the owner of a biased base, if nothing is special about `ev`; with colors, its color may be. */
static inline bool active_biased(struct ec_base *base, struct ec_event *ev, int res)
{
	bool is_short;

	if (!ec_bias_is_first(&base->bias) || !ec_bias_enter(&base->bias, &base->zero.run, EC_FIRST_LOOP))
		return false;
	is_short = (ec_task_word(&ev->task) & base->special) == 0;
	if (__builtin_expect(is_short, 1))
		ec_event_ready_plain(base, &base->lanes[0].others, ev, res);
	ec_bias_leave(&base->zero.run, EC_FIRST_LOOP);
	return is_short;
}

/* False: `ev` has no short way, and nothing was done. */
static inline bool active_shortly(struct ec_event *ev, int res)
{
	struct ec_base *base = ev->base;

	/* In this order: other threads write the word of an event of a locked base. */
	if (base->fast_path != NULL && (ec_task_word(&ev->task) & ec_task_special()) == 0) {
		ec_event_ready_plain_serial(base, base->fast_path, ev, res);
		return true;
	}
	return active_biased(base, ev, res);
}

void ec_event_active(struct ec_event *ev, int res, short ncalls)
{
	if (!active_shortly(ev, res))
		active(ev, res, ncalls);
}

enum { DEFERRED_MAX = 32 };		/* as libevent's */

/* Have the callbacks of this turn deferred enough? */
static inline bool is_deferred_enough(struct ec_worker *w)
{
	uint64_t turns = ec_load_relaxed(&w->stats.turns);

	if (w->deferred_in != turns) {
		w->deferred_in = turns;
		w->deferred_num = 0;
	}
	return w->deferred_num++ >= DEFERRED_MAX;
}

/* A timeout of 0 comes after the next poll. */
static __attribute__((noinline)) void defer_to_next_turn(struct ec_event *ev)
{
	if (ec_event_add(ev, &(struct timeval){ 0, 0 }) < 0)
		ec_event_active(ev, EC_TIMEOUT, 1);
}

/* Both are tail calls, so that this saves no registers. */
void ec_event_defer(struct ec_event *ev)
{
	struct ec_worker *w = ec_worker_self(ev->base);

	if (w != NULL && is_deferred_enough(w))
		defer_to_next_turn(ev);
	else
		ec_event_active(ev, EC_TIMEOUT, 1);
}

void ec_event_active_checked(struct ec_event *ev, int res, short ncalls)
{
	if (__builtin_expect(ev->base == NULL, 0) || !active_shortly(ev, res))
		active_slowly(ev, res, ncalls);
}

/* ---------------------------------------------------------------- by descriptor or signal */

/* `b` NULL, as in all of these: the caller has taken the short way to worker 0 (enter_zero). */
static void ready_by_fd(struct ec_worker *w, struct ec_batch *b, int fd, int events)
{
	struct ec_source *s = ec_source_find(&w->fds, fd);
	struct ec_list *at, *next, *head;
	struct ec_event *ev;
	int hit;

	if (s == NULL)
		return;
	head = &s->events;
	for (at = head->next; at != head; at = next) {
		next = at->next;
		ev = ec_container_of(at, struct ec_event, of.io.link);
		hit = ev->events & events & EC_DESCRIPTOR;
		if (hit != 0)
			ec_event_ready_by(w->base, b, ev, hit, 1);
	}
}

struct by_fd {
	/* const */
	struct ec_base *base;
	struct ec_batch *b;
	int fd;
};

static void timeout_by_fd(struct ec_event *ev, void *arg)
{
	const struct by_fd *by = arg;

	if (ev->fd == by->fd)
		ec_event_ready_by(by->base, by->b, ev, EC_TIMEOUT, 1);
}

static void timeouts_by_fd(struct ec_worker *w, struct ec_batch *b, int fd)
{
	struct by_fd by = { w->base, b, fd };

	ec_deadlines_visit(w, timeout_by_fd, &by);
}

/* Under SOURCE. */
static void ready_at(struct ec_worker *w, struct ec_batch *b, int fd, short events)
{
	if ((events & EC_TIMEOUT) != 0)
		timeouts_by_fd(w, b, fd);
	else
		ready_by_fd(w, b, fd, events);
}

/* As observed of libevent: with EC_TIMEOUT, every timer whose event has that descriptor, and nothing else. */
void ec_base_active_by_fd(struct ec_base *base, int fd, short events)
{
	enum ec_role role = EC_FOREIGN;
	struct ec_batch b;
	unsigned i;

	if (enter_zero(base, &role)) {
		ready_at(&base->zero, NULL, fd, events);
		leave_zero(base, role);
		return;
	}
	ec_base_hold(base);		/* what one worker has may end the loop, before the next one is looked at */
	for (i = 0; i < ec_workers_num(base); i++) {
		ec_batch_begin(&b, base);
		ec_src_lock(base->workers[i]);
		b.src = base->workers[i];
		ready_at(base->workers[i], &b, fd, events);
		ec_batch_end(&b);
	}
	ec_base_release(base);
}

void ec_base_active_by_signal(struct ec_base *base, int sig)
{
	enum ec_role role = EC_FOREIGN;
	struct ec_batch b;

	if (enter_zero(base, &role)) {
		ec_signals_activate(base, sig, 1, NULL);
		leave_zero(base, role);
		return;
	}
	ec_batch_begin(&b, base);
	ec_src_lock(&base->zero);
	b.src = &base->zero;
	ec_signals_activate(base, sig, 1, &b);
	ec_batch_end(&b);
}

/* ---------------------------------------------------------------- finalizing */

typedef void (*finalizer_fn)(struct ec_event *ev, void *arg);

/* Under the locks of `ev`: it waits for nothing any more, and its task becomes the finalizer. */
static inline void become_finalizer(struct ec_base *base, struct ec_color *c, struct ec_event *ev, finalizer_fn fn,
				    bool free_it)
{
	ec_registration_del(base, c, ev);
	ev->task.kind = free_it ? EC_KIND_EVENT_FINALIZE_FREE : EC_KIND_EVENT_FINALIZE;
	ev->task.fn.finalize = fn;
	ev->res = EC_FINALIZE;
}

static __attribute__((noinline)) int finalize_anywhere(struct ec_event *ev, finalizer_fn fn, bool free_it)
{
	struct ec_base *base = ev->base;
	struct ec_color *c;
	struct ec_batch b;

	ec_hand_to_event(ev);
	c = ec_event_hold_color(&b, ev, EC_BIRTH_NEEDED);
	if (c == NULL) {
		ec_batch_end(&b);
		return -ENOMEM;
	}
	become_finalizer(base, c, ev, fn, free_it);
	ec_task_push(&b, c, &ev->task);
	ev->task.flags |= EC_IN_FINALIZING;
	ec_batch_end(&b);
	return 0;
}

int ec_event_finalize(struct ec_event *ev, finalizer_fn fn, bool free_it)
{
	struct ec_base *base = ev->base;
	enum ec_role role = EC_FOREIGN;

	if (base == NULL)
		return -EINVAL;
	/* If the base has no colors yet, the event never ran in its color. Its finalizer need not, and starts none. */
	if (ev->task.color != 0 && !ec_has_colors(base))
		(void)ec_event_set_color(ev, 0);
	if (!enter_zero(base, &role))
		return finalize_anywhere(ev, fn, free_it);
	become_finalizer(base, &base->color0, ev, fn, free_it);
	ev->task.flags |= EC_IN_ACTIVE | EC_IN_FINALIZING;
	ec_task_activate(base, &ev->task);
	leave_zero(base, role);
	return 0;
}
