/*
 * evsmp/stats.c, evsmp/sentences.c: the bytes of a counters file, and what follows from them.
 */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "counters_file.h"
#include "evsmp/color_name.h"
#include "evsmp/sentences.h"

/* ---------------------------------------------------------------- a file */

static struct file f, f_before;
static struct stats s, before;

/* file_add of the file. */
static void add(unsigned worker, uint32_t color, uint64_t site, unsigned percent, uint64_t callbacks)
{
	file_add(&f, worker, color, site, percent, callbacks);
}

static const char *name(void *arg, uint64_t site)
{
	(void)arg;
	return site == 0x1000 ? "on_read" : NULL;
}

static bool parse(void)
{
	return stats_parse(&f, sizeof(f), 2 * (uint64_t)SECOND, &s);
}

/* The last look: of a copy, as of a file that is read. */
static void look_at(uint64_t now_ns)
{
	f_before = f;
	assert_true(stats_parse(&f_before, sizeof(f_before), now_ns, &before));
}

static void look(void)
{
	look_at(2 * (uint64_t)SECOND);
}

/* What came since the last look. */
static void subtract(void)
{
	assert_true(parse());
	stats_subtract(&s, &before);
}

static const struct stats_color *color_of(uint32_t color)
{
	unsigned i;

	for (i = 0; i < s.colors_num && s.colors[i].color != color; i++)
		;
	assert_true(i < s.colors_num);
	return &s.colors[i];
}

static const struct stats_site *site_of(uint64_t site)
{
	unsigned i;

	for (i = 0; i < s.sites_num && s.sites[i].site != site; i++)
		;
	assert_true(i < s.sites_num);
	return &s.sites[i];
}

/* ---------------------------------------------------------------- reading */

static void workers_and_colors_are_read_and_merged(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(0, 5, 0x1000, 10, 100);
	add(0, 6, 0x2000, 20, 200);
	add(1, 5, 0x3000, 30, 300);
	f.workers[0].colors[0].delays[10] = 7;
	f.workers[1].colors[0].delays[10] = 8;
	assert_true(parse());
	assert_int_equal(s.pid, 17);
	assert_int_equal(s.base, 3);
	assert_int_equal(s.workers_on, 2);
	assert_int_equal(s.workers[0].all_ns, SECOND);
	assert_int_equal(s.workers[0].busy_ns, SECOND / 100 * 30);
	assert_int_equal(s.workers[0].asleep_ns, SECOND / 100 * 70);
	assert_int_equal(s.colors_num, 2);
	assert_int_equal(s.colors[0].color, 5);		/* the busiest first */
	assert_int_equal(s.colors[0].busy_ns, SECOND / 100 * 40);
	assert_int_equal(s.colors[0].callbacks, 400);
	assert_int_equal(s.colors[0].busiest, 1);
	assert_int_equal(s.colors[0].site, 0x3000);
	assert_int_equal(s.colors[0].delays_num, 15);
	assert_int_equal(s.sites_num, 3);
	assert_int_equal(stats_sum(&s).callbacks, 600);
}

static void a_record_that_changes_hands_is_left_out(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(0, 5, 0x1000, 10, 100);
	add(0, 6, 0x2000, 20, 200);
	f.workers[0].colors[1].seq_end = 2;
	f.workers[0].sites[0].seq_end = 2;
	assert_true(parse());
	assert_int_equal(s.colors_num, 1);
	assert_int_equal(s.colors[0].color, 5);
	assert_int_equal(s.sites_num, 1);
	assert_int_equal(s.sites[0].site, 0x2000);
}

/* 3 s after the worker's last word. */
static void a_callback_in_progress_counts(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_UNCOLORED);
	f.workers[0].running_since_ns = 2 * (uint64_t)SECOND;
	f.workers[0].running_site = 0x4000;
	assert_true(stats_parse(&f, sizeof(f), 5 * (uint64_t)SECOND, &s));
	assert_int_equal(s.workers[0].running_ns, 3 * (uint64_t)SECOND);
	assert_int_equal(s.workers[0].busy_ns, 3 * (uint64_t)SECOND);
	assert_int_equal(s.workers[0].all_ns, 4 * (uint64_t)SECOND);
	assert_int_equal(s.colors_num, 1);
	assert_int_equal(s.colors[0].busy_ns, 3 * (uint64_t)SECOND);
	assert_int_equal(s.colors[0].site, 0x4000);
	/* The other one sleeps. */
	assert_int_equal(s.workers[1].asleep_ns, 4 * (uint64_t)SECOND);
}

