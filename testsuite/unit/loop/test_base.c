/*
 * core/loop/base.c, start.c: a base is made whole or not at all, and so are its workers.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/sched/base.h"
#include "core/ec.h"
#include "fault.h"

enum { WORKERS = 3 };

static const char *const methods[] = { "epoll", "poll", "select", NULL };

/* Only one method, so that the engine cannot pass over the one that fails. */
static struct ec_config only(const char *method)
{
	static const char *avoid[3];
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = WORKERS, .flags = EC_BASE_IGNORE_ENV };
	int i, n = 0;

	for (i = 0; methods[i] != NULL; i++) {
		if (strcmp(methods[i], method) != 0)
			avoid[n++] = methods[i];
	}
	avoid[n] = NULL;
	cfg.avoid = avoid;
	return cfg;
}

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* ---------------------------------------------------------------- making one */

static int make_and_free(void *arg)
{
	struct ec_config cfg = only(arg);
	struct ec_base *base = NULL;
	int r = ec_base_new(&cfg, &base);

	if (r < 0) {
		assert_null(base);
		return r;
	}
	ec_base_free(base);
	return 0;
}

static void a_base_is_made_or_nothing_is_left(void **state)
{
	assert_true(fault_each_alloc(make_and_free, *state, -ENOMEM) >= 2);
	assert_int_equal(fault_each_call(FAULT_eventfd, EMFILE, make_and_free, *state), 1);
}

static void epoll_may_be_refused(void **state)
{
	assert_int_equal(fault_each_call(FAULT_epoll_create1, ENFILE, make_and_free, *state), 1);
	assert_int_equal(fault_each_call(FAULT_epoll_ctl, ENOSPC, make_and_free, *state), 1);
}

static void what_cannot_open_is_passed_over(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV };
	struct ec_base *base;

	(void)state;
	fault_call_at(FAULT_epoll_create1, 1, ENOSYS);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_true(fault_end());
	assert_string_equal(ec_base_method(base), "poll");
	ec_base_free(base);
}

static void no_method_is_an_error_of_its_own(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV, .avoid = methods };
	struct ec_base *base = NULL;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), -ENOTSUP);
	cfg.avoid = NULL;
	cfg.features = EC_FEATURE_ET | EC_FEATURE_FDS;
	assert_int_equal(ec_base_new(&cfg, &base), -ENOTSUP);
	assert_null(base);
}

/* ---------------------------------------------------------------- changing one */

static void note_run(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned *)arg;
}

/* Whether the last change was made or not, an event that becomes active runs. */
static void active_still_runs(struct ec_base *base)
{
	struct ec_event ev;
	unsigned num = 0;

	assert_int_equal(ec_event_init(&ev, base, -1, 0, note_run, &num), 0);
	assert_int_equal(ec_event_set_pri(&ev, 0), 0);
	ec_event_active(&ev, EC_READ, 1);
	assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
	assert_int_equal(num, 1);
}

static int change_priorities_to(const char *method, const int *nums, size_t n)
{
	struct ec_config cfg = only(method);
	struct ec_base *base;
	int r, before = 1;
	size_t i;

	r = ec_base_new(&cfg, &base);
	if (r < 0)
		return r;
	for (i = 0; i < n && r == 0; i++) {
		r = ec_base_priority_init(base, nums[i]);
		assert_int_equal(ec_base_priorities(base), r < 0 ? before : nums[i]);
		before = nums[i];
	}
	(void)fault_end();
	active_still_runs(base);
	ec_base_free(base);
	return r;
}

static int change_priorities(void *arg)
{
	return change_priorities_to(arg, (const int[]){ 7 }, 1);
}

/* The lanes before are memory that is freed. */
static int raise_priorities(void *arg)
{
	return change_priorities_to(arg, (const int[]){ 3, 9 }, 2);
}

static void priorities_change_or_stay(void **state)
{
	assert_true(fault_each_alloc(change_priorities, *state, -ENOMEM) >= 4);
	assert_true(fault_each_alloc(raise_priorities, *state, -ENOMEM) >= 6);
}

enum { PRIORITIES_MAX = 9 };

struct order {
	int next;
};

/* Its descriptor, which nobody watches, is its priority. */
static void in_order(int fd, short what, void *arg)
{
	struct order *o = arg;

	(void)what;
	assert_int_equal(fd, o->next++);
}

