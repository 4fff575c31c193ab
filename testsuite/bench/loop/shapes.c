/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * The shapes of one loop on one thread. See usage() for the arguments, backend.h for what the
 * loop must do, ../README.md for what the figures mean.
 */
#include "backend.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../util.h"

#include LOOP_BACKEND

static void report(const char *shape, const char *metric, double value)
{
	bench_report(shape, be_name, metric, value, "ns");
}

static void keep_least(double *least, uint64_t ns, double count)
{
	const double each = (double)ns / count;

	if (*least == 0 || each < *least)
		*least = each;
}

/* ---------------------------------------------------------------- pipe: tokens in a ring */

static int (*pairs)[2];
static unsigned pairs_num;
static long tokens_seen, writes_left;

static void make_pairs(unsigned n)
{
	unsigned i;

	pairs = bench_alloc(n, sizeof(*pairs));
	pairs_num = n;
	for (i = 0; i < n; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]) != 0)
			bench_die("socketpair %u of %u: %s", i, n, strerror(errno));
	}
}

static void token_send(unsigned i)
{
	if (send(pairs[i][1], "e", 1, 0) != 1)
		bench_die("send: %s", strerror(errno));
}

static void pipe_readable(unsigned i)
{
	char token;

	if (recv(pairs[i][0], &token, 1, 0) != 1)
		return;
	tokens_seen++;
	if (writes_left > 0) {
		writes_left--;
		token_send(i + 1 >= pairs_num ? 0 : i + 1);
	}
}

/* Send `tokens` into the ring, pass them on `writes` times, and take them all out again. */
static uint64_t ring_run(unsigned tokens, long writes)
{
	const long expected = writes + (long)tokens;
	uint64_t begin;
	unsigned i;

	tokens_seen = 0;
	writes_left = writes;
	for (i = 0; i < tokens; i++)
		token_send(i * (pairs_num / tokens));
	begin = bench_now_ns();
	while (tokens_seen < expected)
		be_turn();
	return bench_now_ns() - begin;
}

static void shape_pipe(char **args)
{
	const unsigned n = (unsigned)bench_number(args[0]);
	const unsigned tokens = (unsigned)bench_number(args[1]);
	const long writes = bench_number(args[2]);
	double least = 0;
	unsigned i;

	if (tokens == 0 || tokens > n)
		bench_die("pipe: from 1 to %u tokens", n);
	be_open();
	be_io_alloc(n);
	make_pairs(n);
	for (i = 0; i < n; i++) {
		be_io_set(i, pairs[i][0]);
		be_read_start(i);
	}
	be_turn();
	for (i = 0; i < 3; i++)
		keep_least(&least, ring_run(tokens, writes), (double)(writes + (long)tokens));
	report("pipe", "per event", least);
}

/* ---------------------------------------------------------------- churn: watch and forget */

static void churn_addel(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		be_read_start(i);
		be_read_stop(i);
	}
}

static void churn_addloop(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		be_read_start(i);
	be_turn();
	for (i = 0; i < n; i++)
		be_read_stop(i);
	be_turn();
}

static void churn_rw(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		be_write_start(i);
		be_write_stop(i);
	}
}

static void churn_base(unsigned n)
{
#ifdef BE_NO_CYCLE
	(void)n;
	bench_skip("churn base: %s", BE_NO_CYCLE);
#else
	unsigned i;

	for (i = 0; i < n; i++)
		be_cycle();
#endif
}

static void shape_churn(char **args)
{
	static const struct {
		const char *name;
		void (*run)(unsigned n);
	} modes[] = {
		{ "addel", churn_addel },
		{ "addloop", churn_addloop },
		{ "rw", churn_rw },
		{ "base", churn_base },
	};
	const unsigned n = (unsigned)bench_number(args[1]);
	const unsigned rounds = n < 66666 ? 200000 / (n + 1) + 3 : 3;
	double least = 0;
	uint64_t begin;
	unsigned i, mode;

	for (mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++) {
		if (strcmp(args[0], modes[mode].name) == 0)
			break;
	}
	if (mode == sizeof(modes) / sizeof(modes[0]))
		bench_die("churn %s: no such mode", args[0]);
	be_open();
	be_io_alloc(n);
	make_pairs(n);
	for (i = 0; i < n; i++)
		be_io_set(i, pairs[i][0]);
	if (modes[mode].run == churn_rw) {
		for (i = 0; i < n; i++)
			be_read_start(i);
	}
	be_turn();
	for (i = 0; i < rounds; i++) {
		begin = bench_now_ns();
		modes[mode].run(n);
		keep_least(&least, bench_now_ns() - begin, n);
	}
	report("churn", args[0], least);
}

