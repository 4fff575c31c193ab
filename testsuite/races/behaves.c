/*
 * What the race checker must leave to the program as it is.
 *
 *   behaves exit|term|crash|signals|stack|mask|child|many|nested|turns|nothing|stay
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "../abi/tsan/program.h"

static struct event_base *base;

/* ---------------------------------------------------------------- the end */

static void exit_here(void *arg)
{
	(void)arg;
	exit(3);
}

static void exit_in_color(void)
{
	post(base, 1, exit_here, NULL);
	event_base_loop(base, 0);
}

static void die_here(void *arg)
{
	(void)arg;
	kill(getpid(), SIGTERM);
}

static void die_in_color(void)
{
	post(base, 1, die_here, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
}

/* ThreadSanitizer catches the signal, tells it, and ends the process by itself. */
static void crash_here(void *arg)
{
	(void)arg;
	raise(SIGSEGV);
}

static void crash_in_color(void)
{
	post(base, 1, crash_here, NULL);
	event_base_loop(base, 0);
}

static void nothing(void)
{
}

/* ---------------------------------------------------------------- a signal while a color runs */

static atomic_int steps;
static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught = 1;
}

static void step(int n)
{
	atomic_store_explicit(&steps, n, memory_order_relaxed);
}

static void await(int n)
{
	while (atomic_load_explicit(&steps, memory_order_relaxed) < n)
		;
}

/* It calls nothing of the C library. */
static void wait_for_signal(void *arg)
{
	(void)arg;
	step(1);
	await(2);
}

static void *send_signal(void *arg)
{
	await(1);
	pthread_kill(*(pthread_t *)arg, SIGUSR1);
	step(2);
	return NULL;
}

static void signals(void)
{
	pthread_t self = pthread_self(), thread;

	signal(SIGUSR1, on_signal);
	thread = thread_start(send_signal, &self);
	post(base, 1, wait_for_signal, NULL);
	CHECK(event_base_loop(base, 0) == 1);
	thread_join(thread);
	CHECK(caught == 1);
}

/* ---------------------------------------------------------------- the stack and the mask of a thread */

static unsigned deep(unsigned left)
{
	volatile char room[4096];

	room[left % sizeof(room)] = (char)left;
	return left == 0 ? 0 : deep(left - 1) + (unsigned char)room[left % sizeof(room)] % 2;
}

static void go_deep(void *arg)
{
	(void)arg;
	CHECK(deep(1000) == 500);
}

static void stack(void)
{
	post(base, 1, go_deep, NULL);
	CHECK(event_base_loop(base, 0) == 1);
}

static void block_signal(void *arg)
{
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

static void mask(void)
{
	sigset_t set;

	post(base, 1, block_signal, NULL);
	CHECK(event_base_loop(base, 0) == 1);
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &set) == 0 && sigismember(&set, SIGUSR2) == 1);
}

/* ---------------------------------------------------------------- a daemon */

static unsigned long counter;

static void count(void *arg)
{
	(void)arg;
	counter++;
}

static void child(void)
{
	post(base, 1, count, NULL);
	post(base, 2, count, NULL);
	CHECK(event_base_loop(base, 0) == 1 && counter == 2);
}

/* A race, and no end. */
static void stay(void)
{
	post(base, 1, count, NULL);
	post(base, 2, count, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
}

/* ---------------------------------------------------------------- more colors than fibers */

enum { COLORS = 1500, ROUNDS = 3 };

static unsigned long own[COLORS];

static void count_own(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	if (++own[i] < ROUNDS)
		post(base, (uint32_t)i + 1, count_own, arg);
}

static void many(void)
{
	uintptr_t i;

	for (i = 0; i < COLORS; i++)
		post(base, (uint32_t)i + 1, count_own, (void *)i);
	CHECK(event_base_loop(base, 0) == 1);
	for (i = 0; i < COLORS; i++)
		CHECK(own[i] == ROUNDS);
}

/* ---------------------------------------------------------------- a loop in a callback; loops in turn */

static struct event_base *inner;
static unsigned long results[3];

static void compute(void *arg)
{
	results[(uintptr_t)arg]++;
}

static void run_inner(void *arg)
{
	(void)arg;
	inner = base_new(4);
	CHECK(event_base_post(inner, 1, compute, (void *)0) == 0);
	CHECK(event_base_post(inner, 2, compute, (void *)1) == 0);
	CHECK(event_base_post(inner, 0, compute, (void *)2) == 0);
	CHECK(event_base_loop(inner, 0) == 1);
	CHECK(results[0] == 1 && results[1] == 1 && results[2] == 1);
	event_base_free(inner);
}

static void nested(void)
{
	post(base, 7, run_inner, NULL);
	CHECK(event_base_loop(base, 0) == 1);
	CHECK(results[0] == 1);
}

static void *loop_here(void *arg)
{
	(void)arg;
	CHECK(event_base_loop(base, 0) == 1);
	CHECK(results[0] + results[1] + results[2] >= 3);
	return NULL;
}

static void turns(void)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		post(base, i, compute, (void *)(uintptr_t)i);
	thread_join(thread_start(loop_here, NULL));
	for (i = 0; i < 3; i++) {
		results[i]++;
		post(base, i, compute, (void *)(uintptr_t)i);
	}
	while (event_base_loop(base, EVLOOP_ONCE) == 0)
		;
	for (i = 0; i < 3; i++)
		CHECK(results[i] == 3);
}

static const struct {
	const char *name;
	void (*fn)(void);
} modes[] = {
	{ "exit", exit_in_color }, { "term", die_in_color }, { "crash", crash_in_color }, { "nothing", nothing },
	{ "signals", signals }, { "stack", stack }, { "mask", mask }, { "child", child }, { "many", many },
	{ "nested", nested }, { "turns", turns }, { "stay", stay },
};

int main(int argc, char **argv)
{
	unsigned i;
	int status;

	CHECK(argc > 1);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]) && strcmp(modes[i].name, argv[1]) != 0; i++)
		;
	CHECK(i < sizeof(modes) / sizeof(modes[0]));
	/* A daemon makes its base after the fork. */
	if (modes[i].fn == child && fork() != 0) {
		CHECK(wait(&status) > 0 && status == 0);
		return 0;
	}
	base = base_new(4);
	modes[i].fn();
	event_base_free(base);
	return 0;
}
