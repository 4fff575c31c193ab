/*
 * core/sched/queue.c: the order of a color's tasks, while thousands of posts and events of three priorities come and
 * go.
 */
#include "table.h"

#include <limits.h>

#include "core/ec.h"
#include "core/sched/base.h"
#include "core/sched/colors.h"
#include "core/sched/mailbox.h"
#include "core/sched/post.h"
#include "core/sched/slabs.h"

enum { COLOR = 7, PRIORITIES = 3, EVENTS = 3000, MANY = 200000 };

/* What waits, as it should: `order` grows with each task that came. */
struct item {
	bool is_post;
	int pri;
	int event;			/* its index, unless it is a post */
	unsigned order;
};

static struct ec_base *base;
static struct ec_event *events;
static int priorities_num;
static unsigned last_order;
static unsigned random_state;
/* By priority, of events and of posts: the order of the last one that ran. */
static unsigned last_ran[PRIORITIES][2];
static int ran_num, disordered;

static unsigned random_below(unsigned n)
{
	random_state = random_state * 1103515245 + 12345;
	return (random_state >> 8) % n;
}

static int setup_with(int priorities)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .workers_num = 2, .flags = EC_BASE_IGNORE_ENV };

	priorities_num = priorities;
	last_order = 0;
	random_state = 1;
	ran_num = disordered = 0;
	memset(last_ran, 0, sizeof(last_ran));
	return ec_base_new(&cfg, &base) != 0 || ec_base_priority_init(base, priorities) != 0 ? -1 : 0;
}

static int setup(void **state)
{
	(void)state;
	return setup_with(PRIORITIES);
}

static int setup_alone(void **state)
{
	(void)state;
	return setup_with(1);
}

static int teardown(void **state)
{
	(void)state;
	ec_base_free(base);
	free(events);
	events = NULL;
	return 0;
}

static void note(int pri, int is_post, unsigned order)
{
	disordered += order <= last_ran[pri][is_post];
	last_ran[pri][is_post] = order;
	ran_num++;
}

/* The argument of a callback: its priority and its order. */
static void *packed(int pri, unsigned order)
{
	return (void *)((uintptr_t)order * PRIORITIES + (unsigned)pri);
}

static void on_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	note((int)((uintptr_t)arg % PRIORITIES), 0, (unsigned)((uintptr_t)arg / PRIORITIES));
}

static void on_post(void *arg)
{
	note((int)((uintptr_t)arg % PRIORITIES), 1, (unsigned)((uintptr_t)arg / PRIORITIES));
}

static void make_events(int num)
{
	int i;

	events = calloc((size_t)num, sizeof(*events));
	assert_non_null(events);
	for (i = 0; i < num; i++) {
		(void)ec_event_init(&events[i], base, -1, 0, on_event, NULL);
		assert_int_equal(ec_event_set_color(&events[i], COLOR), 0);
	}
}

static void activate(int i, int pri)
{
	events[i].task.pri = (uint8_t)pri;
	events[i].task.arg = packed(pri, ++last_order);
	ec_event_active(&events[i], EC_TIMEOUT, 1);
}

static void post(int pri)
{
	assert_int_equal(ec_base_post_priority(base, COLOR, pri, on_post, packed(pri, ++last_order)), 0);
}

static struct ec_color *the_color(void)
{
	uint32_t i;

	for (i = 0; i < ec_colors_used(&base->colors); i++) {
		struct ec_color *c = ec_color_at(base, i);

		if (c->alive && c->number == COLOR)
			return c;
	}
	fail();
	return NULL;
}

/* All tasks are there, more urgent ones before others, posts before events, and each kind in its order. */
static void check_queue(unsigned num)
{
	struct ec_color *c = the_color();
	struct ec_worker *w = ec_load_relaxed(&c->worker);
	struct ec_list *at;
	struct ec_task *t, *before = NULL;
	unsigned found = 0;

	ec_inbox_drain(base);
	ec_run_lock(w);
	ec_mailbox_deliver(w);
	ec_run_unlock(w);
	for (at = c->tasks.next; at != &c->tasks; at = at->next, before = t) {
		t = ec_container_of(at, struct ec_task, link);
		found++;
		assert_int_equal((uintptr_t)t->arg % PRIORITIES, t->pri);
		if (before == NULL)
			continue;
		assert_true(before->pri <= t->pri);
		if (before->pri != t->pri)
			continue;
		assert_false(before->kind != EC_KIND_POST && t->kind == EC_KIND_POST);
		assert_true((before->kind == EC_KIND_POST) != (t->kind == EC_KIND_POST) || before->arg < t->arg);
	}
	assert_int_equal(found, num);
	assert_int_equal(c->tasks_num, num);
}

static int random_pri(void)
{
	return (int)random_below((unsigned)priorities_num);
}

static void change(unsigned *num)
{
	int i = (int)random_below(EVENTS);

	if (random_below(3) == 0) {
		post(random_pri());
		++*num;
	} else if ((events[i].task.flags & EC_IN_ACTIVE) == 0) {
		activate(i, random_pri());
		++*num;
	} else if (random_below(2) == 0) {
		assert_int_equal(ec_event_del(&events[i], EC_DEL_BLOCK), 0);
		--*num;
	}
}

static void run_all(void)
{
	assert_int_equal(ec_base_loop(base, 0), 1);
	assert_int_equal(disordered, 0);
}

static void a_queue_is_sorted_through_changes(void **state)
{
	unsigned num = 0;
	int i;

	(void)state;
	make_events(EVENTS);
	post(0);
	num++;
	for (i = 0; i < 20000; i++) {
		change(&num);
		if (i % 50 == 0)
			check_queue(num);
	}
	run_all();
	assert_int_equal(ran_num, num);
}

/* More come while they run. */
static void come_later(void *arg)
{
	int *rounds = arg, i;

	for (i = 0; i < EVENTS; i++) {
		if ((events[i].task.flags & EC_IN_ACTIVE) == 0)
			activate(i, random_pri());
	}
	for (i = 0; i < 1000; i++)
		post(random_pri());
	if (--*rounds > 0)
		assert_int_equal(ec_base_post(base, COLOR, come_later, rounds), 0);
}

static void each_kind_runs_in_its_order(void **state)
{
	int rounds = 100;

	(void)state;
	make_events(EVENTS);
	come_later(&rounds);
	run_all();
	assert_int_equal(rounds, 0);
	assert_int_equal(ran_num, last_order);
}

/* If each post walked past those before it, this would take minutes. */
static void a_long_queue_takes_no_time_for_each(void **state)
{
	int i;

	(void)state;
	make_events(MANY);
	for (i = 0; i < MANY; i++)
		activate(i, 0);
	for (i = 0; i < MANY; i++)
		post(0);
	run_all();
	assert_int_equal(ran_num, 2 * MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_queue_is_sorted_through_changes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_queue_is_sorted_through_changes, setup_alone, teardown),
		cmocka_unit_test_setup_teardown(each_kind_runs_in_its_order, setup, teardown),
		cmocka_unit_test_setup_teardown(each_kind_runs_in_its_order, setup_alone, teardown),
		cmocka_unit_test_setup_teardown(a_long_queue_takes_no_time_for_each, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_queue_takes_no_time_for_each, setup_alone, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