/* Nobody looked for a while, and now someone does; the worker is still in a callback. */
static void what_happened_while_off_is_not_counted(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_UNCOLORED);
	f.workers[0].is_off = 1;
	look_at(5 * (uint64_t)SECOND);
	assert_int_equal(before.workers[0].all_ns, SECOND);
	assert_int_equal(before.workers[0].asleep_ns, SECOND);
	assert_true(stats_parse(&f, sizeof(f), 6 * (uint64_t)SECOND, &s));
	stats_subtract(&s, &before);
	assert_int_equal(s.workers[0].all_ns, 0);
	assert_int_equal(s.workers[0].asleep_ns, 0);
	/* On again from 7 s on. */
	f.workers[0].is_off = 0;
	f.workers[0].since_ns = 6 * (uint64_t)SECOND;
	f.workers[0].until_ns = 7 * (uint64_t)SECOND;
	assert_true(stats_parse(&f, sizeof(f), 8 * (uint64_t)SECOND, &s));
	stats_subtract(&s, &before);
	assert_int_equal(s.workers[0].all_ns, SECOND);
	assert_int_equal(s.workers[0].asleep_ns, SECOND);
}

static void what_is_no_such_file_is_refused(void **state)
{
	const struct {
		size_t at;
		uint32_t value;
	} rows[] = {
		{ offsetof(struct ec_stats_header, magic), 0 },
		{ offsetof(struct ec_stats_header, layout), EC_STATS_LAYOUT + 1 },
		{ offsetof(struct ec_stats_header, header_size), 8 },
		{ offsetof(struct ec_stats_header, worker_size), 8 },
		{ offsetof(struct ec_stats_header, workers_num), 0 },
		{ offsetof(struct ec_stats_header, workers_num), WORKERS + 1 },
		{ offsetof(struct ec_stats_header, workers_num), UINT32_MAX },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		file_begin(&f, EC_STATS_SEVERAL);
		assert_true(parse());
		memcpy((char *)&f + rows[i].at, &rows[i].value, sizeof(rows[i].value));
		assert_false(parse());
	}
	file_begin(&f, EC_STATS_SEVERAL);
	for (i = 0; i < sizeof(f); i += 97)
		assert_false(stats_parse(&f, i, 0, &s));
}

static void numbers_beyond_all_bounds_do_no_harm(void **state)
{
	struct sentences say;

	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	memset(f.workers, 0xff, sizeof(f.workers));
	f.header.mode = 77;
	assert_true(parse());
	assert_true(s.colors_num <= STATS_COLORS_MAX && s.sites_num <= STATS_SITES_MAX);
	assert_true(stats_sum(&s).callbacks == UINT64_MAX);
	before = s;
	stats_subtract(&s, &before);
	assert_int_equal(stats_sum(&s).callbacks, 0);
	sentences_make(&before, name, NULL, &say);
	assert_true(say.num >= 1);
}

/* ---------------------------------------------------------------- differences */

static void a_difference_is_what_came_since(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(0, 5, 0x1000, 10, 100);
	add(1, 6, 0x2000, 20, 200);
	look();
	f.workers[0].colors[0].busy_ns += 1000;
	f.workers[0].colors[0].callbacks += 10;
	f.workers[0].callbacks += 10;
	/* Color 6 has lost its place since, and got one again. */
	f.workers[1].colors[0].seq = f.workers[1].colors[0].seq_end = 3;
	f.workers[1].colors[0].callbacks = 3;
	f.workers[1].colors[0].busy_ns = 4000;
	subtract();
	assert_int_equal(s.workers[0].callbacks, 10);
	assert_int_equal(s.workers[1].callbacks, 0);
	assert_int_equal(s.colors[0].color, 6);
	assert_int_equal(s.colors[0].callbacks, 3);
	assert_int_equal(s.colors[1].callbacks, 10);
	assert_int_equal(s.colors[1].busy_ns, 1000);
}

/* A color that two workers ran, and then nobody: one of them gave its place to another color. */
static void a_place_that_is_given_away_makes_nothing_of_the_others_new(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(0, 5, 0x1000, 70, 700);
	add(1, 5, 0x1000, 20, 200);
	f.workers[0].colors[0].delays[10] = 700;
	f.workers[1].colors[0].delays[10] = 200;
	look();
	f.workers[1].colors_num = f.workers[1].sites_num = 0;
	add(1, 9, 0x3000, 1, 10);
	f.workers[1].colors[0].seq = f.workers[1].colors[0].seq_end = 3;
	f.workers[1].colors[0].delays[10] = 0;
	f.workers[1].sites[0].seq = f.workers[1].sites[0].seq_end = 3;
	subtract();
	assert_int_equal(color_of(5)->callbacks, 0);
	assert_int_equal(color_of(5)->busy_ns, 0);
	assert_int_equal(color_of(5)->delays_num, 0);
	assert_int_equal(color_of(9)->callbacks, 10);
	assert_int_equal(site_of(0x1000)->callbacks, 0);
	assert_int_equal(site_of(0x1000)->busy_ns, 0);
	assert_int_equal(site_of(0x3000)->callbacks, 10);
}

