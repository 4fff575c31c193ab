/*
 * core/sched/runq.c, core/os/list.h: queues of colors by urgency, and the lists that they are made of.
 */
#include "table.h"

#include <errno.h>

#include "core/os/clock.h"
#include "core/os/list.h"
#include "core/sched/color.h"
#include "core/sched/runq.h"
#include "fault.h"

/* ---------------------------------------------------------------- lists */

struct node {
	int number;
	struct ec_list link;
};

static struct node nodes[6];

static void nodes_push(struct ec_list *head, int from, int to)
{
	ec_list_init(head);
	for (; from < to; from++) {
		nodes[from].number = from;
		ec_list_push_back(head, &nodes[from].link);
	}
}

/* `want` is the numbers in order, both ways. */
static void assert_list(const struct ec_list *head, const char *want)
{
	const struct ec_list *at;
	size_t i = 0, len = strlen(want);

	for (at = head->next; at != head; at = at->next, i++) {
		assert_true(i < len);
		assert_int_equal(ec_container_of(at, struct node, link)->number, want[i] - '0');
		assert_ptr_equal(at->next->prev, at);
	}
	assert_int_equal(i, len);
	for (at = head->prev; at != head; at = at->prev)
		assert_int_equal(ec_container_of(at, struct node, link)->number, want[--i] - '0');
	assert_int_equal(ec_list_is_empty(head), len == 0);
}

static void a_list_keeps_order(void **state)
{
	struct ec_list head;

	(void)state;
	nodes_push(&head, 0, 0);
	assert_list(&head, "");
	nodes_push(&head, 0, 3);
	assert_list(&head, "012");
	nodes[3].number = 3;
	ec_list_push_front(&head, &nodes[3].link);
	assert_list(&head, "3012");
	nodes[4].number = 4;
	ec_list_insert_after(&nodes[0].link, &nodes[4].link);
	assert_list(&head, "30412");
	ec_list_remove(&nodes[3].link);
	ec_list_remove(&nodes[2].link);
	ec_list_remove(&nodes[4].link);
	assert_list(&head, "01");
	ec_list_remove(&nodes[0].link);
	ec_list_remove(&nodes[1].link);
	assert_list(&head, "");
}

static void lists_are_joined_in_order(void **state)
{
	struct ec_list a, b, none;

	(void)state;
	nodes_push(&a, 0, 2);
	nodes_push(&b, 2, 5);
	nodes_push(&none, 0, 0);
	ec_list_splice_back(&a, &none);
	assert_list(&a, "01");
	ec_list_splice_back(&none, &a);
	assert_list(&none, "01");
	assert_list(&a, "");
	ec_list_splice_back(&none, &b);
	assert_list(&none, "01234");
	assert_list(&b, "");
}

/* ---------------------------------------------------------------- run queues */

enum { LEVELS = 200, COLORS = 500 };

static struct ec_runq q;
static struct ec_color colors[COLORS];

static int setup(void **state)
{
	(void)state;
	memset(colors, 0, sizeof(colors));
	return ec_runq_init(&q, LEVELS);
}

static int teardown(void **state)
{
	(void)state;
	ec_runq_fini(&q);
	return 0;
}

static void an_empty_queue_has_no_first(void **state)
{
	(void)state;
	assert_null(ec_runq_first(&q));
	assert_int_equal(ec_runq_level(&q), EC_PRI_MAX);
}

static void pop(int want)
{
	struct ec_color *c = ec_runq_first(&q);

	assert_ptr_equal(c, &colors[want]);
	assert_int_equal(ec_runq_level(&q), c->level);
	ec_runq_remove(&q, c);
}

static void posts_go_first_then_order(void **state)
{
	(void)state;
	ec_runq_push(&q, &colors[0], 3, false);
	ec_runq_push(&q, &colors[1], 3, false);
	ec_runq_push(&q, &colors[2], 3, true);
	ec_runq_push(&q, &colors[3], 3, true);
	assert_int_equal(q.num, 4);
	pop(2);
	pop(3);
	pop(0);
	pop(1);
	assert_int_equal(q.num, 0);
	assert_null(ec_runq_first(&q));
}

static void the_most_urgent_level_goes_first(void **state)
{
	const unsigned levels[] = { 64, 199, 0, 63, 65, 127, 128, 191, 192 };
	const int order[] = { 2, 3, 0, 4, 5, 6, 7, 8, 1 };
	int i;

	(void)state;
	for (i = 0; i < (int)ROWS(levels); i++)
		ec_runq_push(&q, &colors[i], levels[i], i % 2 == 0);
	for (i = 0; i < (int)ROWS(order); i++)
		pop(order[i]);
	assert_null(ec_runq_first(&q));
}

static void one_is_taken_out_of_the_middle(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		ec_runq_push(&q, &colors[i], 7, i >= 2);
	ec_runq_push(&q, &colors[4], 5, false);
	ec_runq_remove(&q, &colors[4]);
	assert_int_equal(ec_runq_level(&q), 7);
	ec_runq_remove(&q, &colors[2]);
	ec_runq_remove(&q, &colors[1]);
	pop(3);
	pop(0);
	assert_int_equal(ec_runq_level(&q), EC_PRI_MAX);
}

