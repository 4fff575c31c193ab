/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * What users of libevent have without colors: as many event_bases as workers, a thread for each, a
 * color pinned to one of them, event_active() to post. Nothing moves.
 */
#include "runtime.h"

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>
#include <pthread.h>

#include "../util.h"
#include "latch.h"

const char *const rt_name = "libevent, n bases";

_Static_assert(RT_TASK_PRIVATE >= sizeof(struct event), "each task carries its event");

/* The color is its base. */
static struct event_base **bases;
static unsigned workers;

static void *loop_main(void *arg)
{
	struct event_base **base = arg;

	bench_pin((unsigned)(base - bases));
	if (event_base_loop(*base, EVLOOP_NO_EXIT_ON_EMPTY) != 0)
		bench_die("event_base_loop failed");
	return NULL;
}

void rt_start(unsigned workers_num)
{
	pthread_t thread;
	unsigned i;

	if (evthread_use_pthreads() != 0)
		bench_die("evthread_use_pthreads failed");
	workers = workers_num;
	bases = bench_alloc(workers, sizeof(struct event_base *));
	for (i = 0; i < workers; i++) {
		bases[i] = event_base_new();
		if (bases[i] == NULL || evthread_make_base_notifiable(bases[i]) != 0)
			bench_die("event_base_new failed");
		if (pthread_create(&thread, NULL, loop_main, &bases[i]) != 0)
			bench_die("no thread");
	}
}

struct color *rt_color_new(int home)
{
	static unsigned made;
	const unsigned i = home < 0 ? made++ : (unsigned)home;

	return (struct color *)bases[i % workers];
}

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct task *task = arg;

	(void)fd;
	(void)what;
	task->fn(task);
}

void rt_post(struct color *color, struct task *task)
{
	struct event *ev = (struct event *)(void *)task->bytes;

	if (task->color != color) {
		task->color = color;
		if (event_assign(ev, (struct event_base *)color, -1, EV_PERSIST, run, task) != 0)
			bench_die("event_assign failed");
	}
	event_active(ev, EV_READ, 1);
}

/* Colors never move. */
struct color *rt_color_renew(struct color *color, int home)
{
	(void)home;
	return color;
}

void rt_wait(struct latch *latch)
{
	latch_wait(latch);
}

void rt_report(const char *shape)
{
	(void)shape;
}
