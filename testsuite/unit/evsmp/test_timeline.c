/*
 * evsmp/timeline.c, flows.c, latency.c: what records mean, which arrows there are, and why a callback waited.
 */
#include "../table.h"

#include "evsmp/latency.h"
#include "evsmp/pages.h"
#include "trace_file.h"

static const uint64_t unknown = UINT64_MAX;

/* Reads all of the file, which is closed. */
static struct timeline timeline_of(struct trace_file *f)
{
	struct timeline t = { 0 };
	char none[] = "";
	struct rings r;

	assert_null(rings_open(f->fd, 1000, &r));
	rings_read(&r);
	timeline_add(&t, &r, "prog", symbols_of_maps(none));
	timeline_finish(&t);
	rings_close(&r);
	return t;
}

static void end(struct timeline *t)
{
	symbols_free(t->bands[0].symbols);
	timeline_free(t);
}

static void callbacks_have_all_they_told(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct slice *s;

	(void)state;
	file_record(&f, 0, EC_TRACE_CALL, 1000, 0x1234 | UINT64_C(2) << 48 | UINT64_C(0x12) << 56,
		    77 | UINT64_C(9) << 32 | UINT64_C(4) << 56 | UINT64_C(3) << 60, UINT64_C(500) << 32 | 250);
	file_call(&f, 0, (struct a_call){ .at = 2000, .len = 5, .wait = unknown, .fn = 0x99, .color = UINT32_MAX });
	t = timeline_of(&f);
	assert_int_equal(t.bands[0].rows_num, 1);
	assert_int_equal(t.bands[0].rows[0].slices_num, 2);
	s = t.bands[0].rows[0].slices;
	assert_int_equal(s->at, 0);
	assert_int_equal(s->len, 250);
	assert_int_equal(s->wait, 500);
	assert_int_equal(s->color, 77);
	assert_int_equal(s->fd, 9);
	assert_int_equal(s->kind, 4);
	assert_int_equal(s->pri, 3);
	assert_int_equal(s->home, 2);
	assert_int_equal(s->res, 0x12);
	assert_string_equal(slice_name(&t.bands[0], s), "0x1234");
	assert_string_equal(slice_kind(s), "signal");
	assert_int_equal(s[1].at, 1000);
	assert_int_equal(s[1].wait, -1);
	assert_int_equal(s[1].fd, -1);
	assert_int_equal(s[1].color, UINT32_MAX);
	assert_int_equal(t.end, 1005);
	end(&t);
}

static void callbacks_have_objects_if_they_were_told(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct row *row;

	(void)state;
	file_record(&f, 0, EC_TRACE_TOUCH, 1010, 0x5000, UINT64_C(9) << 32, 0x5010);
	file_record(&f, 0, EC_TRACE_OBJECT, 1000, 0x4000 | UINT64_C(2) << 48, 0x77, 0x4010);
	file_call(&f, 0, (struct a_call){ .at = 1000, .len = 20, .fn = 0x99 });
	/* Of a callback that is lost. */
	file_record(&f, 0, EC_TRACE_OBJECT, 1100, 0x6000, 0x78, 0x6010);
	file_call(&f, 0, (struct a_call){ .at = 1200, .len = 20, .fn = 0x99 });
	t = timeline_of(&f);
	row = &t.bands[0].rows[0];
	assert_int_equal(row->slices_num, 2);
	assert_int_equal(row->slices[0].object, 0x4000);
	assert_int_equal(row->slices[0].object_kind, 2);
	assert_int_equal(row->slices[0].own_fn, 0x77);
	assert_int_equal(row->slices[0].event, 0x4010);
	assert_int_equal(row->slices[1].object, 0);
	assert_int_equal(row->touches_num, 1);
	assert_int_equal(row->touches[0].at, 10);
	assert_int_equal(row->touches[0].object, 0x5000);
	assert_int_equal(row->touches[0].event, 0x5010);
	assert_int_equal(row->touches[0].fd, 9);
	end(&t);
}

/* Ticks of 0.5 ns, as the clock's records tell, whatever the head says. */
static void clock_is_a_line_through_its_times(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;

	(void)state;
	file_record(&f, 0, EC_TRACE_CLOCK, 1000, 5000000000, 0, 0);
	file_record(&f, 1, EC_TRACE_CLOCK, 1000 + 200000000, 5100000000, 0, 0);
	file_call(&f, 0, (struct a_call){ .at = 1000 + 20000, .len = 4000, .wait = 2000 });
	t = timeline_of(&f);
	assert_int_equal(t.start_ns, 5000010000);
	assert_int_equal(t.bands[0].rows[0].slices[0].len, 2000);
	assert_int_equal(t.bands[0].rows[0].slices[0].wait, 1000);
	end(&t);
}