/* ---------------------------------------------------------------- timer */

static long timers_left;

static void timer_fired(void)
{
	timers_left--;
}

#ifndef BE_NO_TIMER

/* Deadlines far enough away that none comes while it is measured. */
static void delays_far(unsigned n)
{
	uint64_t seed = 88172645463325252u;
	unsigned i;

	for (i = 0; i < n; i++)
		be_timer_due(i, 1000000u + (unsigned)(bench_random(&seed) % 999000000u));
}

static void timer_adddel(unsigned n, unsigned repeats)
{
	const unsigned *order = bench_shuffle(n);
	double add = 0, del = 0;
	uint64_t begin, middle;
	unsigned i;

	delays_far(n);
	while (repeats-- > 0) {
		be_timer_begin();
		begin = bench_now_ns();
		for (i = 0; i < n; i++)
			be_timer_start(i, i);
		middle = bench_now_ns();
		for (i = 0; i < n; i++)
			be_timer_stop(order[i]);
		keep_least(&add, middle - begin, n);
		keep_least(&del, bench_now_ns() - middle, n);
	}
	report("timer", "add", add);
	report("timer", "del", del);
}

static void timer_rearm(unsigned n, unsigned repeats)
{
	const unsigned *order = bench_shuffle(n);
	double least = 0;
	uint64_t begin;
	unsigned i;

	delays_far(n);
	be_timer_begin();
	for (i = 0; i < n; i++)
		be_timer_start(i, i);
	while (repeats-- > 0) {
		begin = bench_now_ns();
		for (i = 0; i < n; i++)
			be_timer_again(order[i], order[n - 1 - i]);
		keep_least(&least, bench_now_ns() - begin, n);
	}
	report("timer", "rearm", least);
}

/* All of them come due within 10 ms, and are fired once they all have. */
static void timer_fire(unsigned n, unsigned repeats)
{
	uint64_t seed = 88172645463325252u, begin;
	double least = 0;
	unsigned i;

	while (repeats-- > 0) {
		for (i = 0; i < n; i++)
			be_timer_due(i, 1 + (unsigned)(bench_random(&seed) % 10000));
		be_timer_begin();
		for (i = 0; i < n; i++)
			be_timer_start(i, i);
		usleep(12000);
		timers_left = n;
		begin = bench_now_ns();
		while (timers_left > 0)
			be_turn();
		keep_least(&least, bench_now_ns() - begin, n);
	}
	report("timer", "fire", least);
}

static unsigned timers_num, timer_repeats;

static void timer_adddel_within(void)
{
	timer_adddel(timers_num, timer_repeats + 1);
}

static void timer_rearm_within(void)
{
	timer_rearm(timers_num, timer_repeats);
}

static void shape_timer(char **args)
{
	timers_num = (unsigned)bench_number(args[1]);
	timer_repeats = timers_num < 10000 ? 100 : timers_num < 1000000 ? 10 : 1;
	be_open();
	be_timer_alloc(timers_num);
	if (strcmp(args[0], "adddel") == 0)
		be_timer_within(timer_adddel_within);
	else if (strcmp(args[0], "rearm") == 0)
		be_timer_within(timer_rearm_within);
	else if (strcmp(args[0], "fire") == 0)
		timer_fire(timers_num, timer_repeats < 10 ? timer_repeats : 10);
	else
		bench_die("timer %s: no such mode", args[0]);
}

#else

static void shape_timer(char **args)
{
	(void)args;
	bench_skip("timer: %s", BE_NO_TIMER);
}

#endif

/* ---------------------------------------------------------------- dispatch: callbacks alone */

static long tasks_left;

static void task_ran(void)
{
	tasks_left--;
}

static void link_ran(unsigned i)
{
	if (--tasks_left > 0)
		be_task_activate(i);
}