/* Fewer priorities keep the room of more. */
static void priorities_become_fewer_and_more(void **state)
{
	static const int nums[] = { 7, 2, 5, PRIORITIES_MAX, 1, 3 };
	struct ec_config cfg = only("epoll");
	struct ec_event ev[PRIORITIES_MAX];
	struct ec_base *base;
	struct order o;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	for (size_t n = 0; n < ROWS(nums); n++) {
		o.next = 0;
		assert_int_equal(ec_base_priority_init(base, nums[n]), 0);
		assert_int_equal(ec_base_priorities(base), nums[n]);
		for (int i = nums[n]; i-- > 0;) {
			assert_int_equal(ec_event_init(&ev[i], base, i, 0, in_order, &o), 0);
			assert_int_equal(ec_event_set_pri(&ev[i], i), 0);
			ec_event_active(&ev[i], EC_READ, 1);
		}
		assert_int_equal(ec_event_set_pri(&ev[0], nums[n]), -EBUSY);
		assert_true(ec_base_loop(base, EC_LOOP_NONBLOCK) >= 0);
		assert_int_equal(ec_event_set_pri(&ev[0], nums[n]), -EINVAL);
		assert_int_equal(o.next, nums[n]);
	}
	ec_base_free(base);
}

struct urgency {
	struct ec_event urgent, others[3];
	char seen[16];
	int num;
};

static void urgent_event(int fd, short what, void *arg)
{
	struct urgency *u = arg;

	(void)fd, (void)what;
	u->seen[u->num++] = 'u';
}

/* Each makes the urgent event active, which goes before those that wait already. */
static void other_event(int fd, short what, void *arg)
{
	struct urgency *u = arg;

	(void)fd, (void)what;
	u->seen[u->num++] = 'o';
	ec_event_active(&u->urgent, EC_READ, 1);
}

static void an_urgent_event_ends_the_run_of_others(void **state)
{
	struct ec_config cfg = only("epoll");
	struct ec_base *base;
	struct urgency u;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_base_priority_init(base, 3), 0);
	assert_int_equal(ec_event_init(&u.urgent, base, -1, EC_PERSIST, urgent_event, &u), 0);
	assert_int_equal(ec_event_set_pri(&u.urgent, 0), 0);
	for (size_t i = 0; i < ROWS(u.others); i++) {
		assert_int_equal(ec_event_init(&u.others[i], base, -1, EC_PERSIST, other_event, &u), 0);
		assert_int_equal(ec_event_set_pri(&u.others[i], 2), 0);
	}
	for (int round = 0; round < 2; round++) {	/* the first one leaves all as it was */
		memset(u.seen, 0, sizeof(u.seen));
		u.num = 0;
		for (size_t i = 0; i < ROWS(u.others); i++)
			ec_event_active(&u.others[i], EC_READ, 1);
		ec_event_active(&u.urgent, EC_READ, 1);
		assert_int_equal(ec_base_loop(base, EC_LOOP_NO_EXIT_ON_EMPTY | EC_LOOP_NONBLOCK), 0);
		assert_string_equal(u.seen, "uououou");
	}
	ec_base_free(base);
}

/* The base of the events. */
struct growth {
	struct ec_base *base;
	struct ec_event grows, last;
	int num;			/* of priorities, in the callback */
	bool has_run;
};

static void grows(int fd, short what, void *arg)
{
	struct growth *g = arg;

	(void)fd, (void)what;
	assert_int_equal(ec_base_priority_init(g->base, g->num), 0);
	assert_int_equal(ec_event_set_pri(&g->last, g->num - 1), 0);
	ec_event_active(&g->last, EC_READ, 1);
}

static void runs_last(int fd, short what, void *arg)
{
	struct growth *g = arg;

	(void)fd, (void)what;
	g->has_run = true;
}

/* The run of the loop that calls it still has the lanes before. */
static void priorities_grow_in_a_callback(void **state)
{
	static const int from[] = { 1, 2, 5 }, to[] = { 1, 3, 9, 200 };
	struct ec_config cfg = only("epoll");
	struct growth g;

	(void)state;
	for (size_t i = 0; i < ROWS(from) * ROWS(to) * 2; i++) {
		g = (struct growth){ .num = to[i / 2 % ROWS(to)] };
		assert_int_equal(ec_base_new(&cfg, &g.base), 0);
		assert_int_equal(ec_base_priority_init(g.base, from[i / 2 / ROWS(to)]), 0);
		assert_int_equal(ec_event_init(&g.grows, g.base, -1, i % 2 != 0 ? EC_PERSIST : 0, grows, &g), 0);
		assert_int_equal(ec_event_init(&g.last, g.base, -1, 0, runs_last, &g), 0);
		ec_event_active(&g.grows, EC_READ, 1);
		assert_int_equal(ec_base_loop(g.base, EC_LOOP_NO_EXIT_ON_EMPTY | EC_LOOP_NONBLOCK), 0);
		assert_true(g.has_run);
		ec_base_free(g.base);
	}
}

