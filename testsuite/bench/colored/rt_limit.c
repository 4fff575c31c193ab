/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#include "runtime.h"

#include <pthread.h>

#include "../util.h"
#include "latch.h"

const char *const rt_name = "limit";

struct rt_limit_worker *rt_limit_workers;
_Thread_local struct rt_limit_worker *rt_limit_self;
static unsigned workers;

void rt_limit_send(struct rt_limit_worker *w, struct task *task)
{
	struct task *first = atomic_load(&w->inbox);

	do {
		task->next = first;
	} while (!atomic_compare_exchange_weak(&w->inbox, &first, task));
	if (first == NULL) {
		atomic_fetch_add(&w->wakes, 1);
		futex_wake(&w->wakes);
	}
}

/* Takes the inbox, last first, and queues it first first. Returns 0 if it was empty. */
static int take_inbox(struct rt_limit_worker *w)
{
	struct task *task = atomic_exchange(&w->inbox, NULL), *first = NULL, *next;

	if (task == NULL)
		return 0;
	w->tail = &task->next;
	for (; task != NULL; task = next) {
		next = task->next;
		task->next = first;
		first = task;
	}
	w->head = first;
	return 1;
}

static void *worker_main(void *arg)
{
	struct rt_limit_worker *w = arg;
	struct task *task;
	uint32_t wakes;

	bench_pin((unsigned)(w - rt_limit_workers));
	rt_limit_self = w;
	for (;;) {
		while ((task = w->head) != NULL) {
			w->head = task->next;
			if (w->head == NULL)
				w->tail = &w->head;
			task->fn(task);
		}
		wakes = atomic_load(&w->wakes);
		if (!take_inbox(w))
			futex_wait(&w->wakes, wakes);
	}
	return NULL;
}

void rt_start(unsigned workers_num)
{
	pthread_t thread;
	unsigned i;

	workers = workers_num;
	rt_limit_workers = bench_alloc(workers, sizeof(*rt_limit_workers));
	for (i = 0; i < workers; i++) {
		rt_limit_workers[i].tail = &rt_limit_workers[i].head;
		if (pthread_create(&thread, NULL, worker_main, &rt_limit_workers[i]) != 0)
			bench_die("no thread");
	}
}

struct color *rt_color_new(int home)
{
	static unsigned made;
	const unsigned i = home < 0 ? made++ : (unsigned)home;

	return (struct color *)&rt_limit_workers[i % workers];
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
