/*
 * Timers: timecb and delaycb.
 *
 *   ARMED    its event waits
 *   POSTED   no delay: its job is queued
 *   REMOVED  cancelled from another color, or while posted: the event's finalizer or the job frees it
 *
 * A timer is freed when its callback begins. A program may use its handle later, from another color even by right. So
 * a handle is no address: it is the number of a slot, and which use of the slot it is. The slot says which timer has
 * it, and forgets the timer when that runs or is removed. Slots are used in turn, and never freed.
 *
 * Timers at absolute times are in a map too, because the engine waits for a time of its own clock. That is computed
 * from two looks at clocks, and a thread may lose the CPU between them. So the timer that comes up first runs all of
 * its color that are due before it. One that is made meanwhile waits until it comes up itself: a callback that makes
 * timers in the past for ever does not starve others.
 *
 * The engine's clock is not that of the day. When somebody sets the latter, or the machine wakes up, the next turn
 * finds the difference of both changed, and arms the timers at absolute times anew. One that comes up before that
 * waits again.
 */
#include "async.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include "log/die.h"
#include "loop/loop.h"
#include "loop/pool.h"

namespace
{

enum timer_state { ARMED, POSTED, REMOVED };

struct timer {
	/* the engine's: the job while it is posted */
	union {
		struct ec_event ev;
		struct {
			struct ec_job base;
			timer *of;
		} job;
	};

	/* const */
	uint32_t slot, color;
	bool is_absolute;
	int64_t when;			/* nanoseconds of CLOCK_REALTIME; of absolute ones only, as `seq` */
	uint64_t seq;

	/* table_lock */
	cbv::ptr cb;
	timer_state state;

	/* What is not here is set by those who need it. */
	timer(cbv &&c, timer_state s)
		: color(c->get_color().value()), is_absolute(false), cb(std::move(c)), state(s)
	{
	}
};

/* color, when, seq */
typedef std::tuple<uint32_t, int64_t, uint64_t> time_key;

/* `use` counts the timers that the slot had; `color` is that of the last one. */
struct slot {
	uintptr_t word;			/* the timer; or twice the number of the next free slot, plus 1 */
	uint32_t use, color;

