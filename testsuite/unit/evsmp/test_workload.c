/*
 * evsmp/workload.c, coloring.c: what recorded callbacks were about, and what made them ready.
 */
#include "../table.h"

#include "core/ec.h"
#include "evsmp/coloring.h"

enum { ROWS_MAX = 64 };

/* A row that a test fills; all of it is its own. */
static struct slice slices[ROWS_MAX];
static struct touch touches[ROWS_MAX];
static struct row row;
static struct band band;

static void begin(void)
{
	row = (struct row){ .slices = slices, .touches = touches };
	band = (struct band){ .rows = &row, .rows_num = 1, .program = "prog" };
}

static struct slice *add(enum slice_type type, int64_t at, int64_t len)
{
	struct slice *s = &slices[row.slices_num++];

	*s = (struct slice){ .at = at, .len = len, .wait = -1, .fd = -1, .type = (uint8_t)type };
	return s;
}

/* A callback of an event of `fd`, which has waited for `wait`. */
static struct slice *add_call(int64_t at, int64_t len, int64_t wait, int fd, uint64_t object)
{
	struct slice *s = add(SLICE_CALL, at, len);

	s->wait = wait;
	s->fd = fd;
	s->fn = 0x100;
	s->object = object;
	s->event = object + 0x10;
	s->res = EC_READ;
	return s;
}

static void add_touch(int64_t at, uint64_t object)
{
	touches[row.touches_num++] = (struct touch){ .at = at, .object = object, .event = object + 0x10, .fd = -1 };
}

static struct workload make(void)
{
	struct workload w;

	assert_null(workload_make(&band, &w));
	return w;
}

static void next_request_comes_after_the_answer(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add_call(1000, 100, 50, 5, 0x1000);
	add_call(1100, 100, 150, 6, 0x2000);
	add(SLICE_SLEEP, 1200, 500);
	add_call(1700, 100, 0, 5, 0x1000);
	add_call(1800, 200, 100, 6, 0x2000);
	w = make();
	assert_int_equal(w.calls_num, 4);
	assert_int_equal(w.calls[0].cause, WORK_NONE);
	assert_int_equal(w.calls[0].at, 0);
	assert_int_equal(w.calls[2].cause, 0);
	assert_int_equal(w.calls[2].ready, WORK_OUTSIDE);
	/* All that time the worker slept or was busy; a sleep of that length is one of the shortest polls, too. */
	assert_int_equal(w.calls[2].delay, 500 - w.poll_ns);
	assert_int_equal(w.calls[3].cause, 1);
	assert_int_equal(w.calls[3].delay, 500 - w.poll_ns);
	assert_int_equal(w.span_ns, 1000);
	assert_int_equal(w.run_ns, 500);
	assert_true(w.has_objects);
	assert_false(w.has_colors);
	workload_free(&w);
}

/* Before its clients came, and after they went, the program slept. */
static void idle_time_around_the_load_does_not_count(void **state)
{
	struct workload w;
	int i;

	(void)state;
	begin();
	add_call(0, 10, 0, 5, 0x1000);
	add(SLICE_SLEEP, 10, 99990);
	for (i = 0; i < 20; i++)
		add_call(100000 + 1000 * i, 900, 0, 5, 0x1000);
	add(SLICE_SLEEP, 119900, 200000);
	add_call(319900, 10, 0, 5, 0x1000);
	w = make();
	assert_int_equal(w.span_ns, 319910);
	assert_int_equal(w.load_ns, 19900);
	assert_int_equal(w.load_asleep_ns, 0);
	workload_free(&w);
}

/* A server that is never idle: nothing of the time between is the client's. */
static void busy_time_is_no_delay(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add_call(0, 100, 0, 5, 0x1000);
	add_call(100, 900, 100, 6, 0x2000);
	add(SLICE_POLL, 1000, 10);
	add_call(1010, 100, 0, 5, 0x1000);
	w = make();
	assert_int_equal(w.calls[2].cause, 0);
	assert_int_equal(w.calls[2].delay, 0);
	workload_free(&w);
}

