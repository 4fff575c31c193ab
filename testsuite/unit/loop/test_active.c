/*
 * core/loop/active.c: the finalizer of an idle event runs in the event's color, with one worker or several.
 */
#include "table.h"

#include <limits.h>
#include <pthread.h>

#include "core/ec.h"

enum { COLOR = 5 };

struct scene {
	struct ec_base *base;
	struct ec_event ev;
	uint32_t color;			/* in which the finalizer ran */
	unsigned ran;
};

static void nothing_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void finalizer(struct ec_event *ev, void *arg)
{
	struct scene *s = arg;

	assert_ptr_equal(ev, &s->ev);
	assert_int_equal(ec_base_running_color(s->base, &s->color), 0);
	s->ran++;
}

static void finalize(void *arg)
{
	struct scene *s = arg;

	s->ev.task.arg = s;
	assert_int_equal(ec_event_finalize(&s->ev, finalizer, false), 0);
}

static void *finalize_main(void *arg)
{
	finalize(arg);
	return NULL;
}

static void before_the_loop(struct scene *s)
{
	finalize(s);
}

static void in_a_callback(struct scene *s)
{
	assert_int_equal(ec_base_post(s->base, 0, finalize, s), 0);
}

static void in_another_thread(struct scene *s)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, finalize_main, s), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static const struct {
	unsigned workers;
	bool has_colors;
	void (*where)(struct scene *s);
	uint32_t want;
} rows[] = {
	{ 1, true, before_the_loop, COLOR },
	{ 1, true, in_a_callback, COLOR },
	{ 1, true, in_another_thread, COLOR },
	{ 3, true, before_the_loop, COLOR },
	{ 3, true, in_a_callback, COLOR },
	{ 3, true, in_another_thread, COLOR },
	{ 1, false, before_the_loop, 0 },
	{ 3, false, before_the_loop, 0 },
};

static void the_finalizer_of_an_idle_event_runs_in_its_color(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV };
		struct scene s = { .color = UINT_MAX };

		cfg.workers_num = rows[i].workers;
		assert_int_equal(ec_base_new(&cfg, &s.base), 0);
		assert_int_equal(ec_event_init(&s.ev, s.base, -1, 0, nothing_event, NULL), 0);
		assert_int_equal(ec_event_set_color(&s.ev, COLOR), 0);
		if (rows[i].has_colors)
			assert_int_equal(ec_color_set_cost(s.base, COLOR + 1, 1), 0);
		rows[i].where(&s);
		assert_true(ec_base_loop(s.base, 0) >= 0);
		if (s.ran != 1 || s.color != rows[i].want)
			fail_msg("row %zu: the finalizer ran %u times, in color %u", i, s.ran, s.color);
		ec_base_free(s.base);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_finalizer_of_an_idle_event_runs_in_its_color),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
