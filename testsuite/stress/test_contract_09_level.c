/*
 * 9. Level triggering: a descriptor whose callback is queued or running elsewhere does not
 * spin its poller; it is disarmed only when it reports again before its callback has run, and
 * rearmed after. In the common case no extra system call.
 *
 * The test counts the library's system calls: its own epoll_wait and epoll_ctl, exported from the
 * executable, stand before libc's.
 */
#include "stress.h"

#include <dlfcn.h>
#include <sys/epoll.h>

/* Looks that found something: a poller that spins on a ready descriptor always does. */
static atomic_ulong reports_num;
static atomic_ulong looks_num;		/* that did not sleep */
static atomic_ulong ctls_num;

static int reported(int num)
{
	if (num > 0)
		atomic_fetch_add(&reports_num, 1);
	return num;
}

/* Looked up before there is a second thread. */
static int (*real_wait)(int, struct epoll_event *, int, int);
static int (*real_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
static int (*real_pwait2)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
static int (*real_ctl)(int, int, int, struct epoll_event *);

__attribute__((constructor)) static void look_up(void)
{
	*(void **)&real_wait = dlsym(RTLD_NEXT, "epoll_wait");
	*(void **)&real_pwait = dlsym(RTLD_NEXT, "epoll_pwait");
	*(void **)&real_pwait2 = dlsym(RTLD_NEXT, "epoll_pwait2");
	*(void **)&real_ctl = dlsym(RTLD_NEXT, "epoll_ctl");
}

int epoll_wait(int epfd, struct epoll_event *events, int num, int timeout_ms)
{
	if (timeout_ms == 0)
		atomic_fetch_add(&looks_num, 1);
	return reported(real_wait(epfd, events, num, timeout_ms));
}

int epoll_pwait(int epfd, struct epoll_event *events, int num, int timeout_ms, const sigset_t *mask)
{
	return reported(real_pwait(epfd, events, num, timeout_ms, mask));
}

/* glibc before 2.35 and musl do not declare it. */
int epoll_pwait2(int epfd, struct epoll_event *events, int num, const struct timespec *timeout, const sigset_t *mask);

int epoll_pwait2(int epfd, struct epoll_event *events, int num, const struct timespec *timeout, const sigset_t *mask)
{
	if (real_pwait2 == NULL) {
		errno = ENOSYS;
		return -1;
	}
	return reported(real_pwait2(epfd, events, num, timeout, mask));
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	atomic_fetch_add(&ctls_num, 1);
	return real_ctl(epfd, op, fd, event);
}

static bool uses_epoll(const struct event_base *base)
{
	return strncmp(event_base_get_method(base), "epoll", 5) == 0;
}

/*
 * A callback stands with its descriptor still ready, until a timer of another color comes
 * due. In between nothing happens but that descriptor's readiness.
 */
#define TIMERS_NUM 8

struct standing {
	struct event_base *base;
	struct latch timer_ran;
	atomic_bool has_timer_run;
	unsigned runs;
	unsigned long reports;
	struct event *reader, *timers[TIMERS_NUM];
	int fd[2];
};

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct standing *s = arg;

	(void)fd;
	(void)what;
	if (!atomic_exchange(&s->has_timer_run, true))
		latch_down(&s->timer_ran);
}

static void standing_cb(evutil_socket_t fd, short what, void *arg)
{
	struct standing *s = arg;
	unsigned long before = atomic_load(&reports_num);

	(void)what;
	if (s->runs++ > 0) {
		/* Told again, since it was not read before: level, not edge. */
		drain(fd);
		CHECK(event_base_loopbreak(s->base) == 0);
		return;
	}
	latch_wait(&s->timer_ran);
	s->reports = atomic_load(&reports_num) - before;
}

/* For each worker: its wake-up, and once the descriptor, which is then disarmed. */
static unsigned long few(unsigned workers)
{
	return 3UL * workers;
}

