/*
 * A worker's thread, and the one pointer that each thread keeps for itself.
 *
 * The only thread-local variable of the engine stands here, because the simulator runs many
 * simulated threads in one real one: compiled with EC_SIM, it answers for both
 * (testsuite/sim/sched.c takes the place of thread.c).
 */
#ifndef EC_OSTHREAD_H
#define EC_OSTHREAD_H

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* Owned by the caller from a successful start to the join; never copied in between. */
struct ec_osthread {
	/* const: from the start of the thread to the join */
	void (*fn)(void *arg);
	void *arg;
	pthread_t id;
	sigset_t mask;			/* of the thread that started it */
};

/*
 * Run fn(arg) in a new thread in which all signals are blocked: they go to the program's own
 * threads. What the caller wrote before, fn sees. -EAGAIN or another -errno: no thread started.
 */
int ec_osthread_start(struct ec_osthread *t, void (*fn)(void *arg), void *arg);

/*
 * Return once fn has returned; what it wrote, the caller sees. Once for each start, but not
 * in a forked child, where the thread does not exist: there `t` is simply forgotten.
 */
void ec_osthread_join(struct ec_osthread *t);

/* By that thread, in the child of a fork: signals are as they were where it was started. */
void ec_osthread_unmask(const struct ec_osthread *t);

/* Others that wait for the CPU of the calling thread may have it now. */
void ec_osthread_yield(void);

/*
 * Between the two a pthread_cancel of this thread has to wait: for calls that are cancellation points, where the
 * thread must go on. What is called often avoids such calls instead: syscall() is none.
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

/* Of the calling thread: NULL until set. */
#ifdef EC_SIM

void *ec_self(void);
void ec_set_self(void *self);
const void *ec_thread_key(void);

#else

/* initial-exec: a load relative to the thread register, where the default calls a function. */
extern __thread void *ec_self_ptr __attribute__((visibility("hidden"), tls_model("initial-exec")));

static inline void *ec_self(void)
{
	return ec_self_ptr;
}

static inline void ec_set_self(void *self)
{
	ec_self_ptr = self;
}

/* The thread that calls, as something to compare: its address is unlike any other's. */
static inline const void *ec_thread_key(void)
{
	return &ec_self_ptr;
}

#endif

#endif
