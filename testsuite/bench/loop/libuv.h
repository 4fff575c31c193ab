/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * libuv. It cannot make a callback active without a system call: uv_async_send() stands in, which
 * makes one per turn.
 */
#include <uv.h>

static const char *const be_name = "libuv";

static uv_loop_t loop;

static uv_poll_t *pollers;
static uv_timer_t *timers;
static uv_async_t *asyncs, stopper;
static uint64_t *delays_ms;

static inline void check(int result, const char *what)
{
	if (result < 0)
		bench_die("%s: %s", what, uv_strerror(result));
}

static void be_open(void)
{
	check(uv_loop_init(&loop), "uv_loop_init");
}

static inline void be_turn(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
}

static inline void be_cycle(void)
{
	uv_loop_t other;

	check(uv_loop_init(&other), "uv_loop_init");
	uv_run(&other, UV_RUN_NOWAIT);
	check(uv_loop_close(&other), "uv_loop_close");
}

/* ---------------------------------------------------------------- descriptors */

static void readable(uv_poll_t *poller, int status, int what)
{
	(void)status;
	if (what & UV_READABLE)
		pipe_readable((unsigned)(poller - pollers));
}

static void be_io_alloc(unsigned n)
{
	pollers = bench_alloc(n, sizeof(*pollers));
}

static void be_io_set(unsigned i, int fd)
{
	check(uv_poll_init(&loop, &pollers[i], fd), "uv_poll_init");
}

static inline void be_read_start(unsigned i)
{
	uv_poll_start(&pollers[i], UV_READABLE, readable);
}

static inline void be_read_stop(unsigned i)
{
	uv_poll_stop(&pollers[i]);
}

/* One handle watches a descriptor: to write as well is another set of the same. */
static inline void be_write_start(unsigned i)
{
	uv_poll_start(&pollers[i], UV_READABLE | UV_WRITABLE, readable);
}

static inline void be_write_stop(unsigned i)
{
	uv_poll_start(&pollers[i], UV_READABLE, readable);
}

/* ---------------------------------------------------------------- timers */

static void timed_out(uv_timer_t *timer)
{
	(void)timer;
	timer_fired();
}

static void be_timer_alloc(unsigned n)
{
	unsigned i;

	timers = bench_alloc(n, sizeof(*timers));
	delays_ms = bench_alloc(n, sizeof(*delays_ms));
	for (i = 0; i < n; i++)
		check(uv_timer_init(&loop, &timers[i]), "uv_timer_init");
}

static void be_timer_due(unsigned i, unsigned us)
{
	delays_ms[i] = us / 1000;
}

static void be_timer_within(void (*run)(void))
{
	run();
}

static void be_timer_begin(void)
{
	uv_update_time(&loop);
}

static inline void be_timer_start(unsigned i, unsigned due)
{
	uv_timer_start(&timers[i], timed_out, delays_ms[due], 0);
}

static inline void be_timer_stop(unsigned i)
{
	uv_timer_stop(&timers[i]);
}

static inline void be_timer_again(unsigned i, unsigned due)
{
	be_timer_start(i, due);
}

/* ---------------------------------------------------------------- activation */

static void activated(uv_async_t *async)
{
	(void)async;
	task_ran();
}

static void activated_link(uv_async_t *async)
{
	link_ran((unsigned)(async - asyncs));
}

static void make_asyncs(unsigned n, uv_async_cb fn)
{
	unsigned i;

	asyncs = bench_alloc(n, sizeof(*asyncs));
	for (i = 0; i < n; i++)
		check(uv_async_init(&loop, &asyncs[i], fn), "uv_async_init");
}

static void be_task_alloc(unsigned n, bool is_chain)
{
	make_asyncs(n, is_chain ? activated_link : activated);
}

static inline void be_task_activate(unsigned i)
{
	uv_async_send(&asyncs[i]);
}

/* ---------------------------------------------------------------- waking */

static void woken(uv_async_t *async)
{
	(void)async;
	wake_seen();
}

static void stopped(uv_async_t *async)
{
	uv_stop(async->loop);
}

static void be_wake_open(unsigned n)
{
	be_open();
	make_asyncs(n, woken);
	check(uv_async_init(&loop, &stopper, stopped), "uv_async_init");
}

static void be_wake_run(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
}

static inline void be_wake_send(unsigned i)
{
	uv_async_send(&asyncs[i]);
}

static void be_wake_stop(void)
{
	uv_async_send(&stopper);
}
