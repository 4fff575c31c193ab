#include "report.h"

#include "migrate.h"
#include "observe/late.h"
#include "poller.h"
#include "sched/event.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "sched/worker.h"
#include "sched/zero.h"
#include "watch.h"

/*
 * Under RUNQ of `at`, which the end of a run there takes, too. If `ev` runs at `at`, disarms its descriptor here; the
 * end of the run rearms it.
 */
static bool disarm_if_running(struct ec_worker *w, struct ec_source *s, struct ec_event *ev, struct ec_worker *at)
{
	if (ec_load_relaxed(&at->running_event) != ev)
		return false;
	at->ran = (struct ec_ran){ .at = w, .fd = ev->fd };
	ec_source_disarm(w, s);
	return true;
}

/*
 * True: the callback is queued or running on another worker, so the descriptor is disarmed until the callback has
 * run. Under RUNQ of the color.
 *
 * The callback may still run in the color that the event had before. Then RUNQ of that worker is needed, too. It has
 * the same rank, so this must not wait for it. If it is taken, the report is dropped: the next poll reports the level
 * again.
 */
static bool is_busy_elsewhere(struct ec_worker *w, struct ec_batch *b, struct ec_source *s, struct ec_event *ev)
{
	struct ec_worker *at = ec_event_ran_at(w->base, ev);
	bool is_running;

	if ((ev->task.flags & EC_IN_ACTIVE) != 0 && (b->locked != w || ec_worker_self(w->base) != w)) {
		ec_source_disarm(w, s);
		return true;
	}
	if (at == NULL || ec_load_relaxed(&at->running_event) != ev)
		return false;
	if (at == b->locked)
		return disarm_if_running(w, s, ev, at);
	if (!ec_spin_trylock_peer(&at->run))
		return true;
	is_running = disarm_if_running(w, s, ev, at);
	ec_spin_unlock(&at->run);
	return is_running;
}

/*
 * The kernel reports a descriptor that no event here waits for. A single report is a race with a change. After
 * several, a duplicate keeps the closed descriptor's file alive in epoll, and no descriptor is left to remove it by.
 * Then a new poller replaces this one. If the number is watched again by now, removing it would remove the new watch,
 * not the old one.
 *
 * True: the poller is new, and the rest of the list is void. Each watch has another cookie now, so its reports would
 * be stale, too. Nothing is lost: the kernel reports a level, or an edge that has come, to each new watch, and the
 * caller asks at once, so that what is ready is not lost for this turn. This is so for the wake-up, too: nobody has
 * reset its counter. None of the new reports is stale, for nothing was unwatched since. If there is no new poller, the
 * old one and its list stay.
 */
static bool stale(struct ec_worker *w, const struct ec_source *s, int fd, struct ec_batch *b)
{
	enum { STALE_MAX = 3 };

	if (s == NULL || s->armed == 0)
		(void)w->poller->ops->watch(w->poller, fd, EC_READ, 0, 0);
	if (++w->stale_reports < STALE_MAX)
		return false;
	w->stale_reports = 0;
	ec_late_log(EC_LOG_DEBUG, "%s still reports closed fd %d: watching all descriptors anew", w->poller->ops->name,
		    fd);
	if (w->poller->ops->reopen(w->poller) < 0) {
		ec_late_log(EC_LOG_WARN, "cannot make a new %s poller", w->poller->ops->name);
		return false;
	}
	ec_source_rewatch(w, b);
	return true;
}

/*
 * True: the event ran on another worker since its last report here. This report may be older than that run, which has
 * read the input. A callback without input could block in a read. So the report is dropped: if the descriptor is
 * still ready, the next poll reports it again. Under RUNQ of the color.
 */
static bool is_late(struct ec_event *ev)
{
	unsigned runner = ec_load_relaxed(ec_event_runner(ev));

	if ((runner & EC_RUNNER_LATE) == 0)
		return false;
	ec_store_relaxed(ec_event_runner(ev), (uint16_t)(runner & ~(unsigned)EC_RUNNER_LATE));
	return true;
}

/* The same, if this worker polls for the one that ran the callback. */
static bool has_run_since(const struct ec_peer_poll *peer)
{
	return ec_load_relaxed(&peer->w->running_event) != peer->event ||
	       ec_load_relaxed(&peer->w->run_seq) != peer->run_seq;
}

/* True: drop the report, because another worker runs, or has run, the event's callback. */
static bool is_handled_elsewhere(struct ec_worker *w, struct ec_batch *b, struct ec_source *s, struct ec_event *ev)
{
	struct ec_color *c = ec_batch_color(b, ev->task.color, ec_event_hint(ev));

	if (c == NULL)
		return false;
	if (c != &w->base->color0 && ec_load_relaxed(&c->home) != w->id)
		ec_migrate_note(w, s);
	if (s->is_edge)
		return false;
	if (is_busy_elsewhere(w, b, s, ev))
		return true;
	return is_late(ev) || (b->peer != NULL && has_run_since(b->peer));
}

