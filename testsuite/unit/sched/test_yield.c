/*
 * core/sched/yield.c: when a worker offers its CPU, and that it does not where others only take it. Time is the test's.
 */
#include "table.h"

#include <stdbool.h>

#include "core/os/clock.h"
#include "core/sched/yield.h"

enum { US = 1000, MS = 1000 * US };

static uint64_t now = 1000ull * 1000 * MS;

static int64_t test_ns(void)
{
	return (int64_t)now;
}

static int set_up(void **state)
{
	(void)state;
	ec_clock_set_source(test_ns);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ec_clock_set_source(NULL);
	return 0;
}

static void yield_for(struct ec_yields *y, uint64_t took_ns, uint32_t reports)
{
	uint64_t start = now;

	now += took_ns;
	ec_yields_note(y, start, now, reports);
}

/* How long it takes until one is due, to the microsecond; for a worker with work, … */
static uint64_t until_due(const struct ec_yields *y)
{
	uint64_t at = now;

	while (!ec_yields_is_due(y, at))
		at += US;
	return at - now;
}

/* … and for one that has none any more. */
static uint64_t until_due_idle(const struct ec_yields *y)
{
	uint64_t at = now;

	while (!ec_yields_is_due_idle(y, at, US))
		at += US;
	return at - now;
}

static void the_first_is_due_at_once(void **state)
{
	struct ec_yields y = { 0 };

	(void)state;
	assert_int_equal(until_due(&y), 0);
	assert_int_equal(until_due_idle(&y), 0);
}

static void who_is_idle_offers_more_often(void **state)
{
	struct ec_yields y = { 0 };

	(void)state;
	yield_for(&y, 40 * US, 3);
	assert_int_equal(until_due_idle(&y), 15 * US);
	assert_int_equal(until_due(&y), 100 * US);
}

/* Who takes long for a request makes its clients wait in an offer for more than they gain. */
static void who_runs_long_offers_only_while_it_has_work(void **state)
{
	struct ec_yields y = { 0 };

	(void)state;
	yield_for(&y, 40 * US, 3);
	now += 10 * MS;
	assert_true(ec_yields_is_due_idle(&y, now, 25 * US));
	assert_false(ec_yields_is_due_idle(&y, now, 25 * US + 1));
	assert_false(ec_yields_is_due_idle(&y, now, UINT32_MAX));
	assert_true(ec_yields_is_due(&y, now));
}

static void a_sleep_is_an_offer(void **state)
{
	struct ec_yields y = { 0 };

	(void)state;
	yield_for(&y, 40 * US, 3);
	now += 90 * US;
	ec_yields_note_sleep(&y, now);
	assert_int_equal(until_due(&y), 100 * US);
	assert_int_equal(until_due_idle(&y), 15 * US);
}

/* What a worker lives through: it works, and offers the CPU whenever that is due. */
struct life {
	uint64_t work_ns;		/* between two looks at whether it is due */
	unsigned turn;			/* every so many of the offers … */
	uint64_t long_ns;		/* … last so long, … */
	uint32_t reports;		/* … and bring that; the others last: */
	uint64_t short_ns;
};

/* For `ns`. Returns how much of it the offers took. */
static uint64_t live(struct ec_yields *y, const struct life *l, uint64_t ns)
{
	uint64_t end = now + ns, took = 0;
	unsigned num = 0;

	while (now < end) {
		now += l->work_ns;
		if (!ec_yields_is_due_idle(y, now, US))
			continue;
		if (++num % l->turn == 0) {
			yield_for(y, l->long_ns, l->reports);
			took += l->long_ns;
		} else {
			yield_for(y, l->short_ns, 1);
			took += l->short_ns;
		}
	}
	return took;
}

#define SECOND (1000ull * MS)

/* Offers go on, however much of the time that takes, where it brings work; and where it seldom brings none. */
static void clients_have_the_cpu(void **state)
{
	static const struct {
		const char *text;
		struct life life;
		uint64_t least_ns;		/* of 10 s */
	} rows[] = {
		{ "few requests, at once", { 20 * US, 1, 30 * US, 1, 0 }, 5 * SECOND },
		{ "none, but soon", { 20 * US, 1, 300 * US, 0, 0 }, 9 * SECOND },
		{ "a hundred after 2 ms", { 500 * US, 1, 2 * MS, 100, 0 }, 7 * SECOND },
		{ "ten long ones after 2 ms", { 500 * US, 1, 2 * MS, 10, 0 }, 7 * SECOND },
		{ "none after 2 ms, now and then", { 20 * US, 250, 2 * MS, 0, 60 * US }, 5 * SECOND },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		struct ec_yields y = { 0 };
		uint64_t took = live(&y, &rows[i].life, 10 * SECOND);

		assert_row(took >= rows[i].least_ns, rows[i].text);
		assert_row(y.pause_ns == 0, rows[i].text);
	}
}

/* Who computes gets next to nothing of a worker's time, though each time it keeps the CPU for milliseconds. */
static void who_computes_has_it_no_more(void **state)
{
	static const struct {
		const char *text;
		struct life life;
	} rows[] = {
		{ "always", { 20 * US, 1, 3 * MS, 0, 0 } },
		{ "with a report that was there anyway", { 20 * US, 1, 3 * MS, 2, 0 } },
		{ "every other time", { 20 * US, 2, 3 * MS, 0, 2 * US } },
		{ "one in ten", { 20 * US, 10, 3 * MS, 1, 2 * US } },
		{ "for a millisecond", { 20 * US, 1, MS, 0, 0 } },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		struct ec_yields y = { 0 };
		uint64_t took = live(&y, &rows[i].life, 60 * SECOND);

		assert_row(took < 60 * SECOND / 25, rows[i].text);
		assert_row(y.pause_ns == 1024 * MS, rows[i].text);
	}
}

static void a_pause_ends(void **state)
{
	const struct life computes = { 20 * US, 1, 3 * MS, 0, 0 }, serves = { 20 * US, 1, 30 * US, 1, 0 };
	struct ec_yields y = { 0 };

	(void)state;
	(void)live(&y, &computes, 60 * SECOND);
	assert_true(until_due_idle(&y) <= 1024 * MS + 15 * US);
	now += 1024 * MS;
	assert_true(live(&y, &serves, 10 * SECOND) >= 5 * SECOND);
	/* What was before is forgotten. */
	while (y.pause_ns > 64 * MS)
		yield_for(&y, 3 * MS, 0);
	assert_int_equal(y.pause_ns, 64 * MS);
	assert_int_equal(until_due_idle(&y), 64 * MS + 15 * US);
}

static void a_sleep_ends_no_pause(void **state)
{
	const struct life computes = { 20 * US, 1, 3 * MS, 0, 0 };
	struct ec_yields y = { 0 };

	(void)state;
	while (y.pause_ns == 0)
		(void)live(&y, &computes, MS);
	now += 10 * MS;
	ec_yields_note_sleep(&y, now);
	assert_true(until_due_idle(&y) >= 40 * MS);
	assert_true(until_due(&y) >= 40 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_due_at_once),
		cmocka_unit_test(who_is_idle_offers_more_often),
		cmocka_unit_test(who_runs_long_offers_only_while_it_has_work),
		cmocka_unit_test(a_sleep_is_an_offer),
		cmocka_unit_test(clients_have_the_cpu),
		cmocka_unit_test(who_computes_has_it_no_more),
		cmocka_unit_test(a_pause_ends),
		cmocka_unit_test(a_sleep_ends_no_pause),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
