/*
 * evsmp/screen.c: what `evsmp top` shows fits the terminal. There is no process: this file answers in its place.
 */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "counters_file.h"
#include "evsmp/bases.h"

enum { COLUMNS_MAX = 400, LINES_MAX = 200, COLORS = 40 };

static struct file f;
static struct stats s;
static struct source source = { .pid = 1234567, .program = "a_program_with_a_long_name" };
static char lines[LINES_MAX][COLUMNS_MAX];
static unsigned lines_num;
static enum screen_sort sort;

const char *source_name_or_address(struct source *from, uint64_t site)
{
	(void)from;
	return site == 0x1000 ? "on_read_of_a_connection" : "other";
}

const char *source_name(void *from, uint64_t site)
{
	return source_name_or_address(from, site);
}

/* ---------------------------------------------------------------- a terminal */

/* The line without what only changes the style. Returns the end. */
static const char *take_line(const char *at, char *to)
{
	size_t len = 0;

	for (; *at != '\n' && *at != '\0'; at++) {
		if (*at == '\033') {
			at += strcspn(at, "m");
			continue;
		}
		assert_true(len + 1 < COLUMNS_MAX);
		to[len++] = *at;
	}
	to[len] = '\0';
	return *at == '\n' ? at + 1 : at;
}

/* Characters, not bytes. */
static unsigned columns_of(const char *line)
{
	unsigned num = 0;

	for (; *line != '\0'; line++)
		num += ((unsigned char)*line & 0xc0) != 0x80;
	return num;
}

static void show(unsigned columns, unsigned rows)
{
	struct screen screen = { .sort = sort, .columns = columns, .rows = rows, .is_styled = rows != 0 };
	char *text = NULL;
	const char *at;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	screen_show(out, &screen, &source, &s);
	fclose(out);
	lines_num = 0;
	for (at = text; *at != '\0' && lines_num < LINES_MAX; lines_num++)
		at = take_line(at, lines[lines_num]);
	free(text);
}