static void ticks_wrap(void **state)
{
	const uint64_t top = UINT64_C(1) << 56;
	struct trace_file f = file_new();
	struct timeline t;

	(void)state;
	file_record(&f, 0, EC_TRACE_CLOCK, top - 100, 5000, 0, 0);
	file_call(&f, 0, (struct a_call){ .at = top - 50, .len = 10 });
	file_call(&f, 0, (struct a_call){ .at = 50, .len = 10 });
	t = timeline_of(&f);
	assert_int_equal(t.bands[0].rows[0].slices[0].at, 0);
	assert_int_equal(t.bands[0].rows[0].slices[1].at, 100);
	end(&t);
}

static void slices_nest(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct slice *s;

	(void)state;
	/* Written as they end: the inner one first. The last one reaches out, by a clock's fault. */
	file_call(&f, 0, (struct a_call){ .at = 120, .len = 30, .color = 2 });
	file_call(&f, 0, (struct a_call){ .at = 100, .len = 100, .color = 1 });
	file_record(&f, 0, EC_TRACE_POLL, 190, 50, 0, 0);
	file_record(&f, 0, EC_TRACE_SPIN, 200, 10, 0, 0);
	t = timeline_of(&f);
	s = t.bands[0].rows[0].slices;
	assert_int_equal(s[0].color, 1);
	assert_int_equal(s[0].depth, 0);
	assert_int_equal(s[1].color, 2);
	assert_int_equal(s[1].depth, 1);
	assert_int_equal(s[2].type, SLICE_POLL);
	assert_int_equal(s[2].len, 10);
	assert_int_equal(s[2].depth, 1);
	assert_int_equal(s[3].type, SLICE_SPIN);
	assert_int_equal(s[3].depth, 0);
	end(&t);
}

static void running_callback_lasts_to_the_end(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;

	(void)state;
	file_record(&f, 0, EC_TRACE_POLL, 100, 50, 0, 0);
	file_current(&f, 0, (struct a_call){ .at = 200, .fn = 0x77, .wait = unknown });
	file_record(&f, 1, EC_TRACE_POLL, 900, 100, 0, 0);
	file_call(&f, 1, (struct a_call){ .at = 500, .len = 100, .fn = 0x88 });
	/* It has ended since: it is there once. */
	file_current(&f, 1, (struct a_call){ .at = 500, .fn = 0x88 });
	t = timeline_of(&f);
	assert_int_equal(t.bands[0].rows[0].slices_num, 2);
	assert_true(t.bands[0].rows[0].slices[1].is_open);
	assert_int_equal(t.bands[0].rows[0].slices[1].len, 800);
	assert_int_equal(t.bands[0].rows[1].slices_num, 2);
	end(&t);
}

static void what_was_before_is_left_out(void **state)
{
	struct trace_file f = file_new();
	struct timeline t = { .from_ns = 1000 };
	char none[] = "";
	struct rings r;

	(void)state;
	file_call(&f, 0, (struct a_call){ .at = 500, .len = 100, .fn = 1 });
	file_record(&f, 0, EC_TRACE_QUEUE, 600, 5, 0, 0);
	file_record(&f, 0, EC_TRACE_MOVE, 600, 0, 5, 0);
	file_record(&f, 0, EC_TRACE_SLEEP, 700, 1000, 0, 0);
	file_call(&f, 1, (struct a_call){ .at = 950, .len = 100, .fn = 2 });
	assert_null(rings_open(f.fd, 1000, &r));
	rings_read(&r);
	timeline_add(&t, &r, "prog", symbols_of_maps(none));
	timeline_finish(&t);
	rings_close(&r);
	assert_int_equal(t.start_ns, 950);
	assert_int_equal(t.bands[0].rows[0].slices_num, 1);
	assert_int_equal(t.bands[0].rows[0].slices[0].at, 50);
	assert_int_equal(t.bands[0].rows[0].slices[0].len, 700);
	assert_int_equal(t.bands[0].rows[0].marks_num, 0);
	assert_int_equal(t.bands[0].rows[0].levels_num, 0);
	assert_int_equal(t.bands[0].rows[1].slices[0].fn, 2);
	end(&t);
}

