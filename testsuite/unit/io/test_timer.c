/*
 * core/io/timer.c against a plain list, the way it could be written without a thought for speed.
 */
#include "table.h"

#include <errno.h>

#include "core/ec.h"
#include "core/io/timer.h"
#include "fault.h"

enum { MODEL_MAX = 600, STEPS = 6000 };

/* What the model knows of one timer. Of equal deadlines the one armed first is first. */
struct model {
	uint32_t slot;
	uint64_t deadline_ns;
	uint64_t order;			/* 0: not armed */
};

static struct model models[MODEL_MAX];
static struct ec_timers timers;
static uint64_t orders;

static int setup(void **state)
{
	int i;

	(void)state;
	ec_timers_init(&timers);
	memset(models, 0, sizeof(models));
	for (i = 0; i < MODEL_MAX; i++)
		models[i].slot = EC_TIMER_NONE;
	orders = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_timers_fini(&timers);
	return fault_alive() == 0 ? 0 : -1;
}

/* One armed already is postponed every other time that it may be. */
static int arm(struct model *m, uint64_t deadline_ns)
{
	int r = 0;

	if (m->order != 0 && deadline_ns >= m->deadline_ns && orders % 2 == 0)
		ec_timers_postpone(&timers, m->slot, deadline_ns);
	else
		r = ec_timers_arm(&timers, &m->slot, deadline_ns, m);
	if (r < 0)
		return r;
	m->deadline_ns = deadline_ns;
	m->order = ++orders;
	return 0;
}

static void disarm(struct model *m)
{
	ec_timers_disarm(&timers, &m->slot);
	assert_int_equal(m->slot, EC_TIMER_NONE);
	m->order = 0;
}

static struct model *model_first(void)
{
	struct model *first = NULL, *m;

	for (m = models; m < models + MODEL_MAX; m++) {
		if (m->order == 0)
			continue;
		if (first == NULL || m->deadline_ns < first->deadline_ns ||
		    (m->deadline_ns == first->deadline_ns && m->order < first->order))
			first = m;
	}
	return first;
}

static unsigned model_num(void)
{
	unsigned num = 0;
	int i;

	for (i = 0; i < MODEL_MAX; i++)
		num += models[i].order != 0;
	return num;
}

/* Take what is due, and compare each with the model's first. */
static unsigned expire_all(uint64_t now_ns)
{
	struct model *m, *want;
	unsigned num = 0;

	while ((m = ec_timers_expire(&timers, now_ns)) != NULL) {
		want = model_first();
		assert_ptr_equal(m, want);
		assert_true(m->deadline_ns <= now_ns);
		m->slot = EC_TIMER_NONE;
		m->order = 0;
		num++;
		assert_true(ec_timers_are_sound(&timers));
	}
	want = model_first();
	assert_true(want == NULL || want->deadline_ns > now_ns);
	return num;
}

static void check(void)
{
	struct model *first = model_first();

	assert_true(ec_timers_are_sound(&timers));
	assert_int_equal(timers.num, model_num());
	/* Postponing leaves the bound behind, and nothing may leave it ahead. */
	if (first != NULL)
		assert_true(ec_timers_bound_ns(&timers) <= first->deadline_ns);
	else
		assert_true(ec_timers_bound_ns(&timers) == UINT64_MAX);
	assert_true(ec_timers_next_ns(&timers) == (first == NULL ? UINT64_MAX : first->deadline_ns));
	assert_true(ec_timers_are_sound(&timers));
}

/* ---------------------------------------------------------------- by hand */

static void none_is_never_due(void **state)
{
	uint32_t slot = 0, none = EC_TIMER_NONE;

	(void)state;
	assert_true(ec_timers_are_sound(&timers));
	assert_true(ec_timers_next_ns(&timers) == UINT64_MAX);
	assert_null(ec_timers_expire(&timers, UINT64_MAX));
	assert_null(ec_timers_find(&timers, &slot));
	ec_timers_disarm(&timers, &none);
	assert_true(ec_timers_are_sound(&timers));
}