/* The source of a report, if the report belongs to the source's present watch; else NULL. */
static inline struct ec_source *source_watched(struct ec_fds *fds, uint64_t id)
{
	unsigned fd = (unsigned)ec_watch_fd(id);

	return __builtin_expect(fd < (unsigned)fds->cap && fds->at[fd]->watch_id == id, 1) ? fds->at[fd] : NULL;
}

/* Handles other reports: of the wake-up, or of a descriptor that is no longer watched. True: as stale() returns it. */
static __attribute__((noinline)) bool other_reported(struct ec_worker *w, uint64_t id, struct ec_batch *b)
{
	int fd = ec_watch_fd(id);
	struct ec_source *s = ec_source_find(&w->fds, fd);

	if (fd == ec_wakeup_fd(&w->wakeup)) {
		if (!w->poller->ops->is_kernel_set)
			ec_wakeup_drain(&w->wakeup);
		/* This thread polled for another worker, and took its wake-up. So send it again. */
		if (b->peer != NULL)
			ec_wakeup_send(&w->wakeup);
		return false;
	}
	return (s == NULL || !s->is_disarmed) && w->poller->ops->is_kernel_set && stale(w, s, fd, b);
}

static inline void ready_locked(struct ec_worker *w, struct ec_source *s, unsigned what, unsigned edge,
				struct ec_batch *b)
{
	struct ec_list *at, *next;
	struct ec_event *ev;

	for (at = s->events.next; at != &s->events; at = next) {
		next = at->next;
		ev = ec_container_of(at, struct ec_event, of.io.link);
		if (((unsigned)ev->events & what) != 0 && !is_handled_elsewhere(w, b, s, ev))
			ec_event_ready(b, ev, (int)((unsigned)ev->events & (what | edge)), 1);
	}
}

/* EC_ET if the poller supports it: callbacks get the bit for edge-triggered events. */
static unsigned edge_bit(const struct ec_worker *w)
{
	return (w->poller->ops->features & EC_FEATURE_ET) != 0 ? EC_ET : 0;
}

/* num: what the poller has reported, or -errno. */
static inline const struct ec_ready *ready_end(const struct ec_worker *w, int num)
{
	return w->poller->ready + (num > 0 ? num : 0);
}

void ec_reports_deliver(struct ec_worker *w, int num, struct ec_batch *b)
{
	const struct ec_ready *r = w->poller->ready, *end = ready_end(w, num);
	unsigned edge = edge_bit(w);
	struct ec_source *s;

	while (r < end) {
		s = source_watched(&w->fds, r->id);
		if (s != NULL) {
			w->stale_reports = 0;
			ready_locked(w, s, ec_ready_what(w->poller, r) & EC_DESCRIPTOR, edge, b);
			r++;
		} else if (!other_reported(w, r->id, b)) {
			r++;
		} else {
			end = ready_end(w, ec_poller_ask(w->poller));
			r = w->poller->ready;
		}
	}
}

/* ---------------------------------------------------------------- of a base without locks, or that is held */

/* Other threads read the number without the lock, if there are any. */
static inline void count_active(struct ec_worker *w, uint32_t num, const bool is_locked)
{
	if (is_locked)
		ec_counter_add(&w->active_num, num);
	else
		ec_serial_add(&w->active_num, num);
}

static inline uint64_t special_of(const struct ec_base *base, const bool is_locked)
{
	return is_locked ? base->special : ec_task_special();
}

/* The usual state of a source: one event waits, for the level of input alone, and the poller watches just that. */
static inline uint64_t one_reader(void)
{
	const struct ec_source s = { .reads = 1, .wants = EC_READ, .armed = EC_READ };

	return s.state;
}

/*
 * Nearly every report is of input at a source with one reader, a plain event. Delivers such reports, and returns the
 * first other one, or `end`. It calls nothing, so all that it needs is in registers.
 */