/* ---------------------------------------------------------------- arrows */

static void assert_flow(const struct flow *f, unsigned type, unsigned from, int64_t from_at, unsigned to, int64_t to_at)
{
	assert_int_equal(f->type, type);
	assert_int_equal(f->from, from);
	assert_int_equal(f->from_at, from_at);
	assert_int_equal(f->to, to);
	assert_int_equal(f->to_at, to_at);
}

static void posts_lead_to_their_callbacks(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;

	(void)state;
	file_record(&f, 0, EC_TRACE_POLL, 0, 1, 0, 0);
	/* The record is a little later than the post's time. */
	file_record(&f, 0, EC_TRACE_POST, 105, 100, 7, 0);
	file_record(&f, 0, EC_TRACE_POST, 205, 200, 7, 0);
	file_record(&f, 0, EC_TRACE_POST, 206, 200, 8, 0);
	file_call(&f, 1, (struct a_call){ .at = 300, .len = 10, .wait = 200, .color = 7, .kind = 9, .home = 1 });
	file_call(&f, 1, (struct a_call){ .at = 320, .len = 10, .wait = 120, .color = 8, .kind = 9, .home = 1 });
	/* Posted by a thread that is no worker: no arrow. */
	file_call(&f, 1, (struct a_call){ .at = 340, .len = 10, .wait = 7, .color = 7, .kind = 9, .home = 1 });
	t = timeline_of(&f);
	assert_int_equal(t.bands[0].flows_num, 2);
	assert_flow(&t.bands[0].flows[0], EC_TRACE_POST, 0, 105, 1, 300);
	assert_flow(&t.bands[0].flows[1], EC_TRACE_POST, 0, 206, 1, 320);
	end(&t);
}

static void wakeups_lead_to_the_end_of_the_sleep(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;

	(void)state;
	file_record(&f, 0, EC_TRACE_POLL, 0, 1, 0, 0);
	file_record(&f, 0, EC_TRACE_WAKEUP, 500, 1, 0, 0);
	file_record(&f, 0, EC_TRACE_WAKEUP, 900, 1, 0, 0);	/* it does not sleep then */
	file_record(&f, 0, EC_TRACE_WAKEUP, 500, 99, 0, 0);	/* there is no such worker */
	file_record(&f, 1, EC_TRACE_SLEEP, 100, 450, 0, 0);
	file_call(&f, 1, (struct a_call){ .at = 550, .len = 400, .home = 1 });
	t = timeline_of(&f);
	assert_int_equal(t.bands[0].flows_num, 1);
	assert_flow(&t.bands[0].flows[0], EC_TRACE_WAKEUP, 0, 500, 1, 550);
	end(&t);
}

static void stolen_colors_come_from_their_home(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	unsigned i;

	(void)state;
	file_record(&f, 0, EC_TRACE_POLL, 0, 1, 0, 0);
	file_record(&f, 1, EC_TRACE_STEAL, 95, 2, 7, 0);
	for (i = 0; i < 3; i++)
		file_call(&f, 1, (struct a_call){ .at = 100 + 10 * i, .len = 5, .color = 7, .home = 0 });
	file_call(&f, 1, (struct a_call){ .at = 140, .len = 5, .color = 9, .home = 1 });
	file_call(&f, 1, (struct a_call){ .at = 150, .len = 5, .color = 8, .home = 0 });
	file_call(&f, 1, (struct a_call){ .at = 160, .len = 5, .color = 8, .home = 77 });
	t = timeline_of(&f);
	assert_int_equal(t.bands[0].flows_num, 2);
	assert_flow(&t.bands[0].flows[0], EC_TRACE_STEAL, 0, 95, 1, 100);
	assert_flow(&t.bands[0].flows[1], EC_TRACE_STEAL, 0, 150, 1, 150);
	end(&t);
}

/* ---------------------------------------------------------------- latency */

