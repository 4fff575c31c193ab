#include "thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

__thread void *ec_self_ptr;

static void *thread_main(void *arg)
{
	struct ec_osthread *t = arg;

	t->fn(t->arg);
	return NULL;
}

int ec_osthread_start(struct ec_osthread *t, void (*fn)(void *arg), void *arg)
{
	sigset_t all;
	int err;

	t->fn = fn;
	t->arg = arg;

	/* A thread inherits its creator's mask, so it never runs with unblocked signals. */
	sigfillset(&all);
	err = pthread_sigmask(SIG_SETMASK, &all, &t->mask);
	if (err != 0)
		return -err;
	err = pthread_create(&t->id, NULL, thread_main, t);
	if (pthread_sigmask(SIG_SETMASK, &t->mask, NULL) != 0)
		abort();
	return -err;
}

void ec_osthread_unmask(const struct ec_osthread *t)
{
	if (pthread_sigmask(SIG_SETMASK, &t->mask, NULL) != 0)
		abort();
}

void ec_osthread_join(struct ec_osthread *t)
{
	int state = ec_cancel_hold();

	/* EDEADLK, EINVAL, ESRCH: a thread was joined twice, or by itself: a bug of the engine. */
	if (pthread_join(t->id, NULL) != 0)
		abort();
	ec_cancel_release(state);
}

void ec_osthread_yield(void)
{
	(void)sched_yield();		/* does not fail on Linux */
}
