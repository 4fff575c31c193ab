/*
 * Turns of a bufferevent, and calling the program.
 *
 * A turn is one callback of one of its events. As in libevent, the thread that calls the program holds the
 * lock meanwhile: what another thread does to the bufferevent waits for the end of the callback.
 *
 * In a base with colors the lock is released while the program is called: else two callbacks of two
 * colors that write to each other's bufferevent would wait for each other. With
 * BEV_OPT_UNLOCK_CALLBACKS it is, too. Then the lock cannot keep the program's callbacks from overlapping;
 * `calling` does. It is the thread that calls the program, or that holds bufferevent_lock.
 *
 *  - bufferevent_lock and bufferevent_free wait until `calling` has finished, but with
 *    BEV_OPT_UNLOCK_CALLBACKS.
 *  - A thread that wants to call the program never waits. If `calling` is another thread, the
 *    callback stays in `waiting` (has_missed). The other thread activates `later` when it finishes.
 *
 * Output that grows during a turn is sent at the end of the turn, by one call. Output written
 * outside a turn starts a turn of its own. A second write in one turn (the write callback wrote
 * more) waits for EV_WRITE, so that a stream leaves time for other events.
 */
#include "bev.h"

#include <errno.h>
#include <limits.h>

#include "lock.h"
#include "post.h"
#include "util/mutex.h"

/* ---------------------------------------------------------------- the thread that calls */

bool le_bev_is_called_elsewhere(const struct le_bev *p)
{
	return p->lock != NULL && p->calling_depth != 0 && !ec_place_is_own(p->calling);
}

bool le_bev_calling_begin(struct le_bev *p)
{
	if (le_bev_is_called_elsewhere(p))
		return false;
	if (p->lock != NULL && p->calling_depth == 0)
		p->calling = ec_place();
	p->calling_depth++;
	return true;
}

/* False: `calling` waits for this thread, directly or not. The lock is released meanwhile. */
static bool wait_once(struct le_bev *p)
{
	struct le_bev_lock *l = p->lock;
	const void *place = p->calling;
	uint32_t seen = __atomic_load_n(&l->leavings, __ATOMIC_RELAXED);
	bool has_changed;

	p->calling_waiters++;
	p->is_awaited = true;
	le_bev_unlock(&p->bev);
	has_changed = ec_place_wait(place, &l->leavings, seen);
	le_bev_lock(&p->bev);
	p->is_awaited = --p->calling_waiters != 0;
	return has_changed;
}

bool le_bev_calling_wait(struct le_bev *p)
{
	while (le_bev_is_called_elsewhere(p)) {
		if (!wait_once(p))
			return !le_bev_is_called_elsewhere(p);
	}
	return true;
}

/* Called if another thread waits for the end of the callback, or could not make its own (has_missed). */
static __attribute__((noinline)) void wake_others(struct le_bev *p)
{
	struct le_bev_lock *l = p->lock;

	if (l != NULL && p->is_awaited) {
		(void)__atomic_add_fetch(&l->leavings, 1, __ATOMIC_RELAXED);
		le_word_wake(&l->leavings, INT_MAX);
	}
	if (p->has_missed) {
		p->has_missed = false;
		le_bev_do_later(p, 0);
	}
}

static inline void calling_end(struct le_bev *p)
{
	if (--p->calling_depth == 0 && __builtin_expect(p->is_awaited || p->has_missed, 0))
		wake_others(p);
}

void le_bev_calling_end(struct le_bev *p)
{
	calling_end(p);
}

/* ---------------------------------------------------------------- turns */

void le_bev_leave(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	if (p->turns == 1) {
		while ((p->waiting & LE_WAITING_SEND) != 0) {
			le_bev_note_done(p, LE_WAITING_SEND);
			if (le_bev_can_write(p))
				bev->be_ops->send(bev);
		}
	}
	if (--p->turns == 0) {
		p->has_sent = false;
		if (p->is_moving)
			le_bev_move(p);
	}
	(void)le_bev_put_and_unlock(bev);
}

void le_bev_do_later(struct le_bev *p, unsigned waiting)
{
	if (p->is_dead)
		return;
	le_bev_note_waiting(p, waiting);
	/*
	 * A bufferevent without a base keeps it `waiting`, until `later` is first activated with a
	 * base.
	 */
	if (le_ec(&p->later)->base != NULL)
		ec_event_defer(le_ec(&p->later));
}

void le_bev_send_soon(struct le_bev *p)
{
	if (p->turns != 0)
		le_bev_note_waiting(p, LE_WAITING_SEND);
	else
		le_bev_do_later(p, LE_WAITING_SEND);
}