#define REFUSED(call, err) (errno = 0, (call) == -1 && errno == (err))

/* The ways of a program's events end in a face, so they set errno. */
static void what_a_program_sets_is_refused_with_errno(void **state)
{
	struct ec_config cfg = only("epoll");
	struct timeval tv = { 3600, 0 };
	struct ec_base *base, *other;
	struct ec_event ev;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_base_new(&cfg, &other), 0);
	assert_int_equal(ec_base_priority_init(other, 5), 0);
	assert_int_equal(ec_event_init(&ev, base, -1, 0, nothing_event, NULL), 0);
	assert_true(REFUSED(ec_event_set_pri_checked(&ev, 1), EINVAL));
	assert_int_equal(ec_event_set_base_checked(other, &ev), 0);
	assert_ptr_equal(ev.base, other);
	assert_int_equal(ev.task.pri, 2);
	assert_int_equal(ec_event_set_pri_checked(&ev, 4), 0);
	assert_int_equal(ev.task.pri, 4);
	assert_true(REFUSED(ec_event_set_pri_checked(&ev, 5), EINVAL));
	assert_true(REFUSED(ec_event_set_pri_checked(&ev, -1), EINVAL));

	assert_int_equal(ec_event_add(&ev, &tv), 0);
	assert_true(REFUSED(ec_event_set_base_checked(base, &ev), EBUSY));
	assert_int_equal(ec_event_set_pri_checked(&ev, 3), 0);
	ec_event_active(&ev, EC_TIMEOUT, 1);
	assert_true(REFUSED(ec_event_set_pri_checked(&ev, 1), EBUSY));
	assert_int_equal(ec_event_del(&ev, EC_DEL_NOBLOCK), 0);
	assert_int_equal(ev.task.pri, 3);
	ec_base_free(other);
	ec_base_free(base);
}

enum { VISITED = 40 };

static int visit_and_delete(struct ec_base *base, struct ec_event *ev, void *arg)
{
	unsigned *num = arg;

	(void)base;
	++*num;
	assert_int_equal(ec_event_del(ev, EC_DEL_NOBLOCK), 0);
	memset(ev, 0xdb, sizeof(*ev));
	return *num == VISITED / 2 ? 1 : 0;
}

/* Without colors nothing is copied, and yet a visitor may delete what it is given. */
static void a_visitor_may_delete_its_event(void **state)
{
	struct ec_config cfg = only("epoll");
	struct ec_event ev[VISITED];
	struct timeval tv = { 3600, 0 };
	struct ec_base *base;
	unsigned num = 0;
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	for (int i = 0; i < VISITED; i++) {
		bool is_timer = i % 2 == 0;

		(void)ec_event_init(&ev[i], base, is_timer ? -1 : fd[0], is_timer ? 0 : EC_READ, nothing_event, NULL);
		assert_int_equal(ec_event_add(&ev[i], is_timer ? &tv : NULL), 0);
	}
	assert_int_equal(ec_base_foreach_event(base, visit_and_delete, &num), 1);
	assert_int_equal(ec_base_foreach_event(base, visit_and_delete, &num), 0);
	assert_int_equal(num, VISITED);
	ec_base_free(base);
	close(fd[0]);
	close(fd[1]);
}

enum { GROWN = 300 };		/* more timers than the slots have room for at first */

struct growing {
	struct ec_event ev[GROWN];
	unsigned added, visited;
};

static int visit_and_add(struct ec_base *base, struct ec_event *ev, void *arg)
{
	struct timeval tv = { 3600, 0 };
	struct growing *g = arg;

	assert_ptr_equal(ev->base, base);
	g->visited++;
	if (g->added < GROWN) {
		(void)ec_event_init(&g->ev[g->added], base, -1, 0, nothing_event, NULL);
		assert_int_equal(ec_event_add(&g->ev[g->added++], &tv), 0);
	}
	return 0;
}

