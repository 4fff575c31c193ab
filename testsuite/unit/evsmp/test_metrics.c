/*
 * evsmp/metrics.c: the text of Prometheus, of a file of counters that the test fills. There is no process:
 * this file answers in its place.
 */
#include "table.h"

#include <stdbool.h>
#include <stdlib.h>

#include "counters_file.h"
#include "evsmp/metrics.h"

static struct file f;
static struct metrics_room room[2];
static struct source source = { .pid = 17, .program = "prog", .files_num = 1 };
static char *written;

bool source_read(struct source *s, unsigned i, struct stats *ret)
{
	static struct file read;

	(void)s;
	read = f;
	read.header.base += i;
	return stats_parse(&read, sizeof(read), 2 * (uint64_t)SECOND, ret);
}

const char *source_name_or_address(struct source *s, uint64_t site)
{
	(void)s;
	return site == 0x1000 ? "on_read" : "0x2000";
}

static void make(void)
{
	size_t len;
	FILE *out;

	free(written);
	out = open_memstream(&written, &len);
	assert_non_null(out);
	metrics_write(out, &source, room);
	fclose(out);
}

static void assert_line(const char *line)
{
	const char *at = strstr(written, line);

	if (at == NULL || at[strlen(line)] != '\n')
		fail_msg("no %s in:\n%s", line, written);
}

/* A sum would shrink in part here, and Prometheus would take all that is left of it for new. */
static void a_place_that_is_given_away_begins_one_counter_anew(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	file_add(&f, 0, 5, 0x1000, 70, 700);
	file_add(&f, 1, 5, 0x1000, 20, 200);
	make();
	assert_line("libevent_smp_color_busy_seconds_total{base=\"3\",worker=\"0\",color=\"5\"} 0.700000000");
	assert_line("libevent_smp_color_busy_seconds_total{base=\"3\",worker=\"1\",color=\"5\"} 0.200000000");
	f.workers[1].colors_num = f.workers[1].sites_num = 0;
	file_add(&f, 1, 9, 0x2000, 1, 10);
	make();
	assert_line("libevent_smp_color_busy_seconds_total{base=\"3\",worker=\"0\",color=\"5\"} 0.700000000");
	assert_line("libevent_smp_color_callbacks_total{base=\"3\",worker=\"0\",color=\"5\"} 700");
	assert_line("libevent_smp_color_callbacks_total{base=\"3\",worker=\"1\",color=\"9\"} 10");
	assert_line("libevent_smp_callback_calls_total"
		    "{base=\"3\",worker=\"0\",callback=\"on_read\",address=\"0x1000\"} 700");
	assert_line("libevent_smp_callback_calls_total"
		    "{base=\"3\",worker=\"1\",callback=\"0x2000\",address=\"0x2000\"} 10");
	assert_null(strstr(written, "worker=\"1\",color=\"5\""));
}

/* The bytes of the second base are read over those of the first. */
static void each_base_has_its_own_numbers(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	file_add(&f, 0, 5, 0x1000, 70, 700);
	source.files_num = 2;
	make();
	source.files_num = 1;
	assert_line("libevent_smp_color_callbacks_total{base=\"3\",worker=\"0\",color=\"5\"} 700");
	assert_line("libevent_smp_color_callbacks_total{base=\"4\",worker=\"0\",color=\"5\"} 700");
}

/* Prometheus drops all of a text that is not UTF-8, or that has a line too many. */
static void labels_are_utf8(void **state)
{
	(void)state;
	file_begin(&f, EC_STATS_SEVERAL);
	source.program = "a\"b\\c\nµ\xff";
	make();
	source.program = "prog";
	assert_line("libevent_smp_info{pid=\"17\",program=\"a\\\"b\\\\c\\nµ\xef\xbf\xbd\",version=\"\"} 1");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_that_is_given_away_begins_one_counter_anew),
		cmocka_unit_test(each_base_has_its_own_numbers),
		cmocka_unit_test(labels_are_utf8),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(written);
	return failed;
}
