/*
 * core/os/chunk.c: blocks that were left are taken again, by whichever thread, and given back in the end.
 */
#include "table.h"
#include "failing_alloc.h"
#include "heap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os/chunk.h"

enum { ORDER = 12, NUM = 100 };

static int begin(void **state)
{
	(void)state;
	ec_chunk_shutdown();
	return 0;
}

static void take(void **blocks, unsigned order, int num)
{
	const size_t size = order == EC_CHUNK_BEV ? EC_CHUNK_BEV_SIZE :
			    order == EC_CHUNK_ODD ? EC_CHUNK_ODD_SIZE :
						    (size_t)1 << order;
	int i;

	for (i = 0; i < num; i++) {
		blocks[i] = ec_chunk_new(order);
		assert_non_null(blocks[i]);
		memset(blocks[i], i, size);
	}
}

static void leave(void **blocks, unsigned order, int num)
{
	while (num-- > 0)
		ec_chunk_free(blocks[num], order);
}

static bool is_among(const void *block, void *const *blocks, int num)
{
	while (num-- > 0)
		if (blocks[num] == block)
			return true;
	return false;
}

/* How many of `a` are in `b`. */
static int common_num(void *const *a, void *const *b, int num)
{
	int i, n = 0;

	for (i = 0; i < num; i++)
		n += is_among(a[i], b, num);
	return n;
}

static void what_was_left_is_taken_again(void **state)
{
	void *first[NUM], *second[NUM];

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	take(first, ORDER, NUM);
	leave(first, ORDER, NUM);
	take(second, ORDER, NUM);
	assert_int_equal(common_num(first, second, NUM), NUM);
	leave(second, ORDER, NUM);
}

static void all_sizes_are_there(void **state)
{
	unsigned order;
	void *block;

	(void)state;
	for (order = EC_CHUNK_BEV; order <= EC_CHUNK_ORDER_MAX; order++) {
		take(&block, order, 1);
		leave(&block, order, 1);
	}
}

/* ---------------------------------------------------------------- the program's own allocator */

static void the_programs_allocator_sees_each_block(void **state)
{
	void *blocks[NUM];

	(void)state;
	take(blocks, ORDER, NUM);
	assert_int_equal(failing.calls, NUM);
	leave(blocks, ORDER, NUM);
	assert_int_equal(failing.live, 0);
	failing_from_now(1);
	assert_null(ec_chunk_new(ORDER));
	failing_from_now(0);
}

/* ---------------------------------------------------------------- threads */

static void *left_by_thread[NUM];

static void *leave_in_thread(void *arg)
{
	(void)arg;
	leave(left_by_thread, ORDER, NUM);
	return NULL;
}

static void *take_in_thread(void *arg)
{
	take(arg, ORDER, NUM);
	return NULL;
}

static void run_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, arg), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* One thread reads, another writes: the blocks go in a circle. */
static void what_another_thread_left_is_taken(void **state)
{
	void *first[NUM], *second[NUM];

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	take(first, ORDER, NUM);
	memcpy(left_by_thread, first, sizeof(first));
	run_thread(leave_in_thread, NULL);
	take(second, ORDER, NUM);
	assert_int_equal(common_num(first, second, NUM), NUM);
	leave(second, ORDER, NUM);

	run_thread(take_in_thread, left_by_thread);
	leave(left_by_thread, ORDER, NUM);
}

/* More than all caches hold: the rest goes back at once, and what is held at the end. */
static void nothing_is_held_without_bound_or_for_ever(void **state)
{
	enum { MANY = 60, BIG = 20 };
	static void *blocks[MANY];
	size_t before, held;

	(void)state;
	before = heap_in_use();
	take(blocks, BIG, MANY);
	/* A sanitizer's allocator does not tell. */
	if (heap_in_use() - before < (size_t)MANY << BIG) {
		leave(blocks, BIG, MANY);
		skip();
	}
	leave(blocks, BIG, MANY);
	held = heap_in_use() - before;
	assert_true(held <= (size_t)21 << 20);
	ec_chunk_shutdown();
	/* What is left is not a block, but libc's own. */
	assert_true(heap_in_use() < before + ((size_t)1 << BIG));
}

/* ---------------------------------------------------------------- after a burst */

enum { SECOND = 1000000000, BURST = 200, KEPT_MAX = 32 << 10 /* by the allocator */, SWEEPS_MAX = 16 };

static int64_t clock_ns = SECOND;

/* Sweeps each second until nothing is due; returns how often. */
static unsigned sweep_all(void)
{
	int64_t wait_ns;
	unsigned num = 0;

	while ((wait_ns = ec_chunk_sweep(clock_ns)) != INT64_MAX) {
		assert_in_range(wait_ns, 1, SECOND);
		clock_ns += wait_ns;
		assert_true(++num <= SWEEPS_MAX);
	}
	return num;
}

