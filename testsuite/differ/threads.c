/*
 * evthread_use_pthreads(): a loop in one thread, calls from another. Every step waits for
 * the one before, so the lines have one order.
 */
#include "trace.h"

#include <pthread.h>

#include <event2/thread.h>

static struct event_base *base;
static struct event *keep, *target;

/* A gate between two threads: passed once for each opening. */
struct gate {
	int fd[2];
};

static void gate_new(struct gate *gate)
{
	must(pipe(gate->fd) == 0, "make a gate");
}

static void gate_open(struct gate *gate)
{
	put(gate->fd[1]);
}

static void gate_pass(struct gate *gate)
{
	char c;

	must(read(gate->fd[0], &c, 1) == 1, "pass a gate");
}

static struct gate called, go_on;

static void *loop_main(void *arg)
{
	int flags = *(int *)arg;

	say("loop: %d", event_base_loop(base, flags));
	return NULL;
}

static void called_cb(evutil_socket_t fd, short what, void *arg)
{
	if (fd >= 0)
		drain(fd);
	say("  %s: %s", (const char *)arg, what_str(what));
	gate_open(&called);
}

static void wait_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  %s runs: %s", (const char *)arg, what_str(what));
	gate_open(&called);
	gate_pass(&go_on);
	say("  %s ends", (const char *)arg);
}

static pthread_t start(int flags)
{
	static int arg;
	pthread_t thread;

	arg = flags;
	must(pthread_create(&thread, NULL, loop_main, &arg) == 0, "start a thread");
	return thread;
}

/* Each wakes a loop that may be asleep. */
static void wakes(void)
{
	pthread_t thread;
	int fd[2], r;

	section("calls that wake the loop");
	pipe_new(fd);
	target = ev_new(base, fd[0], EV_READ | EV_PERSIST, called_cb, "target");
	thread = start(0);
	event_active(target, EV_READ, 1);
	gate_pass(&called);
	put(fd[1]);
	r = event_add(target, NULL);
	gate_pass(&called);
	say("add: %d", r);
	say("del: %d", event_del_block(target));
	event_base_once(base, -1, EV_TIMEOUT, called_cb, (void *)(uintptr_t)"once", NULL);
	gate_pass(&called);
	event_base_loopbreak(base);
	pthread_join(thread, NULL);
	say("got break %d", !!event_base_got_break(base));
	thread = start(EVLOOP_NO_EXIT_ON_EMPTY);
	event_base_loopexit(base, NULL);
	pthread_join(thread, NULL);
	say("got exit %d", !!event_base_got_exit(base));
	event_free(target);
	pair_close(fd);
}

/* event_del waits for a callback that runs; the noblock kind does not. */
static struct gate deleted;

static void *del_main(void *arg)
{
	(void)arg;
	say("  del: %d", event_del(target));
	gate_open(&deleted);
	return NULL;
}

static void del_waits(void)
{
	pthread_t loop, deleter;

	section("event_del waits for the callback");
	target = ev_new(base, -1, 0, wait_cb, "target");
	loop = start(0);
	event_active(target, EV_READ, 1);
	gate_pass(&called);
	say("  del_noblock: %d", event_del_noblock(target));
	must(pthread_create(&deleter, NULL, del_main, NULL) == 0, "start a thread");
	/* Whether it already waits or is yet to call, the callback ends first. */
	gate_open(&go_on);
	gate_pass(&deleted);
	pthread_join(deleter, NULL);
	event_base_loopbreak(base);
	pthread_join(loop, NULL);
	event_free(target);
}

static void finalize_fn(struct event *ev, void *arg)
{
	(void)ev;
	say("  finalized %s", (const char *)arg);
	gate_open(&called);
}

static void finalize_waits_not(void)
{
	pthread_t loop;

	section("a finalizer runs after the callback");
	target = ev_new(base, -1, EV_FINALIZE, wait_cb, "target");
	loop = start(0);
	event_active(target, EV_READ, 1);
	gate_pass(&called);
	say("  del of EV_FINALIZE: %d", event_del(target));
	say("  free_finalize: %d", event_free_finalize(0, target, finalize_fn));
	gate_open(&go_on);
	gate_pass(&called);
	event_base_loopbreak(base);
	pthread_join(loop, NULL);
}

/* Many activations from several threads, each of an event of its own: none is lost. */
#define STORM_NUM 4
#define STORM_ROUNDS 200

static struct event *storm[STORM_NUM];
static struct gate storm_gates[STORM_NUM];
static int storm_runs[STORM_NUM];

static void storm_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	(void)fd;
	(void)what;
	storm_runs[i]++;
	gate_open(&storm_gates[i]);
}

static void *storm_main(void *arg)
{
	int i = (int)(intptr_t)arg;

	for (int round = 0; round < STORM_ROUNDS; round++) {
		event_active(storm[i], EV_READ, 1);
		gate_pass(&storm_gates[i]);
	}
	return NULL;
}

static void storms(void)
{
	pthread_t loop, threads[STORM_NUM];

	section("activations from four threads");
	loop = start(0);
	for (int i = 0; i < STORM_NUM; i++) {
		gate_new(&storm_gates[i]);
		storm[i] = ev_new(base, -1, 0, storm_cb, (void *)(intptr_t)i);
		must(pthread_create(&threads[i], NULL, storm_main, (void *)(intptr_t)i) == 0, "start a thread");
	}
	for (int i = 0; i < STORM_NUM; i++)
		pthread_join(threads[i], NULL);
	event_base_loopbreak(base);
	pthread_join(loop, NULL);
	for (int i = 0; i < STORM_NUM; i++) {
		say("%d ran %d", i, storm_runs[i]);
		event_free(storm[i]);
	}
}

int main(void)
{
	say("use_pthreads: %d", evthread_use_pthreads());
	event_set_log_callback(say_log);
	gate_new(&called);
	gate_new(&go_on);
	gate_new(&deleted);
	base = base_new();
	say("notifiable: %d", evthread_make_base_notifiable(base));
	/* Keeps the loop alive. */
	keep = ev_new(base, -1, EV_PERSIST, say_cb, "keep");
	event_add(keep, &hour_tv);
	wakes();
	del_waits();
	finalize_waits_not();
	storms();
	event_free(keep);
	event_base_free(base);
	libevent_global_shutdown();
	return 0;
}