/* It grew beyond what it was, with another count: `seq` tells that it began anew, not its size. */
static void a_place_that_was_given_away_and_back_counts_from_then(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(0, 5, 0x1000, 10, 100);
	look();
	f.workers[0].colors[0].seq = f.workers[0].colors[0].seq_end = 5;
	f.workers[0].colors[0].callbacks = 150;
	f.workers[0].colors[0].busy_ns = (uint64_t)SECOND / 5;
	subtract();
	assert_int_equal(color_of(5)->callbacks, 150);
	assert_int_equal(color_of(5)->busy_ns, SECOND / 5);
}

/* It ran at both looks, so that each interval has its part; then it ends. */
static void a_long_callback_counts_in_each_interval_once(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(1, 5, 0x1000, 10, 100);
	f.workers[0].running_since_ns = 2 * (uint64_t)SECOND;
	f.workers[0].running_site = 0x4000;
	f.workers[0].running_color = 5;
	look_at(3 * (uint64_t)SECOND);
	assert_int_equal(before.colors[0].busy_ns, SECOND + SECOND / 10);
	assert_true(stats_parse(&f, sizeof(f), 5 * (uint64_t)SECOND, &s));
	stats_subtract(&s, &before);
	assert_int_equal(color_of(5)->busy_ns, 2 * (uint64_t)SECOND);
	assert_int_equal(color_of(5)->busiest, 0);
	assert_int_equal(color_of(5)->site, 0x4000);
	look_at(5 * (uint64_t)SECOND);
	add(0, 5, 0x4000, 400, 1);
	f.workers[0].running_since_ns = 0;
	f.workers[0].until_ns = 6 * (uint64_t)SECOND;
	assert_true(stats_parse(&f, sizeof(f), 6 * (uint64_t)SECOND, &s));
	stats_subtract(&s, &before);
	assert_int_equal(color_of(5)->busy_ns, SECOND);
}

static void a_copy_of_the_bytes_outlives_them(void **state)
{
	struct stats_copy copy = { 0 };
	struct stats_color c;
	struct stats_site t;

	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	add(0, 5, 0x1000, 10, 100);
	add(1, 5, 0x1000, 20, 200);
	assert_true(stats_parse(&f, sizeof(f), 2 * (uint64_t)SECOND, &before));
	stats_keep(&before, &copy);
	f.workers[0].colors[0].callbacks += 5;
	f.workers[0].sites[0].callbacks += 5;
	assert_true(stats_color_of(&before, 0, 5, &c));
	assert_int_equal(c.callbacks, 100);
	subtract();
	assert_int_equal(color_of(5)->callbacks, 5);
	/* The second time, the room is there. */
	stats_keep(&s, &copy);
	assert_true(stats_color_of(&s, 0, 5, &c));
	assert_int_equal(c.callbacks, 105);
	assert_int_equal(c.busy_ns, SECOND / 10);
	assert_true(stats_color_of(&s, 1, 5, &c));
	assert_int_equal(c.callbacks, 200);
	assert_false(stats_color_of(&s, 0, 6, &c));
	assert_true(stats_site_of(&s, 0, 0x1000, &t));
	assert_int_equal(t.callbacks, 105);
	assert_false(stats_site_of(&s, 0, 0x2000, &t));
	free(copy.bytes);
}

/* ---------------------------------------------------------------- sentences */

static void hot(void)
{
	add(1, 4242, 0x1000, 97, 1000);
	add(0, 7, 0x2000, 10, 1000);
}

/* Slow callbacks are few, and say as much. */
static void hot_and_slow(void)
{
	add(1, 4242, 0x1000, 97, 5);
}

static void waits_for_slow_zero(void)
{
	add(0, 0, 0x1000, 75, 5);
	f.workers[0].colors[0].alone_ns = (uint64_t)SECOND / 100 * 71;
}

static void serial_and_slow(void)
{
	add(0, 0, 0x1000, 100, 5);
	f.workers[1].since_ns = 0;
}