/* The slots of the timers move meanwhile. */
static void a_visitor_may_add_timers(void **state)
{
	struct ec_config cfg = only("epoll");
	struct growing g = { .added = 0 };
	struct ec_base *base;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(visit_and_add(base, &(struct ec_event){ .base = base }, &g), 0);
	while (g.added < GROWN)
		assert_int_equal(ec_base_foreach_event(base, visit_and_add, &g), 0);
	g.visited = 0;
	assert_int_equal(ec_base_foreach_event(base, visit_and_add, &g), 0);
	assert_int_equal(g.visited, GROWN);
	ec_base_free(base);
}

static int count_or_stop(struct ec_base *base, struct ec_event *ev, void *arg)
{
	unsigned *left = arg;

	(void)base;
	assert_true(ec_event_pending(ev, EC_READ | EC_SIGNAL | EC_TIMEOUT, NULL) != 0);	/* it may take the locks */
	return --*left == 0 ? 7 : 0;
}

/* Timers with and without a common timeout, a descriptor with a timeout, a signal, and one that is only active. */
static void visit_kinds(struct ec_base *base)
{
	struct timeval second = { 1, 0 }, hour = { 3600, 0 };
	const struct timeval *common = ec_base_common_timeout(base, &second);
	struct ec_event ev[6];
	unsigned left, i;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	for (i = 0; i < 6; i++)
		(void)ec_event_init(&ev[i], base, i == 3 ? fd[0] : i == 4 ? SIGUSR1 : -1,
				    i == 3 ? EC_READ | EC_PERSIST : i == 4 ? EC_SIGNAL | EC_PERSIST : 0, nothing_event,
				    NULL);
	assert_int_equal(ec_event_add(&ev[0], common), 0);
	assert_int_equal(ec_event_add(&ev[1], common), 0);
	assert_int_equal(ec_event_add(&ev[2], &hour), 0);
	assert_int_equal(ec_event_add(&ev[3], common), 0);
	assert_int_equal(ec_event_add(&ev[4], &hour), 0);
	ec_event_active(&ev[5], EC_TIMEOUT, 1);
	left = 7;
	assert_int_equal(ec_base_foreach_event(base, count_or_stop, &left), 0);
	assert_int_equal(left, 1);
	for (i = 1; i <= 6; i++) {
		left = i;
		assert_int_equal(ec_base_foreach_event(base, count_or_stop, &left), 7);
		assert_int_equal(left, 0);
	}
	for (i = 0; i < 6; i++)
		assert_int_equal(ec_event_del(&ev[i], EC_DEL_NOBLOCK), 0);
	left = 1;
	assert_int_equal(ec_base_foreach_event(base, count_or_stop, &left), 0);
	close(fd[0]);
	close(fd[1]);
}

static void each_event_is_visited_once(void **state)
{
	struct ec_config cfg = only("epoll");
	struct ec_base *base;

	(void)state;
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	visit_kinds(base);
	assert_int_equal(ec_base_prepare_colors(base), 0);
	visit_kinds(base);
	ec_base_free(base);
}

static int become_colored(void *arg)
{
	struct ec_config cfg = only(arg);
	struct ec_base *base;
	struct ec_event ev;
	struct timeval tv = { 3600, 0 };
	int r;

	r = ec_base_new(&cfg, &base);
	if (r < 0)
		return r;
	(void)ec_event_init(&ev, base, -1, 0, nothing_event, NULL);
	assert_int_equal(ec_event_set_color(&ev, 5), 0);
	r = ec_event_add(&ev, &tv);
	assert_int_equal(ec_event_pending(&ev, EC_TIMEOUT, NULL), r < 0 ? 0 : EC_TIMEOUT);
	assert_int_equal(ec_base_num_events(base, EC_COUNT_ADDED), r < 0 ? 0 : 1);
	if (r == 0)
		assert_int_equal(ec_event_del(&ev, EC_DEL_BLOCK), 0);
	ec_base_free(base);
	return r;
}

static void workers_are_made_or_nothing_is_left(void **state)
{
	assert_true(fault_each_alloc(become_colored, *state, -ENOMEM) >= 12);
	assert_int_equal(fault_each_call(FAULT_eventfd, EMFILE, become_colored, *state), WORKERS);
}

static void workers_of_epoll_may_be_refused(void **state)
{
	assert_int_equal(fault_each_call(FAULT_epoll_create1, ENFILE, become_colored, *state), WORKERS);
	assert_int_equal(fault_each_call(FAULT_epoll_ctl, ENOSPC, become_colored, *state), WORKERS);
}

