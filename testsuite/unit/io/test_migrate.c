/*
 * core/io/migrate.c: an event moves to its color's new home with all that it has registered, or it stays where it was.
 * No loop runs, so there are no threads: the test says which worker is the home, and which one sleeps.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/io/migrate.h"
#include "core/io/poller.h"
#include "core/io/timer.h"
#include "core/sched/event.h"
#include "core/sched/queue.h"
#include "core/sched/ready.h"
#include "fault.h"

enum { WORKERS = 2, COLOR = 7, FD_HIGH = 700, TRIES_MAX = 100 };

static struct ec_base *base;
static struct ec_event ev;
static struct ec_worker *from, *to;
static int pipe_fd[2], warnings;

static void callback(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void note_warning(int severity, const char *text)
{
	(void)text;
	warnings += severity >= EC_LOG_WARN;
}

static struct ec_color *lock_color(struct ec_batch *b)
{
	struct ec_color *c;

	ec_batch_begin(b, base);
	c = ec_batch_color(b, COLOR, ec_event_hint(&ev));
	assert_non_null(c);
	return c;
}

static unsigned home(void)
{
	struct ec_batch b;
	unsigned id = ec_load_relaxed(&lock_color(&b)->home);

	ec_batch_end(&b);
	return id;
}

/* As after steals of the color. */
static void home_moves(void)
{
	struct ec_batch b;

	ec_store_relaxed(&lock_color(&b)->home, (uint16_t)to->id);
	ec_batch_end(&b);
}

/* `timeout` NULL: the event waits for the descriptor only. */
static void setup_with(const struct timeval *timeout)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = WORKERS, .flags = EC_BASE_IGNORE_ENV };
	int low[2];

	warnings = 0;
	ec_log_set_fn(note_warning);
	assert_int_equal(pipe2(low, O_NONBLOCK | O_CLOEXEC), 0);
	pipe_fd[0] = fcntl(low[0], F_DUPFD_CLOEXEC, FD_HIGH);	/* the new worker's table must grow for it */
	pipe_fd[1] = low[1];
	assert_true(pipe_fd[0] >= FD_HIGH);
	close(low[0]);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_event_init(&ev, base, pipe_fd[0], EC_READ | EC_PERSIST, callback, NULL), 0);
	assert_int_equal(ec_event_set_color(&ev, COLOR), 0);
	assert_int_equal(ec_event_add(&ev, timeout), 0);
	from = ec_event_at(base, &ev);
	to = base->workers[1 - from->id];
	home_moves();
}

