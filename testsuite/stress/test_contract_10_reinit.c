/*
 * 10. fork: what the parent was in the midst of, and the child needs not be told. In a pause, with
 * signals pending, in a callback that never returns to its loop, with another base beside it.
 */
#include "stress.h"

#include <sys/wait.h>

#define COLORS_NUM 6

/* A base with something to do for ever: posts of its own, readers that always have a byte, timers. */
struct busy {
	struct event_base *base;
	pthread_t thread;		/* runs its loop, from busy_run to busy_end */
	struct event *readers[COLORS_NUM], *timers[COLORS_NUM], *shared[COLORS_NUM];
	int fd[2];
	atomic_bool is_over;
	atomic_ulong runs;
	unsigned long runs_end;		/* color 0's */
	struct busy_color {
		struct busy *busy;
		uint32_t color;
	} colors[COLORS_NUM];
};

static void busy_fn(void *arg)
{
	struct busy_color *c = arg;

	atomic_fetch_add(&c->busy->runs, 1);
	spin(100);
	if (!atomic_load(&c->busy->is_over))
		post(c->busy->base, c->color, busy_fn, c);
}

static void busy_cb(evutil_socket_t fd, short what, void *arg)
{
	struct busy *b = arg;

	(void)fd;
	(void)what;
	atomic_fetch_add(&b->runs, 1);
	spin(100);
}

static void busy_start(struct busy *b, unsigned workers)
{
	static const struct timeval often = { 0, 100 };

	*b = (struct busy){ .base = base_new(workers) };
	pipe_new(b->fd);
	put(b->fd[1]);
	for (uint32_t i = 0; i < COLORS_NUM; i++) {
		b->colors[i] = (struct busy_color){ b, i + 1 };
		b->readers[i] = ev_new(b->base, b->fd[0], EV_READ | EV_PERSIST, i + 20, busy_cb, b);
		b->timers[i] = ev_new(b->base, -1, EV_PERSIST, i + 40, busy_cb, b);
		b->shared[i] = event_new(b->base, b->fd[0], EV_READ | EV_PERSIST, busy_cb, b);
		CHECK(b->shared[i] != NULL && event_set_color_shared(b->shared[i], 60) == 0);
		CHECK(event_add(b->readers[i], NULL) == 0);
		CHECK(event_add(b->timers[i], &often) == 0);
		CHECK(event_add(b->shared[i], NULL) == 0);
		post(b->base, i + 1, busy_fn, &b->colors[i]);
	}
}

/* It has nothing to do from here on: its loop ends. Any thread. */
static void busy_stop(struct busy *b)
{
	atomic_store(&b->is_over, true);
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		CHECK(event_del(b->readers[i]) == 0);
		CHECK(event_del(b->timers[i]) == 0);
		CHECK(event_del(b->shared[i]) == 0);
	}
}

static void busy_free(struct busy *b)
{
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		event_free(b->readers[i]);
		event_free(b->timers[i]);
		event_free(b->shared[i]);
	}
	pipe_close(b->fd);
	event_base_free(b->base);
}

static void *loop_main(void *arg)
{
	struct busy *b = arg;

	CHECK(event_base_dispatch(b->base) == 1);
	return NULL;
}

static void busy_run(struct busy *b, unsigned workers)
{
	busy_start(b, workers);
	b->thread = thread_start(loop_main, b);
}

static void busy_end(struct busy *b)
{
	busy_stop(b);
	thread_join(b->thread);
	busy_free(b);
}

static void wait_runs(struct busy *b, unsigned long num)
{
	unsigned long runs = atomic_load(&b->runs);

	while (atomic_load(&b->runs) < runs + num)
		sched_yield();
}

static void stop_later_fn(void *arg)
{
	struct busy *b = arg;

	if (atomic_load(&b->runs) < b->runs_end)
		post(b->base, 0, stop_later_fn, b);
	else
		busy_stop(b);
}

