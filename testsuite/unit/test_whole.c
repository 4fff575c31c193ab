/*
 * A program that uses everything once, with each allocation and each system call failing in its
 * turn: it gets -1 or goes on, and nothing crashes, hangs or is left.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "fault.h"

/* Each way to use a base; the program is the same. */
struct way {
	const char *method;
	unsigned workers;		/* 0: without colors */
	bool is_threaded;		/* evthread is on */
	int flags;
};

enum { COLORS = 4, EVENTS = 12 };

struct program {
	const struct way *way;
	struct event_config *cfg;
	struct event_base *base;
	struct event *ev[EVENTS];
	int num;
	int fd[2];
	_Atomic(unsigned) ran;
};

static void count_event(evutil_socket_t fd, short what, void *arg)
{
	struct program *p = arg;
	char byte;

	if ((what & EV_READ) != 0)
		(void)!read(fd, &byte, 1);	/* EVLOOP_NONBLOCK goes on as long as something is ready */
	p->ran++;
}

static void count_post(void *arg)
{
	count_event(-1, 0, arg);
}

static void finalizer(struct event *ev, void *arg)
{
	(void)ev;
	count_post(arg);
}

static void worker_start(struct event_base *base, unsigned worker, void *arg)
{
	(void)base;
	(void)worker;
	(void)arg;
}

/* ---------------------------------------------------------------- the program */

static bool configure(struct program *p)
{
	static const char *const methods[] = { "epoll", "poll", "select" };
	const struct timeval interval = { 1, 0 };
	size_t i;

	p->cfg = event_config_new();
	if (p->cfg == NULL)
		return false;
	for (i = 0; i < ROWS(methods); i++) {
		if (strcmp(methods[i], p->way->method) != 0 && event_config_avoid_method(p->cfg, methods[i]) < 0)
			return false;
	}
	return event_config_set_flag(p->cfg, p->way->flags) == 0 &&
	       event_config_set_max_dispatch_interval(p->cfg, &interval, 100, 0) == 0 &&
	       event_config_set_workers(p->cfg, p->way->workers, worker_start, NULL) == 0;
}

static struct event *make(struct program *p, int fd, short what)
{
	struct event *ev = event_new(p->base, fd, what, count_event, p);

	if (ev == NULL)
		return NULL;
	p->ev[p->num++] = ev;
	if (p->way->workers != 0)
		assert_int_equal(event_set_color(ev, (unsigned)p->num % COLORS), 0);
	return ev;
}

static bool add(struct program *p, int fd, short what, const struct timeval *tv)
{
	struct event *ev = make(p, fd, what);

	if (ev == NULL)
		return false;
	if (event_add(ev, tv) == 0)
		return true;
	assert_int_equal(event_pending(ev, EV_READ | EV_WRITE | EV_TIMEOUT | EV_SIGNAL, NULL), 0);
	return false;
}

static bool add_descriptors(struct program *p)
{
	const struct timeval later = { 1000, 0 };

	return add(p, p->fd[0], EV_READ, NULL) && add(p, p->fd[0], EV_READ | EV_PERSIST, &later) &&
	       add(p, p->fd[1], EV_WRITE, NULL);
}

static bool add_timers(struct program *p)
{
	const struct timeval soon = { 0, 0 }, later = { 1000, 0 }, *common;

	if (!add(p, -1, 0, &soon) || !add(p, -1, EV_PERSIST, &later))
		return false;
	common = event_base_init_common_timeout(p->base, &later);
	return common != NULL && add(p, -1, EV_PERSIST, common);
}

static bool add_signal(struct program *p)
{
	struct event *ev = evsignal_new(p->base, SIGUSR1, count_event, p);

	if (ev == NULL)
		return false;
	p->ev[p->num++] = ev;
	return event_add(ev, NULL) == 0 && raise(SIGUSR1) == 0;
}

static bool post(struct program *p)
{
	unsigned color;

	for (color = 0; color < (p->way->workers != 0 ? COLORS : 1); color++) {
		if (event_base_post(p->base, color, count_post, p) < 0)
			return false;
	}
	return event_base_once(p->base, -1, EV_TIMEOUT, count_event, p, NULL) == 0;
}

static bool activate(struct program *p)
{
	struct event *ev = make(p, -1, 0);

	if (ev == NULL)
		return false;
	event_active(ev, EV_TIMEOUT, 1);
	return true;
}

static bool finalize(struct program *p)
{
	struct event *ev = event_new(p->base, -1, EV_FINALIZE, count_event, p);

	if (ev == NULL)
		return false;
	if (event_free_finalize(0, ev, finalizer) == 0)
		return true;
	event_free(ev);
	return false;
}

static bool run(struct program *p)
{
	return event_base_loop(p->base, EVLOOP_NONBLOCK) >= 0 &&
	       event_base_once(p->base, -1, EV_TIMEOUT, count_event, p, NULL) == 0 &&
	       event_base_loop(p->base, EVLOOP_ONCE) >= 0;
}

