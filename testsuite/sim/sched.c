/*
 * One real thread, so nothing here is locked. The threads switch to each other directly;
 * the program's own stack ("outside") is left when a schedule starts and entered when its
 * last thread has ended.
 *
 * Strategies, chosen by the seed, since each finds what others find late:
 *   uniform   any thread at any point
 *   sticky    the same thread goes on, but for one point in 4, 16 or 64
 *   pct       the thread of highest priority runs; at a few random steps the running one
 *             becomes the lowest ("A randomized scheduler with probabilistic guarantees of
 *             finding bugs", ASPLOS 2010): a bug that needs d ordered events is found
 *             with a probability known in advance
 */
#include "sched.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/os/thread.h"
#include "core/lock/sync.h"
#include "fiber.h"
#include "weak.h"

enum {
	CHANGES_MAX = 4,
	START_NS = 1000000000,		/* a clock that shows 0 looks like one that was never read */
	SPIN_NS = 5000,
	SPIN_GAP = 8,			/* more steps than that between two spins: something moves */
	SPINS_UNTIL_JUMP = 200,		/* only spinners run: let a sleeper's time come */
	SPINS_MAX = 5000,		/* … and nobody sleeps until a time: livelock */
	TURN_MAX = 1000,		/* steps of one thread while others could run */
};

enum state { READY, BLOCKED, ENDED };

struct thread {
	enum state state;
	struct fiber fiber;
	bool has_fiber;
	const char *name;
	void (*fn)(void *arg);
	void *arg;
	void *self;			/* ec_self() */
	_Atomic(bool) *late;		/* a store that has not taken effect yet; NULL: none */
	bool late_value;

	/* BLOCKED */
	const void *key;
	int64_t deadline_ns;
	const char *why;
	int result;

	/* pct: higher runs */
	int64_t priority;

	/* for reports: the last point */
	const char *func;
	int line;
};

enum strategy { UNIFORM, STICKY, PCT };

static struct {
	struct sim_report *report;
	bool trace, is_weak;

	struct fiber outside;
	struct thread threads[SIM_THREADS_MAX];
	int threads_num;
	struct thread *current;		/* NULL: no schedule is running */

	uint64_t random;
	unsigned steps, steps_max;
	unsigned turn;			/* steps since the last switch */
	unsigned spins, last_spin;
	int64_t clock_ns;

	enum strategy strategy;
	unsigned stickiness;
	unsigned changes[CHANGES_MAX], changes_num;
	int64_t lowest;
	bool is_interrupted;		/* futexes wake up for no reason now and then */
} sim;

