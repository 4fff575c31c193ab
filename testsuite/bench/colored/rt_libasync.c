/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * libasync-smp as its paper describes it (USENIX 2003): per worker a thread, a queue and a spin
 * lock; a table from color to worker; posting appends to the worker's queue. With RT_STEAL, an
 * idle worker looks through a victim's queue for a color that is not running and takes all of
 * its tasks, both queues locked.
 */
#include "runtime.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "../util.h"
#include "futex.h"
#include "latch.h"

#ifdef RT_STEAL
const char *const rt_name = "libasync-like";
#else
const char *const rt_name = "libasync-like, no stealing";
#endif

struct worker {
	/* lock */
	_Alignas(64) struct task *head, **tail;
	struct color *running;

	/* atomic; queued_num is written under the lock only */
	_Atomic int lock;
	_Atomic long queued_num;
	_Alignas(64) _Atomic uint32_t wakes;
	_Atomic int is_asleep;
};

/* Written with the locks of both workers held: who holds that of the one it names, knows it. */
struct color {
	_Atomic(struct worker *) worker;
};

static struct worker *workers;
static unsigned workers_num;

static void lock(struct worker *w)
{
	unsigned turns = 0;

	while (atomic_exchange_explicit(&w->lock, 1, memory_order_acquire) != 0) {
		while (atomic_load_explicit(&w->lock, memory_order_relaxed) != 0) {
			if (++turns % 2048 == 0)
				sched_yield();	/* the holder may wait for this CPU */
			cpu_relax();
		}
	}
}

static void unlock(struct worker *w)
{
	atomic_store_explicit(&w->lock, 0, memory_order_release);
}

static void append(struct worker *w, struct task *task)
{
	task->next = NULL;
	*w->tail = task;
	w->tail = &task->next;
	atomic_fetch_add(&w->queued_num, 1);
}

static struct task *pop(struct worker *w)
{
	struct task *task;

	lock(w);
	task = w->head;
	w->running = task == NULL ? NULL : task->color;
	if (task != NULL) {
		w->head = task->next;
		if (w->head == NULL)
			w->tail = &w->head;
		atomic_fetch_sub(&w->queued_num, 1);
	}
	unlock(w);
	return task;
}

/* A poster queues, then reads is_asleep; a worker writes is_asleep, then looks at the queues. */
static void wake(struct worker *w)
{
	if (atomic_load(&w->is_asleep) == 0)
		return;
	atomic_fetch_add(&w->wakes, 1);
	futex_wake(&w->wakes);
}

#ifdef RT_STEAL

static void wake_thief(const struct worker *home)
{
	unsigned i;

	for (i = 0; i < workers_num; i++) {
		if (&workers[i] == home || atomic_load(&workers[i].is_asleep) == 0)
			continue;
		wake(&workers[i]);
		return;
	}
}

static struct color *choose(const struct worker *victim)
{
	struct task *task;

	for (task = victim->head; task != NULL; task = task->next) {
		if (task->color != victim->running)
			return task->color;
	}
	return NULL;
}

static void move(struct color *color, struct worker *from, struct worker *to)
{
	struct task **link = &from->head, *task;

	while ((task = *link) != NULL) {
		if (task->color != color) {
			link = &task->next;
			continue;
		}
		*link = task->next;
		atomic_fetch_sub(&from->queued_num, 1);
		append(to, task);
	}
	from->tail = link;
	atomic_store(&color->worker, to);
}

static int steal_from(struct worker *victim, struct worker *thief)
{
	struct worker *low = victim < thief ? victim : thief;
	struct worker *high = victim < thief ? thief : victim;
	struct color *color;

	if (atomic_load(&victim->queued_num) == 0)
		return 0;
	lock(low);
	lock(high);
	color = choose(victim);
	if (color != NULL)
		move(color, victim, thief);
	unlock(high);
	unlock(low);
	return color != NULL;
}

static int steal(struct worker *thief)
{
	const unsigned self = (unsigned)(thief - workers);
	unsigned i;

	for (i = 1; i < workers_num; i++) {
		if (steal_from(&workers[(self + i) % workers_num], thief))
			return 1;
	}
	return 0;
}

static int is_any_queued(const struct worker *self)
{
	unsigned i;

	(void)self;
	for (i = 0; i < workers_num; i++) {
		if (atomic_load(&workers[i].queued_num) > 0)
			return 1;
	}
	return 0;
}

#else

static void wake_thief(const struct worker *home)
{
	(void)home;
}

static int steal(struct worker *thief)
{
	(void)thief;
	return 0;
}

static int is_any_queued(const struct worker *self)
{
	return atomic_load(&self->queued_num) > 0;
}

#endif

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct task *task;
	uint32_t wakes;

	bench_pin((unsigned)(w - workers));
	for (;;) {
		task = pop(w);
		if (task != NULL) {
			task->fn(task);
			continue;
		}
		if (steal(w))
			continue;
		wakes = atomic_load(&w->wakes);
		atomic_store(&w->is_asleep, 1);
		if (is_any_queued(w))
			cpu_relax();
		else
			futex_wait(&w->wakes, wakes);
		atomic_store(&w->is_asleep, 0);
	}
	return NULL;
}

void rt_start(unsigned num)
{
	pthread_t thread;
	unsigned i;

	workers_num = num;
	workers = bench_alloc(num, sizeof(*workers));
	for (i = 0; i < num; i++)
		workers[i].tail = &workers[i].head;
	for (i = 0; i < num; i++) {
		if (pthread_create(&thread, NULL, worker_main, &workers[i]) != 0)
			bench_die("no thread");
	}
}

/* As an entry of its table: without the rounding up to cache lines of bench_alloc(). */
struct color *rt_color_new(int home)
{
	static struct color *table;
	static unsigned made, left;
	const unsigned i = home < 0 ? made++ : (unsigned)home;

	if (left == 0) {
		left = 4096;
		table = bench_alloc(left, sizeof(*table));
	}
	left--;
	atomic_store(&table->worker, &workers[i % workers_num]);
	return table++;
}

struct color *rt_color_renew(struct color *color, int home)
{
	if (home >= 0)
		atomic_store(&color->worker, &workers[(unsigned)home % workers_num]);
	return color;
}

void rt_post(struct color *color, struct task *task)
{
	struct worker *w = atomic_load(&color->worker);

	task->color = color;
	for (;;) {
		lock(w);
		if (w == atomic_load(&color->worker))
			break;
		unlock(w);		/* it moved meanwhile */
		w = atomic_load(&color->worker);
	}
	append(w, task);
	unlock(w);
	wake(w);
	wake_thief(w);
}

void rt_wait(struct latch *latch)
{
	latch_wait(latch);
}

void rt_report(const char *shape)
{
	(void)shape;
}