static void it_is_due_at_its_deadline_not_before(void **state)
{
	(void)state;
	assert_int_equal(arm(&models[0], 50), 0);
	assert_int_equal(expire_all(49), 0);
	assert_true(ec_timers_deadline(&timers, models[0].slot) == 50);
	assert_int_equal(expire_all(50), 1);
	assert_int_equal(expire_all(UINT64_MAX), 0);
	check();
}

static void equal_deadlines_expire_in_the_order_of_arming(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < MODEL_MAX; i++)
		assert_int_equal(arm(&models[(i * 7) % MODEL_MAX], 1000), 0);
	check();
	assert_int_equal(expire_all(1000), MODEL_MAX);
}

/* Arming anew, even for the same time, is a new arming. */
static void rearming_goes_behind_its_equals(void **state)
{
	(void)state;
	assert_int_equal(arm(&models[0], 10), 0);
	assert_int_equal(arm(&models[1], 10), 0);
	assert_int_equal(arm(&models[2], 10), 0);
	assert_int_equal(arm(&models[0], 10), 0);
	assert_int_equal(arm(&models[1], 5), 0);
	assert_int_equal(arm(&models[1], 10), 0);
	check();
	assert_int_equal(expire_all(10), 3);
}

static void rearming_moves_it_later_and_earlier(void **state)
{
	(void)state;
	assert_int_equal(arm(&models[0], 100), 0);
	assert_int_equal(arm(&models[1], 200), 0);
	assert_int_equal(arm(&models[0], 300), 0);
	check();
	assert_int_equal(expire_all(250), 1);
	assert_int_equal(arm(&models[0], 260), 0);
	check();
	assert_int_equal(expire_all(259), 0);
	assert_int_equal(expire_all(260), 1);
	check();
}

static void the_ends_of_time_are_deadlines(void **state)
{
	(void)state;
	assert_int_equal(arm(&models[0], UINT64_MAX - 1), 0);
	assert_int_equal(arm(&models[1], 0), 0);
	assert_int_equal(arm(&models[2], INT64_MAX), 0);
	check();
	assert_int_equal(expire_all(0), 1);
	assert_int_equal(expire_all(INT64_MAX), 1);
	assert_int_equal(expire_all(UINT64_MAX), 1);
}

/* Sequence numbers are 32 bits, and wrap in a process that lives long. */
static void the_order_survives_the_wrap_of_its_numbers(void **state)
{
	int i;

	(void)state;
	timers.seq = UINT32_MAX - 5;
	for (i = 0; i < 12; i++)
		assert_int_equal(arm(&models[i], 7), 0);
	check();
	assert_int_equal(expire_all(7), 12);
}

static void visiting_finds_each_armed_one_once(void **state)
{
	unsigned seen[MODEL_MAX] = { 0 }, num = 0;
	struct model *m;
	uint32_t slot;
	int i;

	(void)state;
	for (i = 0; i < MODEL_MAX; i++)
		assert_int_equal(arm(&models[i], (uint64_t)i), 0);
	for (i = 0; i < MODEL_MAX; i += 3)
		disarm(&models[i]);
	for (slot = 0; (m = ec_timers_find(&timers, &slot)) != NULL; slot++) {
		assert_int_equal(slot, m->slot);
		seen[m - models]++;
		num++;
	}
	assert_int_equal(num, model_num());
	for (i = 0; i < MODEL_MAX; i++)
		assert_int_equal(seen[i], i % 3 != 0);
}

/* ---------------------------------------------------------------- stale entries */

