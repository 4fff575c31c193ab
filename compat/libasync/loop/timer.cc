/*
 * Timers: timecb and delaycb.
 *
 *   FREE     in the pool, or its callback has begun
 *   ARMED    its event waits
 *   POSTED   no delay: its job is queued
 *   REMOVED  cancelled from another color, or while posted: the event's finalizer or the job frees it
 *
 * Freed timers go to a pool and keep their state, so that a handle that is used too late is noticed, as long as no new
 * timer has its memory; the pool gives the oldest one. Timers at absolute times are in a map too, because the engine
 * rounds: of those with equal times and colors, the one that comes up first runs all that were made before it.
 */
#include "async.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>

#include "log/die.h"
#include "loop/loop.h"

namespace
{

enum timer_state { FREE, ARMED, POSTED, REMOVED };

constexpr size_t POOL_MIN = 64, POOL_MAX = 256;

} // namespace

struct timecb_t {
	/* the engine's, while ARMED or REMOVED */
	struct ec_event ev;
	struct {
		struct ec_job base;
		timecb_t *timer;
	} job;

	/* table_lock */
	cbv::ptr cb;
	timer_state state = FREE;
	bool is_absolute = false;
	uint32_t color = 0;
	int64_t when = 0;		/* nanoseconds of CLOCK_REALTIME */
	uint64_t seq = 0;
};

namespace
{

/* when, color, seq */
typedef std::tuple<int64_t, uint32_t, uint64_t> time_key;

time_key key_of(const timecb_t *t)
{
	return time_key(t->when, t->color, t->seq);
}

/* table_lock; never freed, because timers may come up while static objects are destroyed */
std::deque<timecb_t *> &pool = *new std::deque<timecb_t *>;
std::map<time_key, timecb_t *> &absolutes = *new std::map<time_key, timecb_t *>;
uint64_t next_seq;

timecb_t *take_timer()
{
	timecb_t *t;

	if (pool.size() < POOL_MIN)
		return new timecb_t;
	t = pool.front();
	pool.pop_front();
	return t;
}

void recycle(timecb_t *t)
{
	t->state = FREE;
	if (pool.size() >= POOL_MAX) {
		delete pool.front();
		pool.pop_front();
	}
	pool.push_back(t);
}

void leave_map(timecb_t *t)
{
	if (t->is_absolute)
		absolutes.erase(key_of(t));
}

/* Its callback, which begins; NULL: it was removed. */
cbv::ptr begin(timecb_t *t)
{
	libasync::table_lock lock;
	cbv::ptr cb;

	if (t->state == REMOVED)
		return NULL;
	leave_map(t);
	cb = std::move(t->cb);
	recycle(t);
	return cb;
}

/* It was removed, and neither its event nor its job is queued any more. */
void free_removed(timecb_t *t)
{
	cbv::ptr cb;	/* dropped without the lock */
	libasync::table_lock lock;

	cb = std::move(t->cb);
	recycle(t);
}

/*
 * The first of those that are due with the one that `key` is or was, in its color: it, or one made earlier. NULL: none
 * is left. `t` is that one; it may be freed by now.
 */
timecb_t *first_due(const time_key &key, const timecb_t *t)
{
	libasync::table_lock lock;
	auto first = absolutes.lower_bound(time_key(std::get<0>(key), std::get<1>(key), 0));

	if (first == absolutes.end() || first->first > key)
		return nullptr;
	if (first->second != t)
		(void)ec_event_del(&first->second->ev, EC_DEL_NOBLOCK);
	return first->second;
}

void run(timecb_t *t)
{
	cbv::ptr cb = begin(t);

	if (cb == NULL)
		return;
	libasync::note_turn();
	cb();
}

void run_timer(int, short, void *arg)
{
	timecb_t *t = static_cast<timecb_t *>(arg), *first;
	time_key key = key_of(t);

	if (!t->is_absolute) {
		run(t);
		return;
	}
	while ((first = first_due(key, t)) != nullptr)
		run(first);
}

void run_posted(struct ec_job *job)
{
	timecb_t *t = reinterpret_cast<decltype(timecb_t::job) *>(job)->timer;
	cbv::ptr cb = begin(t);

	if (cb == NULL) {
		free_removed(t);
		return;
	}
	libasync::note_turn();
	cb();
}

void finalize(struct ec_event *, void *arg)
{
	free_removed(static_cast<timecb_t *>(arg));
}

/* table_lock. Nothing of the tables is changed after the engine was called. */
timecb_t *arm(cbv cb, int64_t delay_ns, bool is_absolute, int64_t when)
{
	timecb_t *t = take_timer();
	struct ec_base *base = libasync::engine();
	timeval tv = libasync::to_timeval(delay_ns);

	t->color = cb->get_color().value();
	t->cb = std::move(cb);
	t->state = delay_ns > 0 || is_absolute ? ARMED : POSTED;
	t->is_absolute = is_absolute;
	t->when = when;
	t->seq = ++next_seq;
	if (t->state == POSTED) {
		t->job.base.run = run_posted;
		t->job.timer = t;
		libasync::check(ec_base_post_job(base, t->color, &t->job.base), "delaycb");
		return t;
	}
	if (is_absolute)
		absolutes[key_of(t)] = t;
	(void)ec_event_init(&t->ev, base, -1, 0, run_timer, t);
	(void)ec_event_set_color(&t->ev, t->color);
	libasync::check(ec_event_add(&t->ev, &tv), "delaycb");
	return t;
}

/* Cancel. `cb` gets the callback if the caller may drop it. False: it has begun. */
bool cancel(timecb_t *t, cbv::ptr &cb)
{
	libasync::table_lock lock;

	if (t->state == FREE || t->state == REMOVED)
		return false;
	leave_map(t);
	if (!libasync::is_own_color(t->color)) {
		if (t->state == ARMED)
			libasync::check(ec_event_finalize(&t->ev, finalize, false), "timecb_remove");
		t->state = REMOVED;
		return true;
	}
	cb = std::move(t->cb);
	if (t->state == ARMED) {
		(void)ec_event_del(&t->ev, EC_DEL_NOBLOCK);
		recycle(t);
	} else {
		t->state = REMOVED;
	}
	return true;
}

} // namespace

timecb_t *timecb(timespec ts, cbv cb)
{
	int64_t when = int64_t(ts.tv_sec) * 1000000000 + ts.tv_nsec;
	timespec now;
	libasync::table_lock lock;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return arm(std::move(cb), when - (int64_t(now.tv_sec) * 1000000000 + now.tv_nsec), true, when);
}

timecb_t *delaycb(time_t sec, u_int32_t nsec, cbv cb)
{
	libasync::table_lock lock;

	return arm(std::move(cb), int64_t(sec) * 1000000000 + nsec, false, 0);
}

bool libasync::timer_cancel(timecb_t *timer)
{
	cbv::ptr cb;

	return timer != nullptr && cancel(timer, cb);
}

void timecb_remove(timecb_t *timer)
{
	cbv::ptr cb;

	if (timer == nullptr || cancel(timer, cb))
		return;
	if (!libasync::are_colors_used() || libasync::is_own_color(timer->color))
		libasync::die("timecb_remove: the timer has run, or was removed");
}
