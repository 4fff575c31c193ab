#include "core/observe/keyed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "core/ec.h"
#include "core/os/list.h"
#include "../failing_alloc.h"

enum { NUM = 1000 };

struct thing {
	struct ec_keyed_node node;
	unsigned visits;
};

static void visit(struct ec_keyed_node *node, void *arg)
{
	struct ec_keyed *k = arg;
	struct thing *t = ec_container_of(node, struct thing, node);

	t->visits++;
	if (node->key % 2 == 0)
		ec_keyed_remove(k, node);
}

/* Keys as addresses are: multiples of 16. */
static void fill_and_empty(struct ec_keyed *k)
{
	static struct thing things[NUM];
	uintptr_t i;

	memset(things, 0, sizeof(things));
	for (i = 0; i < NUM; i++) {
		assert_null(ec_keyed_find(k, i * 16 + i % 2));
		ec_keyed_add(k, &things[i].node, i * 16 + i % 2);
	}
	assert_int_equal(k->num, NUM);
	for (i = 0; i < NUM; i++)
		assert_ptr_equal(ec_keyed_find(k, i * 16 + i % 2), &things[i].node);
	ec_keyed_each(k, visit, k);
	assert_int_equal(k->num, NUM / 2);
	for (i = 0; i < NUM; i++) {
		assert_int_equal(things[i].visits, 1);
		assert_ptr_equal(ec_keyed_find(k, i * 16 + i % 2), i % 2 == 0 ? NULL : &things[i].node);
	}
}

static void finds_what_was_added(void **state)
{
	struct ec_keyed k;

	(void)state;
	ec_keyed_init(&k);
	fill_and_empty(&k);
	ec_keyed_fini(&k);
}

/* It only gets slower. */
static void each_allocation_may_fail(void **state)
{
	struct ec_keyed k;
	size_t n, calls;

	(void)state;
	ec_mem_set_fns(failing_malloc, failing_realloc, failing_free);
	for (n = 1;; n++) {
		failing.calls = 0;
		failing.fail_at = n;
		ec_keyed_init(&k);
		fill_and_empty(&k);
		ec_keyed_fini(&k);
		assert_int_equal(failing.live, 0);
		calls = failing.calls;
		if (calls < n)
			break;
	}
	assert_true(n > 2);
	ec_mem_set_fns(NULL, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_added),
		cmocka_unit_test(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