/* However often timers are rearmed and disarmed, the heap is a small multiple of those armed. */
static void stale_entries_are_swept(void **state)
{
	enum { ARMED = 100, ROUNDS = 200 };
	uint32_t most = 0;
	int i, round;

	(void)state;
	for (i = 0; i < ARMED; i++)
		assert_int_equal(arm(&models[i], UINT64_C(1) << 40), 0);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < ARMED; i++) {
			uint64_t at = (UINT64_C(1) << 39) - (uint64_t)(round * ARMED + i);

			assert_int_equal(arm(&models[i], at), 0);	/* always earlier: a new entry */
			if (timers.heap_num > most)
				most = timers.heap_num;
		}
		assert_true(ec_timers_are_sound(&timers));
	}
	assert_in_range(most, ARMED, 5 * ARMED + 64);
	assert_int_equal(expire_all(UINT64_MAX), ARMED);
	assert_int_equal(timers.heap_num, 0);
}

static void disarming_all_leaves_an_empty_heap(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < MODEL_MAX; i++)
		assert_int_equal(arm(&models[i], (uint64_t)(MODEL_MAX - i)), 0);
	for (i = 0; i < MODEL_MAX; i++) {
		disarm(&models[i]);
		assert_true(ec_timers_are_sound(&timers));
	}
	assert_int_equal(timers.num, 0);
	assert_int_equal(timers.heap_num, 0);
	assert_int_equal(arm(&models[0], 3), 0);
	check();
}

/* ---------------------------------------------------------------- at random */

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

/* Few different deadlines make many equals, many make a deep heap. */
static void random_steps(uint64_t seed, unsigned timers_num, uint64_t spread)
{
	uint64_t now_ns = 0, rnd = seed;
	struct model *m;
	unsigned armed;
	int i;

	for (i = 0; i < STEPS; i++) {
		m = &models[random_next(&rnd) % timers_num];
		switch (random_next(&rnd) % 8) {
		case 0:
			now_ns += random_next(&rnd) % (spread / 4 + 1);
			(void)expire_all(now_ns);
			break;
		case 1:
		case 2:
			disarm(m);
			break;
		default:
			assert_int_equal(arm(m, now_ns + random_next(&rnd) % spread), 0);
		}
		if (i % 8 == 0)
			check();
		else
			assert_true(ec_timers_are_sound(&timers));
	}
	armed = timers.num;
	assert_int_equal(expire_all(UINT64_MAX), armed);
	assert_int_equal(timers.num, 0);
}

static void random_operations_are_as_the_model(void **state)
{
	static const struct {
		uint64_t seed;
		unsigned timers_num;
		uint64_t spread;
	} rows[] = {
		{ 1, 3, 4 },	      { 2, 40, 5 },	     { 3, 200, 1000 },
		{ 4, MODEL_MAX, 64 }, { 5, MODEL_MAX, UINT64_C(1) << 40 }, { 6, 70, 1 },
	};
	size_t i;

	for (i = 0; i < ROWS(rows); i++) {
		random_steps(rows[i].seed, rows[i].timers_num, rows[i].spread);
		ec_timers_fini(&timers);
		setup(state);
	}
}

/* ---------------------------------------------------------------- no memory */

/* Every allocation on the way to many timers fails once: nothing has changed then, and it works when asked again. */
static int arm_many(void *arg)
{
	int i, failures = 0;

	(void)arg;
	setup(NULL);
	for (i = 0; i < MODEL_MAX; i++) {
		uint32_t num = timers.num;

		if (arm(&models[i], (uint64_t)(i * 31 % 100)) < 0) {
			failures++;
			assert_int_equal(models[i].slot, EC_TIMER_NONE);
			assert_int_equal(timers.num, num);
			check();
			assert_int_equal(arm(&models[i], (uint64_t)(i * 31 % 100)), 0);
		}
	}
	assert_true(failures <= 1);
	check();
	assert_int_equal(expire_all(UINT64_MAX), MODEL_MAX);
	ec_timers_fini(&timers);
	return 0;
}

static void growing_fails_without_a_change(void **state)
{
	(void)state;
	/* heap, slots and groups, for 64, 128, 256, 512 and 1024 */
	assert_int_equal(fault_each_alloc(arm_many, NULL, -ENOMEM), 15);
	setup(state);
}

