/*
 * A worker's thread, and the one thread-local pointer of the engine.
 *
 * The pointer is here, because the simulator replaces this file: it runs many simulated threads in one real thread
 * (EC_SIM; testsuite/sim/sched.c replaces thread.c).
 */
#ifndef EC_OSTHREAD_H
#define EC_OSTHREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#if !defined(EC_SIM) && __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>

/* Has the process one thread only? It may start another one at any time. False: perhaps not. */
static inline bool ec_is_only_thread(void)
{
	return __libc_single_threaded != 0;
}
#else
static inline bool ec_is_only_thread(void)
{
	return false;
}
#endif

/* Owned by the caller from a successful start to the join; never copied in between. */
struct ec_osthread {
	/* const: from the start of the thread to the join */
	void (*fn)(void *arg);
	void *arg;
	pthread_t id;
	sigset_t mask;			/* of the thread that started it */
};

/*
 * Runs fn(arg) in a new thread. All signals are blocked there, so they go to the program's own threads. fn sees all
 * earlier writes of the caller. -EAGAIN or another -errno: no thread was started.
 */
int ec_osthread_start(struct ec_osthread *t, void (*fn)(void *arg), void *arg);

/*
 * Waits until fn has returned. The caller then sees all writes of fn. Call it once for each start, but not in a
 * forked child: the thread does not exist there.
 */
void ec_osthread_join(struct ec_osthread *t);

/* In the child of a fork that this thread made: restores the signal mask of the thread that started it. */
void ec_osthread_unmask(const struct ec_osthread *t);

/* Yields the CPU to other threads that wait for it. */
void ec_osthread_yield(void);

/*
 * Between hold and release, a pthread_cancel of this thread waits. For calls that are cancellation points, where the
 * thread must not end. Frequent paths use syscall() instead, which is no cancellation point.
 */
static inline int ec_cancel_hold(void)
{
	int state = PTHREAD_CANCEL_ENABLE;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void ec_cancel_release(int state)
{
	(void)pthread_setcancelstate(state, NULL);
}

/* close() is a cancellation point, too. */
static inline void ec_close(int fd)
{
	int state = ec_cancel_hold();

	(void)close(fd);
	ec_cancel_release(state);
}

/* The calling thread's pointer; NULL until it is set. */
#ifdef EC_SIM

void *ec_self(void);
void ec_set_self(void *self);
const void *ec_thread_key(void);

#else

/* initial-exec: one load relative to the thread register. The default model calls a function. */
extern __thread void *ec_self_ptr __attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline void *ec_self(void)
{
	return ec_self_ptr;
}

static inline void ec_set_self(void *self)
{
	ec_self_ptr = self;
}

/* Identifies the calling thread: each thread has another address here. */
static inline const void *ec_thread_key(void)
{
	return &ec_self_ptr;
}

#endif

#endif