	timer *get() const { return (word & 1) != 0 ? nullptr : reinterpret_cast<timer *>(word); }
};

/* A handle is as wide as a pointer: the number of a slot, and above it the lower bits of `use`. */
constexpr unsigned SLOT_BITS = sizeof(uintptr_t) > 4 ? 32 : 22;
constexpr uintptr_t SLOT_MASK = (uintptr_t(1) << SLOT_BITS) - 1, USE_MASK = UINTPTR_MAX >> SLOT_BITS;

/* table_lock; never freed, because timers may come up while static objects are destroyed */
slot *slots;
size_t slots_num, slots_max;
uint32_t first_free, last_free, free_num;
libasync::pool<timer> timers;
std::map<time_key, timer *> &absolutes = *new std::map<time_key, timer *>;
uint64_t next_seq;

/* atomic: CLOCK_REALTIME less the engine's clock, for which the absolute timers are armed */
int64_t clock_offset;

/* A smaller change is none: a thread may lose the CPU between two looks at a clock. */
constexpr int64_t STEP_NS = 100000000;

int64_t time_of_day()
{
	timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return libasync::to_ns(now.tv_sec, now.tv_nsec);
}

int64_t time_until(int64_t when, int64_t now)
{
	return when > now ? when - now : 0;
}

time_key key_of(const timer *t)
{
	return time_key(t->color, t->when, t->seq);
}

/* The slot that the handle's timer had last. NULL: another timer has had it since. */
slot *find(timecb_t *handle)
{
	uintptr_t bits = reinterpret_cast<uintptr_t>(handle), number = bits & SLOT_MASK;

	if (number >= slots_num || (slots[number].use & USE_MASK) != bits >> SLOT_BITS)
		return nullptr;
	return &slots[number];
}

void free_slot(uint32_t number)
{
	if (free_num++ == 0)
		first_free = number;
	else
		slots[last_free].word = uintptr_t(number) << 1 | 1;
	last_free = number;
	slots[number].word = 1;
}

LIBASYNC_COLD void add_slots()
{
	size_t num = slots_max == 0 ? 64 : std::min(2 * slots_max, size_t(SLOT_MASK) + 1);
	void *larger = num == slots_max ? nullptr : realloc(slots, num * sizeof(slot));

	if (larger == nullptr)
		libasync::die("delaycb: there are too many timers");
	slots = static_cast<slot *>(larger);
	slots_max = num;
}

uint32_t new_slot()
{
	if (slots_num == slots_max)
		add_slots();
	slots[slots_num].use = 0;
	return uint32_t(slots_num++);
}

uint32_t first_slot()
{
	uint32_t number = first_free;

	first_free = uint32_t(slots[number].word >> 1);
	free_num--;
	return number;
}

/* Returns its handle. */
timecb_t *take_slot(timer *t)
{
	t->slot = free_num != 0 ? first_slot() : new_slot();

	slot &s = slots[t->slot];

	s.word = reinterpret_cast<uintptr_t>(t);
	s.color = t->color;
	if ((++s.use & USE_MASK) == 0)
		s.use++;	/* no handle is NULL */
	return reinterpret_cast<timecb_t *>((s.use & USE_MASK) << SLOT_BITS | t->slot);
}

__attribute__((noinline)) void forget_time(const timer *t)
{
	absolutes.erase(key_of(t));
	(void)__atomic_fetch_sub(&libasync::absolutes_num, 1, __ATOMIC_RELAXED);
}

/* Neither a handle nor a time leads to it any more. */
inline void leave_tables(const timer *t)
{
	if (__builtin_expect(t->is_absolute, false))
		forget_time(t);
	free_slot(t->slot);	/* the handle is dead */
}

/* Its callback, which begins; the timer is freed. NULL: it was removed. */
cbv::ptr begin(timer *t)
{
	libasync::table_lock lock;
	cbv::ptr cb;

	if (t->state == REMOVED)
		return NULL;
	leave_tables(t);
	cb = std::move(t->cb);
	if (t->is_absolute)
		(void)ec_event_del(&t->ev, EC_DEL_NOBLOCK);	/* the clock was set just now */
	timers.free(t);
	return cb;
}

/* The first in the color and up to the time of `key`, of those made by `seq_max`. NULL: none is left. */
timer *first_due(const time_key &key, uint64_t seq_max)
{
	libasync::table_lock lock;
	auto at = absolutes.lower_bound(time_key(std::get<0>(key), INT64_MIN, 0));

	while (at != absolutes.end() && at->first <= key && at->second->seq > seq_max)
		++at;
	return at != absolutes.end() && at->first <= key ? at->second : nullptr;
}

void run(timer *t)
{
	cbv::ptr cb = begin(t);

	if (cb == NULL)
		return;
	libasync::note_call();
	cb();
}

/* table_lock. Arm it as the clocks are now. */
void rearm(timer *t, int64_t wait_ns)
{
	timeval tv = libasync::to_timeval(wait_ns);

	libasync::check(ec_event_add(&t->ev, &tv), "timecb");
}

void rearm_all()
{
	libasync::table_lock lock;
	int64_t now = time_of_day();

	for (auto &at : absolutes)
		rearm(at.second, time_until(at.second->when, now));
}

/*
 * It has come up. False: it was removed, or the clock was set back, and it waits again. *seq_max gets the number of the
 * timer that was made last.
 */
bool is_due(timer *t, uint64_t *seq_max)
{
	libasync::table_lock lock;
	int64_t wait_ns = time_until(t->when, time_of_day());

	*seq_max = next_seq;
	if (t->state == REMOVED)
		return false;
	if (wait_ns >= STEP_NS)
		rearm(t, wait_ns);
	return wait_ns < STEP_NS;
}

void run_timer(int, short, void *arg)
{
	timer *t = static_cast<timer *>(arg), *first;
	time_key key;
	uint64_t seq_max;

	if (!t->is_absolute) {
		run(t);
		return;
	}
	key = key_of(t);
	if (!is_due(t, &seq_max))
		return;
	while ((first = first_due(key, seq_max)) != nullptr)
		run(first);
}

/* It was removed, and neither its event nor its job will run. What its callback holds may make timers. */
void drop(timer *t)
{
	cbv::ptr cb = std::move(t->cb);
	libasync::table_lock lock;

	timers.free(t);
}

void run_posted(struct ec_job *job)
{
	timer *t = reinterpret_cast<decltype(timer::job) *>(job)->of;
	cbv::ptr cb = begin(t);

	if (cb == NULL) {
		drop(t);
		return;
	}
	libasync::note_call();
	cb();
}

void free_removed(struct ec_event *, void *arg)
{
	drop(static_cast<timer *>(arg));
}

/* table_lock, all that follow. The tables are not changed after a call of the engine, which may start threads. */
void arm(timer *t, const timeval &tv)
{
	(void)ec_event_init(&t->ev, libasync::engine(), -1, 0, run_timer, t);
	if (t->color != 0)
		(void)ec_event_set_color(&t->ev, t->color);
	libasync::check(ec_event_add(&t->ev, &tv), "delaycb");
}

__attribute__((noinline)) timecb_t *post_timer(cbv &&cb)
{
	timer *t = timers.make(std::move(cb), POSTED);
	timecb_t *handle = take_slot(t);

	t->job.base.run = run_posted;
	t->job.of = t;
	libasync::check(ec_base_post_job(libasync::engine(), t->color, &t->job.base), "delaycb");
	return handle;
}

timecb_t *arm_relative(cbv &&cb, const timeval &tv)
{
	timer *t = timers.make(std::move(cb), ARMED);
	timecb_t *handle = take_slot(t);

	arm(t, tv);
	return handle;
}

timecb_t *arm_absolute(cbv &&cb, int64_t when, int64_t now)
{
	timer *t = timers.make(std::move(cb), ARMED);
	timecb_t *handle = take_slot(t);

	t->is_absolute = true;
	t->when = when;
	t->seq = ++next_seq;
	absolutes[key_of(t)] = t;
	(void)__atomic_fetch_add(&libasync::absolutes_num, 1, __ATOMIC_RELAXED);
	arm(t, libasync::to_timeval(time_until(when, now)));
	return handle;
}

/*
 * Without colors, the loop's thread is the only one that has timers, and nobody can tell in which color what a callback
 * holds is freed.
 */
bool is_own(const timer *t)
{
	return (t->color == 0 && !libasync::are_colors_used() && !libasync::are_counts_shared()) ||
	       libasync::is_own_color(t->color);
}

/* From another color, whose finalizer or job frees it. */
LIBASYNC_COLD void cancel_from_outside(timer *t)
{
	timer_state state = t->state;

	t->state = REMOVED;
	if (state == ARMED)
		libasync::check(ec_event_finalize(&t->ev, free_removed, false), "timecb_remove");
}

/* False: it has begun, or was removed. */
bool cancel(timecb_t *handle)
{
	cbv::ptr cb;		/* not under the lock: what it holds may make timers */
	libasync::table_lock lock;
	slot *s = find(handle);
	timer *t = s == nullptr ? nullptr : s->get();

	if (t == nullptr)
		return false;
	leave_tables(t);
	if (!is_own(t)) {
		cancel_from_outside(t);
		return true;
	}
	if (t->state == ARMED) {
		(void)ec_event_del(&t->ev, EC_DEL_NOBLOCK);
		cb = std::move(t->cb);
		timers.free(t);
	} else {
		cb = std::move(t->cb);
		t->state = REMOVED;
	}
	return true;
}

/*
 * A handle that is dead: is it for certain that the caller should know? Another color may have run the timer just now,
 * and of a slot that another timer has had, the color is not known.
 */
bool is_misuse(timecb_t *handle)
{
	libasync::table_lock lock;
	slot *s = find(handle);

	return !libasync::are_colors_used() || (s != nullptr && libasync::is_own_color(s->color));
}

} // namespace