/* It need not be a child that does so, as long as no thread of the base's is there. */
static bool reinit(struct program *p)
{
	if (p->way->workers != 0)
		return true;
	return event_reinit(p->base) == 0 && event_base_loop(p->base, EVLOOP_NONBLOCK) >= 0;
}

static bool use_all(struct program *p)
{
	if (!configure(p))
		return false;
	p->base = event_base_new_with_config(p->cfg);
	if (p->base == NULL)
		return false;
	return event_base_priority_init(p->base, 3) == 0 && add_descriptors(p) && add_timers(p) && add_signal(p) &&
	       post(p) && activate(p) && finalize(p) && run(p) && reinit(p);
}

static int whole(void *arg)
{
	struct program p = { .way = arg };
	bool done;

	assert_int_equal(pipe2(p.fd, O_NONBLOCK | O_CLOEXEC), 0);
	if (write(p.fd[1], "x", 1) != 1 && errno != EINTR)
		fail();
	done = use_all(&p);
	while (p.num > 0)
		event_free(p.ev[--p.num]);
	if (p.base != NULL)
		event_base_free(p.base);
	event_config_free(p.cfg);
	close(p.fd[0]);
	close(p.fd[1]);
	return done ? 0 : -1;
}

/* ---------------------------------------------------------------- with faults */

static void quiet(int severity, const char *text)
{
	(void)severity;
	(void)text;
}

static int setup(void **state)
{
	const struct way *way = *state;

	event_set_log_callback(quiet);
	if (!way->is_threaded)
		return 0;
	return evthread_use_pthreads();
}

/* Without faults all of it is done: the loops below compare with nothing otherwise. */
static void it_works(void **state)
{
	assert_int_equal(whole(*state), 0);
}

static void any_allocation_may_fail(void **state)
{
	assert_true(fault_each_alloc(whole, *state, -1) > 30);
}

/* With the errors that the system has for each. */
static const struct {
	enum fault_call call;
	int err;
} failures[] = {
	{ FAULT_close, EINTR },
	{ FAULT_close, EIO },
	{ FAULT_epoll_create1, EMFILE },
	{ FAULT_epoll_ctl, ENOMEM },
	{ FAULT_epoll_ctl, ENOSPC },
	{ FAULT_epoll_ctl, EEXIST },
	{ FAULT_epoll_ctl, ENOENT },
	{ FAULT_epoll_pwait2, ENOSYS },
	{ FAULT_epoll_pwait2, EINTR },
	{ FAULT_epoll_wait, EINTR },
	{ FAULT_epoll_wait, EINVAL },
	{ FAULT_eventfd, ENFILE },
	{ FAULT_fcntl, EBADF },
	{ FAULT_fopen, EACCES },
	{ FAULT_poll, EINTR },
	{ FAULT_poll, ENOMEM },
	{ FAULT_ppoll, EINTR },
	{ FAULT_ppoll, ENOMEM },
	{ FAULT_pselect, EINTR },
	{ FAULT_pselect, ENOMEM },
	{ FAULT_pselect, EBADF },
	{ FAULT_pthread_create, EAGAIN },
	{ FAULT_read, EINTR },
	{ FAULT_sched_getaffinity, EINVAL },
	{ FAULT_sigaction, EINVAL },
	{ FAULT_write, EINTR },
};

static void any_system_call_may_fail(void **state)
{
	unsigned calls = 0;
	size_t i;

	for (i = 0; i < ROWS(failures); i++)
		calls += fault_each_call_as(failures[i].call, failures[i].err, whole, *state, -1);
	assert_true(calls > 20);
}

static const struct way ways[] = {
	{ "epoll", 0, false, 0 },
	{ "epoll", 0, false, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST | EVENT_BASE_FLAG_PRECISE_TIMER },
	{ "poll", 0, false, EVENT_BASE_FLAG_NO_CACHE_TIME },
	{ "select", 0, false, 0 },
	{ "epoll", 1, false, 0 },
	{ "epoll", 3, false, 0 },
	{ "poll", 2, false, 0 },
	{ "select", 2, false, 0 },
	{ "epoll", 0, true, 0 },		/* from here on evthread stays on */
	{ "epoll", 3, true, 0 },
	{ "select", 2, true, EVENT_BASE_FLAG_NOLOCK },
};

int main(void)
{
	static struct CMUnitTest tests[ROWS(ways) * 3];
	size_t i, n = 0;

#define TEST(test) tests[n++] = (struct CMUnitTest){ #test, test, setup, NULL, (void *)(uintptr_t)&ways[i] }
	for (i = 0; i < ROWS(ways); i++) {
		TEST(it_works);
		TEST(any_allocation_may_fail);
		TEST(any_system_call_may_fail);
	}
	return cmocka_run_group_tests_name("whole", tests, fault_init, fault_fini);
}