/* A reader of the color that has a byte to read, and timers of colors of their own, added by the caller. */
static void standing_init(struct standing *s, unsigned workers, uint32_t color)
{
	*s = (struct standing){ .base = base_new(workers) };
	latch_init(&s->timer_ran, 1);
	pipe_new(s->fd);
	put(s->fd[1]);
	s->reader = ev_new(s->base, s->fd[0], EV_READ | EV_PERSIST, color, standing_cb, s);
	for (unsigned i = 0; i < TIMERS_NUM; i++)
		s->timers[i] = ev_new(s->base, -1, 0, i + 2, timer_cb, s);
}

static void standing_fini(struct standing *s)
{
	event_free(s->reader);
	for (unsigned i = 0; i < TIMERS_NUM; i++)
		event_free(s->timers[i]);
	pipe_close(s->fd);
	latch_fini(&s->timer_ran);
	event_base_free(s->base);
}

static void standing_run(struct standing *s)
{
	event_add(s->reader, NULL);
	assert_int_equal(event_base_dispatch(s->base), 0);
	assert_int_equal(s->runs, 2);
}

static void stand(unsigned workers)
{
	static const struct timeval moment = { 0, 50000 };
	struct standing s;

	standing_init(&s, workers, 1);
	if (!uses_epoll(s.base)) {
		standing_fini(&s);
		skip();
	}
	for (unsigned i = 0; i < TIMERS_NUM; i++)
		event_add(s.timers[i], &moment);
	standing_run(&s);
	assert_in_range(s.reports, 0, few(workers));
	standing_fini(&s);
}

static void test_contract_09_level_no_spin_while_the_callback_stands(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		stand(2);
		stand(4);
	}
}

/* The same, by a callback of color 0, when all the timers are those of its worker: another sees to them. */
static void test_contract_09_level_color_0_stands(void **state)
{
	static const struct timeval moment = { 0, 50000 };
	struct event_color_stats stats;
	unsigned here = 0;
	struct standing s;

	(void)state;
	standing_init(&s, 2, 0);
	for (unsigned i = 0; i < TIMERS_NUM; i++) {
		event_add(s.timers[i], &hour_tv);
		assert_int_equal(event_base_get_color_stats(s.base, i + 2, &stats, sizeof(stats)), 0);
		if (stats.home != 0)
			continue;
		event_add(s.timers[i], &moment);
		here++;
	}
	assert_int_not_equal(here, 0);
	standing_run(&s);
	standing_fini(&s);
}

/* Several events on the descriptor, of two colors: one stands, the other goes on being told. */
struct shared_fd {
	struct event_base *base;
	struct latch other_told;
	struct event *standing, *other;
	unsigned other_runs;
	bool has_stood;
};

static void one_stands_cb(evutil_socket_t fd, short what, void *arg)
{
	struct shared_fd *s = arg;

	(void)fd;
	(void)what;
	if (s->has_stood)
		return;
	s->has_stood = true;
	latch_wait(&s->other_told);
	CHECK(event_del(s->standing) == 0);
}

static void other_told_cb(evutil_socket_t fd, short what, void *arg)
{
	struct shared_fd *s = arg;

	(void)fd;
	(void)what;
	if (++s->other_runs == 1) {
		latch_down(&s->other_told);
		CHECK(event_del(s->other) == 0);
	}
}

static void test_contract_09_level_two_colors_on_one_descriptor(void **state)
{
	struct event_base *base = base_new(2);

	(void)state;
	for (unsigned round = 0; round < rounds(300); round++) {
		struct shared_fd s = { .base = base };
		int fd[2];

		latch_init(&s.other_told, 1);
		pipe_new(fd);
		put(fd[1]);
		s.standing = ev_new(base, fd[0], EV_READ | EV_PERSIST, 1, one_stands_cb, &s);
		s.other = ev_new(base, fd[0], EV_READ | EV_PERSIST, 2, other_told_cb, &s);
		event_add(s.standing, NULL);
		event_add(s.other, NULL);
		assert_int_equal(event_base_dispatch(base), 1);
		event_free(s.standing);
		event_free(s.other);
		pipe_close(fd);
		latch_fini(&s.other_told);
	}
	event_base_free(base);
}

