#include "sync.h"

#include "ec.h"
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

void ec_spin_wait(struct ec_spin *s)
{
	(void)s;
	sim_spin(__func__, __LINE__);
}

void ec_barrier_all(void)
{
	EC_POINT();
	sim_barrier();
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

void ec_spin_wait(struct ec_spin *s)
{
	static const struct timespec moment = { .tv_nsec = SLEEP_NS };
	unsigned i;
	int state;

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
	/* The thread may have another lock. */
	state = ec_cancel_hold();
	nanosleep(&moment, NULL);
	ec_cancel_release(state);
}

bool ec_barrier_prepare(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* After a successful prepare only a sandbox that was put up since can refuse it. */
void ec_barrier_all(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) < 0 &&
	    (!ec_barrier_prepare() || syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) < 0))
		ec_die(EC_EXIT_ABORT, "membarrier: the system refuses what it allowed before");
}

#endif

#ifndef NDEBUG

enum { HELD_MAX = 32 };		/* a victim's and the own RUNQ, two SOURCE locks, and a few */

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
