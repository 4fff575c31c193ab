/*
 * core/loop/threads.c: the poller of a worker fails for good, as after the program has closed all descriptors. The loop
 * ends with an error, as if worker 0 could not poll. The cause is told once, and the worker does not try again and
 * again.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/io/poller.h"
#include "core/sched/base.h"

enum { WORKERS = 2, COLOR = 5, TRIES_MAX = 4 };

static struct ec_base *base;
static struct ec_poller_ops may_break;		/* of worker 1: as `works`, while it is not broken */
static const struct ec_poller_ops *works;
static _Atomic(bool) is_broken;
static _Atomic(unsigned) waits, warnings;
static char warned[200];

static int wait_or_fail(struct ec_poller *p, int64_t wait_ns)
{
	if (!ec_load_acquire(&is_broken))
		return works->wait(p, wait_ns);
	ec_add_acq_rel(&waits, 1);
	return -EBADF;
}

static void note_warning(int severity, const char *text)
{
	if (severity < EC_LOG_WARN)
		return;
	if (ec_add_acq_rel(&warnings, 1) == 0)
		snprintf(warned, sizeof(warned), "%s", text);
}

/* Its thread does not run yet. */
static void take_poller(struct ec_worker *w)
{
	works = w->poller->ops;
	may_break = *works;
	may_break.wait = wait_or_fail;
	w->poller->ops = &may_break;
}

static void set_broken(bool to)
{
	ec_store_release(&is_broken, to);
	ec_wakeup_send(&base->workers[1]->wakeup);
}

static void breaks(void *arg)
{
	(void)arg;
	set_broken(true);
}

static void stop(void *arg)
{
	(void)arg;
	assert_int_equal(ec_base_loopbreak(base), 0);
}

static int loop(void)
{
	return ec_base_loop(base, EC_LOOP_NO_EXIT_ON_EMPTY);
}

static void a_worker_that_cannot_poll_ends_the_loop(void **state)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = WORKERS, .flags = EC_BASE_IGNORE_ENV };

	(void)state;
	alarm(60);
	ec_log_set_fn(note_warning);
	assert_int_equal(ec_base_new(&cfg, &base), 0);
	assert_int_equal(ec_base_post(base, COLOR, stop, NULL), 0);
	take_poller(base->workers[1]);
	assert_int_equal(loop(), 0);
	assert_true(ec_base_got_break(base));

	assert_int_equal(ec_base_post(base, 0, breaks, NULL), 0);
	assert_int_equal(loop(), -EIO);
	assert_false(ec_base_got_break(base));
	assert_int_equal(ec_load_acquire(&warnings), 1);
	assert_non_null(strstr(warned, "worker 1"));
	assert_non_null(strstr(warned, strerror(EBADF)));

	assert_int_equal(loop(), -EIO);
	assert_int_equal(ec_load_acquire(&warnings), 2);

	set_broken(false);
	assert_int_equal(ec_base_post(base, COLOR, stop, NULL), 0);
	assert_int_equal(loop(), 0);
	assert_true(ec_base_got_break(base));
	assert_int_equal(ec_load_acquire(&warnings), 2);
	assert_in_range(ec_load_acquire(&waits), 2, TRIES_MAX);
	ec_base_free(base);
	ec_log_set_fn(NULL);
	alarm(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_that_cannot_poll_ends_the_loop),
	};

	return cmocka_run_group_tests_name("broken", tests, NULL, NULL);
}
