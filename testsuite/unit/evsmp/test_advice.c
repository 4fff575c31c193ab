/*
 * evsmp/replay.c, critical.c, advice.c, advise_*.c: hand-made work, done again by several workers. One engine cost: 0.
 */
#include "../table.h"

#include <stdlib.h>

#include "core/ec.h"
#include "evsmp/advise_pages.h"
#include "evsmp/lines.h"

enum { CALLS_MAX = 4096 };

static struct work_call calls[CALLS_MAX];
static uint32_t colors[CALLS_MAX];
static struct work_fn fns[4];
static struct workload work;
static struct coloring coloring;
static const struct replay_costs no_costs = { .poll_every_ns = 200000, .rescue_ns = 1000000 };

static void begin(void)
{
	work = (struct workload){ .calls = calls, .fns = fns, .fns_num = 4 };
	coloring = (struct coloring){ .colors = colors, .pinned = WORK_NONE };
}

static uint32_t add(uint32_t color, int64_t len, uint32_t cause, enum work_ready ready, int64_t delay)
{
	uint32_t call = (uint32_t)work.calls_num++;

	calls[call] = (struct work_call){ .len = len, .cause = cause, .delay = delay, .fd = -1 };
	calls[call].ready = (uint8_t)ready;
	colors[call] = color;
	if (color >= coloring.num)
		coloring.num = color + 1;
	work.run_ns += len;
	return call;
}

/* `num` chains of `rounds` requests, each in a color of its own, on connections whose clients answer at once. */
static void add_chains(uint32_t num, uint32_t rounds, int64_t len)
{
	uint32_t i, before[64];

	for (i = 0; i < num; i++)
		before[i] = WORK_NONE;
	for (; rounds > 0; rounds--) {
		for (i = 0; i < num; i++)
			before[i] = add(i, len, before[i], WORK_OUTSIDE, 0);
	}
}

static struct replay_result replayed(unsigned workers, const struct replay_costs *costs)
{
	struct replay_result r;

	replay(&work, &coloring, workers, costs, &r);
	return r;
}

/* ---------------------------------------------------------------- the simulation */

static void independent_work_is_done_in_parallel(void **state)
{
	struct replay_result one, two, four;

	(void)state;
	begin();
	add_chains(8, 100, 100000);
	one = replayed(1, &no_costs);
	two = replayed(2, &no_costs);
	four = replayed(4, &no_costs);
	assert_int_equal(one.span_ns, 800 * 100000);
	assert_int_equal(two.span_ns, 400 * 100000);
	assert_int_equal(four.span_ns, 200 * 100000);
	assert_true(one.busy > 0.999);
	assert_true(two.calls_per_s > 1.99 * one.calls_per_s);
	assert_true(two.wait99_ns < one.wait99_ns);
}

static void one_color_uses_one_worker(void **state)
{
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < 50; i++)
		add(0, 1000, WORK_NONE, WORK_OUTSIDE, 0);
	assert_int_equal(replayed(1, &no_costs).span_ns, 50000);
	assert_int_equal(replayed(8, &no_costs).span_ns, 50000);
	assert_int_equal(replayed(8, &no_costs).wait99_ns, 49000);
}

/* Half of each request is in one color: no more than twice as fast. */
static void shared_color_limits_it(void **state)
{
	struct replay_result one, many;
	uint32_t i, round, own[8];

	(void)state;
	begin();
	for (i = 0; i < 8; i++)
		own[i] = WORK_NONE;
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 8; i++) {
			own[i] = add(i + 1, 10000, own[i], WORK_OUTSIDE, 0);
			own[i] = add(0, 10000, own[i], WORK_CALL, 9000);
		}
	}
	one = replayed(1, &no_costs);
	many = replayed(8, &no_costs);
	assert_int_equal(one.span_ns, 1600 * 10000);
	assert_true(many.span_ns >= 800 * 10000);
	assert_true(many.span_ns < 850 * 10000);
}