/* Each callback makes itself active again, `total` times altogether. */
static void dispatch_chain(unsigned n, long total)
{
	unsigned i;

	tasks_left = total;
	for (i = 0; i < n; i++)
		be_task_activate(i);
	/* When the count is used up, n - 1 are still to come. */
	while (tasks_left > 1 - (long)n)
		be_turn();
}

/* n become active at once, and run in the next turn. */
static void dispatch_batch(unsigned n, long total)
{
	unsigned i;

	for (; total > 0; total -= n) {
		tasks_left = n;
		for (i = 0; i < n; i++)
			be_task_activate(i);
		while (tasks_left > 0)
			be_turn();
	}
}

static void shape_dispatch(char **args)
{
	const unsigned n = (unsigned)bench_number(args[1]);
	const long total = bench_number(args[2]);
	const bool is_chain = strcmp(args[0], "chain") == 0;
	double least = 0;
	uint64_t begin;
	int i;

	if (!is_chain && strcmp(args[0], "batch") != 0)
		bench_die("dispatch %s: no such mode", args[0]);
	be_open();
	be_task_alloc(n, is_chain);
	for (i = 0; i < 3; i++) {
		begin = bench_now_ns();
		if (is_chain)
			dispatch_chain(n, total);
		else
			dispatch_batch(n, total);
		keep_least(&least, bench_now_ns() - begin, (double)total);
	}
	report("dispatch", args[0], least);
}

/* ---------------------------------------------------------------- wake: another thread calls */

/*
 * The sender publishes nothing but the wake-up itself. The loop's thread writes when it saw it,
 * then counts it (release); the sender reads the count (acquire), then the time.
 */
static _Atomic uint64_t seen_at, seen_num;

static void wake_seen(void)
{
	atomic_store_explicit(&seen_at, bench_now_ns(), memory_order_relaxed);
	atomic_fetch_add_explicit(&seen_num, 1, memory_order_release);
}

static void *wake_main(void *unused)
{
	(void)unused;
	bench_pin(1);
	be_wake_run();
	return NULL;
}

/* Wake the loop once, wait until it has run the callback; how long that took. */
static uint64_t wake_once(void)
{
	const uint64_t before = atomic_load_explicit(&seen_num, memory_order_relaxed);
	const uint64_t begin = bench_now_ns();

	be_wake_send(0);
	while (atomic_load_explicit(&seen_num, memory_order_acquire) == before)
		;
	return atomic_load_explicit(&seen_at, memory_order_relaxed) - begin;
}

static void wake_latency(unsigned gap_us, unsigned count)
{
	uint64_t *latency = bench_alloc(count, sizeof(*latency));
	uint64_t until;
	unsigned i;

	for (i = 0; i < count; i++) {
		until = bench_now_ns() + gap_us * 1000ull;
		while (bench_now_ns() < until)
			;
		latency[i] = wake_once();
	}
	report("wake", "p50", (double)bench_percentile(latency, count, 0.5));
	report("wake", "p99", (double)bench_percentile(latency, count, 0.99));
	free(latency);
}

static void shape_wake(char **args)
{
	const unsigned gap_us = (unsigned)bench_number(args[0]);
	const unsigned count = (unsigned)bench_number(args[1]);
	pthread_t thread;

	if (count == 0)
		bench_die("wake: at least once");
	bench_pin(0);
	be_wake_open(1);
	if (pthread_create(&thread, NULL, wake_main, NULL) != 0)
		bench_die("no thread");
	wake_once();
	wake_latency(gap_us, count);
	be_wake_stop();
	pthread_join(thread, NULL);
}

/* ---------------------------------------------------------------- main */

static const struct bench_shape shapes[] = {
	{ "pipe", 3, shape_pipe, "PAIRS TOKENS WRITES" },
	{ "churn", 2, shape_churn, "addel|addloop|rw|base N" },
	{ "timer", 2, shape_timer, "adddel|rearm|fire N" },
	{ "dispatch", 3, shape_dispatch, "batch|chain N CALLBACKS" },
	{ "wake", 2, shape_wake, "GAP_US COUNT" },
};

int main(int argc, char **argv)
{
	const struct bench_shape *shape = bench_shape_of(argc, argv, shapes, sizeof(shapes) / sizeof(shapes[0]), NULL);

	bench_raise_fd_limit();
	bench_pin(0);
	shape->run(argv + 2);
	return 0;
}