timecb_t *timecb(timespec ts, cbv cb)
{
	int64_t when = libasync::to_ns(ts.tv_sec, ts.tv_nsec), now = time_of_day();
	libasync::table_lock lock;

	if (absolutes.empty())
		__atomic_store_n(&clock_offset, now - ec_monotonic_ns(), __ATOMIC_RELAXED);
	return arm_absolute(std::move(cb), when, now);
}

timecb_t *delaycb(time_t sec, u_int32_t nsec, cbv cb)
{
	libasync::table_lock lock;
	timeval tv;

	/* What is common, without 64-bit divisions. */
	if (LIBASYNC_LIKELY(uint64_t(sec) <= INT32_MAX && nsec <= 999999000))
		tv = { sec, suseconds_t((nsec + 999) / 1000) };
	else
		tv = libasync::to_timeval(libasync::to_ns(sec, nsec));
	if (tv.tv_sec == 0 && tv.tv_usec == 0)
		return post_timer(std::move(cb));
	return arm_relative(std::move(cb), tv);
}

unsigned libasync::absolutes_num;

void libasync::look_at_clock()
{
	int64_t offset = time_of_day() - ec_monotonic_ns();
	int64_t step = offset - __atomic_load_n(&clock_offset, __ATOMIC_RELAXED);

	if (step > -STEP_NS && step < STEP_NS)
		return;
	__atomic_store_n(&clock_offset, offset, __ATOMIC_RELAXED);
	post(wrap(rearm_all));
}

bool libasync::timer_cancel(timecb_t *handle)
{
	return handle != nullptr && cancel(handle);
}

void timecb_remove(timecb_t *handle)
{
	if (handle != nullptr && !cancel(handle) && is_misuse(handle))
		libasync::die("timecb_remove: the timer has run, or was removed");
}