/* Twice 9 ms of 10. */
static void not_for_long(void)
{
	unsigned i;

	for (i = 0; i < WORKERS; i++) {
		f.workers[i].since_ns = f.workers[i].until_ns - SECOND / 100;
		f.workers[i].asleep_ns = SECOND / 100 - 9000000;
		f.workers[i].busy_ns = 9000000;
		f.workers[i].callbacks = 1;
	}
}

/* It is more than one worker has: so a shared color, which runs on both at once. */
static void shared_and_busy(void)
{
	add(0, 5, 0x1000, 97, 1000);
	add(1, 5, 0x1000, 95, 1000);
}

static void perhaps_shared(void)
{
	add(0, 5, 0x1000, 50, 1000);
	add(1, 5, 0x1000, 45, 1000);
}

static void waits_for_zero(void)
{
	add(0, 0, 0x1000, 75, 1000);
	f.workers[0].colors[0].alone_ns = (uint64_t)SECOND / 100 * 71;
	add(1, 7, 0x2000, 10, 1000);
}

static void short_callbacks(void)
{
	add(0, 0, 0x1000, 40, 500000);		/* 0.8 us each */
	f.workers[1].since_ns = 0;
}

static void serial_busy(void)
{
	add(0, 0, 0x1000, 95, 1000);
	f.workers[1].since_ns = 0;
}

static void late(void)
{
	add(0, 7, 0x1000, 30, 1000);
	f.workers[0].colors[0].delays[ec_histogram_bucket(5000000)] = 1000;
}

static void stuck(void)
{
	add(0, 7, 0x1000, 10, 1000);
	f.workers[1].running_since_ns = SECOND;
	f.workers[1].running_site = 0x1000;
	f.workers[1].running_color = 9;
}

/* The thread had no CPU for a third of the second before. */
static void starved(void)
{
	stuck();
	add(0, 4242, 0x2000, 82, 1000);
	f.workers[0].tid = 99;
}

static void slow_once(void)
{
	add(0, 7, 0x1000, 30, 1000);
	f.workers[0].sites[0].longest_ns = 20000000;
}

static void idle(void)
{
	add(0, 7, 0x1000, 1, 1000);
}

static void no_callbacks(void)
{
}

static void the_first_sentence_says_what_to_do(void **state)
{
	const struct {
		enum ec_stats_mode mode;
		void (*fill)(void);
		const char *first;
	} rows[] = {
		{ EC_STATS_SEVERAL, hot, "color 4242 alone uses 97 % of worker 1: split it." },
		{ EC_STATS_SEVERAL, waits_for_zero,
		  "71 % of the time all workers wait for color 0: color your listener, and what it accepts." },
		{ EC_STATS_SEVERAL, hot_and_slow, "color 4242 alone uses 97 % of worker 1: split it." },
		{ EC_STATS_SEVERAL, waits_for_slow_zero,
		  "71 % of the time all workers wait for color 0: color your listener, and what it accepts." },
		{ EC_STATS_UNCOLORED, serial_and_slow,
		  "one thread runs all callbacks, and is busy 100 % of the time: color them." },
		{ EC_STATS_SINGLE, serial_and_slow,
		  "one worker runs all colors, and is busy 100 % of the time: give it more (EVENT_WORKERS)." },
		{ EC_STATS_SEVERAL, not_for_long,
		  "too little was counted yet to say more: the workers are busy 90 % of 10 ms." },
		{ EC_STATS_SEVERAL, shared_and_busy, "nothing stands out: the workers are busy 96 % of the time." },
		{ EC_STATS_SEVERAL, perhaps_shared,
		  "color 5 uses 95 % of the time, on one worker or another: split it, unless it is a shared color." },
		{ EC_STATS_UNCOLORED, short_callbacks, "callbacks average 800 ns: coloring gains nothing." },
		{ EC_STATS_UNCOLORED, serial_busy,
		  "one thread runs all callbacks, and is busy 95 % of the time; they average 950 us: color them." },
		{ EC_STATS_SINGLE, serial_busy,
		  "one worker runs all colors, and is busy 95 % of the time: give it more (EVENT_WORKERS)." },
		{ EC_STATS_SEVERAL, late,
		  "callbacks of color 7 wait up to 5.4 ms (99th percentile) before they run: evsmp trace shows what "
		  "runs before them." },
		{ EC_STATS_SEVERAL, stuck,
		  "on_read (color 9) has run for 1.0 s on worker 1, and still runs: move what it waits for to another "
		  "thread, or split it." },
		{ EC_STATS_SEVERAL, slow_once,
		  "on_read once took 20 ms: all of its color, and its worker, waited for it." },
		{ EC_STATS_SEVERAL, idle, "nothing stands out: the workers are busy 1 % of the time." },
		{ EC_STATS_SEVERAL, no_callbacks,
		  "no callback has ended yet: nothing is ready, or nobody asks." },
	};
	struct sentences say;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		file_begin(&f, rows[i].mode);
		rows[i].fill();
		assert_true(parse());
		sentences_make(&s, name, NULL, &say);
		assert_true(say.num >= 1);
		assert_string_equal(say.at[0], rows[i].first);
	}
}