static inline __attribute__((always_inline)) const struct ec_ready *
deliver_plain(struct ec_worker *w, const struct ec_ready *r, const struct ec_ready *end, const bool is_locked)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	const uint64_t special = special_of(base, is_locked), usual = one_reader();
	const unsigned input = w->plain_input, cap = (unsigned)w->fds.cap;
	struct ec_list *list = &base->lanes[0].others, *last = list->prev;
	struct ec_source **sources = w->fds.at, *s;
	const struct ec_ready *first = r;
	struct ec_event *ev;
	unsigned fd;

	for (; r < end; r++) {
		fd = (unsigned)ec_watch_fd(r->id);
		if (fd >= cap)
			break;
		s = sources[fd];
		if (s->watch_id != r->id || r->what != input || s->state != usual)
			break;
		ev = ec_container_of(s->events.next, struct ec_event, of.io.link);
		if ((ec_task_word(&ev->task) & special) != 0)
			break;
		ev->res = EC_READ;
		ev->task.flags |= EC_IN_ACTIVE;
		ev->task.link.prev = last;
		last->next = &ev->task.link;
		last = &ev->task.link;
	}
	last->next = list;
	list->prev = last;
	count_active(w, (uint32_t)(r - first), is_locked);
	return r;
}

static inline void ready_all(struct ec_worker *w, struct ec_source *s, unsigned what, unsigned edge,
			     const bool is_locked)
{
	struct ec_base *base = ec_container_of(w, struct ec_base, zero);
	struct ec_list *list = &base->lanes[0].others, *at, *next;
	const uint64_t special = special_of(base, is_locked);
	struct ec_event *ev;
	int res;

	for (at = s->events.next; at != &s->events; at = next) {
		next = at->next;
		ev = ec_container_of(at, struct ec_event, of.io.link);
		if (((unsigned)ev->events & what) == 0)
			continue;
		res = (int)((unsigned)ev->events & (what | edge));
		if (__builtin_expect((ec_task_word(&ev->task) & special) == 0, 1)) {
			count_active(w, 1, is_locked);
			ec_event_push_plain(base, list, ev, res);
		} else if (is_locked) {
			ec_event_ready_single(base, ev, res, 1);
		} else {
			ec_event_ready_special(base, ev, res, 1);
		}
	}
}

/* Of no descriptor that is watched. True: as stale() returns it. */
static __attribute__((noinline)) bool report_void(struct ec_worker *w, uint64_t id)
{
	struct ec_batch b;

	ec_batch_begin_held(&b, w->base);
	return other_reported(w, id, &b);
}

/* The rest of the reports, from one on that is not as deliver_plain wants it. */
static inline __attribute__((always_inline)) void deliver_rest(struct ec_worker *w, const struct ec_ready *r,
							       const struct ec_ready *end, const bool is_locked)
{
	uint32_t input = w->plain_input, stale_reports = w->stale_reports;
	const unsigned edge = edge_bit(w);
	struct ec_source *s;
	unsigned what;

	while (r < end) {
		s = source_watched(&w->fds, r->id);
		if (__builtin_expect(s != NULL, 1)) {
			what = r->what == input ? EC_READ : ec_ready_what(w->poller, r) & EC_DESCRIPTOR;
			ready_all(w, s, what, edge, is_locked);
			r++;
		} else if (report_void(w, (r++)->id)) {
			end = ready_end(w, ec_poller_ask(w->poller));
			r = w->poller->ready;
		}
		if (r < end)
			r = deliver_plain(w, r, end, is_locked);
	}
	if (w->stale_reports == stale_reports)
		w->stale_reports = 0;
}

/* The counts are the largest now: nothing has run yet. */
static inline void deliver_end(struct ec_base *base, const bool is_locked)
{
	ec_base_note_grown(base, is_locked);
	if (__builtin_expect(base->running_pri != 0, 0) && !ec_list_is_empty(&base->lanes[0].others))
		ec_lane_begin(base, 0);
}

static __attribute__((noinline)) void deliver_rest_serial(struct ec_worker *w, const struct ec_ready *r,
							  const struct ec_ready *end)
{
	deliver_rest(w, r, end, false);
	deliver_end(ec_container_of(w, struct ec_base, zero), false);
}

static __attribute__((noinline)) void deliver_rest_held(struct ec_worker *w, const struct ec_ready *r,
							const struct ec_ready *end)
{
	deliver_rest(w, r, end, true);
	deliver_end(ec_container_of(w, struct ec_base, zero), true);
}

/* One report at least. Two functions, so that the usual way saves no registers. */
static inline __attribute__((always_inline)) void deliver(struct ec_worker *w, int num, const bool is_locked)
{
	const struct ec_ready *end = w->poller->ready + num, *r = deliver_plain(w, w->poller->ready, end, is_locked);

	if (__builtin_expect(r == end, 1)) {
		w->stale_reports = 0;
		deliver_end(ec_container_of(w, struct ec_base, zero), is_locked);
	} else if (is_locked) {
		deliver_rest_held(w, r, end);
	} else {
		deliver_rest_serial(w, r, end);
	}
}

void ec_reports_deliver_serial(struct ec_worker *w, int num)
{
	deliver(w, num, false);
}

void ec_reports_deliver_held(struct ec_worker *w, int num)
{
	deliver(w, num, true);
}