/* The child runs it for a while, and brings it to its end. */
static void child_uses(struct busy *b)
{
	CHECK(event_reinit(b->base) == 0);
	if (CHILD_HAS_THREADS) {
		b->runs_end = atomic_load(&b->runs) + 200;
		post(b->base, 0, stop_later_fn, b);
		CHECK(event_base_dispatch(b->base) == 1);
	}
	busy_free(b);
}

static void child_wait(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pid_t fork_with_alarm(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		alarm(60);
	return pid;
}

static void test_contract_10_reinit_of_two_bases(void **state)
{
	struct busy a, b;
	pid_t pid;

	(void)state;
	if (!FORKS_UNDER_LOAD)
		skip();
	busy_run(&a, 3);
	busy_run(&b, 2);
	for (unsigned i = 0; i < rounds(60); i++) {
		wait_runs(&a, 50);
		wait_runs(&b, 50);
		pid = fork_with_alarm();
		if (pid == 0) {
			child_uses(&a);
			child_uses(&b);
			_exit(0);
		}
		child_wait(pid);
	}
	busy_end(&a);
	busy_end(&b);
}

/* Freed by a child that did not reinit it; the parent's descriptors are watched on. */
static void test_contract_10_reinit_is_not_needed_to_free(void **state)
{
	struct busy b;
	pid_t pid;

	(void)state;
	if (!FORKS_UNDER_LOAD)
		skip();
	busy_run(&b, 3);
	for (unsigned i = 0; i < rounds(60); i++) {
		wait_runs(&b, 50);
		pid = fork_with_alarm();
		if (pid == 0) {
			event_base_free(b.base);
			_exit(0);
		}
		child_wait(pid);
	}
	/* Of the readers alone: posts and timers are no proof. */
	for (unsigned i = 0; i < COLORS_NUM; i++)
		CHECK(event_del(b.timers[i]) == 0);
	atomic_store(&b.is_over, true);
	wait_runs(&b, 1000);
	busy_end(&b);
}

/* The pauser forks, and resumes in both; or another thread holds the pause, and does not in the child. */
struct pauser {
	struct busy *busy;
	struct latch paused, forked;
};

static void *pauser_main(void *arg)
{
	struct pauser *p = arg;

	CHECK(event_base_pause(p->busy->base) == 0);
	latch_down(&p->paused);
	latch_wait(&p->forked);
	CHECK(event_base_resume(p->busy->base) == 0);
	return NULL;
}

static void test_contract_10_reinit_ends_the_pauses_of_others(void **state)
{
	struct busy b;
	pthread_t other;
	pid_t pid;

	(void)state;
	if (!FORKS_UNDER_LOAD)
		skip();
	busy_run(&b, 3);
	for (unsigned i = 0; i < rounds(60); i++) {
		struct pauser p = { .busy = &b };

		latch_init(&p.paused, 1);
		latch_init(&p.forked, 1);
		wait_runs(&b, 50);
		other = thread_start(pauser_main, &p);
		if (i % 2)
			latch_wait(&p.paused);
		pid = fork_with_alarm();
		if (pid == 0) {
			child_uses(&b);
			_exit(0);
		}
		latch_down(&p.forked);
		thread_join(other);
		child_wait(pid);
		latch_fini(&p.paused);
		latch_fini(&p.forked);
	}
	busy_end(&b);
}

static void test_contract_10_reinit_keeps_the_own_pause(void **state)
{
	struct busy b;
	unsigned long runs;
	pid_t pid;

	(void)state;
	if (!FORKS_UNDER_LOAD)
		skip();
	busy_run(&b, 3);
	for (unsigned i = 0; i < rounds(60); i++) {
		wait_runs(&b, 50);
		CHECK(event_base_pause(b.base) == 0);
		runs = atomic_load(&b.runs);
		pid = fork_with_alarm();
		CHECK(atomic_load(&b.runs) == runs);
		if (pid == 0) {
			CHECK(event_reinit(b.base) == 0);
			CHECK(event_base_resume(b.base) == 0);
			CHECK(event_base_resume(b.base) == -1);
			child_uses(&b);
			_exit(0);
		}
		CHECK(event_base_resume(b.base) == 0);
		child_wait(pid);
	}
	busy_end(&b);
}

/* A colored callback's child: its own loop is gone, so it gets one, and ends with it. */
struct forker {
	struct busy *busy;
	unsigned left;
	bool is_child;
};

/* Before a leak checker looks: what the threads owned that are gone is lost to the child. */
static void end_child(void)
{
	_exit(0);
}

static void forker_fn(void *arg)
{
	struct forker *f = arg;
	sigset_t mask;
	pid_t pid;

	if (f->is_child)
		return;
	pid = fork_with_alarm();
	if (pid == 0) {
		f->is_child = true;
		CHECK(atexit(end_child) == 0);
		CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0 && sigismember(&mask, SIGTERM) == 0);
		CHECK(event_reinit(f->busy->base) == 0);
		busy_stop(f->busy);
		return;
	}
	child_wait(pid);
	if (--f->left == 0)
		busy_stop(f->busy);
	else
		post(f->busy->base, 99, forker_fn, f);
}

