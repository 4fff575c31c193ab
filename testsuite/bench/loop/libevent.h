/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * libevent's API: one program, run on stock and on ours. The environment chooses the variant:
 *
 *	BENCH_LOCKS=1		with evthread_use_pthreads(), as threaded programs have it
 *	BENCH_COMMON=1		timers through event_base_init_common_timeout()
 *	BENCH_COLORS=n		event i has color 1 + i % n (libevent-smp only)
 */
#define EVENT_SMP_WEAK
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>
#include <event2/thread.h>

static const char *const be_name = "libevent";

static struct event_base *base;
static unsigned colors_num;

static struct event *readers, *writers, *timers, *tasks;
static struct timeval *delays;
static const struct timeval **common;	/* as delays, for event_base_init_common_timeout() */

static inline unsigned number_of(const void *arg)
{
	return (unsigned)(uintptr_t)arg;
}

static void set_color(struct event *ev, unsigned i)
{
	if (colors_num == 0)
		return;
	if (event_set_color(ev, 1 + i % colors_num) != 0)
		bench_die("event_set_color failed");
}

static void set_event(struct event *ev, int fd, short what, event_callback_fn fn, unsigned i)
{
	if (event_assign(ev, base, fd, what, fn, (void *)(uintptr_t)i) != 0)
		bench_die("event_assign failed");
	set_color(ev, i);
}

static inline void add(struct event *ev, const struct timeval *delay)
{
	if (event_add(ev, delay) != 0)
		bench_die("event_add failed");
}

static void be_open(void)
{
	if (bench_setting("BENCH_LOCKS", 0) != 0)
		evthread_use_pthreads();
	colors_num = (unsigned)bench_setting("BENCH_COLORS", 0);
	if (colors_num > 0 && event_set_color == NULL)
		bench_skip("this libevent has no colors");
	base = event_base_new();
	if (base == NULL)
		bench_die("event_base_new failed");
}

static inline void be_turn(void)
{
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

static inline void be_cycle(void)
{
	struct event_base *other = event_base_new();

	event_base_loop(other, EVLOOP_NONBLOCK);
	event_base_free(other);
}

/* ---------------------------------------------------------------- descriptors */

static void readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	pipe_readable(number_of(arg));
}

static void writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void be_io_alloc(unsigned n)
{
	readers = bench_alloc(n, sizeof(*readers));
	writers = bench_alloc(n, sizeof(*writers));
}

static void be_io_set(unsigned i, int fd)
{
	set_event(&readers[i], fd, EV_READ | EV_PERSIST, readable, i);
	set_event(&writers[i], fd, EV_WRITE | EV_PERSIST, writable, i);
}

static inline void be_read_start(unsigned i)
{
	add(&readers[i], NULL);
}

static inline void be_read_stop(unsigned i)
{
	event_del(&readers[i]);
}

static inline void be_write_start(unsigned i)
{
	add(&writers[i], NULL);
}

static inline void be_write_stop(unsigned i)
{
	event_del(&writers[i]);
}

/* ---------------------------------------------------------------- timers */

static void timed_out(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	timer_fired();
}

static void be_timer_alloc(unsigned n)
{
	unsigned i;

	timers = bench_alloc(n, sizeof(*timers));
	delays = bench_alloc(n, sizeof(*delays));
	if (bench_setting("BENCH_COMMON", 0) != 0)
		common = bench_alloc(n, sizeof(*common));
	for (i = 0; i < n; i++)
		set_event(&timers[i], -1, 0, timed_out, i);
}

static void be_timer_due(unsigned i, unsigned us)
{
	static const struct timeval soon = { 0, 10000 }, late = { 500, 0 };
	static const struct timeval *made[2];
	const unsigned is_late = us > 10000;

	delays[i].tv_sec = us / 1000000;
	delays[i].tv_usec = us % 1000000;
	if (common == NULL)
		return;
	if (made[is_late] == NULL)
		made[is_late] = event_base_init_common_timeout(base, is_late ? &late : &soon);
	if (made[is_late] == NULL)
		bench_die("event_base_init_common_timeout failed");
	common[i] = made[is_late];
}

static void (*timers_run)(void);

static void run_within(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	timers_run();
}

/* BENCH_CACHED=1: in a callback, where the loop's time is taken, as in libev; else each start reads the clock. */
static void be_timer_within(void (*run)(void))
{
	static const struct timeval now = { 0, 0 };

	timers_run = run;
	if (bench_setting("BENCH_CACHED", 0) == 0)
		run();
	else if (event_base_once(base, -1, EV_TIMEOUT, run_within, NULL, &now) != 0)
		bench_die("event_base_once failed");
	else
		be_turn();
}

static void be_timer_begin(void)
{
}

static inline void be_timer_start(unsigned i, unsigned due)
{
	add(&timers[i], common != NULL ? common[due] : &delays[due]);
}

static inline void be_timer_stop(unsigned i)
{
	event_del(&timers[i]);
}

static inline void be_timer_again(unsigned i, unsigned due)
{
	be_timer_start(i, due);
}

/* ---------------------------------------------------------------- activation */

static void activated(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	task_ran();
}

static void activated_link(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	link_ran(number_of(arg));
}

static void be_task_alloc(unsigned n, bool is_chain)
{
	unsigned i;

	tasks = bench_alloc(n, sizeof(*tasks));
	for (i = 0; i < n; i++)
		set_event(&tasks[i], -1, EV_PERSIST, is_chain ? activated_link : activated, i);
}

static inline void be_task_activate(unsigned i)
{
	event_active(&tasks[i], EV_READ, 1);
}

/* ---------------------------------------------------------------- waking */

static void woken(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	wake_seen();
}

static void be_wake_open(unsigned n)
{
	unsigned i;

	evthread_use_pthreads();
	be_open();
	if (evthread_make_base_notifiable(base) != 0)
		bench_die("evthread_make_base_notifiable failed");
	tasks = bench_alloc(n, sizeof(*tasks));
	for (i = 0; i < n; i++)
		set_event(&tasks[i], -1, EV_PERSIST, woken, i);
}

static void be_wake_run(void)
{
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
}

static inline void be_wake_send(unsigned i)
{
	event_active(&tasks[i], EV_READ, 1);
}

static void be_wake_stop(void)
{
	event_base_loopbreak(base);
}