/* ---------------------------------------------------------------- calling */

/*
 * False: another thread is in a callback. When it finishes, it activates `later` for the callbacks
 * that are `waiting`.
 */
static inline bool begin_or_miss(struct le_bev *p)
{
	if (__builtin_expect(p->lock == NULL, 1)) {
		p->calling_depth++;
		return true;
	}
	if (le_bev_calling_begin(p))
		return true;
	p->has_missed = true;
	return false;
}

static inline bool keeps_lock(const struct le_bev *p)
{
	struct ec_base *base = le_ec(&p->later)->base;

	return (p->options & BEV_OPT_UNLOCK_CALLBACKS) == 0 && (base == NULL || !ec_base_has_colors(base));
}

/* Around a call of the program. False: the lock is kept meanwhile. */
static inline bool program_enter(struct le_bev *p)
{
	if (p->lock != NULL && keeps_lock(p))
		return false;
	le_bev_unlock(&p->bev);
	return true;
}

static inline void program_leave(struct le_bev *p, bool is_unlocked)
{
	if (is_unlocked)
		le_bev_lock(&p->bev);
}

static __attribute__((noinline)) void call_locked(struct le_bev *p, bufferevent_data_cb fn, void *arg)
{
	bool is_unlocked = program_enter(p);

	fn(&p->bev, arg);
	program_leave(p, is_unlocked);
}

/*
 * While the input is full, nothing more is read, so nothing would call the read callback again.
 * Like libevent, call it until the program drains the input or disables reading.
 */
static inline void check_still_full(struct le_bev *p)
{
	struct bufferevent *bev = &p->bev;

	if (bev->wm_read.high != 0 && (bev->enabled & EV_READ) != 0 &&
	    le_buffer_length(bev->input) >= bev->wm_read.high && bev->readcb != NULL)
		le_bev_do_later(p, LE_WAITING_READ);
}

/* Call the read or the write callback. False: as begin_or_miss. */
static inline bool call_data(struct le_bev *p, unsigned which)
{
	bufferevent_data_cb fn = which == LE_WAITING_READ ? p->bev.readcb : p->bev.writecb;
	void *arg = p->bev.cbarg;

	if (!begin_or_miss(p)) {
		le_bev_note_waiting(p, which);
		return false;
	}
	le_bev_note_done(p, which);
	if (fn != NULL) {
		if (__builtin_expect(p->lock == NULL, 1)) {
			p->held--;			/* as le_bev_unlock */
			fn(&p->bev, arg);
			le_bev_lock(&p->bev);		/* it may have got a lock */
		} else {
			call_locked(p, fn, arg);
		}
		if (which == LE_WAITING_READ)
			check_still_full(p);
	}
	calling_end(p);
	return true;
}

/* Report the waiting events among `which` (BEV_EVENT_…). False: as begin_or_miss. */
static inline bool call_event(struct le_bev *p, short which)
{
	bufferevent_event_cb fn = p->bev.errorcb;
	short what = (short)(p->event_waiting & which);
	int event_errno = p->event_errno;
	void *arg = p->bev.cbarg;
	bool is_unlocked;

	if (what == 0)
		return true;
	if (!begin_or_miss(p)) {
		le_bev_note_waiting(p, LE_WAITING_EVENT);
		return false;
	}
	p->event_waiting = (short)(p->event_waiting & ~what);
	if (p->event_waiting == 0)
		le_bev_note_done(p, LE_WAITING_EVENT);
	if (fn != NULL) {
		is_unlocked = program_enter(p);
		ec_note_call((uintptr_t)fn);
		errno = event_errno;
		fn(&p->bev, what, arg);
		program_leave(p, is_unlocked);
	}
	calling_end(p);
	return true;
}

static inline bool must_defer(const struct le_bev *p, int options)
{
	if (((p->options | options) & BEV_OPT_DEFER_CALLBACKS) != 0)
		return true;
	return !ec_base_may_call(le_ec(&p->bev.ev_read)->base, p->color);
}

/* Apart (noinline): those that are not deferred then need fewer registers. */
static __attribute__((noinline)) void defer(struct le_bev *p, unsigned which)
{
	le_bev_do_later(p, which);
}

static inline __attribute__((always_inline)) void trigger_data(struct le_bev *p, const unsigned which, int options)
{
	if ((which == LE_WAITING_READ ? p->bev.readcb : p->bev.writecb) == NULL || p->is_dead)
		return;
	if (must_defer(p, options))
		defer(p, which);
	else
		(void)call_data(p, which);
}

