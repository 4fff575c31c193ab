/*
 * 10. fork: event_reinit() in the child rebuilds pollers and, lazily, workers. Whatever the
 * parent's threads were doing at that moment, the child's base works, and the parent's goes on.
 */
#include "stress.h"

#include <sys/wait.h>

#define COLORS_NUM 6

/* The child's proof: posts, descriptors and timers of several colors, all to their end. */
struct proof {
	struct event_base *base;
	atomic_uint ran;
};

static void proof_fn(void *arg)
{
	struct proof *p = arg;

	atomic_fetch_add(&p->ran, 1);
}

static void proof_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	if (fd >= 0)
		drain(fd);
	proof_fn(arg);
}

static void prove(struct event_base *base)
{
	struct proof p = { .base = base };
	struct event *evs[COLORS_NUM * 2];
	int fd[COLORS_NUM][2];

	for (unsigned i = 0; i < COLORS_NUM; i++) {
		pipe_new(fd[i]);
		put(fd[i][1]);
		evs[2 * i] = ev_new(base, fd[i][0], EV_READ, 1000 + i, proof_cb, &p);
		evs[2 * i + 1] = ev_new(base, -1, 0, i, proof_cb, &p);
		CHECK(event_add(evs[2 * i], NULL) == 0);
		CHECK(event_add(evs[2 * i + 1], &zero_tv) == 0);
		post(base, 2000 + i, proof_fn, &p);
	}
	while (atomic_load(&p.ran) < 3 * COLORS_NUM)
		CHECK(event_base_loop(base, EVLOOP_ONCE) >= 0);
	CHECK(atomic_load(&p.ran) == 3 * COLORS_NUM);
	for (unsigned i = 0; i < COLORS_NUM * 2; i++)
		event_free(evs[i]);
	for (unsigned i = 0; i < COLORS_NUM; i++)
		pipe_close(fd[i]);
}

/* In the child. It never returns to cmocka. */
static void child(struct event_base *base)
{
	alarm(60);
	CHECK(event_reinit(base) == 0);
	if (CHILD_HAS_THREADS) {
		prove(base);
		prove(base);
	}
	event_base_free(base);
	_exit(0);
}

static void child_wait(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_contract_10_fork_of_a_base_that_never_ran_colors(void **state)
{
	struct event_base *base = base_new(3);
	pid_t pid;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		pid = fork();
		if (pid == 0)
			child(base);
		child_wait(pid);
		assert_int_equal(event_base_dispatch(base), 1);
	}
	event_base_free(base);
}

static void test_contract_10_fork_between_two_loops(void **state)
{
	struct event_base *base = base_new(3);
	pid_t pid;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		prove(base);
		pid = fork();
		if (pid == 0)
			child(base);
		child_wait(pid);
		prove(base);
	}
	event_base_free(base);
}

/* What is pending, and posted, at the fork is there in both processes. */
struct inherited {
	struct event_base *base;
	atomic_uint ran;
	int fd[2];
	struct event *reader, *timer;
};

static void inherited_cb(evutil_socket_t fd, short what, void *arg)
{
	struct inherited *h = arg;

	(void)what;
	if (fd >= 0)
		CHECK(take(fd));
	atomic_fetch_add(&h->ran, 1);
}

static void inherited_fn(void *arg)
{
	inherited_cb(-1, 0, arg);
}

static void inherited_run(struct inherited *h)
{
	put(h->fd[1]);
	while (atomic_load(&h->ran) < 4)
		CHECK(event_base_loop(h->base, EVLOOP_ONCE) == 0);
	CHECK(event_base_dispatch(h->base) == 1);
	CHECK(atomic_load(&h->ran) == 4);
}

static void test_contract_10_fork_inherits_what_waits(void **state)
{
	static const struct timeval soon = { 0, 20000 };
	pid_t pid;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct inherited h = { .base = base_new(3) };

		prove(h.base);
		pipe_new(h.fd);
		h.reader = ev_new(h.base, h.fd[0], EV_READ, 7, inherited_cb, &h);
		h.timer = ev_new(h.base, -1, 0, 8, inherited_cb, &h);
		event_add(h.reader, NULL);
		event_add(h.timer, &soon);
		post(h.base, 9, inherited_fn, &h);
		post(h.base, 0, inherited_fn, &h);
		pid = fork();
		if (pid == 0) {
			alarm(60);
			CHECK(event_reinit(h.base) == 0);
			if (CHILD_HAS_THREADS)
				inherited_run(&h);
			_exit(0);
		}
		child_wait(pid);
		inherited_run(&h);
		event_free(h.reader);
		event_free(h.timer);
		pipe_close(h.fd);
		event_base_free(h.base);
	}
}

/* Under load: colors that post to themselves, descriptors whose byte goes round. */
struct load {
	struct event_base *base;
	atomic_bool is_over;
	atomic_ulong runs;
	struct load_color {
		struct load *load;
		uint32_t color;
		struct event *ev;
		int fd[2];
	} colors[COLORS_NUM];
};

static void load_fn(void *arg)
{
	struct load_color *c = arg;

	atomic_fetch_add(&c->load->runs, 1);
	spin(100);
	if (!atomic_load(&c->load->is_over))
		post(c->load->base, c->color, load_fn, c);
}

static void load_cb(evutil_socket_t fd, short what, void *arg)
{
	struct load_color *c = arg;

	(void)what;
	if (take(fd) && !atomic_load(&c->load->is_over))
		put(c->fd[1]);
	if (atomic_load(&c->load->is_over))
		CHECK(event_del(c->ev) == 0);
}