static void all_homes_on_one_worker_are_stolen_from(void **state)
{
	struct replay_result r;
	uint32_t i;

	(void)state;
	begin();
	/* Colors get homes in turns: of these, only the even ones, which are at worker 0, have work. */
	for (i = 0; i < 16; i++)
		add(i, i % 2 == 0 ? 100000 : 0, WORK_NONE, WORK_CALL, 0);
	r = replayed(2, &no_costs);
	assert_true(r.steals > 0);
	assert_true(r.span_ns <= 500000);
	/* A steal that costs more than the work does not pay. */
	r = replayed(2, &(struct replay_costs){ .steal_ns = 100000000, .poll_every_ns = 200000 });
	assert_int_equal(r.steals, 0);
	assert_int_equal(r.span_ns, 800000);
}

static void pinned_color_stays_on_worker_0(void **state)
{
	uint32_t i;

	(void)state;
	begin();
	for (i = 0; i < 10; i++)
		add(i % 2, 100000, WORK_NONE, WORK_CALL, 0);
	coloring.pinned = 0;
	assert_int_equal(replayed(2, &no_costs).span_ns, 500000);
	/* The other one was at home there, too. */
	assert_int_equal(replayed(2, &no_costs).steals, 1);
}

/* What is ready at a busy worker's descriptors is seen by its poll, or by another worker after a while. */
static void stuck_worker_is_rescued(void **state)
{
	struct replay_result r;

	(void)state;
	begin();
	add(0, 50000000, WORK_NONE, WORK_OUTSIDE, 0);
	add(1, 1000, WORK_NONE, WORK_OUTSIDE, 0);
	add(2, 1000, WORK_NONE, WORK_OUTSIDE, 10000);	/* its home is worker 0, which is busy */
	r = replayed(2, &no_costs);
	assert_int_equal(r.wait99_ns, 1000000);
	assert_int_equal(r.span_ns, 50000000);
}

static void clients_limit_it(void **state)
{
	struct replay_result one, many;

	(void)state;
	begin();
	add_chains(1, 100, 1000);
	calls[50].delay = 1000000;
	one = replayed(1, &no_costs);
	many = replayed(64, &no_costs);
	assert_int_equal(one.span_ns, 1100000);
	assert_int_equal(many.span_ns, 1100000);
}

static void engine_costs_are_part_of_it(void **state)
{
	(void)state;
	begin();
	add_chains(1, 10, 1000);
	work.engine_ns = 500;
	assert_int_equal(replayed(1, &no_costs).span_ns, 15000);
}

static void nothing_is_no_harm(void **state)
{
	struct critical c;

	(void)state;
	begin();
	assert_int_equal(replayed(4, &no_costs).span_ns, 0);
	critical_find(&work, &coloring, &c);
	assert_int_equal(c.span_ns, 0);
	critical_free(&c);
}

/* ---------------------------------------------------------------- the critical path */

static void critical_path_goes_by_color_and_cause(void **state)
{
	struct critical c;
	uint32_t a, b;

	(void)state;
	begin();
	a = add(0, 100, WORK_NONE, WORK_OUTSIDE, 0);		/* 0 to 100 */
	b = add(1, 300, a, WORK_CALL, 50);			/* 50 to 350 */
	(void)add(1, 10, a, WORK_OUTSIDE, 0);			/* its color: 350 to 360 */
	(void)add(2, 40, b, WORK_OUTSIDE, 100);			/* 450 to 490 */
	(void)add(3, 200, WORK_NONE, WORK_OUTSIDE, 0);
	calls[b].fn = 1;
	critical_find(&work, &coloring, &c);
	assert_int_equal(c.span_ns, 490);
	assert_int_equal(c.most_ns, 350);			/* 100 + 200 + 300 of 650 */
	assert_int_equal(c.calls, 3);
	assert_int_equal(c.fn_ns[1], 300);
	assert_int_equal(c.fn_ns[0], 140);
	critical_free(&c);
	colors[3] = 0;
	colors[4] = 0;						/* ready first: 100 to 300 */
	critical_find(&work, &coloring, &c);
	assert_int_equal(c.span_ns, 490);
	critical_free(&c);
	calls[4].delay = 460;					/* 490 to 690 */
	critical_find(&work, &coloring, &c);
	assert_int_equal(c.span_ns, 690);
	critical_free(&c);
}