static inline __attribute__((always_inline)) void trigger(struct bufferevent *bev, short iotype, int options)
{
	bool is_any = (options & BEV_TRIG_IGNORE_WATERMARKS) != 0;

	if ((iotype & EV_READ) != 0 && (is_any || le_buffer_length(bev->input) >= bev->wm_read.low))
		trigger_data(le_bev(bev), LE_WAITING_READ, options);
	if ((iotype & EV_WRITE) != 0 &&
	    (is_any || le_buffer_length(bev->output) <= bev->wm_write.low))
		trigger_data(le_bev(bev), LE_WAITING_WRITE, options);
}

static inline __attribute__((always_inline)) void trigger_event(struct bufferevent *bev, short what,
								int options)
{
	struct le_bev *p = le_bev(bev);

	if (bev->errorcb == NULL || p->is_dead)
		return;
	p->event_waiting = (short)(p->event_waiting | what);
	p->event_errno = errno;
	if (must_defer(p, options))
		defer(p, LE_WAITING_EVENT);
	else
		(void)call_event(p, what);
}

void le_bev_trigger(struct bufferevent *bev, short iotype, int options)
{
	trigger(bev, iotype, options);
}

/* The turn has a reference, so the bufferevent is not dead. */
static inline __attribute__((always_inline)) void call_in_turn(struct le_bev *p, const unsigned which)
{
	if ((p->options & BEV_OPT_DEFER_CALLBACKS) != 0)
		defer(p, which);
	else
		(void)call_data(p, which);
}

void le_bev_call_read(struct le_bev *p)
{
	call_in_turn(p, LE_WAITING_READ);
}

void le_bev_call_write(struct le_bev *p)
{
	call_in_turn(p, LE_WAITING_WRITE);
}

void le_bev_trigger_event(struct bufferevent *bev, short what, int options)
{
	trigger_event(bev, what, options);
}

void bufferevent_trigger(struct bufferevent *bev, short iotype, int options)
{
	le_bev_get_and_lock(bev);
	trigger(bev, iotype, options);
	(void)le_bev_put_and_unlock(bev);
}

void bufferevent_trigger_event(struct bufferevent *bev, short what, int options)
{
	le_bev_get_and_lock(bev);
	trigger_event(bev, what, options);
	(void)le_bev_put_and_unlock(bev);
}

/* ---------------------------------------------------------------- later */

static bool take(struct le_bev *p, unsigned which)
{
	bool is_waiting = (p->waiting & which) != 0;

	le_bev_note_done(p, which);
	return is_waiting;
}

/* Run the posts that wait now. Those that they make come later, so that other colors and events have their turn. */
static void call_posts(struct le_bev *p)
{
	const struct le_bev_post *last = p->posts;
	struct le_bev_post *post;
	bool is_last = false, is_freed, is_unlocked;

	le_bev_note_done(p, LE_WAITING_POST);
	while (!is_last && !p->is_dead) {
		if (!begin_or_miss(p)) {
			le_bev_note_waiting(p, LE_WAITING_POST);
			return;
		}
		post = le_bev_post_take(p);
		is_last = post == last;
		is_freed = p->is_freed;
		is_unlocked = program_enter(p);
		le_bev_post_run(post, is_freed ? NULL : &p->bev);
		program_leave(p, is_unlocked);
		calling_end(p);
	}
	if (p->posts != NULL)
		le_bev_do_later(p, LE_WAITING_POST);
}

static void do_waiting(struct le_bev *p)
{
	if (take(p, LE_WAITING_MOVED))
		le_bev_moved(p);
	if (take(p, LE_WAITING_KIND) && p->bev.be_ops->later != NULL)
		p->bev.be_ops->later(&p->bev);
	/* A program may look for only one event in each call: CONNECTED comes alone, and first. */
	if ((p->waiting & LE_WAITING_EVENT) != 0 && !call_event(p, BEV_EVENT_CONNECTED))
		return;
	if ((p->waiting & LE_WAITING_READ) != 0 && !call_data(p, LE_WAITING_READ))
		return;
	if ((p->waiting & LE_WAITING_WRITE) != 0 && !call_data(p, LE_WAITING_WRITE))
		return;
	if ((p->waiting & LE_WAITING_EVENT) != 0 && !call_event(p, ~0))
		return;
	if ((p->waiting & LE_WAITING_POST) != 0)
		call_posts(p);
}

void le_bev_later_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_bev *p = arg;

	(void)fd;
	(void)what;
	if (!le_bev_enter(&p->bev))
		return;
	do_waiting(p);
	le_bev_leave(&p->bev);
}
