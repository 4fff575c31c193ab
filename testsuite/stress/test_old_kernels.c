/*
 * Kernels and sandboxes without system calls that the library knows: a seccomp filter refuses them, in a process of
 * its own, and the same scene must end well there. A kernel refuses by ENOSYS; many a sandbox does by EPERM.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <event2/thread.h>
#include <event2/util.h>

#include "stress.h"

/* New system calls have one number on all machines; the headers may be older. */
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum { CALLS_MAX = 8, NOT_HERE = 77, COLORS = 8, POSTS = 2000, VISITS = 2000, WORKERS = 3 };

struct kernel {
	const char *name;
	int error;
	unsigned refused[CALLS_MAX];	/* 0 ends them */
};

static const struct kernel kernels[] = {
	{ "nothing refused", 0, { 0 } },
	{ "no io_uring", ENOSYS, { SYS_io_uring_setup } },
	{ "no epoll_pwait2", ENOSYS, { SYS_epoll_pwait2 } },
	{ "no membarrier", ENOSYS, { SYS_membarrier } },
	{ "no memfd_create", ENOSYS, { SYS_memfd_create } },
	{ "no getrandom", ENOSYS, { SYS_getrandom } },
	{ "Linux of long ago", ENOSYS,
	  { SYS_io_uring_setup, SYS_epoll_pwait2, SYS_membarrier, SYS_memfd_create, SYS_getrandom, SYS_clone3,
	    SYS_close_range } },
	{ "a sandbox", EPERM,
	  { SYS_io_uring_setup, SYS_epoll_pwait2, SYS_membarrier, SYS_memfd_create, SYS_close_range } },
};

/* ---------------------------------------------------------------- the filter */

static void refuse(const struct kernel *k)
{
	struct sock_filter code[2 * CALLS_MAX + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .filter = code };
	unsigned i, len = 1;

	for (i = 0; i < CALLS_MAX && k->refused[i] != 0; i++) {
		code[len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k->refused[i], 0, 1);
		code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)k->error);
	}
	code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)len;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(NOT_HERE);
	for (i = 0; i < CALLS_MAX && k->refused[i] != 0; i++)
		CHECK(syscall((long)k->refused[i], -1, 0, 0, 0, 0, 0) == -1 && errno == k->error);
}

/* ---------------------------------------------------------------- the scene */

static void count_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned *)arg;
}

static int64_t now_ns(void)
{
	struct timespec ts;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Sleeps that are no whole milliseconds: never too short. */
static void precise_timers_fire(void)
{
	static const struct timeval waits[] = { { 0, 1 }, { 0, 300 }, { 0, 1700 } };
	struct event_config *cfg = event_config_new();
	struct event_base *base;
	unsigned fired = 0;
	int64_t began;

	CHECK(cfg != NULL && event_config_set_flag(cfg, EVENT_BASE_FLAG_PRECISE_TIMER) == 0);
	base = event_base_new_with_config(cfg);
	CHECK(base != NULL);
	event_config_free(cfg);
	for (unsigned i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		began = now_ns();
		CHECK(event_base_once(base, -1, EV_TIMEOUT, count_cb, &fired, &waits[i]) == 0);
		CHECK(event_base_dispatch(base) == 1);
		CHECK(fired == i + 1 && now_ns() - began >= waits[i].tv_usec * INT64_C(1000));
	}
	event_base_free(base);
}

struct visit {
	struct event_base *base;
	struct event *ev;
	unsigned called;
};

static void *visit_main(void *arg)
{
	struct visit *v = arg;

	for (unsigned i = 0; i < VISITS; i++)
		event_active(v->ev, EV_READ, 1);
	CHECK(event_base_loopexit(v->base, NULL) == 0);
	return NULL;
}

/* Another thread enters locks that are biased to the loop's. */
static void others_activate(void)
{
	struct visit v = { .base = event_base_new() };
	struct event *stay;
	pthread_t thread;

	CHECK(v.base != NULL);
	v.ev = event_new(v.base, -1, EV_PERSIST, count_cb, &v.called);
	stay = event_new(v.base, -1, 0, nothing_cb, NULL);
	CHECK(v.ev != NULL && stay != NULL && event_add(stay, &hour_tv) == 0);
	thread = thread_start(visit_main, &v);
	CHECK(event_base_dispatch(v.base) == 0);
	thread_join(thread);
	CHECK(v.called > 0);
	event_free(stay);
	event_free(v.ev);
	event_base_free(v.base);
}

struct ring {
	struct event_base *base;
	unsigned num;			/* of color 1 */
	int fd;
};

/* From color to color; the last one makes a descriptor ready. */
static void ring_cb(void *arg)
{
	struct ring *r = arg;

	if (++r->num < POSTS)
		post(r->base, 1 + r->num % COLORS, ring_cb, r);
	else
		put(r->fd);
}

static void colors_run(void)
{
	struct ring r = { .base = base_new(WORKERS) };
	struct event *ev;
	unsigned came = 0;
	int fd[2];

	pipe_new(fd);
	r.fd = fd[1];
	ev = ev_new(r.base, fd[0], EV_READ, COLORS + 1, count_cb, &came);
	CHECK(event_add(ev, NULL) == 0);
	post(r.base, 1, ring_cb, &r);
	CHECK(event_base_dispatch(r.base) == 1);
	CHECK(r.num == POSTS && came == 1);
	event_free(ev);
	event_base_free(r.base);
	pipe_close(fd);
}

static void random_numbers_come(void)
{
	unsigned char bytes[64] = { 0 }, zeros[64] = { 0 };

	evutil_secure_rng_get_bytes(bytes, sizeof(bytes));
	CHECK(memcmp(bytes, zeros, sizeof(bytes)) != 0);
}

static void scene(const struct kernel *k)
{
	refuse(k);
	CHECK(evthread_use_pthreads() == 0);
	random_numbers_come();
	precise_timers_fire();
	others_activate();
	colors_run();
}

static void run_on(const struct kernel *k)
{
	int status;
	pid_t pid;

	if (HAS_TSAN)
		skip();			/* it needs calls of its own, and no threads in a child */
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(400);
		scene(k);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
		skip();			/* no seccomp: an emulator, or a kernel without it */
	assert_int_equal(status, 0);
}

static void the_scene_ends_well(void **state)
{
	run_on(*state);
}

int main(void)
{
	enum { NUM = sizeof(kernels) / sizeof(kernels[0]) };
	struct CMUnitTest tests[NUM];

	for (unsigned i = 0; i < NUM; i++)
		tests[i] = (struct CMUnitTest){
			.name = kernels[i].name,
			.test_func = the_scene_ends_well,
			.initial_state = (void *)(uintptr_t)&kernels[i],
		};
	return RUN(tests);
}