/*
 * Connections that share a serial part: one worker ran them one after the other, so each round of the serial part waits
 * for the last parallel part of the round. More workers run it in another order.
 */
static void critical_path_is_no_longer_than_what_is_predicted(void **state)
{
	enum { CLIENTS = 60, ROUNDS = 30 };
	uint32_t before[CLIENTS], i, round;
	struct replay_result r;
	struct critical c;

	(void)state;
	begin();
	for (i = 0; i < CLIENTS; i++)
		before[i] = WORK_NONE;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < CLIENTS; i++)
			before[i] = add(i + 1, 35000 + (i * 7919 + round * 104729) % 9000, before[i], WORK_OUTSIDE, 0);
		for (i = CLIENTS; i-- > 0;)
			before[i] = add(0, 1000, before[i], WORK_OUTSIDE, 0);
	}
	r = replayed(64, &no_costs);
	critical_find(&work, &coloring, &c);
	assert_true(c.span_ns <= r.span_ns);
	critical_free(&c);
}

/* ---------------------------------------------------------------- advice */

/* Ten connections, each with an object; half of a connection's work is in a callback about a common object. */
static void make_server(bool has_common)
{
	uint32_t i, round, before[10];

	begin();
	memset(fns, 0, sizeof(fns));
	for (i = 0; i < 10; i++)
		before[i] = WORK_NONE;
	for (round = 0; round < 50; round++) {
		for (i = 0; i < 10; i++) {
			before[i] = add(0, 50000, before[i], WORK_OUTSIDE, 0);
			calls[before[i]].fd = (int)i + 5;
			calls[before[i]].object = 0x1000 + i * 0x100;
			if (!has_common)
				continue;
			before[i] = add(0, 50000, before[i], WORK_CALL, 49000);
			calls[before[i]].object = 0x9000;
			calls[before[i]].fn = 1;
		}
	}
	fns[0] = (struct work_fn){ .address = 0x77, .kind = EC_OBJECT_BUFFEREVENT, .has_fd = true, .ns = 25000000 };
	fns[1] = (struct work_fn){ .address = 0x78, .ns = has_common ? 25000000 : 0 };
	work.has_objects = true;
	work.span_ns = work.run_ns;
}

static char *page_of(void (*page)(FILE *out, const struct advised *a), const struct advice *d, uint64_t lost)
{
	struct advised a = { .advice = d, .program = "prog", .lost = lost };
	struct band b = { .program = "prog" };
	char none[] = "", *at = NULL;
	size_t len;
	FILE *out = open_memstream(&at, &len);

	b.symbols = symbols_of_maps(none);
	a.band = &b;
	page(out, &a);
	fclose(out);
	symbols_free(b.symbols);
	return at;
}

static void assert_page(void (*page)(FILE *out, const struct advised *a), const struct advice *d, uint64_t lost,
			const char *part)
{
	char *at = page_of(page, d, lost);

	if (strstr(at, part) == NULL)
		fail_msg("no \"%s\" in:\n%s", part, at);
	free(at);
}

static void connections_are_colored(void **state)
{
	struct advice d;

	(void)state;
	make_server(false);
	advice_make(&work, &replay_costs_usual, &d);
	assert_non_null(d.best);
	assert_int_equal(d.best->coloring.rule, RULE_CONNECTION);
	assert_true(option_speed(d.best, 1) > 1.9);
	assert_true(d.best->most > 9 && d.best->most < 11);
	assert_true(d.fit > 0.99 && d.fit < 1.05);
	assert_page(advise_text, &d, 0, "Color it by connection: 2.0 times as fast on 2 workers");
	assert_page(advise_text, &d, 0, "bufferevent_set_color(bev, color)");
	assert_page(advise_text, &d, 0, "evsmp check-colors --color-by=connection prog");
	assert_page(advise_text, &d, 7, "7 records are lost");
	assert_page(advise_json, &d, 7, "\"lost\": 7, \"best\": \"connection\"");
	assert_page(advise_svg, &d, 0, "by connection: at most 10.0</title>");
	advice_free(&d);
}

