/*
 * A thread that is cancelled (pthread_cancel) in a call of the library leaves it whole: what it handed over has
 * been told to who waits for it, and no lock stays taken. The library's calls are no cancellation points.
 */
#include "child.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/sched/base.h"

static struct event_base *base;
static struct event *ev, *last;
static bool has_returned;

static void stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	check(event_base_loopbreak(base) == 0);
}

static void stop_post(void *arg)
{
	stop(-1, 0, arg);
}

/* Each of these makes a loop that sleeps come to its end. */
static void posts(void)
{
	(void)event_base_post(base, 0, stop_post, NULL);
}

static void posts_colored(void)
{
	(void)event_base_post(base, 7, stop_post, NULL);
}

static void activates(void)
{
	event_active(ev, EV_READ, 1);
}

static void adds(void)
{
	static const struct timeval now = { 0, 0 };

	(void)event_add(ev, &now);
}

static void once(void)
{
	(void)event_base_once(base, -1, EV_TIMEOUT, stop, NULL, NULL);
}

static void breaks(void)
{
	(void)event_base_loopbreak(base);
}

static void exits(void)
{
	(void)event_base_loopexit(base, NULL);
}

static void deletes(void)
{
	(void)event_del(last);
}

static void *loop_main(void *arg)
{
	(void)event_base_dispatch(base);
	return arg;
}

/* From here on the first cancellation point ends this thread. */
static void *caller_main(void *arg)
{
	void (*const *call)(void) = arg;

	check(pthread_cancel(pthread_self()) == 0);
	(*call)();
	has_returned = true;
	pthread_testcancel();
	return arg;
}

/* The loop's thread has nothing to do, and has said so under its lock: a wake-up is needed. */
static void wait_asleep(unsigned before)
{
	struct event_worker_stats s;

	do {
		check(event_base_get_stats(base, 0, &s, sizeof(s)) == 0);
	} while (s.sleeps == before);
}

static unsigned sleeps(void)
{
	struct event_worker_stats s;

	check(event_base_get_stats(base, 0, &s, sizeof(s)) == 0);
	return (unsigned)s.sleeps;
}

static void call_cancelled(void (*call)(void))
{
	static const struct timeval hour = { 3600, 0 };
	pthread_t loop, caller;
	unsigned before = sleeps();
	void *ret;

	has_returned = false;
	check(event_add(last, &hour) == 0);
	check(pthread_create(&loop, NULL, loop_main, NULL) == 0);
	wait_asleep(before);
	check(pthread_create(&caller, NULL, caller_main, &call) == 0);
	check(pthread_join(caller, &ret) == 0);
	check(ret == PTHREAD_CANCELED);
	check(pthread_join(loop, NULL) == 0);
	check(has_returned);
	check(event_del(last) == 0);
	check(event_del(ev) == 0);
}

static void all_calls(const char *workers)
{
	static void (*const calls[])(void) = { posts, activates, adds, once, breaks,
					       exits, deletes, posts_colored, posts };
	unsigned i;

	alarm(30);
	setenv("EVENT_WORKERS", workers, 1);
	check(evthread_use_pthreads() == 0);
	base = event_base_new();
	ev = event_new(base, -1, 0, stop, NULL);
	last = event_new(base, -1, 0, stop, NULL);
	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		call_cancelled(calls[i]);
	event_free(ev);
	event_free(last);
	event_base_free(base);
}

static void all_calls_alone(void)
{
	all_calls("1");
}

static void all_calls_workers(void)
{
	all_calls("2");
}

static void what_a_cancelled_thread_hands_over_arrives(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, all_calls_alone);
	child_passes(&child, all_calls_workers);
}

/* It waits for a second lock while it has the first one, for longer than it spins. */
static void second_lock(void)
{
	static const struct timespec while_it_sleeps = { .tv_nsec = 300000000 };
	void (*call)(void) = adds;
	struct ec_base *b;
	pthread_t caller;

	alarm(30);
	check(evthread_use_pthreads() == 0);
	base = event_base_new();
	b = (struct ec_base *)(void *)base;
	ev = event_new(base, -1, 0, stop, NULL);
	ec_run_lock(&b->zero);
	check(pthread_create(&caller, NULL, caller_main, &call) == 0);
	while (ec_load_relaxed(&b->zero.src.held) == 0)
		;
	check(nanosleep(&while_it_sleeps, NULL) == 0);
	ec_run_unlock(&b->zero);
	check(pthread_join(caller, NULL) == 0);
	check(ec_load_relaxed(&b->zero.src.held) == 0);
	check(has_returned);
	event_free(ev);
	event_base_free(base);
}

static void a_cancelled_thread_leaves_no_lock(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, second_lock);
}

static void write_log(int severity, const char *msg)
{
	(void)severity;
	check(write(STDERR_FILENO, msg, strlen(msg)) > 0);
}

static void odd_call(void)
{
	check(event_base_priority_init(base, 0) == -1);
	check(event_base_resume(NULL) == -1);
}

/* Lines are written where the library holds locks, too. */
static void logs(void)
{
	void (*call)(void) = odd_call;
	pthread_t caller;
	unsigned i;

	alarm(30);
	base = event_base_new();
	for (i = 0; i < 2; i++) {
		has_returned = false;
		check(pthread_create(&caller, NULL, caller_main, &call) == 0);
		check(pthread_join(caller, NULL) == 0);
		check(has_returned);
		event_set_log_callback(write_log);
	}
	event_base_free(base);
}

static void a_line_of_the_log_does_not_end_the_call(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, logs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_cancelled_thread_hands_over_arrives),
		cmocka_unit_test(a_cancelled_thread_leaves_no_lock),
		cmocka_unit_test(a_line_of_the_log_does_not_end_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