/* Rearming earlier needs an entry too; without memory the old deadline stands. */
static void rearming_fails_without_a_change(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 64; i++)
		assert_int_equal(arm(&models[i], 1000), 0);
	assert_int_equal(timers.heap_num, timers.heap_cap);
	fault_alloc_at(1);
	assert_int_equal(arm(&models[20], 10), -ENOMEM);
	assert_true(fault_end());
	check();
	assert_true(ec_timers_deadline(&timers, models[20].slot) == 1000);
	fault_alloc_at(1);
	assert_int_equal(arm(&models[20], 2000), 0);		/* later needs none */
	assert_false(fault_end());
	check();
	assert_int_equal(arm(&models[20], 10), 0);
	check();
	assert_int_equal(expire_all(UINT64_MAX), 64);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* ---------------------------------------------------------------- trimming */

enum { BURST = 5000, TRIM_NS = 1000000000 };

static struct burst {
	uint32_t slot;
} burst[BURST];

static void arm_burst(void)
{
	int i;

	for (i = 0; i < BURST; i++) {
		burst[i].slot = EC_TIMER_NONE;
		assert_int_equal(ec_timers_arm(&timers, &burst[i].slot, (uint64_t)(BURST - i), &burst[i]), 0);
	}
	assert_false(ec_timers_have_excess(&timers));
}

static void disarm_burst(int from, int to)
{
	int i;

	for (i = from; i < to; i++)
		ec_timers_disarm(&timers, &burst[i].slot);
	assert_true(ec_timers_are_sound(&timers));
}

/* Not at once, but after a second. */
static void trim(int64_t now_ns)
{
	assert_true(ec_timers_have_excess(&timers));
	assert_true(ec_timers_trim(&timers, now_ns) == TRIM_NS);
	assert_true(ec_timers_trim(&timers, now_ns + 1) == TRIM_NS - 1);
	assert_true(ec_timers_trim(&timers, now_ns + TRIM_NS) == INT64_MAX);
	assert_true(ec_timers_are_sound(&timers));
}

static void expect_expired(int from, int to)
{
	int i;

	for (i = to; i-- > from;) {
		assert_ptr_equal(ec_timers_expire(&timers, BURST), &burst[i]);
		assert_true(ec_timers_are_sound(&timers));
	}
	assert_null(ec_timers_expire(&timers, BURST));
}

static void a_burst_is_trimmed(void **state)
{
	(void)state;
	arm_burst();
	disarm_burst(0, BURST);
	trim(1);
	assert_true(timers.slots_cap <= EC_TIMERS_KEPT && timers.heap_cap <= EC_TIMERS_KEPT);
	arm_burst();
	expect_expired(0, BURST);
}

static void those_that_stay_stay(void **state)
{
	enum { KEPT = 100 };

	(void)state;
	arm_burst();
	disarm_burst(KEPT, BURST);
	trim(1);
	assert_true(timers.slots_cap < BURST / 4 && timers.heap_cap < BURST / 4);
	assert_int_equal(timers.num, KEPT);
	expect_expired(0, KEPT);
}

/*
 * Those that were disarmed have entries, whose slots the trimming frees. The deadlines are in an order in which entries
 * that fill gaps go up as well as down.
 */
static void no_entry_names_a_slot_that_is_gone(void **state)
{
	enum { KEPT = 1500, STEP = 7919 };
	int i;

	(void)state;
	for (i = 0; i < BURST; i++) {
		burst[i].slot = EC_TIMER_NONE;
		assert_int_equal(ec_timers_arm(&timers, &burst[i].slot, (uint64_t)(i * STEP % BURST), &burst[i]), 0);
	}
	disarm_burst(KEPT, BURST);
	assert_true(timers.heap_num > timers.num);
	trim(1);
	assert_in_range(timers.slots_cap, KEPT, BURST - 1);
	assert_int_equal(timers.heap_num, timers.num);
	for (i = 0; i < BURST; i++) {
		int due = (int)((int64_t)i * 2679 % BURST);	/* 2679 * STEP is 1 modulo BURST */

		assert_int_equal(due * STEP % BURST, i);
		if (due < KEPT)
			assert_ptr_equal(ec_timers_expire(&timers, BURST), &burst[due]);
	}
	assert_null(ec_timers_expire(&timers, BURST));
}

