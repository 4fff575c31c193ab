#include "sync.h"

#include "os/thread.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef EC_SIM

int ec_futex_wait(const _Atomic(uint32_t) *word, uint32_t expected, const struct timespec *timeout)
{
	return sim_futex_wait(word, expected, timeout);
}

void ec_futex_wake(const _Atomic(uint32_t) *word, int num)
{
	sim_futex_wake(word, num);
}

void ec_wait_step(unsigned *steps)
{
	(void)steps;
	sim_spin(__func__, __LINE__);
}

void ec_spin_wait(struct ec_spin *s)
{
	(void)s;
	sim_spin(__func__, __LINE__);
}

void ec_spin_contend(struct ec_spin *s) EC_NO_ANALYSIS
{
	do
		ec_spin_wait(s);
	while (!ec_spin_trylock(s));
}

uint32_t sim_random(uint32_t below);

bool ec_barrier_all(void)
{
	enum { REFUSED_ONE_IN = 8 };

	EC_POINT();
	sim_barrier();
	return sim_random(REFUSED_ONE_IN) != 0;
}

bool ec_barrier_prepare(void)
{
	return true;
}

#else

int ec_futex_wait(const _Atomic(uint32_t) *word, uint32_t expected, const struct timespec *timeout)
{
	if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout, NULL, 0) == 0)
		return 0;
	return -errno;
}

void ec_futex_wake(const _Atomic(uint32_t) *word, int num)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, num, NULL, NULL, 0);
}

enum {
	SPINS = 200,
	YIELDS = 50,
	SLEEP_NS = 20000,
};

/* Not to be cancelled here: the thread may hold another lock. */
static void moment_sleep(void)
{
	static const struct timespec moment = { .tv_nsec = SLEEP_NS };
	int state = ec_cancel_hold();

	nanosleep(&moment, NULL);
	ec_cancel_release(state);
}

void ec_wait_step(unsigned *steps)
{
	if (*steps >= SPINS + YIELDS) {
		moment_sleep();
		return;
	}
	if (*steps < SPINS)
		ec_cpu_relax();
	else
		sched_yield();
	++*steps;
}

void ec_spin_wait(struct ec_spin *s)
{
	unsigned i;

	for (i = 0; i < SPINS; i++) {
		if (ec_load_relaxed(&s->held) == 0)
			return;
		ec_cpu_relax();
	}
	for (i = 0; i < YIELDS; i++) {
		if (ec_load_relaxed(&s->held) == 0)
			return;
		sched_yield();
	}
	moment_sleep();
}

enum { BACKOFF_MAX = 16 };

/*
 * Threads that wait for one lock all see it free at the same time, and only one gets it. The others took its cache line
 * for nothing. So a waiter that loses steps back for a while, longer each time.
 */
void ec_spin_contend(struct ec_spin *s) EC_NO_ANALYSIS
{
	unsigned pauses = 0, i;

	do {
		for (i = 0; i < pauses; i++)
			ec_cpu_relax();
		if (pauses < BACKOFF_MAX)
			pauses = pauses * 2 + 1;
		ec_spin_wait(s);
	} while (!ec_spin_trylock(s));
}

bool ec_barrier_prepare(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static bool barrier_by_membarrier(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

enum { CPU_SETS = 8 };			/* of 1024 each */

struct cpus {
	cpu_set_t set[CPU_SETS];
};

static bool run_on(unsigned cpu)
{
	struct cpus one;

	CPU_ZERO_S(sizeof(one), one.set);
	CPU_SET_S(cpu, sizeof(one), one.set);
	return sched_setaffinity(0, sizeof(one), one.set) == 0;
}

/*
 * Run on each CPU once. That switches off every thread that ran on one of them when this began, and a switch is a full
 * barrier. The caller's own first switch makes its earlier stores visible. A thread that missed them runs on a CPU
 * that is still to come, or was already switched off. This does not reach threads on CPUs that the caller may not use
 * (cpusets by thread). False: the caller may not choose its CPUs.
 */
static bool barrier_by_migration(void)
{
	struct cpus before;
	unsigned cpu, ran = 0;

	if (sched_getaffinity(0, sizeof(before), before.set) < 0)
		return false;
	for (cpu = 0; cpu < CPU_SETS * CPU_SETSIZE; cpu++)
		ran += run_on(cpu);
	if (ran == 0)
		return false;
	(void)sched_setaffinity(0, sizeof(before), before.set);
	return true;
}

/*
 * Longer than two ticks of any kernel. The tick's interrupt is a barrier. On a CPU without ticks, a store has left the
 * store buffer by then: true of all processors that exist, though no manual gives a limit.
 */
static void barrier_by_time(void)
{
	static const struct timespec ticks = { .tv_nsec = 25000000 };
	struct timespec left = ticks;
	int state = ec_cancel_hold();

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
	ec_cancel_release(state);
}

/*
 * After a successful prepare, only a sandbox that the program entered since can refuse membarrier, and threads may rely
 * on a bias by then. Rejected: signals, because they belong to the program; and changing a page's protection, because
 * that interrupts other processors on some machines only.
 */
bool ec_barrier_all(void)
{
	if (barrier_by_membarrier() || (ec_barrier_prepare() && barrier_by_membarrier()))
		return true;
	if (!barrier_by_migration())
		barrier_by_time();
	return false;
}

#endif

#ifndef NDEBUG

enum { HELD_MAX = 32 };		/* two RUNQ locks of a steal, two SOURCE locks, and a few */

#ifdef EC_SIM
/* The simulator's threads share one kernel thread: ranks are checked in the real builds. */
void ec_rank_push(const struct ec_spin *s)
{
	(void)s;
}

void ec_rank_push_peer(const struct ec_spin *s)
{
	(void)s;
}

void ec_rank_pop(const struct ec_spin *s)
{
	(void)s;
}
#else
static __thread const struct ec_spin *held[HELD_MAX];
static __thread unsigned held_num;

void ec_rank_push(const struct ec_spin *s)
{
	unsigned i;

	for (i = 0; i < held_num; i++) {
		if (held[i]->rank < s->rank || (held[i]->rank == EC_RANK_SOURCE && s->rank == EC_RANK_SOURCE))
			continue;
		fprintf(stderr, "libevent-smp: lock of rank %u taken under one of rank %u\n", s->rank,
			held[i]->rank);
		abort();
	}
	ec_rank_push_peer(s);
}

void ec_rank_push_peer(const struct ec_spin *s)
{
	if (held_num == HELD_MAX)
		abort();
	held[held_num++] = s;
}

void ec_rank_pop(const struct ec_spin *s)
{
	unsigned i = held_num;

	while (i-- > 0) {
		if (held[i] != s)
			continue;
		held[i] = held[--held_num];
		return;
	}
	abort();
}
#endif

#endif