static void longest_delays_have_their_causes(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct latency l;
	unsigned i;

	(void)state;
	file_record(&f, 0, EC_TRACE_POLL, 0, 1, 0, 0);
	/* Before it became ready: not a cause. */
	file_call(&f, 0, (struct a_call){ .at = 1000, .len = 1000, .fn = 0x50, .color = 5, .wait = 1 });
	for (i = 0; i < 4; i++)
		file_call(&f, 0, (struct a_call){ .at = 10000 + i * 1000, .len = 900, .fn = 0x10, .color = 1 });
	/* Within one of color 2: it does not count twice. */
	file_call(&f, 0, (struct a_call){ .at = 14100, .len = 100, .fn = 0x70, .color = 3, .wait = 0 });
	file_call(&f, 0, (struct a_call){ .at = 14000, .len = 6000, .fn = 0x20, .color = 2, .wait = 0 });
	file_call(&f, 0, (struct a_call){ .at = 20000, .len = 10, .fn = 0x30, .color = 4, .wait = 8500 });
	t = timeline_of(&f);
	latency_find(&t, &l);
	assert_int_equal(l.calls, 8);
	assert_int_equal(l.delays_num, 8);
	assert_int_equal(l.delays[0].slice->wait, 8500);
	assert_int_equal(l.delays[0].causes_num, 2);
	assert_int_equal(l.delays[0].causes[0].slice->fn, 0x20);
	assert_int_equal(l.delays[0].causes[0].ns, 6000);
	assert_int_equal(l.delays[0].causes[0].num, 1);
	assert_int_equal(l.delays[0].causes[1].slice->fn, 0x10);
	assert_int_equal(l.delays[0].causes[1].num, 3);
	assert_int_equal(l.delays[0].causes[1].ns, 400 + 900 + 900);
	assert_int_equal(l.delays[0].other_ns, 300);
	assert_int_equal(l.colors_num, 5);
	assert_int_equal(l.colors[0].color, 4);
	assert_int_equal(l.colors[0].wait_max_ns, 8500);
	latency_free(&l);
	end(&t);
}

/* It waited for worker 0, and then worker 1 stole it, which did something else before. */
static void stolen_callback_waited_at_home(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct latency l;

	(void)state;
	file_call(&f, 0, (struct a_call){ .at = 1000, .len = 9000, .fn = 0x10, .color = 1, .wait = unknown });
	file_call(&f, 1, (struct a_call){ .at = 5000, .len = 500, .fn = 0x20, .color = 2, .wait = unknown, .home = 1 });
	file_call(&f, 1, (struct a_call){ .at = 6000, .len = 10, .fn = 0x30, .color = 3, .wait = 4000, .home = 0 });
	t = timeline_of(&f);
	latency_find(&t, &l);
	assert_int_equal(l.delays_num, 1);
	assert_int_equal(l.delays[0].row, 1);
	assert_int_equal(l.delays[0].waited_row, 0);
	assert_int_equal(l.delays[0].causes_num, 1);
	assert_int_equal(l.delays[0].causes[0].slice->fn, 0x10);
	assert_int_equal(l.delays[0].causes[0].ns, 4000);
	latency_free(&l);
	end(&t);
}

static void only_the_longest_are_kept(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct latency l;
	unsigned i;

	(void)state;
	for (i = 0; i < 60; i++)
		file_call(&f, 0, (struct a_call){ .at = 1000 + i * 10, .len = 1, .wait = i * 37 % 60 });
	t = timeline_of(&f);
	latency_find(&t, &l);
	assert_int_equal(l.delays_num, DELAYS_MAX);
	for (i = 0; i < DELAYS_MAX; i++)
		assert_int_equal(l.delays[i].slice->wait, 59 - i);
	latency_free(&l);
	end(&t);
}

/* For a callback that waited while `num` others ran, which took `len` each. */
static char *advice_after(unsigned num, uint64_t len, uint32_t color, uint64_t type)
{
	const uint64_t wait = len > 5000 ? 5000000 : 5000;
	struct trace_file f = file_new();
	struct timeline t;
	struct latency l;
	char *advice;
	unsigned i;

	for (i = 0; i < num; i++) {
		if (type == EC_TRACE_CALL)
			file_call(&f, 0,
				  (struct a_call){ .at = 1000000 + i * len, .len = len, .fn = 0x10, .color = color });
		else
			file_record(&f, 0, type, 1000000 + i * len, len, 0, 0);
	}
	file_call(&f, 0, (struct a_call){ .at = 6000000, .len = 10, .wait = wait, .fn = 0x30, .color = 4 });
	t = timeline_of(&f);
	latency_find(&t, &l);
	advice = latency_advice(&l);
	latency_free(&l);
	end(&t);
	return advice;
}