/*
 * A program has always some timer in flight: here one in the last slot, until another one in the first is armed. The
 * worker does not wake up to try again.
 */
static void one_in_the_last_slot_only_delays_it(void **state)
{
	uint32_t cap, slot = EC_TIMER_NONE;

	(void)state;
	arm_burst();
	cap = timers.slots_cap;
	disarm_burst(0, BURST - 1);
	trim(1);
	assert_int_equal(timers.slots_cap, cap);
	assert_int_equal(ec_timers_arm(&timers, &slot, 1, &slot), 0);
	assert_true(slot < EC_TIMERS_KEPT);
	disarm_burst(BURST - 1, BURST);
	assert_true(ec_timers_have_excess(&timers));
	assert_true(ec_timers_trim(&timers, 2 * (int64_t)TRIM_NS) == INT64_MAX);
	assert_int_equal(timers.slots_cap, cap);
	assert_true(ec_timers_trim(&timers, 4 * (int64_t)TRIM_NS) == INT64_MAX);
	assert_true(timers.slots_cap <= EC_TIMERS_KEPT && timers.heap_cap <= EC_TIMERS_KEPT);
	assert_true(ec_timers_are_sound(&timers));
	assert_ptr_equal(ec_timers_expire(&timers, 1), &slot);
}

static void without_memory_nothing_is_trimmed(void **state)
{
	uint32_t cap;

	(void)state;
	arm_burst();
	cap = timers.slots_cap;
	disarm_burst(0, BURST - 1);
	fault_alloc_always();
	trim(1);
	assert_true(fault_end());
	assert_int_equal(timers.slots_cap, cap);
	expect_expired(BURST - 1, BURST);
}

/* ---------------------------------------------------------------- a heap that is not in the cache */

enum { LARGE = 70000, DEADLINES = 20000 };

/* Many deadlines are equal. */
static void a_large_heap_keeps_the_order(void **state)
{
	struct model *all = calloc(LARGE, sizeof(*all)), *m, before = { 0 };
	uint64_t seed = 42;
	int i;

	(void)state;
	assert_non_null(all);
	for (i = 0; i < LARGE; i++) {
		all[i].slot = EC_TIMER_NONE;
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		assert_int_equal(arm(&all[i], (seed >> 33) % DEADLINES), 0);
	}
	for (i = 0; i < LARGE; i++) {
		m = ec_timers_expire(&timers, UINT64_MAX);
		assert_non_null(m);
		assert_true(m->deadline_ns > before.deadline_ns ||
			    (m->deadline_ns == before.deadline_ns && m->order > before.order));
		before = *m;
	}
	assert_null(ec_timers_expire(&timers, UINT64_MAX));
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(none_is_never_due),
		TEST(it_is_due_at_its_deadline_not_before),
		TEST(equal_deadlines_expire_in_the_order_of_arming),
		TEST(rearming_goes_behind_its_equals),
		TEST(rearming_moves_it_later_and_earlier),
		TEST(the_ends_of_time_are_deadlines),
		TEST(the_order_survives_the_wrap_of_its_numbers),
		TEST(visiting_finds_each_armed_one_once),
		TEST(stale_entries_are_swept),
		TEST(disarming_all_leaves_an_empty_heap),
		TEST(random_operations_are_as_the_model),
		TEST(growing_fails_without_a_change),
		TEST(rearming_fails_without_a_change),
		TEST(a_burst_is_trimmed),
		TEST(those_that_stay_stay),
		TEST(no_entry_names_a_slot_that_is_gone),
		TEST(one_in_the_last_slot_only_delays_it),
		TEST(without_memory_nothing_is_trimmed),
		TEST(a_large_heap_keeps_the_order),
	};

	return cmocka_run_group_tests_name("timers", tests, fault_init, fault_fini);
}
