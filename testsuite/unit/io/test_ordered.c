/*
 * core/io/ordered.c and core/os/virtual_clock.c: reports in descriptor order, and waits that take no time.
 */
#include "table.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/io/ordered.h"
#include "core/os/clock.h"
#include "core/os/virtual_clock.h"

enum { PAIRS = 6 };

static struct ec_poller *p;
static struct ec_ordered ordered;
static int fds[PAIRS][2];

static void open_as(const struct ec_poller_ops *ops)
{
	int i;

	assert_int_equal(ops->open(false, &p), 0);
	ec_ordered_take(&ordered, p);
	for (i = 0; i < PAIRS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
		assert_int_equal(p->ops->watch(p, fds[i][0], 0, EC_READ, 1), 0);
	}
}

static void close_all(void)
{
	int i;

	for (i = 0; i < PAIRS; i++) {
		(void)p->ops->watch(p, fds[i][0], EC_READ, 0, 1);
		close(fds[i][0]);
		close(fds[i][1]);
	}
	p->ops->close(p);
}

static int wait_for(int64_t wait_ns)
{
	if (p->ops->prepare != NULL)
		assert_int_equal(p->ops->prepare(p), 0);
	return p->ops->wait(p, wait_ns);
}

static void reports_are_in_order(void **state)
{
	static const int order[PAIRS] = { 4, 0, 5, 2, 1, 3 };
	size_t method;
	int i;

	(void)state;
	for (method = 0; ec_pollers[method] != NULL; method++) {
		open_as(ec_pollers[method]);
		assert_string_equal(p->ops->name, ec_pollers[method]->name);
		for (i = 0; i < PAIRS; i++)
			assert_int_equal(write(fds[order[i]][1], "x", 1), 1);
		assert_int_equal(wait_for(-1), PAIRS);
		for (i = 0; i < PAIRS; i++)
			assert_int_equal(ec_watch_fd(p->ready[i].id), fds[i][0]);
		close_all();
	}
}

/* Until here the clock is real: this test is the last one. */
static void deadlines_come_at_once(void **state)
{
	const int64_t hour_ns = INT64_C(3600000000000);
	int64_t start_ns, wall_ns;

	(void)state;
	assert_false(ec_virtual_clock_is_on());
	ec_virtual_clock_start();
	assert_true(ec_virtual_clock_is_on());
	start_ns = ec_monotonic_ns();
	wall_ns = ec_virtual_clock_wall_ns();
	assert_true(ec_monotonic_near_ns() == start_ns && ec_clock_ticks() == (uint64_t)start_ns);
	ec_virtual_clock_start();		/* once only */
	assert_true(ec_monotonic_ns() == start_ns);

	open_as(&ec_poller_epoll);
	assert_int_equal(wait_for(0), 0);
	assert_true(ec_monotonic_ns() == start_ns);
	assert_int_equal(wait_for(hour_ns), 0);
	assert_true(ec_monotonic_ns() == start_ns + hour_ns);
	assert_true(ec_virtual_clock_wall_ns() == wall_ns + hour_ns);
	ec_virtual_clock_advance(start_ns);	/* never back */
	assert_true(ec_monotonic_ns() == start_ns + hour_ns);

	/* What is ready goes before the deadline, and takes no time. */
	assert_int_equal(write(fds[0][1], "x", 1), 1);
	assert_int_equal(wait_for(hour_ns), 1);
	assert_int_equal(wait_for(-1), 1);
	assert_true(ec_monotonic_ns() == start_ns + hour_ns);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reports_are_in_order),
		cmocka_unit_test(deadlines_come_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