static void all_are_visited_in_the_order_they_are_taken(void **state)
{
	unsigned seed = 1;
	struct ec_color *c, *next;
	int i, num = 0;

	(void)state;
	for (i = 0; i < COLORS; i++) {
		seed = seed * 1103515245 + 12345;
		ec_runq_push(&q, &colors[i], (seed >> 16) % LEVELS, (seed >> 8) % 3 == 0);
	}
	for (c = ec_runq_first(&q); c != NULL; c = next, num++) {
		next = ec_runq_next(&q, c);
		assert_ptr_equal(ec_runq_first(&q), c);
		ec_runq_remove(&q, c);
		assert_ptr_equal(ec_runq_first(&q), next);
	}
	assert_int_equal(num, COLORS);
}

static int init_and_fini(void *arg)
{
	struct ec_runq other;
	int r;

	(void)arg;
	r = ec_runq_init(&other, LEVELS);
	if (r == 0)
		ec_runq_fini(&other);
	return r;
}

static void levels_may_become_one_and_many_again(void **state)
{
	(void)state;
	assert_int_equal(ec_runq_set_levels(&q, 1), 0);
	assert_null(ec_runq_first(&q));
	assert_int_equal(ec_runq_level(&q), EC_PRI_MAX);
	ec_runq_push(&q, &colors[0], 0, false);
	ec_runq_push(&q, &colors[1], 0, true);
	assert_ptr_equal(ec_runq_next(&q, &colors[1]), &colors[0]);
	assert_null(ec_runq_next(&q, &colors[0]));
	pop(1);
	pop(0);
	assert_int_equal(ec_runq_level(&q), EC_PRI_MAX);

	fault_alloc_at(1);
	assert_int_equal(ec_runq_set_levels(&q, 2), -ENOMEM);
	assert_true(fault_end());
	ec_runq_push(&q, &colors[0], 0, false);
	pop(0);
	assert_int_equal(ec_runq_set_levels(&q, 2), 0);
	ec_runq_push(&q, &colors[0], 1, false);
	ec_runq_push(&q, &colors[1], 0, false);
	pop(1);
	pop(0);
}

static int64_t now_ns = INT64_C(1) << 50;

static int64_t virtual_clock(void)
{
	return now_ns;
}

static struct ec_color *choose(int64_t pass_ns)
{
	now_ns += pass_ns;
	return ec_runq_choose(&q, ec_clock_ticks());
}

/* While there are colors of both kinds the posts go first, and then each kind for a while. */
static void posts_and_others_take_turns(void **state)
{
	(void)state;
	ec_clock_set_source(virtual_clock);
	assert_null(choose(1));
	ec_runq_push(&q, &colors[0], 7, false);
	assert_ptr_equal(choose(10 * EC_TURN_NS), &colors[0]);
	ec_runq_push(&q, &colors[1], 7, true);
	assert_ptr_equal(choose(10 * EC_TURN_NS), &colors[1]);
	assert_ptr_equal(choose(EC_TURN_NS - 1), &colors[1]);
	assert_ptr_equal(choose(1), &colors[0]);
	assert_ptr_equal(choose(EC_TURN_NS - 1), &colors[0]);
	assert_ptr_equal(choose(1), &colors[1]);
	assert_ptr_equal(choose(10 * EC_TURN_NS), &colors[0]);
	/* More urgent ones do not wait for a turn, nor does the turn pass then. */
	ec_runq_push(&q, &colors[2], 3, true);
	assert_ptr_equal(choose(1), &colors[2]);
	pop(2);
	assert_ptr_equal(choose(1), &colors[0]);
	/* Once one kind has had none, posts go first again. */
	ec_runq_remove(&q, &colors[0]);
	assert_ptr_equal(choose(1), &colors[1]);
	ec_runq_push(&q, &colors[0], 7, false);
	assert_ptr_equal(choose(10 * EC_TURN_NS), &colors[1]);
	assert_ptr_equal(choose(EC_TURN_NS), &colors[0]);
	ec_runq_remove(&q, &colors[1]);
	assert_ptr_equal(choose(1), &colors[0]);
	ec_runq_push(&q, &colors[1], 7, true);
	assert_ptr_equal(choose(10 * EC_TURN_NS), &colors[1]);
	/* The counter has gone back by an hour, as after a suspend. */
	assert_ptr_equal(choose(-INT64_C(3600000000000)), &colors[0]);
	assert_ptr_equal(choose(EC_TURN_NS), &colors[1]);
	ec_clock_set_source(NULL);
}

static void making_one_may_fail(void **state)
{
	(void)state;
	assert_int_equal(fault_each_alloc(init_and_fini, NULL, -ENOMEM), 1);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_keeps_order),
		cmocka_unit_test(lists_are_joined_in_order),
		TEST(an_empty_queue_has_no_first),
		TEST(posts_go_first_then_order),
		TEST(the_most_urgent_level_goes_first),
		TEST(one_is_taken_out_of_the_middle),
		TEST(all_are_visited_in_the_order_they_are_taken),
		TEST(levels_may_become_one_and_many_again),
		TEST(posts_and_others_take_turns),
		cmocka_unit_test(making_one_may_fail),
	};

	return cmocka_run_group_tests_name("run queues", tests, fault_init, fault_fini);
}
