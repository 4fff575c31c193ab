/*
 * core/loop/foreach.c: each event that is pending or active is visited once, whatever state its color is in.
 */
#include "table.h"

#include <limits.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/sched/base.h"
#include "core/sched/colors.h"
#include "core/sched/event.h"

enum { COLOR = 5, EVENTS = 3 };

struct scene {
	struct ec_base *base;
	struct ec_event ev[EVENTS];
	unsigned visits[EVENTS];	/* by the callback that ran first */
	unsigned ran;
	bool waits;			/* … once the color waits for its shared callbacks */
};

static int note_visit(struct ec_base *base, struct ec_event *ev, void *arg)
{
	struct scene *s = arg;

	assert_ptr_equal(base, s->base);
	assert_in_range(ev - s->ev, 0, EVENTS - 1);
	s->visits[ev - s->ev]++;
	return 0;
}

static enum ec_color_state state_of_color(struct ec_base *base)
{
	_Atomic(uint32_t) hint = 0;
	struct ec_color *c = ec_color_lock_existing(base, COLOR, &hint);
	enum ec_color_state state = (enum ec_color_state)c->state;

	ec_color_unlock(c);
	return state;
}

static void first_visits(int fd, short what, void *arg)
{
	struct scene *s = arg;

	(void)fd;
	(void)what;
	if (s->ran++ != 0)
		return;
	if (s->waits) {
		ec_event_active(&s->ev[1], EC_READ, 1);
		while (state_of_color(s->base) != EC_COLOR_WAITING)
			;
	}
	assert_int_equal(ec_base_foreach_event(s->base, note_visit, s), 0);
}

static void begin(struct scene *s, unsigned workers)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV, .workers_num = workers };
	int i;

	*s = (struct scene){ .ran = 0 };
	assert_int_equal(ec_base_new(&cfg, &s->base), 0);
	for (i = 0; i < EVENTS; i++) {
		assert_int_equal(ec_event_init(&s->ev[i], s->base, -1, 0, first_visits, s), 0);
		assert_int_equal(ec_event_set_color(&s->ev[i], COLOR), 0);
	}
}

/* The first event is neither active nor pending any more. The third one is pending. */
static void run_and_end(struct scene *s, const char *what, unsigned workers)
{
	unsigned left = 2;
	int i;

	assert_int_equal(ec_event_add(&s->ev[2], &(struct timeval){ 3600, 0 }), 0);
	while (s->ran < left)
		assert_int_equal(ec_base_loop(s->base, EC_LOOP_ONCE), 0);
	for (i = 0; i < EVENTS; i++) {
		if (s->visits[i] != (i != 0))
			fail_msg("%s, %u workers: event %d was visited %u times", what, workers, i, s->visits[i]);
	}
	for (i = 0; i < EVENTS; i++)
		assert_int_equal(ec_event_del(&s->ev[i], EC_DEL_BLOCK), 0);
	ec_base_free(s->base);
}

static const unsigned workers[] = { 1, 2, 3 };

static void an_active_event_of_the_color_that_runs(void **state)
{
	struct scene s;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(workers); i++) {
		begin(&s, workers[i]);
		ec_event_active(&s.ev[0], EC_READ, 1);
		ec_event_active(&s.ev[1], EC_READ, 1);
		run_and_end(&s, "active", workers[i]);
	}
}

static void an_expired_timer_of_the_color_that_runs(void **state)
{
	struct scene s;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(workers); i++) {
		begin(&s, workers[i]);
		assert_int_equal(ec_event_add(&s.ev[0], &(struct timeval){ 0, 0 }), 0);
		assert_int_equal(ec_event_add(&s.ev[1], &(struct timeval){ 0, 0 }), 0);
		run_and_end(&s, "expired", workers[i]);
	}
}

static void an_exclusive_event_that_waits_for_shared_ones(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 3);
	s.waits = true;
	assert_int_equal(ec_event_set_color_shared(&s.ev[0], COLOR), 0);
	ec_event_active(&s.ev[0], EC_READ, 1);
	run_and_end(&s, "exclusive", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_active_event_of_the_color_that_runs),
		cmocka_unit_test(an_expired_timer_of_the_color_that_runs),
		cmocka_unit_test(an_exclusive_event_that_waits_for_shared_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