/* What failed for want of memory works when there is some again. */
static void a_base_that_could_not_be_colored_can_be_later(void **state)
{
	struct ec_config cfg = only(*state);
	struct ec_base *base;
	unsigned nth;
	int r = -1;

	assert_int_equal(ec_base_new(&cfg, &base), 0);
	for (nth = 1; r < 0; nth++) {
		assert_in_range(nth, 1, 100);
		fault_alloc_at(nth);
		r = ec_base_post(base, 9, nothing, NULL);
		(void)fault_end();
		assert_int_equal(ec_base_is_locked(base), base->workers_num > 1);
	}
	assert_true(nth > 2);
	assert_int_equal(ec_base_loop(base, 0), 1);
	ec_base_free(base);
}

/* ---------------------------------------------------------------- threads */

static unsigned ran;

static void count(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

/* A thread that cannot start leaves its work to the others; without any, the loop's thread does all. */
static void threads_that_cannot_start_are_done_without(void **state)
{
	struct ec_config cfg = only(*state);
	struct ec_base *base;
	unsigned nth, color;

	for (nth = 0; nth <= WORKERS; nth++) {
		ran = 0;
		assert_int_equal(ec_base_new(&cfg, &base), 0);
		if (nth == 0)
			fault_call_always(FAULT_pthread_create, EAGAIN);
		else
			fault_call_at(FAULT_pthread_create, nth, EAGAIN);
		for (color = 0; color < 20; color++)
			assert_int_equal(ec_base_post(base, color, count, NULL), 0);
		assert_int_equal(ec_base_loop(base, 0), 1);
		assert_int_equal(fault_end(), nth < WORKERS);
		assert_int_equal(ran, 20);
		ec_base_free(base);
	}
	fault_call_at(FAULT_pthread_sigmask, 1, EINVAL);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_base_post(base, 1, count, NULL), 0);
	assert_int_equal(ec_base_loop(base, 0), 1);
	assert_true(fault_end());
	assert_int_equal(ran, 21);
	ec_base_free(base);
}

/* ---------------------------------------------------------------- after fork */

/* In the parent as well: whether it is the child makes no difference to what is made anew. */
static int reinit(void *arg)
{
	struct ec_config cfg = only(arg);
	struct ec_base *base;
	int r;

	r = ec_base_new(&cfg, &base);
	if (r < 0)
		return r;
	ran = 0;
	r = ec_base_reinit(base);
	if (r == 0 && ec_base_post(base, 0, count, NULL) < 0)
		r = -ENOMEM;
	if (r == 0) {
		(void)fault_end();
		assert_int_equal(ec_base_loop(base, EC_LOOP_NONBLOCK), 1);
		assert_int_equal(ran, 1);
	}
	ec_base_free(base);
	return r;
}

static void a_base_that_cannot_be_made_anew_can_be_freed(void **state)
{
	assert_true(fault_each_alloc(reinit, *state, -ENOMEM) >= 3);
	assert_int_equal(fault_each_call(FAULT_eventfd, EMFILE, reinit, *state), 2);
}

#define ON(method, test) { method ": " #test, test, NULL, NULL, (void *)(uintptr_t)(method) }
#define ON_ALL(test) ON("epoll", test), ON("poll", test), ON("select", test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_ALL(a_base_is_made_or_nothing_is_left),
		ON("epoll", epoll_may_be_refused),
		cmocka_unit_test(what_cannot_open_is_passed_over),
		cmocka_unit_test(no_method_is_an_error_of_its_own),
		ON_ALL(priorities_change_or_stay),
		cmocka_unit_test(priorities_become_fewer_and_more),
		cmocka_unit_test(an_urgent_event_ends_the_run_of_others),
		cmocka_unit_test(priorities_grow_in_a_callback),
		cmocka_unit_test(what_a_program_sets_is_refused_with_errno),
		cmocka_unit_test(a_visitor_may_delete_its_event),
		cmocka_unit_test(a_visitor_may_add_timers),
		cmocka_unit_test(each_event_is_visited_once),
		ON_ALL(workers_are_made_or_nothing_is_left),
		ON("epoll", workers_of_epoll_may_be_refused),
		ON_ALL(a_base_that_could_not_be_colored_can_be_later),
		ON_ALL(threads_that_cannot_start_are_done_without),
		ON_ALL(a_base_that_cannot_be_made_anew_can_be_freed),
	};

	return cmocka_run_group_tests_name("bases", tests, fault_init, fault_fini);
}