/* A descriptor that nobody empties tells again and again, wherever its callback ran. */
struct nag {
	struct event_base *base;
	struct event *ev;
	unsigned left;
};

static void nag_cb(evutil_socket_t fd, short what, void *arg)
{
	struct nag *n = arg;

	(void)fd;
	CHECK(what == EV_READ);
	spin(n->left % 7 * 500);
	if (--n->left == 0)
		CHECK(event_del(n->ev) == 0);
}

static void test_contract_09_level_tells_until_it_is_read(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		struct event_base *base = base_new(workers);
		struct nag nags[12];
		int fd[12][2];

		for (unsigned i = 0; i < 12; i++) {
			nags[i] = (struct nag){ base, NULL, rounds(2000) };
			pipe_new(fd[i]);
			put(fd[i][1]);
			nags[i].ev = ev_new(base, fd[i][0], EV_READ | EV_PERSIST, i + 1, nag_cb, &nags[i]);
			event_add(nags[i].ev, NULL);
		}
		assert_int_equal(event_base_dispatch(base), 1);
		for (unsigned i = 0; i < 12; i++) {
			assert_int_equal(nags[i].left, 0);
			event_free(nags[i].ev);
			pipe_close(fd[i]);
		}
		event_base_free(base);
	}
}

/* The common case: a byte goes round; the callback is short and runs where it is watched. */
struct ring {
	struct event *ev;
	int fd[2];
	unsigned left;
};

static void ring_cb(evutil_socket_t fd, short what, void *arg)
{
	struct ring *r = arg;

	(void)what;
	CHECK(take(fd));
	if (--r->left > 0)
		put(r->fd[1]);
	else
		CHECK(event_del(r->ev) == 0);
}

static void test_contract_09_level_common_case_costs_no_call(void **state)
{
	struct event_base *base = base_new(1);
	struct ring r = { .left = 1000 };
	unsigned long ctls;

	(void)state;
	if (!uses_epoll(base)) {
		event_base_free(base);
		skip();
	}
	pipe_new(r.fd);
	r.ev = ev_new(base, r.fd[0], EV_READ | EV_PERSIST, 1, ring_cb, &r);
	event_add(r.ev, NULL);
	put(r.fd[1]);
	ctls = atomic_load(&ctls_num);
	assert_int_equal(event_base_dispatch(base), 1);
	ctls = atomic_load(&ctls_num) - ctls;
	/* The descriptor itself, the wake-up's, and their ends. */
	assert_in_range(ctls, 0, 4);
	event_free(r.ev);
	pipe_close(r.fd);
	event_base_free(base);
}

/* Colors that post to each other, and not a descriptor in sight: nobody asks the kernel for one. */
struct caller {
	struct event_base *base;
	unsigned left;
};

static void call_next(void *arg)
{
	struct caller *c = arg;

	if (--c->left > 0)
		CHECK(event_base_post(c->base, 1 + c->left % 8, call_next, c) == 0);
}

static void test_contract_09_level_nothing_watched_costs_no_call(void **state)
{
	struct event_base *base = base_new(2);
	struct caller callers[4];
	unsigned long looks;

	(void)state;
	if (!uses_epoll(base)) {
		event_base_free(base);
		skip();
	}
	looks = atomic_load(&looks_num);
	for (unsigned i = 0; i < 4; i++) {
		callers[i] = (struct caller){ base, rounds(20000) };
		assert_int_equal(event_base_post(base, i + 1, call_next, &callers[i]), 0);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(callers[i].left, 0);
	assert_int_equal(atomic_load(&looks_num), looks);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_09_level_no_spin_while_the_callback_stands),
		TEST(test_contract_09_level_color_0_stands),
		TEST(test_contract_09_level_two_colors_on_one_descriptor),
		TEST(test_contract_09_level_tells_until_it_is_read),
		TEST(test_contract_09_level_common_case_costs_no_call),
		TEST(test_contract_09_level_nothing_watched_costs_no_call),
	};

	return RUN(tests);
}
