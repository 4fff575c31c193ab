/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* libev, on epoll as all others are. */
#include <ev.h>

static const char *const be_name = "libev";

static struct ev_loop *loop;

static ev_io *readers, *writers;
static char *timers;			/* ev_timers, `timer_size` apart */
static size_t timer_size;
static ev_async *asyncs, stopper;
static double *delays;

enum { LIBEVENT_BYTES = 128 };		/* sizeof(struct event) */

/* ev_feed_event() takes any watcher; one that waits for nothing itself is the smallest. */
static ev_prepare *tasks;

static struct ev_loop *make_loop(void)
{
	struct ev_loop *made = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV);

	if (made == NULL)
		bench_die("ev_loop_new failed");
	return made;
}

static void be_open(void)
{
	loop = make_loop();
}

static inline void be_turn(void)
{
	ev_run(loop, EVRUN_NOWAIT);
}

static inline void be_cycle(void)
{
	struct ev_loop *other = make_loop();

	ev_run(other, EVRUN_NOWAIT);
	ev_loop_destroy(other);
}

/* ---------------------------------------------------------------- descriptors */

static void readable(struct ev_loop *l, ev_io *io, int what)
{
	(void)l;
	(void)what;
	pipe_readable((unsigned)(io - readers));
}

static void writable(struct ev_loop *l, ev_io *io, int what)
{
	(void)l;
	(void)io;
	(void)what;
}

static void be_io_alloc(unsigned n)
{
	readers = bench_alloc(n, sizeof(*readers));
	writers = bench_alloc(n, sizeof(*writers));
}

static void be_io_set(unsigned i, int fd)
{
	ev_io_init(&readers[i], readable, fd, EV_READ);
	ev_io_init(&writers[i], writable, fd, EV_WRITE);
}

static inline void be_read_start(unsigned i)
{
	ev_io_start(loop, &readers[i]);
}

static inline void be_read_stop(unsigned i)
{
	ev_io_stop(loop, &readers[i]);
}

static inline void be_write_start(unsigned i)
{
	ev_io_start(loop, &writers[i]);
}

static inline void be_write_stop(unsigned i)
{
	ev_io_stop(loop, &writers[i]);
}

/* ---------------------------------------------------------------- timers */

static void timed_out(struct ev_loop *l, ev_timer *timer, int what)
{
	(void)l;
	(void)timer;
	(void)what;
	timer_fired();
}

static inline ev_timer *timer_of(unsigned i)
{
	return (ev_timer *)(void *)(timers + i * timer_size);
}

/* BENCH_WIDE=1: as far apart as libevent's, whose size its ABI has fixed: what more cache misses cost. */
static void be_timer_alloc(unsigned n)
{
	unsigned i;

	timer_size = bench_setting("BENCH_WIDE", 0) != 0 ? LIBEVENT_BYTES : sizeof(ev_timer);
	timers = bench_alloc(n, timer_size);
	delays = bench_alloc(n, sizeof(*delays));
	for (i = 0; i < n; i++)
		ev_timer_init(timer_of(i), timed_out, 0, 0);
}

static void be_timer_due(unsigned i, unsigned us)
{
	delays[i] = us * 1e-6;
}

static void be_timer_within(void (*run)(void))
{
	run();
}

static void be_timer_begin(void)
{
	ev_now_update(loop);
}

static inline void be_timer_start(unsigned i, unsigned due)
{
	ev_timer_set(timer_of(i), delays[due], 0);
	ev_timer_start(loop, timer_of(i));
}

static inline void be_timer_stop(unsigned i)
{
	ev_timer_stop(loop, timer_of(i));
}

static inline void be_timer_again(unsigned i, unsigned due)
{
	timer_of(i)->repeat = delays[due];
	ev_timer_again(loop, timer_of(i));
}

/* ---------------------------------------------------------------- activation */

static void activated(struct ev_loop *l, ev_prepare *watcher, int what)
{
	(void)l;
	(void)watcher;
	(void)what;
	task_ran();
}

static void activated_link(struct ev_loop *l, ev_prepare *watcher, int what)
{
	(void)l;
	(void)what;
	link_ran((unsigned)(watcher - tasks));
}

static void be_task_alloc(unsigned n, bool is_chain)
{
	unsigned i;

	tasks = bench_alloc(n, sizeof(*tasks));
	for (i = 0; i < n; i++)
		ev_prepare_init(&tasks[i], is_chain ? activated_link : activated);
}

static inline void be_task_activate(unsigned i)
{
	ev_feed_event(loop, &tasks[i], EV_CUSTOM);
}

/* ---------------------------------------------------------------- waking */

static void woken(struct ev_loop *l, ev_async *async, int what)
{
	(void)l;
	(void)async;
	(void)what;
	wake_seen();
}

static void stopped(struct ev_loop *l, ev_async *async, int what)
{
	(void)async;
	(void)what;
	ev_break(l, EVBREAK_ALL);
}

static void be_wake_open(unsigned n)
{
	unsigned i;

	be_open();
	asyncs = bench_alloc(n, sizeof(*asyncs));
	for (i = 0; i < n; i++) {
		ev_async_init(&asyncs[i], woken);
		ev_async_start(loop, &asyncs[i]);
	}
	ev_async_init(&stopper, stopped);
	ev_async_start(loop, &stopper);
}

static void be_wake_run(void)
{
	ev_run(loop, 0);
}

static inline void be_wake_send(unsigned i)
{
	ev_async_send(loop, &asyncs[i]);
}

static void be_wake_stop(void)
{
	ev_async_send(loop, &stopper);
}