static void test_contract_10_reinit_in_a_colored_callback(void **state)
{
	struct forker f;
	struct busy b;

	(void)state;
	if (!CHILD_HAS_THREADS || !FORKS_UNDER_LOAD)
		skip();
	busy_start(&b, 3);
	f = (struct forker){ &b, rounds(60), false };
	post(b.base, 99, forker_fn, &f);
	CHECK(event_base_dispatch(b.base) == 1);
	/* Here with color 99 on the loop's own thread, the child returns as well. */
	if (f.is_child)
		_exit(0);
	busy_free(&b);
}

/* Signals that the parent has not dispatched are the parent's; new ones come to the child. */
struct signaled {
	struct event_base *base;
	struct event *ev;
	atomic_uint runs;
};

static void signal_cb(evutil_socket_t sig, short what, void *arg)
{
	struct signaled *s = arg;

	CHECK(sig == SIGUSR1 && (what & EV_SIGNAL));
	atomic_fetch_add(&s->runs, 1);
	CHECK(event_del(s->ev) == 0);
}

static void test_contract_10_reinit_with_signals(void **state)
{
	pid_t pid;

	(void)state;
	for (unsigned i = 0; i < rounds(60); i++) {
		struct signaled s = { .base = base_new(3) };

		s.ev = ev_new(s.base, SIGUSR1, EV_SIGNAL | EV_PERSIST, i % 2 ? 5 : 0, signal_cb, &s);
		CHECK(event_add(s.ev, NULL) == 0);
		raise(SIGUSR1);
		pid = fork_with_alarm();
		if (pid == 0) {
			CHECK(event_reinit(s.base) == 0);
			CHECK(event_base_loop(s.base, EVLOOP_NONBLOCK) == 0);
			CHECK(atomic_load(&s.runs) == 0);
			raise(SIGUSR1);
		}
		CHECK(event_base_dispatch(s.base) == 1);
		CHECK(atomic_load(&s.runs) == 1);
		event_free(s.ev);
		event_base_free(s.base);
		if (pid == 0)
			_exit(0);
		child_wait(pid);
	}
}

/* Without a fork it changes nothing, also while workers run. */
static void test_contract_10_reinit_without_a_fork(void **state)
{
	struct busy b;

	(void)state;
	busy_run(&b, 3);
	for (unsigned i = 0; i < rounds(60); i++) {
		wait_runs(&b, 50);
		CHECK(event_reinit(b.base) == 0);
	}
	wait_runs(&b, 1000);
	busy_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_10_reinit_of_two_bases),
		TEST(test_contract_10_reinit_is_not_needed_to_free),
		TEST(test_contract_10_reinit_ends_the_pauses_of_others),
		TEST(test_contract_10_reinit_keeps_the_own_pause),
		TEST(test_contract_10_reinit_in_a_colored_callback),
		TEST(test_contract_10_reinit_with_signals),
		TEST(test_contract_10_reinit_without_a_fork),
	};

	return RUN(tests);
}