static uint64_t random_next(void)
{
	uint64_t z = (sim.random += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t sim_random(uint32_t below)
{
	return (uint32_t)((random_next() >> 32) * below >> 32);
}

int sim_thread(void)
{
	return sim.current == NULL ? -1 : (int)(sim.current - sim.threads);
}

void sim_meet(void)
{
	weak_see_all(sim_thread());
}

int64_t sim_clock_ns(void)
{
	return sim.clock_ns;
}

/* ---------------------------------------------------------------- reports */

void sim_note(const char *fmt, ...)
{
	va_list ap;

	if (!sim.trace)
		return;
	fprintf(stderr, "%6u %-10s ", sim.steps, sim.current == NULL ? "-" : sim.current->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void sim_fail(const char *fmt, ...)
{
	struct sim_report *rep = sim.report;
	va_list ap;
	int i, len;

	len = snprintf(rep->reason, sizeof(rep->reason), "%s: ",
		       sim.current == NULL ? "-" : sim.current->name);
	va_start(ap, fmt);
	vsnprintf(rep->reason + len, sizeof(rep->reason) - (size_t)len, fmt, ap);
	va_end(ap);

	fprintf(stderr, "seed %llu (%s), step %u, %lld ns: %s\n", (unsigned long long)rep->seed,
		rep->strategy, sim.steps, (long long)sim.clock_ns, rep->reason);
	for (i = 0; i < sim.threads_num; i++) {
		const struct thread *t = &sim.threads[i];

		fprintf(stderr, "  %-10s %s%s, last at %s:%d\n", t->name,
			t->state == READY ? "can run" : t->state == ENDED ? "has ended" : "waits for ",
			t->state == BLOCKED ? t->why : "", t->func, t->line);
	}
	/* Not exit(): the stacks and what they own are abandoned, which is no leak to report. */
	_exit(1);
}

/* ---------------------------------------------------------------- who runs next */

static void demote(struct thread *t)
{
	t->priority = --sim.lowest;
}

static void clock_set(int64_t now_ns)
{
	int i;

	sim.clock_ns = now_ns;
	for (i = 0; i < sim.threads_num; i++) {
		struct thread *t = &sim.threads[i];

		if (t->state != BLOCKED || t->deadline_ns > now_ns)
			continue;
		t->state = READY;
		t->result = -ETIMEDOUT;
	}
}

/* Let the first time come that somebody waits for. False: nobody does. */
static bool clock_jump(void)
{
	int64_t first = SIM_FOREVER;
	int i;

	for (i = 0; i < sim.threads_num; i++) {
		if (sim.threads[i].state == BLOCKED && sim.threads[i].deadline_ns < first)
			first = sim.threads[i].deadline_ns;
	}
	if (first == SIM_FOREVER)
		return false;
	clock_set(first);
	return true;
}

static int ready_threads(struct thread **ret)
{
	int i, num = 0;

	for (i = 0; i < sim.threads_num; i++) {
		if (sim.threads[i].state == READY)
			ret[num++] = &sim.threads[i];
	}
	return num;
}

/* Any ready thread but `except`, unless it is the only one; NULL: none can run, ever. */
static struct thread *choose(const struct thread *except)
{
	struct thread *ready[SIM_THREADS_MAX], *best;
	int i, num;

	num = ready_threads(ready);
	if (num == 0) {
		if (!clock_jump())
			return NULL;
		num = ready_threads(ready);
	}
	for (i = 0; i < num && num > 1; i++) {
		if (ready[i] == except)
			ready[i] = ready[--num];
	}

	if (sim.strategy != PCT)
		return ready[sim_random((uint32_t)num)];
	best = ready[0];
	for (i = 1; i < num; i++) {
		if (ready[i]->priority > best->priority)
			best = ready[i];
	}
	return best;
}

static void switch_to(struct thread *next, enum fiber_fate fate)
{
	struct thread *before = sim.current;

	if (next == before)
		return;
	sim.current = next;
	sim.turn = 0;
	fiber_switch(&before->fiber, next == NULL ? &sim.outside : &next->fiber, fate);
}

/* The running thread may go on, if the strategy says so. */
static void maybe_switch(void)
{
	unsigned i;

	switch (sim.strategy) {
	case UNIFORM:
		break;
	case STICKY:
		if (sim_random(sim.stickiness) != 0)
			return;
		break;
	case PCT:
		for (i = 0; i < sim.changes_num; i++) {
			if (sim.changes[i] == sim.steps)
				demote(sim.current);
		}
		break;
	}
	switch_to(choose(NULL), FIBER_STOPS);
}

/* The running thread must let another one run, if any can. */
static void must_switch(void)
{
	demote(sim.current);
	switch_to(choose(sim.current), FIBER_STOPS);
}

static void step(const char *func, int line)
{
	sim.current->func = func;
	sim.current->line = line;
	if (++sim.steps > sim.steps_max)
		sim_fail("livelock: no end after %u steps", sim.steps_max);
}

static void flush(struct thread *t)
{
	if (t->late != NULL)
		atomic_store_explicit(t->late, t->late_value, memory_order_relaxed);
	t->late = NULL;
}

void sim_flush(void)
{
	if (sim.current != NULL)
		flush(sim.current);
}

/* What a processor's store buffer does to one store: other threads may run before it takes effect. */
void sim_store_late(_Atomic(bool) *p, bool v)
{
	if (sim.current == NULL) {
		atomic_store_explicit(p, v, memory_order_relaxed);
		return;
	}
	flush(sim.current);
	sim.current->late = p;
	sim.current->late_value = v;
	if (sim_random(2) == 0)
		flush(sim.current);
}

void sim_barrier(void)
{
	int i;

	for (i = 0; i < sim.threads_num; i++)
		flush(&sim.threads[i]);
	weak_see_all_threads();
}

void sim_point(const char *func, int line)
{
	if (sim.current == NULL)
		return;
	step(func, line);
	if (sim.current->late != NULL && sim_random(4) == 0)
		flush(sim.current);
	if (++sim.turn > TURN_MAX)
		must_switch();
	else
		maybe_switch();
	if (sim.trace)
		sim_note("%s:%d (pc %p)", func, line, __builtin_return_address(0));
}

void sim_spin(const char *func, int line)
{
	if (sim.current == NULL)
		return;
	step(func, line);
	weak_see_all(sim_thread());
	clock_set(sim.clock_ns + SPIN_NS);
	sim.spins = sim.steps - sim.last_spin <= SPIN_GAP ? sim.spins + 1 : 0;
	sim.last_spin = sim.steps;
	if (sim.spins > SPINS_UNTIL_JUMP && clock_jump())
		sim.spins = 0;
	if (sim.spins > SPINS_MAX)
		sim_fail("livelock: all that can run spin");
	must_switch();
}

/* ---------------------------------------------------------------- threads */

static void thread_end(void)
{
	struct thread *t = sim.current, *next;
	int i;

	t->state = ENDED;
	sim_wake(t, SIM_THREADS_MAX);
	for (i = 0; i < sim.threads_num && sim.threads[i].state == ENDED; i++)
		;
	if (i == sim.threads_num) {
		switch_to(NULL, FIBER_ENDS);
	} else {
		next = choose(NULL);
		if (next == NULL)
			sim_fail("deadlock: the rest wait for each other");
		switch_to(next, FIBER_ENDS);
	}
}

static void thread_main(void)
{
	struct thread *t = sim.current;

	t->fn(t->arg);
	thread_end();
}

static int thread_new(const char *name, void (*fn)(void *arg), void *arg)
{
	struct thread *t = &sim.threads[sim.threads_num];

	if (sim.threads_num == SIM_THREADS_MAX)
		sim_fail("more than %d threads", SIM_THREADS_MAX);
	if (!t->has_fiber) {
		if (fiber_init(&t->fiber) < 0)
			sim_fail("no memory for a stack");
		t->has_fiber = true;
	}
	t->state = READY;
	t->name = name;
	t->fn = fn;
	t->arg = arg;
	t->self = NULL;
	t->late = NULL;
	t->func = "start";
	t->line = 0;
	t->priority = sim_random(1u << 16);
	weak_see_all(sim.threads_num);
	fiber_prepare(&t->fiber, thread_main);
	return sim.threads_num++;
}

int sim_start(const char *name, void (*fn)(void *arg), void *arg)
{
	int id = thread_new(name, fn, arg);

	sim_note("starts %s", name);
	sim_point(__func__, __LINE__);
	return id;
}

void sim_join(int id)
{
	struct thread *t = &sim.threads[id];

	sim_point(__func__, __LINE__);
	while (t->state != ENDED)
		sim_block(t, SIM_FOREVER, t->name);
	weak_see_all(sim_thread());
}

int sim_block(const void *key, int64_t deadline_ns, const char *why)
{
	struct thread *t = sim.current, *next;

	if (deadline_ns <= sim.clock_ns)
		return -ETIMEDOUT;
	sim_note("waits for %s", why);
	t->state = BLOCKED;
	t->key = key;
	t->deadline_ns = deadline_ns;
	t->why = why;
	t->result = 0;
	next = choose(NULL);
	if (next == NULL)
		sim_fail("deadlock: nobody can run");
	switch_to(next, FIBER_STOPS);
	weak_see_all(sim_thread());
	sim_note("has waited for %s: %s", why, t->result == 0 ? "woken" : "time is up");
	return t->result;
}

void sim_wake(const void *key, int num)
{
	struct thread *waiters[SIM_THREADS_MAX];
	int i, waiters_num = 0;

	for (i = 0; i < sim.threads_num; i++) {
		if (sim.threads[i].state == BLOCKED && sim.threads[i].key == key)
			waiters[waiters_num++] = &sim.threads[i];
	}
	while (num-- > 0 && waiters_num > 0) {
		i = (int)sim_random((uint32_t)waiters_num);
		waiters[i]->state = READY;
		waiters[i] = waiters[--waiters_num];
	}
}

void sim_sleep(int64_t ns)
{
	static const char nobody_wakes_it;

	sim_block(&nobody_wakes_it, sim.clock_ns + ns, "a time");
}

/* ---------------------------------------------------------------- core/lock/sync.h, core/os/thread.h */

int sim_futex_wait(const void *word, uint32_t expected, const struct timespec *timeout)
{
	int64_t deadline = SIM_FOREVER;

	sim_point(__func__, __LINE__);
	if (atomic_load_explicit((const _Atomic(uint32_t) *)word, memory_order_relaxed) != expected)
		return -EAGAIN;
	if (sim.is_interrupted && sim_random(8) == 0)
		return -EINTR;
	if (timeout != NULL)
		deadline = sim.clock_ns + timeout->tv_sec * INT64_C(1000000000) + timeout->tv_nsec;
	return sim_block(word, deadline, "a futex");
}

void sim_futex_wake(const void *word, int num)
{
	sim_point(__func__, __LINE__);
	sim_wake(word, num);
}

void *ec_self(void)
{
	return sim.current == NULL ? NULL : sim.current->self;
}

void ec_set_self(void *self)
{
	sim.current->self = self;
}

const void *ec_thread_key(void)
{
	return sim.current;
}

int ec_osthread_start(struct ec_osthread *t, void (*fn)(void *arg), void *arg)
{
	t->fn = fn;
	t->arg = arg;
	t->id = (pthread_t)(uintptr_t)sim_start("worker", fn, arg);	/* musl: a pointer */
	return 0;
}

/* No fork is simulated. */
/* Each simulated thread has a CPU of its own. */
void ec_osthread_yield(void)
{
}

void ec_osthread_unmask(const struct ec_osthread *t)
{
	(void)t;
}

void ec_osthread_join(struct ec_osthread *t)
{
	sim_join((int)(uintptr_t)t->id);
}

/* ---------------------------------------------------------------- one schedule */

/* A function of the seed alone, so that a seed can be replayed without those before it. */
static void strategy_choose(void)
{
	static const unsigned stickiness[] = { 4, 16, 64 };
	static const unsigned lengths[] = { 32, 128, 512, 2048 };
	char *name = sim.report->strategy;
	size_t size = sizeof(sim.report->strategy);
	unsigned i, len;

	sim.is_interrupted = sim_random(4) == 0;
	sim.strategy = (enum strategy)sim_random(3);
	switch (sim.strategy) {
	case UNIFORM:
		snprintf(name, size, "uniform%s", sim.is_interrupted ? ", interrupted" : "");
		break;
	case STICKY:
		sim.stickiness = stickiness[sim_random(3)];
		snprintf(name, size, "sticky 1/%u%s", sim.stickiness,
			 sim.is_interrupted ? ", interrupted" : "");
		break;
	case PCT:
		sim.changes_num = sim_random(CHANGES_MAX + 1);
		len = lengths[sim_random(4)];
		for (i = 0; i < sim.changes_num; i++)
			sim.changes[i] = 1 + sim_random(len);
		snprintf(name, size, "pct, %u changes in %u steps%s", sim.changes_num, len,
			 sim.is_interrupted ? ", interrupted" : "");
		break;
	}
}

struct first {
	void (*body)(const void *arg);
	const void *arg;
};

static void first_main(void *arg)
{
	struct first *first = arg;

	first->body(first->arg);
}

void sim_init(struct sim_report *report, bool trace)
{
	sim.report = report;
	sim.trace = trace;
	fiber_init_self(&sim.outside);
}

void sim_set_weak(bool is_weak)
{
	sim.is_weak = is_weak;
}

void sim_run_seed(uint64_t seed, unsigned steps_max, void (*body)(const void *arg), const void *arg)
{
	struct first first = { .body = body, .arg = arg };

	sim.report->seed = seed;
	sim.random = seed;
	sim.threads_num = 0;
	sim.steps = 0;
	sim.steps_max = steps_max;
	sim.turn = sim.spins = sim.last_spin = 0;
	sim.clock_ns = START_NS;
	sim.lowest = 0;
	weak_begin(seed, sim.is_weak);
	strategy_choose();

	thread_new("main", first_main, &first);
	sim.current = &sim.threads[0];
	fiber_switch(&sim.outside, &sim.current->fiber, FIBER_STOPS);
	sim.report->steps += sim.steps;
}
