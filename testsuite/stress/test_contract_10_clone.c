/*
 * 10. A child that libc's fork did not make: clone(2), as some sandboxes have it. No handler of pthread_atfork has run.
 * Where no thread was changing the base, event_reinit() makes it whole as after fork. Else it
 * says so, and never hangs.
 */
#include "stress.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include "../unit/emulated.h"

#define COLORS_NUM 6

/* A sanitizer's runtime has its own locks, which only fork leaves in order. */
#define CLONES (!IS_SANITIZED && has_wipe_on_fork())

static void no_work_fn(void *arg)
{
	(void)arg;
}

static pid_t clone_process(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	CHECK(pid >= 0);
	if (pid == 0)
		alarm(60);
	return pid;
}

/* A worker that goes to sleep after the loop may hold a lock at that moment: the child says so, and another is made. */
enum { LOST = 9 };

static void child_begin(struct event_base *base)
{
	if (event_reinit(base) == 0)
		return;
	CHECK(errno == ENOTRECOVERABLE);
	_exit(LOST);
}

/* False: its base was lost. */
static bool child_wait(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == LOST));
	return WEXITSTATUS(status) == 0;
}

/* ---------------------------------------------------------------- what a base must do */

struct proof {
	atomic_uint ran;
};

static void proof_fn(void *arg)
{
	struct proof *p = arg;

	atomic_fetch_add(&p->ran, 1);
}

static void proof_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	proof_fn(arg);
}

/* Two colors that meet, so the base has living workers; a timer; a descriptor. */
static void meets_fn(void *arg)
{
	latch_meet(arg);
}

static void prove(struct event_base *base)
{
	struct proof p = { 0 };
	struct event *reader, *timer;
	struct latch both;
	int fd[2];

	pipe_new(fd);
	put(fd[1]);
	latch_init(&both, 2);
	reader = ev_new(base, fd[0], EV_READ, 31, proof_cb, &p);
	timer = ev_new(base, -1, 0, 32, proof_cb, &p);
	CHECK(event_add(reader, NULL) == 0 && event_add(timer, &zero_tv) == 0);
	post(base, 33, proof_fn, &p);
	if (event_base_get_workers(base) > 1) {
		post(base, 34, meets_fn, &both);
		post(base, 35, meets_fn, &both);
	}
	CHECK(event_base_dispatch(base) == 1);
	CHECK(atomic_load(&p.ran) == 3);
	event_free(reader);
	event_free(timer);
	pipe_close(fd);
	latch_fini(&both);
}

/* ---------------------------------------------------------------- at rest */

static void test_contract_10_clone_between_two_loops(void **state)
{
	(void)state;
	if (!CLONES)
		skip();
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_new(workers);
		pid_t pid;

		for (unsigned i = 0; i < 10; i++) {
			prove(base);
			do {
				pid = clone_process();
				if (pid == 0) {
					child_begin(base);
					prove(base);
					event_base_free(base);
					_exit(0);
				}
			} while (!child_wait(pid));
		}
		prove(base);
		event_base_free(base);
	}
}

/* The child of a child; and one that frees the base, and makes another. */
static void test_contract_10_clone_without_reinit(void **state)
{
	struct event_base *base;
	pid_t pid;

	(void)state;
	if (!CLONES)
		skip();
	base = base_new(3);
	prove(base);
	pid = clone_process();
	if (pid == 0) {
		event_base_free(base);
		base = base_new(2);
		prove(base);
		do {
			pid = clone_process();
			if (pid == 0) {
				child_begin(base);
				prove(base);
				_exit(0);
			}
		} while (!child_wait(pid));
		pid = fork();
		if (pid == 0) {
			CHECK(event_reinit(base) == 0);
			prove(base);
			_exit(0);
		}
		CHECK(child_wait(pid));
		prove(base);
		_exit(0);
	}
	CHECK(child_wait(pid));
	prove(base);
	event_base_free(base);
}

/* By the loop's own thread: the child returns to the loop. */
struct cloner {
	struct event_base *base;
	pid_t pid;
};

static void cloner_fn(void *arg)
{
	struct cloner *c = arg;

	c->pid = clone_process();
	if (c->pid == 0)
		child_begin(c->base);
	post(c->base, 33, no_work_fn, NULL);
}

static void test_contract_10_clone_in_a_callback(void **state)
{
	(void)state;
	if (!CLONES)
		skip();
	for (unsigned workers = 1; workers <= 3;) {
		struct event_base *base = base_new(workers);
		struct cloner c = { .base = base };

		prove(base);
		event_base_post(base, 0, cloner_fn, &c);
		CHECK(event_base_dispatch(base) == 1);
		prove(base);
		if (c.pid == 0)
			_exit(0);
		workers += child_wait(c.pid);
		event_base_free(base);
	}
}

/* ---------------------------------------------------------------- while others are busy */

struct load {
	struct event_base *base;
	atomic_bool is_over;
	atomic_ulong runs;
	struct load_color {
		struct load *load;
		uint32_t color;
	} colors[COLORS_NUM];
};

static void load_fn(void *arg)
{
	struct load_color *c = arg;

	atomic_fetch_add(&c->load->runs, 1);
	spin(300);
	if (!atomic_load(&c->load->is_over))
		post(c->load->base, c->color, load_fn, c);
}

static void *loop_main(void *arg)
{
	struct load *load = arg;

	CHECK(event_base_dispatch(load->base) == 1);
	return NULL;
}

/* At any moment of the other threads. True: the base was whole. */
static bool clone_under_load(struct load *load)
{
	int status, r;
	pid_t pid;

	pid = clone_process();
	if (pid == 0) {
		r = event_reinit(load->base);
		CHECK(r == 0 || (r == -1 && errno == ENOTRECOVERABLE));
		CHECK(event_reinit(load->base) == r);
		atomic_store(&load->is_over, true);
		if (r == 0)
			CHECK(event_base_dispatch(load->base) == 1);
		event_base_free(load->base);
		prove(base_new(2));
		_exit(r == 0 ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	return WEXITSTATUS(status) == 0;
}

static void silent_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static void test_contract_10_clone_by_a_thread_under_load(void **state)
{
	(void)state;
	if (!CLONES)
		skip();
	event_set_log_callback(silent_log);
	for (unsigned workers = 1; workers <= 3; workers++) {
		struct event_base *base = base_new(workers);
		struct load load = { .base = base };
		pthread_t thread;

		for (uint32_t i = 0; i < COLORS_NUM; i++) {
			load.colors[i] = (struct load_color){ &load, i + 1 };
			post(base, i + 1, load_fn, &load.colors[i]);
		}
		thread = thread_start(loop_main, &load);
		for (unsigned i = 0; i < rounds(30); i++) {
			unsigned long runs = atomic_load(&load.runs);

			while (atomic_load(&load.runs) < runs + 1000)
				sched_yield();
			(void)clone_under_load(&load);
		}
		atomic_store(&load.is_over, true);
		thread_join(thread);
		prove(base);
		event_base_free(base);
	}
	event_set_log_callback(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_10_clone_between_two_loops),
		TEST(test_contract_10_clone_without_reinit),
		TEST(test_contract_10_clone_in_a_callback),
		TEST(test_contract_10_clone_by_a_thread_under_load),
	};

	return RUN(tests);
}
