/*
 * core/observe/call.h: when a callback begins. A trace alone takes the worker's last look at the clock.
 */
#include "table.h"

#include <stdbool.h>

#include "core/observe/call.h"
#include "core/observe/probe.h"
#include "core/os/clock.h"

enum { NOW = 1000 };

static int64_t virtual_clock(void)
{
	return NOW;
}

static uint64_t begin(struct ec_probe *p, uint64_t queued_at, uint64_t last_at)
{
	static _Alignas(struct ec_trace_ring) char ring[sizeof(struct ec_trace_ring) + EC_TRACE_WORDS * 8];
	struct ec_trace trace = { .ring = (void *)ring };
	struct ec_probe_call call = { .queued_at = queued_at };

	p->trace = &trace;
	ec_call_begin(p, &call, last_at);
	p->call = call.outer;
	return call.began_at;
}

/* A look at the clock that is not the test's. */
static void assert_looks(struct ec_probe *p, uint64_t queued_at, uint64_t last_at)
{
	uint64_t before = ec_clock_cycles(), at = begin(p, queued_at, last_at);

	assert_true(at >= before && at <= ec_clock_cycles());
}

static void trace_alone_takes_the_last_look_at_the_clock(void **state)
{
	struct ec_probe p = { .is_brief = true, .mark = 100 };

	(void)state;
	assert_int_equal(begin(&p, 90, 120), 120);		/* the run began */
	p.mark = 150;
	assert_int_equal(begin(&p, 90, 120), 150);		/* a callback of the same run has ended */
	assert_int_equal(p.mark, 150);
}

static void other_tools_read_the_clock(void **state)
{
	struct ec_probe p = { .is_brief = false, .mark = 100 };

	(void)state;
	ec_clock_set_source(virtual_clock);
	assert_int_equal(begin(&p, 90, 120), NOW);
	ec_clock_set_source(NULL);
}

/* Else the callback would begin before it was made active, or before the code around it that runs a turn. */
static void last_look_is_too_old(void **state)
{
	struct ec_probe_call outer = { .began_at = 100 };
	struct ec_probe p = { .is_brief = true, .mark = 100 };

	(void)state;
	assert_looks(&p, 130, 120);		/* another thread has made it active since */
	p.mark = 100;
	assert_looks(&p, 90, 0);		/* it is not known when the run began */
	p.mark = 100;
	p.call = &outer;
	assert_looks(&p, 90, 120);		/* it runs within another callback */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trace_alone_takes_the_last_look_at_the_clock),
		cmocka_unit_test(other_tools_read_the_clock),
		cmocka_unit_test(last_look_is_too_old),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