static void advice_fits_the_cause(void **state)
{
	static const struct {
		const char *name;
		unsigned num;
		uint64_t len;
		uint32_t color;
		unsigned type;
		const char *want;
	} table[] = {
		{ "short", 1, 5000, 1, EC_TRACE_CALL, "nothing is to be gained" },
		{ "one long callback", 1, 5000000, 1, EC_TRACE_CALL, "one run of 0x10 (color 1, 5.0 ms): split" },
		{ "its own color", 10, 500000, 4, EC_TRACE_CALL, "10 runs of 0x10 in the same color 4: give" },
		{ "other colors", 10, 500000, 1, EC_TRACE_CALL, "10 runs of 0x10 (color 1) on the same worker" },
		{ "sleep", 1, 5000000, 0, EC_TRACE_SLEEP, "a worker that did nothing else" },
		{ "none", 0, 5000000, 0, EC_TRACE_SLEEP, "for nothing that the trace has" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		char *advice = advice_after(table[i].num, table[i].len, table[i].color, table[i].type);

		assert_row(strstr(advice, table[i].want) != NULL, table[i].name);
		free(advice);
	}
}

/* Without a wait to speak of, the time that callbacks take tells what to do. */
static void advice_fits_the_time(void **state)
{
	static const struct {
		const char *name;
		unsigned num, rows;
		uint64_t len, every;
		uint32_t color;
		const char *want, *without;
	} table[] = {
		{ "idle", 60, 1, 1000000, 20000000, 0, "the busiest worker ran callbacks 5 %", "color them" },
		{ "one thread", 60, 1, 19000000 / 2, 10000000, 0,
		  "One thread ran all callbacks, and was busy 95 % of the time: color them", "gained" },
		{ "which one", 60, 1, 19000000 / 2, 10000000, 0, "0x10 took 100 % of that, in 60 runs of 9.5 ms",
		  "gained" },
		{ "one worker", 60, 1, 19000000 / 2, 10000000, 7, "One worker ran all colors", "gained" },
		{ "a hot color", 60, 2, 17000000 / 2, 10000000, 7, "Color 7 alone took 85 % of the time of a worker",
		  "gained" },
		{ "color 0", 60, 2, 17000000 / 2, 10000000, 0, "without a color (color 0) took 85 %", "gained" },
		{ "it blocks", 2, 2, 900000000, 3000000000, 0, "0x10 (color 0) ran for 900.0 ms at once", "gained" },
		{ "it blocks, alone", 1, 1, 900000000, 1, 0, "0x10 (color 0) ran for 900.0 ms at once", "color them" },
		{ "short", 60, 1, 1000, 1010, 0, "busiest worker ran callbacks 99 %", "color them" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		struct trace_file f = file_new();
		struct timeline t;
		struct latency l;
		char *advice;
		unsigned j;

		for (j = 0; j < table[i].num; j++)
			file_call(&f, 0,
				  (struct a_call){ .at = 1000 + j * table[i].every,
						   .len = table[i].len,
						   .wait = 10,
						   .fn = 0x10,
						   .color = table[i].color });
		if (table[i].rows > 1)
			file_call(&f, 1, (struct a_call){ .at = 1000, .len = 10, .wait = 10, .fn = 0x20, .color = 4 });
		t = timeline_of(&f);
		latency_find(&t, &l);
		advice = latency_advice(&l);
		assert_row(strstr(advice, table[i].want) != NULL, table[i].name);
		assert_row(strstr(advice, table[i].without) == NULL, table[i].name);
		free(advice);
		latency_free(&l);
		end(&t);
	}
}

/* A loop within a callback: what ran in it is not the callback's own time. */
static void nested_loops_are_no_long_callbacks(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct latency l;

	(void)state;
	file_call(&f, 0, (struct a_call){ .at = 2000, .len = 600, .fn = 0x20, .wait = 1 });
	file_record(&f, 0, EC_TRACE_SLEEP, 3000, 900000000, 0, 0);
	file_call(&f, 0, (struct a_call){ .at = 1000, .len = 900003000, .fn = 0x10, .wait = 1 });
	t = timeline_of(&f);
	latency_find(&t, &l);
	assert_int_equal(l.busy.longest_ns, 900003000 - 600 - 900000000);
	assert_int_equal(l.busy.row_ns, 900003000 - 900000000);
	latency_free(&l);
	end(&t);
}

/* One wait for a busy machine, and three for the same callback. */
static void repeated_cause_comes_before_an_outlier(void **state)
{
	struct trace_file f = file_new();
	struct timeline t;
	struct latency l;
	char *advice;
	unsigned i;

	(void)state;
	file_record(&f, 0, EC_TRACE_SLEEP, 1000, 9000000, 0, 0);
	file_call(&f, 0, (struct a_call){ .at = 9001000, .len = 10, .wait = 9000000, .fn = 0x30, .color = 4 });
	for (i = 0; i < 3; i++) {
		uint64_t at = 10000000 + i * 5000000;

		file_call(&f, 0, (struct a_call){ .at = at, .len = 2000000, .fn = 0x10, .color = 1, .wait = 1 });
		file_call(&f, 0,
			  (struct a_call){ .at = at + 2000000, .len = 10, .wait = 1900000, .fn = 0x40, .color = 5 });
	}
	t = timeline_of(&f);
	latency_find(&t, &l);
	advice = latency_advice(&l);
	assert_non_null(strstr(advice, "3 of the 7 longest waits (up to 1.9 ms, 0x40) were for single runs of 0x10 "
				       "(color 1): split that callback."));
	free(advice);
	latency_free(&l);
	end(&t);
}

static void durations_are_short(void **state)
{
	(void)state;
	assert_string_equal(duration(0), "0 ns");
	assert_string_equal(duration(999), "999 ns");
	assert_string_equal(duration(1500), "1.5 us");
	assert_string_equal(duration(2500000), "2.5 ms");
	assert_string_equal(duration(12340000000), "12.34 s");
}

/* ---------------------------------------------------------------- damage */

static void any_numbers_do_no_harm(void **state)
{
	static const uint64_t values[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 55, (UINT64_C(1) << 56) - 1, INT64_MAX };
	static const struct {
		void (*put)(FILE *out, const struct timeline *t);
	} pages[] = { { page_json }, { page_proto }, { page_html }, { page_svg }, { page_latency } };
	struct trace_file f = file_new();
	struct timeline t;
	uint64_t type;
	size_t i, j;
	FILE *out;

	(void)state;
	for (type = 1; type < EC_TRACE_TYPES; type++) {
		for (i = 0; i < ROWS(values); i++)
			file_record(&f, (unsigned)type % FILE_RINGS, type, values[i], values[(i + 1) % ROWS(values)],
				    values[(i + 2) % ROWS(values)], values[(i + 3) % ROWS(values)]);
	}
	t = timeline_of(&f);
	for (j = 0; j < ROWS(pages); j++) {
		out = fopen("/dev/null", "w");
		assert_non_null(out);
		pages[j].put(out, &t);
		assert_false(ferror(out));
		fclose(out);
	}
	end(&t);
}

static void nothing_is_no_harm_either(void **state)
{
	struct timeline t = { 0 };
	struct latency l;
	char *advice, *text = NULL;
	size_t len = 0;
	FILE *out;

	(void)state;
	timeline_finish(&t);
	latency_find(&t, &l);
	advice = latency_advice(&l);
	assert_non_null(strstr(advice, "No callback ran"));
	free(advice);
	out = open_memstream(&text, &len);
	page_json(out, &t);
	fclose(out);
	assert_string_equal(text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
	free(text);
	timeline_free(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(callbacks_have_all_they_told),
		cmocka_unit_test(callbacks_have_objects_if_they_were_told),
		cmocka_unit_test(clock_is_a_line_through_its_times),
		cmocka_unit_test(ticks_wrap),
		cmocka_unit_test(slices_nest),
		cmocka_unit_test(running_callback_lasts_to_the_end),
		cmocka_unit_test(what_was_before_is_left_out),
		cmocka_unit_test(posts_lead_to_their_callbacks),
		cmocka_unit_test(wakeups_lead_to_the_end_of_the_sleep),
		cmocka_unit_test(stolen_colors_come_from_their_home),
		cmocka_unit_test(longest_delays_have_their_causes),
		cmocka_unit_test(stolen_callback_waited_at_home),
		cmocka_unit_test(only_the_longest_are_kept),
		cmocka_unit_test(advice_fits_the_cause),
		cmocka_unit_test(advice_fits_the_time),
		cmocka_unit_test(nested_loops_are_no_long_callbacks),
		cmocka_unit_test(repeated_cause_comes_before_an_outlier),
		cmocka_unit_test(durations_are_short),
		cmocka_unit_test(any_numbers_do_no_harm),
		cmocka_unit_test(nothing_is_no_harm_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