static void what_became_ready_in_a_callback_was_made_ready_by_it(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add_call(0, 100, 0, 5, 0x1000);
	add_call(150, 10, 110, -1, 0x2000);
	add_call(200, 10, 100, -1, 0x2000);
	w = make();
	assert_int_equal(w.calls[1].cause, 0);
	assert_int_equal(w.calls[1].ready, WORK_CALL);
	assert_int_equal(w.calls[1].delay, 40);
	/* At the very end of a callback is after it. */
	assert_int_equal(w.calls[2].ready, WORK_OUTSIDE);
	assert_int_equal(w.fns[0].touches, 1);
	workload_free(&w);
}

static void timers_count_all_time(void **state)
{
	struct workload w;
	struct slice *s;

	(void)state;
	begin();
	add_call(0, 100, 0, -1, 0x1000)->res = EC_TIMEOUT;
	add_call(100, 1000, 0, 6, 0x2000);
	s = add_call(1300, 100, 200, -1, 0x1000);
	s->res = EC_TIMEOUT;
	w = make();
	assert_int_equal(w.calls[2].ready, WORK_TIMER);
	assert_int_equal(w.calls[2].cause, 0);
	assert_int_equal(w.calls[2].delay, 1000);
	workload_free(&w);
}

/* A second client that began when the first one had ended. */
static void long_sleep_ends_what_went_on(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add_call(0, 100, 0, 3, 0x9000);
	add_call(100, 100, 0, 5, 0x1000);
	add(SLICE_POLL, 200, 10);
	add(SLICE_SLEEP, 300, 30000000);
	add_call(30000300, 100, 0, 3, 0x9000);
	w = make();
	assert_int_equal(w.calls[2].cause, 1);
	assert_true(w.calls[2].delay > 29000000);
	workload_free(&w);
}

/* A proxy: what the client's callback wrote is answered by the other side. */
static void what_was_touched_waits_for_that(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add_call(0, 100, 0, 6, 0x2000);
	add_call(200, 100, 0, 5, 0x1000);
	add_touch(250, 0x2000);
	add_call(400, 100, 0, 6, 0x2000);
	w = make();
	assert_int_equal(w.calls[2].cause, 1);
	assert_int_equal(w.fns[0].touches, 1);
	workload_free(&w);
}

static void nested_and_open_callbacks_are_part_of_others(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add_call(0, 100, 0, 5, 0x1000);
	add_call(10, 20, 0, 6, 0x2000)->depth = 1;
	add_call(200, 20, 0, 6, 0x2000)->is_open = true;
	w = make();
	assert_int_equal(w.calls_num, 1);
	workload_free(&w);
}

static void what_cannot_be_used_is_refused(void **state)
{
	struct workload w;

	(void)state;
	begin();
	add(SLICE_SLEEP, 0, 100);
	assert_non_null(workload_make(&band, &w));
	band.rows_num = 0;
	assert_non_null(workload_make(&band, &w));
	band.rows_num = 2;
	assert_non_null(strstr(workload_make(&band, &w), "several workers"));
}

/* ---------------------------------------------------------------- colors */

static struct coloring colored(const struct workload *w, enum rule rule)
{
	struct coloring c;

	coloring_make(w, rule, &c);
	return c;
}

/* A listener that makes two connections; each has an event and a timer; a third thing is a timer of the program. */
static struct workload two_connections(void)
{
	struct slice *s;
	int i;

	begin();
	s = add_call(0, 10, 0, 3, 0x9000);
	s->object_kind = EC_OBJECT_LISTENER;
	s->own_fn = 0x200;
	add_touch(1, 0x1000);
	add_touch(2, 0x2000);
	for (i = 0; i < 2; i++) {
		add_call(100 + 40 * i, 10, 0, 5 + i, i == 0 ? 0x1000 : 0x2000);
		s = add_call(120 + 40 * i, 10, 0, -1, i == 0 ? 0x1000 : 0x2000);
		s->res = EC_TIMEOUT;
		s->fn = 0x300;
	}
	s = add_call(300, 10, 0, -1, 0x7000);
	s->res = EC_TIMEOUT;
	s->fn = 0x400;
	return make();
}