static void load_start(struct load *load, struct event_base *base)
{
	load->base = base;
	atomic_init(&load->is_over, false);
	atomic_init(&load->runs, 0);
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		struct load_color *c = &load->colors[i];

		*c = (struct load_color){ .load = load, .color = i + 1 };
		pipe_new(c->fd);
		c->ev = ev_new(base, c->fd[0], EV_READ | EV_PERSIST, i + 50, load_cb, c);
		CHECK(event_add(c->ev, NULL) == 0);
		put(c->fd[1]);
		post(base, c->color, load_fn, c);
	}
}

static void load_end(struct load *load)
{
	for (unsigned i = 0; i < COLORS_NUM; i++) {
		event_free(load->colors[i].ev);
		pipe_close(load->colors[i].fd);
	}
}

/* The load's own callbacks go on in the child as well; there it is told to end, and ends. */
static void load_child(struct load *load)
{
	alarm(60);
	CHECK(event_reinit(load->base) == 0);
	atomic_store(&load->is_over, true);
	for (unsigned i = 0; i < COLORS_NUM; i++)
		CHECK(event_del(load->colors[i].ev) == 0);
	if (CHILD_HAS_THREADS)
		prove(load->base);
	_exit(0);
}

static void *loop_main(void *arg)
{
	struct load *load = arg;

	CHECK(event_base_dispatch(load->base) == 1);
	return NULL;
}

/* By a thread that has nothing to do with the base, at any moment of it. */
static void test_contract_10_fork_by_a_thread_under_load(void **state)
{
	unsigned num = is_full() ? 500 : 20;

	(void)state;
	if (!FORKS_UNDER_LOAD)
		skip();
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_new(workers);
		struct load load;
		pthread_t thread;

		load_start(&load, base);
		thread = thread_start(loop_main, &load);
		for (unsigned i = 0; i < num; i++) {
			unsigned long runs = atomic_load(&load.runs);
			pid_t pid;

			while (atomic_load(&load.runs) < runs + 100)
				sched_yield();
			pid = fork();
			if (pid == 0)
				load_child(&load);
			child_wait(pid);
		}
		atomic_store(&load.is_over, true);
		for (unsigned i = 0; i < COLORS_NUM; i++)
			CHECK(event_del(load.colors[i].ev) == 0);
		thread_join(thread);
		load_end(&load);
		event_base_free(base);
	}
}

/* By a callback, of color 0 or another: the child goes on with a loop of its own. */
struct forker {
	struct load *load;
	unsigned left;
	uint32_t color;
};

static void forker_fn(void *arg)
{
	struct forker *f = arg;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		/* A child of a callback only execs or ends, or is the loop's own thread and returns to it. */
		_exit(0);
	}
	child_wait(pid);
	if (--f->left > 0) {
		post(f->load->base, f->color, forker_fn, f);
		return;
	}
	atomic_store(&f->load->is_over, true);
	for (unsigned i = 0; i < COLORS_NUM; i++)
		CHECK(event_del(f->load->colors[i].ev) == 0);
}

static void test_contract_10_fork_by_a_callback_under_load(void **state)
{
	static const uint32_t colors[] = { 0, 99 };

	(void)state;
	if (!FORKS_UNDER_LOAD)
		skip();
	for (unsigned k = 0; k < 2; k++) {
		struct event_base *base = base_new(3);
		struct load load;
		struct forker f = { &load, is_full() ? 500 : 20, colors[k] };

		load_start(&load, base);
		post(base, colors[k], forker_fn, &f);
		assert_int_equal(event_base_dispatch(base), 1);
		load_end(&load);
		event_base_free(base);
	}
}

/* The loop's own thread forks in a callback of color 0, and both processes return to the loop. */
struct returner {
	struct event_base *base;
	struct load *load;
	pid_t pid;
};

static void returner_fn(void *arg)
{
	struct returner *r = arg;

	r->pid = fork();
	CHECK(r->pid >= 0);
	if (r->pid == 0) {
		alarm(60);
		CHECK(event_reinit(r->base) == 0);
	}
	atomic_store(&r->load->is_over, true);
	for (unsigned i = 0; i < COLORS_NUM; i++)
		CHECK(event_del(r->load->colors[i].ev) == 0);
}

static void test_contract_10_fork_child_returns_to_the_loop(void **state)
{
	(void)state;
	if (!CHILD_HAS_THREADS || !FORKS_UNDER_LOAD)
		skip();
	for (unsigned i = 0; i < 10; i++) {
		struct event_base *base = base_new(3);
		struct load load;
		struct returner r = { base, &load, -1 };
		int ended;

		load_start(&load, base);
		post(base, 0, returner_fn, &r);
		ended = event_base_dispatch(base);
		if (r.pid == 0) {
			CHECK(ended == 1);
			prove(base);
			_exit(0);
		}
		assert_int_equal(ended, 1);
		child_wait(r.pid);
		prove(base);
		load_end(&load);
		event_base_free(base);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_10_fork_of_a_base_that_never_ran_colors),
		TEST(test_contract_10_fork_between_two_loops),
		TEST(test_contract_10_fork_inherits_what_waits),
		TEST(test_contract_10_fork_by_a_thread_under_load),
		TEST(test_contract_10_fork_by_a_callback_under_load),
		TEST(test_contract_10_fork_child_returns_to_the_loop),
	};

	return RUN(tests);
}