static bool is_shown(const char *part)
{
	unsigned i;

	for (i = 0; i < lines_num; i++) {
		if (strstr(lines[i], part) != NULL)
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------- tests */

/* As many sentences as there can be, more colors than rows. */
static void fill(void)
{
	unsigned i;

	file_begin(&f, EC_STATS_SEVERAL);
	file_add(&f, 1, 4242, 0x1000, 90, 10);
	f.workers[1].colors[0].delays[ec_histogram_bucket(50000000)] = 1000;
	for (i = 0; i < COLORS; i++)
		file_add(&f, 0, 100 + i, 0x2000, 1, 1000);
	f.workers[0].running_since_ns = SECOND;
	f.workers[0].running_site = 0x1000;
	f.workers[0].running_color = 77;
	assert_true(stats_parse(&f, sizeof(f), 2 * (uint64_t)SECOND, &s));
}

/* The last row is the caller's, for the keys. */
static void it_fits_terminals_of_all_sizes(void **state)
{
	static const struct {
		const char *name;
		unsigned columns, rows;
	} rows[] = {
		{ "80 x 24", 80, 24 },	 { "100 x 40", 100, 40 }, { "60 x 20", 60, 20 }, { "200 x 60", 200, 60 },
		{ "30 x 10", 30, 10 },	 { "1 x 1", 1, 1 },	  { "132 x 24", 132, 24 },
	};
	unsigned i, j;

	(void)state;
	fill();
	for (i = 0; i < ROWS(rows); i++) {
		show(rows[i].columns, rows[i].rows);
		assert_row(lines_num < rows[i].rows, rows[i].name);
		for (j = 0; j < lines_num; j++)
			assert_row(columns_of(lines[j]) <= rows[i].columns, rows[i].name);
	}
}

static void a_usual_terminal_shows_all_that_counts(void **state)
{
	(void)state;
	fill();
	show(80, 24);
	assert_string_equal(lines[2], "  on_read_of_a_connection (color 77) has run for 1.0 s on worker 0, and still");
	assert_string_equal(lines[3], "    runs: move what it waits for to another thread, or split it.");
	assert_string_equal(lines[4], "  color 4242 alone uses 90 % of worker 1: split it.");
	assert_true(is_shown("wait up to 57 ms (99th percentile)"));
	assert_true(is_shown("     0 [########............]  40 %"));
	assert_true(is_shown(" STEALS/S  WAKES/S"));
	assert_true(is_shown("  on_read_of_a_con"));
	assert_true(is_shown("      4242    1  90.0 "));
}

/* Colors without a callback take no rows from the others. */
static void idle_colors_take_no_rows(void **state)
{
	unsigned i;

	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	for (i = 0; i < COLORS; i++)
		file_add(&f, 0, i, 0x2000, 0, 0);
	file_add(&f, 0, 4242, 0x1000, 50, 10);
	assert_true(stats_parse(&f, sizeof(f), 2 * (uint64_t)SECOND, &s));
	sort = SORT_COLOR;
	show(80, 24);
	sort = SORT_BUSY;
	assert_true(is_shown("      4242 "));
}

/* For scripts: a sentence is a line. */
static void without_a_terminal_nothing_is_cut(void **state)
{
	(void)state;
	fill();
	show(120, 0);
	assert_string_equal(lines[2], "  on_read_of_a_connection (color 77) has run for 1.0 s on worker 0, and still "
				      "runs: move what it waits for to another thread, or split it.");
	assert_true(is_shown("on_read_of_a_connection"));
	assert_true(is_shown("     0 [################........................]  40 %"));
}

static void times_end_in_one_column(void **state)
{
	unsigned i, micro = 0, milli = 0;

	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	file_add(&f, 0, 1, 0x1000, 10, 10);		/* 10 ms each */
	file_add(&f, 1, 2, 0x1000, 10, 10000);		/* 10 us each */
	assert_true(stats_parse(&f, sizeof(f), 2 * (uint64_t)SECOND, &s));
	show(120, 0);
	for (i = 0; i < lines_num; i++) {
		if (strstr(lines[i], "     0 [") != NULL)
			milli = columns_of(lines[i]);
		if (strstr(lines[i], "     1 [") != NULL)
			micro = columns_of(lines[i]);
	}
	assert_int_equal(milli, micro);
}

/* The other bases of a process have a line each. */
static void other_bases_have_a_line_each(void **state)
{
	struct screen screen = { .columns = 80 };
	static struct bases b;
	unsigned i;

	(void)state;
	for (i = 0; i < 8; i++) {
		file_begin(&f, EC_STATS_UNCOLORED);
		f.header.base = 1 + i;
		file_add(&f, 0, 0, 0x1000, i == 4 ? 90 : 10 + i, 1000);
		assert_true(stats_parse(&f, sizeof(f), 2 * (uint64_t)SECOND, &s));
		bases_add(&b, i, &s);
	}
	bases_sort(&b);
	assert_int_equal(bases_find(&b, 0)->base, 5);
	assert_int_equal(bases_find(&b, 0)->file, 4);
	assert_int_equal(bases_find(&b, 7)->base, 7);
	assert_int_equal(bases_next(&b, 5), 6);
	assert_int_equal(bases_next(&b, 8), 1);
	bases_notes(&b, bases_find(&b, 0), 2, &screen);
	assert_int_equal(screen.bases_num, 10);
	assert_int_equal(screen.notes_num, 6);
	assert_string_equal(screen.notes[0], "base 8: busy 17 %, 1000 callbacks/s of 170 us (n: next base)");
	assert_string_equal(screen.notes[4], "3 more bases are less busy.");
	assert_non_null(strstr(screen.notes[5], "2 bases have not turned since: "));
	bases_notes(&b, NULL, 0, &screen);
	assert_int_equal(screen.notes_num, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_fits_terminals_of_all_sizes),
		cmocka_unit_test(a_usual_terminal_shows_all_that_counts),
		cmocka_unit_test(idle_colors_take_no_rows),
		cmocka_unit_test(without_a_terminal_nothing_is_cut),
		cmocka_unit_test(times_end_in_one_column),
		cmocka_unit_test(other_bases_have_a_line_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