static void rules_color_what_they_name(void **state)
{
	static const struct {
		const char *name;
		enum rule rule;
		uint32_t colors[6];
	} table[] = {
		{ "connection", RULE_CONNECTION, { 0, 1, 1, 2, 2, 3 } },
		{ "shared", RULE_SHARED, { 0, 1, 1, 2, 2, 0 } },
		{ "descriptor", RULE_DESCRIPTOR, { 0, 1, 1, 2, 2, 3 } },
		{ "listener", RULE_LISTENER, { 0, 0, 0, 0, 0, 1 } },
		{ "callback", RULE_CALLBACK, { 0, 1, 2, 1, 2, 3 } },
		{ "own", RULE_OWN, { 0, 0, 0, 0, 0, 0 } },
	};
	struct workload w = two_connections();
	struct coloring c;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		c = colored(&w, table[i].rule);
		assert_row(memcmp(c.colors, table[i].colors, sizeof(table[i].colors)) == 0, table[i].name);
		assert_row((c.pinned == 0) == (table[i].rule == RULE_OWN), table[i].name);
		assert_row(strcmp(rule_word(table[i].rule), table[i].name) == 0, table[i].name);
		coloring_free(&c);
	}
	assert_false(coloring_applies(&w, RULE_OWN));
	assert_true(coloring_applies(&w, RULE_LISTENER));
	workload_free(&w);
}

/* One argument for all: it is no connection. */
static void argument_of_many_descriptors_is_no_connection(void **state)
{
	struct coloring c;
	struct workload w;
	int i;

	(void)state;
	begin();
	for (i = 0; i < 6; i++)
		add_call(100 * i, 10, 0, 5 + i % 3, 0x1000);
	w = make();
	assert_true(w.calls[0].is_shared_object);
	c = colored(&w, RULE_CONNECTION);
	assert_int_equal(c.num, 3);
	coloring_free(&c);
	workload_free(&w);
}

/* A proxy: the client's side and the other one in turns, and both change the same memory. */
static void connection_of_a_proxy_is_one(void **state)
{
	struct coloring c;
	struct workload w;
	int i;

	(void)state;
	begin();
	for (i = 0; i < 16; i++)
		add_call(100 * i, 10, 0, 5 + i % 4, i % 4 < 2 ? 0x1000 : 0x2000);
	w = make();
	assert_false(w.calls[0].is_shared_object);
	c = colored(&w, RULE_CONNECTION);
	assert_int_equal(c.num, 2);
	coloring_free(&c);
	workload_free(&w);
	/* With a third descriptor it is no connection. */
	add_call(1600, 10, 0, 9, 0x1000);
	w = make();
	assert_true(w.calls[0].is_shared_object);
	assert_false(w.calls[2].is_shared_object);
	workload_free(&w);
}

static void same_colors_are_found(void **state)
{
	struct workload w = two_connections();
	struct coloring c = colored(&w, RULE_CONNECTION), d = colored(&w, RULE_DESCRIPTOR);
	struct coloring e = colored(&w, RULE_SHARED);

	(void)state;
	assert_true(coloring_is_same(&w, &c, &d));
	assert_false(coloring_is_same(&w, &c, &e));
	coloring_free(&c);
	coloring_free(&d);
	coloring_free(&e);
	workload_free(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_request_comes_after_the_answer),
		cmocka_unit_test(idle_time_around_the_load_does_not_count),
		cmocka_unit_test(busy_time_is_no_delay),
		cmocka_unit_test(what_became_ready_in_a_callback_was_made_ready_by_it),
		cmocka_unit_test(timers_count_all_time),
		cmocka_unit_test(long_sleep_ends_what_went_on),
		cmocka_unit_test(what_was_touched_waits_for_that),
		cmocka_unit_test(nested_and_open_callbacks_are_part_of_others),
		cmocka_unit_test(what_cannot_be_used_is_refused),
		cmocka_unit_test(rules_color_what_they_name),
		cmocka_unit_test(argument_of_many_descriptors_is_no_connection),
		cmocka_unit_test(connection_of_a_proxy_is_one),
		cmocka_unit_test(same_colors_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