static void end(void)
{
	assert_int_equal(ec_event_del(&ev, EC_DEL_NOBLOCK), 0);
	assert_int_equal(from->timers.num + to->timers.num, 0);
	assert_int_equal(ec_base_num_events(base, EC_COUNT_ADDED), 0);
	ec_base_free(base);
	ec_log_set_fn(NULL);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* As with a report of the descriptor at the worker before. */
static void note(void)
{
	ec_src_lock(from);
	ec_migrate_note(from, ec_source_find(&from->fds, pipe_fd[0]));
	ec_src_unlock(from);
}

static void migrate(void)
{
	note();
	ec_migrate(from);
	assert_int_equal(ec_load_relaxed(&from->migrants_num), 0);
}

static unsigned pending(struct ec_worker *w)
{
	return ec_load_relaxed(&w->pending_num);
}

static bool watches(struct ec_worker *w)
{
	struct ec_source *s = ec_source_find(&w->fds, pipe_fd[0]);

	return s != NULL && !ec_list_is_empty(&s->events) && s->armed == EC_READ;
}

/* All that the event has registered is at `w`. */
static void expect_at(struct ec_worker *w, unsigned timers_num)
{
	struct ec_worker *other = w == from ? to : from;

	assert_ptr_equal(ec_event_at(base, &ev), w);
	assert_true(watches(w));
	assert_false(watches(other));
	assert_int_equal(w->timers.num, timers_num);
	assert_int_equal(other->timers.num, 0);
	assert_int_equal(pending(w), 1 + timers_num);
	assert_int_equal(pending(other), 0);
	assert_int_equal(ec_event_pending(&ev, EC_READ | EC_TIMEOUT, NULL),
			 EC_READ | (timers_num != 0 ? EC_TIMEOUT : 0));
}

static const struct timeval hour = { 3600, 0 };

static void all_of_an_event_moves(void **state)
{
	const struct timeval *timeout = *state;

	setup_with(timeout);
	expect_at(from, timeout != NULL);
	migrate();
	expect_at(to, timeout != NULL);
	assert_int_equal(home(), to->id);
	assert_int_equal(warnings, 0);
	end();
}

/*
 * `call`: FAULT_CALLS_NUM for memory. False: there was none any more. It moves if the fault can be lived with, such as
 * that of the call by which the old worker forgets the descriptor.
 */
static bool move_fails(const struct timeval *timeout, enum fault_call call, unsigned nth)
{
	bool came;

	setup_with(timeout);
	if (call == FAULT_CALLS_NUM)
		fault_alloc_at(nth);
	else
		fault_call_at(call, nth, 0);
	migrate();
	came = fault_end();
	if (ec_event_at(base, &ev) == from) {
		assert_true(came);
		expect_at(from, timeout != NULL);
		home_moves();
		migrate();
	}
	expect_at(to, timeout != NULL);
	end();
	return came;
}

static void what_cannot_move_stays(void **state)
{
	const struct timeval *timeout = *state;
	unsigned allocs = 1, calls = 1;

	while (move_fails(timeout, FAULT_CALLS_NUM, allocs))
		assert_true(++allocs < TRIES_MAX);
	while (move_fails(timeout, FAULT_epoll_ctl, calls))
		assert_true(++calls < TRIES_MAX);
	assert_true(allocs > 1 && calls > 1);
}

/*
 * It stays while nothing can be had, and its descriptor is watched as before. The home comes back to it, so that not
 * each report tries again and logs a warning.
 */
static void what_never_can_move_stays(void **state)
{
	const struct timeval *timeout = *state;
	int i;

	setup_with(timeout);
	for (i = 0; i < 3; i++) {
		note();
		assert_int_equal(ec_load_relaxed(&from->migrants_num), 1);
		fault_alloc_always();
		fault_call_always(FAULT_epoll_ctl, 0);
		migrate();
		assert_int_equal(fault_end(), i == 0);
		expect_at(from, timeout != NULL);
		assert_int_equal(home(), from->id);
	}
	assert_in_range(warnings, 0, 1);
	assert_int_equal(write(pipe_fd[1], "x", 1), 1);
	assert_int_equal(from->poller->ops->wait(from->poller, 0), 1);
	assert_int_equal(ec_watch_fd(from->poller->ready[0].id), pipe_fd[0]);
	end();
}

/* The worker sleeps for longer than the deadline allows. */
static void a_deadline_wakes_the_new_home(void **state)
{
	(void)state;
	setup_with(&hour);
	to->is_waiting = true;
	to->wait_until_ns = INT64_MAX;
	fault_call_at(FAULT_write, 0, 0);
	migrate();
	assert_true(to->wait_until_ns == ev.deadline_ns);
	assert_int_equal(fault_calls(FAULT_write), 1);
	to->is_waiting = false;
	expect_at(to, 1);
	end();
}

static void a_later_deadline_does_not(void **state)
{
	(void)state;
	setup_with(&hour);
	to->is_waiting = true;
	to->wait_until_ns = 1;
	fault_call_at(FAULT_write, 0, 0);
	migrate();
	assert_true(to->wait_until_ns == 1);
	assert_int_equal(fault_calls(FAULT_write), 0);
	to->is_waiting = false;
	end();
}

#define WITH(test, timeout) \
	{ \
		.name = #test " " #timeout, .test_func = test, .initial_state = (void *)(uintptr_t)(timeout) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(all_of_an_event_moves, NULL),
		WITH(all_of_an_event_moves, &hour),
		WITH(what_cannot_move_stays, NULL),
		WITH(what_cannot_move_stays, &hour),
		WITH(what_never_can_move_stays, NULL),
		WITH(what_never_can_move_stays, &hour),
		cmocka_unit_test(a_deadline_wakes_the_new_home),
		cmocka_unit_test(a_later_deadline_does_not),
	};

	return cmocka_run_group_tests_name("migrate", tests, fault_init, fault_fini);
}
