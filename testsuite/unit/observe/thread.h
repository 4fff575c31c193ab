/*
 * A thread for tests of stacks: it waits for orders in a function that is known by its name.
 */
#ifndef THREAD_H
#define THREAD_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/os/thread.h"
#include "table.h"

struct thread {
	void (*fn)(struct thread *t);	/* runs in the thread for each order */
	pthread_t id;
	pid_t tid;
	const void *key;
	int orders[2], answers[2];	/* pipes */
	unsigned cuts;			/* own: how often its poll returned without an order */
};

/*
 * Says that the last order is done, and returns when the test writes the next one, not before: a signal's handler may
 * interrupt the poll. So a thread that has answered is in this function.
 */
__attribute__((noinline)) static char wait_for_order(struct thread *t)
{
	struct pollfd p = { .fd = t->orders[0], .events = POLLIN };
	char order = 0;

	assert_int_equal(write(t->answers[1], "a", 1), 1);
	while (poll(&p, 1, -1) != 1)		/* not read: ThreadSanitizer delivers no signals there */
		t->cuts++;
	assert_int_equal(read(t->orders[0], &order, 1), 1);
	return order;
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	t->tid = (pid_t)syscall(SYS_gettid);
	t->key = ec_thread_key();
	while (wait_for_order(t) != 'e')
		t->fn(t);
	return NULL;
}

static inline void thread_wait_answer(struct thread *t)
{
	char answer;

	assert_int_equal(read(t->answers[0], &answer, 1), 1);
}

static inline void thread_send(struct thread *t)
{
	assert_int_equal(write(t->orders[1], "o", 1), 1);
}

static inline void thread_order(struct thread *t, void (*fn)(struct thread *t))
{
	t->fn = fn;
	thread_send(t);
	thread_wait_answer(t);
}

/* Signals are blocked there, as in a worker's thread. */
static inline void thread_start(struct thread *t)
{
	sigset_t all, before;

	assert_int_equal(pipe(t->orders), 0);
	assert_int_equal(pipe(t->answers), 0);
	sigfillset(&all);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
	assert_int_equal(pthread_create(&t->id, NULL, thread_main, t), 0);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
	thread_wait_answer(t);
}

static inline void thread_end(struct thread *t)
{
	int i;

	assert_int_equal(write(t->orders[1], "e", 1), 1);
	assert_int_equal(pthread_join(t->id, NULL), 0);
	for (i = 0; i < 2; i++) {
		close(t->orders[i]);
		close(t->answers[i]);
	}
}

#endif