static void what_all_share_must_be_split(void **state)
{
	struct advice d;

	(void)state;
	make_server(true);
	advice_make(&work, &replay_costs_usual, &d);
	assert_non_null(d.best);
	assert_true(d.best->biggest_share > 0.49 && d.best->biggest_share < 0.51);
	assert_int_equal(d.best->biggest_fn, 1);
	assert_true(option_speed(d.best, 3) < 2.1);
	assert_page(advise_text, &d, 0, "Split 0x78: its color has 50 % of all time");
	advice_free(&d);
}

/* One connection, whose requests come one after the other. */
static void what_gains_nothing_is_told(void **state)
{
	struct advice d;

	(void)state;
	begin();
	memset(fns, 0, sizeof(fns));
	add_chains(1, 100, 50000);
	work.span_ns = work.run_ns;
	advice_make(&work, &replay_costs_usual, &d);
	assert_null(d.best);
	assert_page(advise_text, &d, 0, "Coloring gains nothing: all callbacks are about one thing.");
	assert_page(advise_json, &d, 0, "\"best\": null");
	work.asleep_ns = work.span_ns / 2;
	advice_free(&d);
	advice_make(&work, &replay_costs_usual, &d);
	assert_page(advise_text, &d, 0, "the program is busy 50 % of the time");
	advice_free(&d);
}

/* An idle program: its one callback says nothing about it. */
static void too_little_is_told(void **state)
{
	struct advice d;

	(void)state;
	begin();
	memset(fns, 0, sizeof(fns));
	add_chains(1, 1, 8000);
	work.span_ns = work.run_ns;
	advice_make(&work, &replay_costs_usual, &d);
	assert_page(advise_text, &d, 0, "Too little was recorded to tell: 1 callback in 8.0 us.");
	advice_free(&d);
}

/* A replay that does not even explain what happened explains nothing else. */
static void bad_fit_is_told(void **state)
{
	struct advice d;

	(void)state;
	make_server(false);
	work.span_ns *= 2;
	advice_make(&work, &replay_costs_usual, &d);
	assert_page(advise_text, &d, 0, "do not trust the figures");
	advice_free(&d);
}

static void lines_are_read(void **state)
{
	static const struct {
		const char *output, *line;
	} table[] = {
		{ "/src/server.c:63\n", "server.c:63" },
		{ "server.c:63 (discriminator 2)\n", "server.c:63" },
		{ "??:0\n", NULL },
		{ "server.c:?\n", NULL },
		{ "??:?\n", NULL },
		{ "", NULL },
		{ "/a:b/c", NULL },
	};
	size_t i;
	char *line;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		line = line_parse(table[i].output);
		assert_row((line == NULL) == (table[i].line == NULL), table[i].output);
		assert_row(line == NULL || strcmp(line, table[i].line) == 0, table[i].output);
		free(line);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_work_is_done_in_parallel),
		cmocka_unit_test(one_color_uses_one_worker),
		cmocka_unit_test(shared_color_limits_it),
		cmocka_unit_test(all_homes_on_one_worker_are_stolen_from),
		cmocka_unit_test(pinned_color_stays_on_worker_0),
		cmocka_unit_test(stuck_worker_is_rescued),
		cmocka_unit_test(clients_limit_it),
		cmocka_unit_test(engine_costs_are_part_of_it),
		cmocka_unit_test(nothing_is_no_harm),
		cmocka_unit_test(critical_path_goes_by_color_and_cause),
		cmocka_unit_test(critical_path_is_no_longer_than_what_is_predicted),
		cmocka_unit_test(connections_are_colored),
		cmocka_unit_test(what_all_share_must_be_split),
		cmocka_unit_test(what_gains_nothing_is_told),
		cmocka_unit_test(too_little_is_told),
		cmocka_unit_test(bad_fit_is_told),
		cmocka_unit_test(lines_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