static void a_burst_is_given_back(void **state)
{
	static const unsigned orders[] = { EC_CHUNK_BEV, EC_CHUNK_ODD, 7, 10, 12, 14, 16, 17, EC_CHUNK_ORDER_MAX };
	void *blocks[BURST];
	size_t before, i;

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	assert_false(ec_chunk_has_excess);
	before = heap_in_use();
	for (i = 0; i < ROWS(orders); i++) {
		take(blocks, orders[i], orders[i] < 16 ? BURST : 20);
		leave(blocks, orders[i], orders[i] < 16 ? BURST : 20);
	}
	assert_true(ec_chunk_has_excess);
	assert_true(sweep_all() > 1);
	assert_false(ec_chunk_has_excess);
	assert_true(heap_in_use() <= before + KEPT_MAX);
	assert_int_equal(ec_chunk_sweep(1), INT64_MAX);
}

static unsigned trims_num;

/* In libc's place. */
int malloc_trim(size_t pad);

int malloc_trim(size_t pad)
{
	assert_int_equal(pad, 0);
	trims_num++;
	return 1;
}

/* Once, when all is freed: a block in use may hold back the pages of all free ones. */
static void the_heap_is_trimmed_after_a_burst(void **state)
{
	void *blocks[BURST];

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	trims_num = 0;
	take(blocks, 10, BURST);
	leave(blocks, 10, BURST);
	(void)sweep_all();
	assert_int_equal(trims_num, 0);		/* 200 KB do not matter */
	take(blocks, 16, BURST);
	leave(blocks, 16, BURST);
	assert_int_equal(trims_num, 0);
	(void)sweep_all();
	assert_int_equal(trims_num, 1);
	take(blocks, 10, BURST);
	leave(blocks, 10, BURST);
	(void)sweep_all();
	assert_int_equal(trims_num, 1);
}

/* Also for memory that was freed elsewhere. */
static void the_heap_is_trimmed_for_others(void **state)
{
	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	trims_num = 0;
	ec_chunk_note_freed(1000);
	assert_false(ec_chunk_has_excess);
	ec_chunk_note_freed((size_t)1 << 20);
	assert_true(ec_chunk_has_excess);
	(void)sweep_all();
	assert_int_equal(trims_num, 1);
	assert_false(ec_chunk_has_excess);
}

/* A thread that needs all of it each second loses none. */
static void what_is_needed_stays(void **state)
{
	void *first[NUM], *second[NUM];
	unsigned i;

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	take(first, ORDER, NUM);
	leave(first, ORDER, NUM);
	for (i = 0; i < 5; i++, clock_ns += SECOND) {
		assert_int_equal(ec_chunk_sweep(clock_ns), SECOND);
		take(second, ORDER, NUM);
		assert_true(common_num(first, second, NUM) >= NUM / 2);
		memcpy(first, second, sizeof(first));
		leave(second, ORDER, NUM);
	}
	(void)sweep_all();
}

/* Those that threads left which are gone. */
static void the_depot_is_given_back(void **state)
{
	void *blocks[NUM];
	size_t before;

	(void)state;
	if (!EC_CHUNK_RECYCLES)
		skip();
	before = heap_in_use();
	take(left_by_thread, ORDER, NUM);
	run_thread(leave_in_thread, NULL);
	take(blocks, EC_CHUNK_ORDER_MIN, NUM);
	leave(blocks, EC_CHUNK_ORDER_MIN, NUM);
	take(blocks, ORDER + 1, NUM);
	leave(blocks, ORDER + 1, NUM);
	(void)sweep_all();
	assert_true(heap_in_use() <= before + KEPT_MAX);
}

/* In a child of a process with threads the depot can be used, whoever had it. */
static void *exchange(void *arg)
{
	volatile int *stop = arg;
	void *blocks[8];

	while (!__atomic_load_n(stop, __ATOMIC_ACQUIRE)) {
		take(blocks, EC_CHUNK_ORDER_MAX, 8);
		leave(blocks, EC_CHUNK_ORDER_MAX, 8);
	}
	return NULL;
}

static void a_child_can_use_the_depot(void **state)
{
	void *blocks[8];
	pthread_t thread;
	int stop = 0, status, i;
	pid_t child;

	(void)state;
	if (!EC_CHUNK_RECYCLES)		/* and the allocator of gcc 12's AddressSanitizer may hang in such a child */
		skip();
	assert_int_equal(pthread_create(&thread, NULL, exchange, &stop), 0);
	for (i = 0; i < 20; i++) {
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			take(blocks, EC_CHUNK_ORDER_MAX, 8);
			leave(blocks, EC_CHUNK_ORDER_MAX, 8);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_was_left_is_taken_again, begin),
		cmocka_unit_test_setup(all_sizes_are_there, begin),
		cmocka_unit_test_setup_teardown(the_programs_allocator_sees_each_block, failing_setup,
						failing_teardown),
		cmocka_unit_test_setup(what_another_thread_left_is_taken, begin),
		cmocka_unit_test_setup(nothing_is_held_without_bound_or_for_ever, begin),
		cmocka_unit_test_setup(a_burst_is_given_back, begin),
		cmocka_unit_test_setup(the_heap_is_trimmed_after_a_burst, begin),
		cmocka_unit_test_setup(the_heap_is_trimmed_for_others, begin),
		cmocka_unit_test_setup(what_is_needed_stays, begin),
		cmocka_unit_test_setup(the_depot_is_given_back, begin),
		cmocka_unit_test_setup(a_child_can_use_the_depot, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
