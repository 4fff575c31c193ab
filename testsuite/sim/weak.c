#include "weak.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "core/os/atomic.h"
#include "sched.h"

enum {
	PLACES = 1 << 14,		/* a schedule writes to fewer */
	AGE_MAX = 300,			/* writes of all threads: then a write has arrived everywhere */
	OLD_ONE_IN = 3,
};

struct place {
	const volatile void *p;
	uint64_t schedule;
	uint64_t before, now;		/* values */
	uint64_t written_at;
	uint64_t released_at;		/* by what wrote the value; 0: by no release */
	uint64_t released_before;	/* the same of the value before */
	uint32_t seen;			/* a bit for each thread that knows the value */
};

static struct {
	bool is_weak;
	uint64_t schedule;
	uint64_t random;
	uint64_t time;
	uint64_t view[SIM_THREADS_MAX];
	struct place places[PLACES];
} weak;

/* Numbers of its own: the same seed has the same choices of threads, weak or not. */
static bool is_one_in(uint32_t num)
{
	weak.random = weak.random * 6364136223846793005u + 1442695040888963407u;
	return (weak.random >> 33) % num == 0;
}

void weak_begin(uint64_t seed, bool is_weak)
{
	weak.is_weak = is_weak;
	weak.schedule++;
	weak.random = seed;
	weak.time = 1;
	memset(weak.view, 0, sizeof(weak.view));
}

void weak_see_all(int thread)
{
	weak.view[thread] = weak.time;
}

void weak_see_all_threads(void)
{
	int i;

	for (i = 0; i < SIM_THREADS_MAX; i++)
		weak_see_all(i);
}

static uint64_t value_at(const volatile void *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, (const void *)(uintptr_t)p, size);
	return v;
}

/* Its own, or the one that it would get. */
static struct place *place_of(const volatile void *p)
{
	size_t i = ((uintptr_t)p >> 2 ^ (uintptr_t)p >> 14) % PLACES;
	unsigned tried = 0;

	while (weak.places[i].schedule == weak.schedule && weak.places[i].p != p) {
		i = (i + 1) % PLACES;
		if (++tried == PLACES)
			sim_fail("atomics in more than %d places", PLACES);
	}
	return &weak.places[i];
}

static bool is_known(const struct place *at)
{
	return at->schedule == weak.schedule;
}

static bool is_off(size_t size)
{
	return !weak.is_weak || sim_thread() < 0 || size > sizeof(uint64_t);
}

void sim_writes(const volatile void *p, size_t size)
{
	struct place *at;
	uint64_t before;

	if (is_off(size))
		return;
	at = place_of(p);
	before = value_at(p, size);
	if (!is_known(at) || at->now != before)
		*at = (struct place){ .p = p, .schedule = weak.schedule, .now = before };
	at->before = before;
	at->released_before = at->released_at;
}

static void acquire(uint64_t released_at)
{
	uint64_t *view = &weak.view[sim_thread()];

	if (released_at > *view)
		*view = released_at;
}

static void write_at(struct place *at, const volatile void *p, size_t size, uint64_t released_at)
{
	at->now = value_at(p, size);
	at->written_at = ++weak.time;
	at->released_at = released_at;
	at->seen = 1u << sim_thread();
}

void sim_wrote(const volatile void *p, size_t size, memory_order order)
{
	if (!is_off(size))
		write_at(place_of(p), p, size, order == memory_order_release ? weak.time + 1 : 0);
}

/* A read-modify-write goes on with the release that it reads. */
void sim_changed(const volatile void *p, size_t size, memory_order order)
{
	struct place *at;

	if (is_off(size))
		return;
	at = place_of(p);
	if (order != memory_order_relaxed)
		acquire(at->released_at);
	write_at(at, p, size, order == memory_order_acq_rel ? weak.time + 1 : at->released_at);
}

void sim_loaded(const volatile void *p, void *value, size_t size, bool is_acquire)
{
	struct place *at;
	uint32_t self;

	if (is_off(size))
		return;
	at = place_of(p);
	if (!is_known(at) || at->now != value_at(p, size))
		return;
	self = 1u << sim_thread();
	if (value != NULL && (at->seen & self) == 0 && at->written_at > weak.view[sim_thread()] &&
	    weak.time - at->written_at < AGE_MAX && is_one_in(OLD_ONE_IN)) {
		memcpy(value, &at->before, size);
		if (is_acquire)
			acquire(at->released_before);
		return;
	}
	at->seen |= self;
	if (is_acquire)
		acquire(at->released_at);
}