/* Then callbacks that are long may not be to blame. */
static void a_worker_without_a_cpu_comes_first(void **state)
{
	struct sentences say;

	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	starved();
	assert_true(parse());
	s.workers[0].no_cpu_ns = SECOND / 3;
	sentences_make(&s, name, NULL, &say);
	assert_int_equal(say.num, 3);
	assert_string_equal(say.at[0], "worker 0 waited for a CPU 33 % of the time: the machine is short of CPUs, and "
				       "all times here are longer for it.");
	assert_string_equal(say.at[1], "color 4242 alone uses 82 % of worker 0: split it.");
	assert_non_null(strstr(say.at[2], "on_read (color 9) has run for 1.0 s"));
	/* The difference of a thread, not of two. */
	before = s;
	before.workers[0].no_cpu_since_ns = 1000;
	s.workers[0].no_cpu_since_ns = 5000;
	stats_subtract(&s, &before);
	assert_int_equal(s.workers[0].no_cpu_ns, 4000);
	before.workers[0].tid = 98;
	stats_subtract(&s, &before);
	assert_int_equal(s.workers[0].no_cpu_ns, 0);
}

/* A long call of an earlier interval is none of this one. */
static void a_long_callback_is_told_in_its_interval(void **state)
{
	static struct file first;
	struct sentences say;

	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	slow_once();
	first = f;
	assert_true(stats_parse(&first, sizeof(first), 2 * (uint64_t)SECOND, &before));
	assert_true(parse());
	stats_subtract(&s, &before);
	sentences_make(&s, name, NULL, &say);
	assert_null(strstr(say.at[0], "once took"));
	f.workers[0].sites[0].longest_ns = 30000000;
	f.workers[0].since_ns = f.workers[0].until_ns - SECOND;
	f.workers[0].callbacks += 1000;
	assert_true(parse());
	stats_subtract(&s, &before);
	sentences_make(&s, name, NULL, &say);
	assert_string_equal(say.at[0], "on_read once took 30 ms: all of its color, and its worker, waited for it.");
}

static void colors_of_the_library_say_what_they_are(void **state)
{
	struct sentences say;

	(void)state;
	assert_string_equal(color_name(4242), "4242");
	assert_string_equal(color_name(0x8000000f), "fresh+15");
	assert_string_equal(color_name(0x90000000), "2415919104");
	assert_string_equal(color_name(0xc0000002), "new+2");
	file_begin(&f, EC_STATS_SEVERAL);
	add(1, 0x8000000f, 0x1000, 97, 1000);
	assert_true(parse());
	sentences_make(&s, name, NULL, &say);
	assert_string_equal(say.at[0], "color fresh+15 (the connection on descriptor 15) alone uses 97 % of worker 1: "
				       "split it.");
}

static void times_are_for_people(void **state)
{
	const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1.0 us" }, { 12345, "12 us" }, { 1234567, "1.2 ms" },
		{ 9900000000, "9.9 s" }, { UINT64_MAX, "18446744074 s" },
	};
	char text[SENTENCES_TIME_LEN];
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++)
		assert_string_equal(sentences_time(rows[i].ns, text), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_and_colors_are_read_and_merged),
		cmocka_unit_test(a_record_that_changes_hands_is_left_out),
		cmocka_unit_test(a_callback_in_progress_counts),
		cmocka_unit_test(what_happened_while_off_is_not_counted),
		cmocka_unit_test(what_is_no_such_file_is_refused),
		cmocka_unit_test(numbers_beyond_all_bounds_do_no_harm),
		cmocka_unit_test(a_difference_is_what_came_since),
		cmocka_unit_test(a_place_that_is_given_away_makes_nothing_of_the_others_new),
		cmocka_unit_test(a_place_that_was_given_away_and_back_counts_from_then),
		cmocka_unit_test(a_long_callback_counts_in_each_interval_once),
		cmocka_unit_test(a_copy_of_the_bytes_outlives_them),
		cmocka_unit_test(the_first_sentence_says_what_to_do),
		cmocka_unit_test(colors_of_the_library_say_what_they_are),
		cmocka_unit_test(a_worker_without_a_cpu_comes_first),
		cmocka_unit_test(a_long_callback_is_told_in_its_interval),
		cmocka_unit_test(times_are_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
