/*
 * The race checker, on a model of ThreadSanitizer's runtime: what is ordered, and what is not.
 */
#include "core/observe/fibers.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/ec.h"
#include "core/observe/symbol.h"
#include "core/os/tsan.h"
#include "runtime.h"

/* ---------------------------------------------------------------- memory that ends */

static unsigned long allocs, fail_at;	/* the Nth one, from 1; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t num, size_t size);
void __real_free(void *p);
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t num, size_t size);
void __wrap_free(void *p);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset);

static bool fails(void)
{
	return ++allocs == fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t num, size_t size)
{
	return fails() ? NULL : __real_calloc(num, size);
}

void __wrap_free(void *p)
{
	if (p != NULL)
		sync_forget(p);
	__real_free(p);
}

void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fails()) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap64(at, len, prot, flags, fd, offset);
}

/* ---------------------------------------------------------------- callbacks */

static struct ec_fibers *f;

/* What a callback does: notes when it ran, and checks what it comes after. */
struct act {
	struct stamp at;		/* of the last run */
	const struct stamp *after, *beside; /* it is ordered after the one, and not after the other; NULL: any */
	void (*more)(void);
	unsigned runs;
};

static void act(void *arg)
{
	struct act *a = arg;

	assert_true(a->after == NULL || comes_after(*a->after));
	assert_true(a->beside == NULL || !comes_after(*a->beside));
	a->at = stamp();
	a->runs++;
	if (a->more != NULL)
		a->more();
}

/* As an event's callback; the event's address is that of `a`. */
static void call_as(struct act *a, uint32_t color, bool is_shared)
{
	struct ec_fiber_call call = {
		.fn = (const void *)(uintptr_t)act,
		.arg = a,
		.task = a,
		.event = a,
		.color = color,
		.fd = -1,
		.is_shared = is_shared,
	};

	ec_fibers_call(f, &call, act, a);
}

static void call(struct act *a, uint32_t color)
{
	call_as(a, color, false);
}

static int setup(void **state)
{
	(void)state;
	fail_at = 0;
	f = ec_fibers_new(EC_CHECK_COLORS);
	assert_non_null(f);
	ec_fibers_enter(f);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ec_fibers_leave(f);
	ec_fibers_free(f);
	assert_int_equal(ignores, 0);
	assert_int_equal(models_live, 1);	/* the maker */
	return 0;
}

/* ---------------------------------------------------------------- orders */

static void colors_are_not_ordered(void **state)
{
	struct act a = { 0 }, b = { .beside = &a.at }, again = { .after = &a.at, .beside = &b.at };

	(void)state;
	call(&a, 1);
	call(&b, 2);
	call(&again, 1);
	assert_true(!comes_after(a.at) && !comes_after(b.at));
}

static void color_0_is_the_loop(void **state)
{
	struct stamp before = stamp(), later;
	struct act zero = { .after = &before }, one = { .after = &before, .beside = &zero.at };

	(void)state;
	ec_fibers_leave(f);
	ec_fibers_enter(f);
	call(&zero, 0);
	call(&one, 1);
	assert_true(comes_after(zero.at) && !comes_after(one.at));
	later = stamp();
	one.beside = &later;
	one.after = NULL;
	call(&one, 1);
}

static void a_task_takes_what_was_handed_to_it(void **state)
{
	struct stamp handed = stamp(), after;
	struct act a = { .after = &handed }, b = { .beside = &handed };

	(void)state;
	ec_fibers_hand(f, &a, -1);
	after = stamp();
	call(&b, 2);
	a.beside = &after;
	call(&a, 1);
	/* Only once: the color keeps it from then on, and no other color gets it. */
	a.after = NULL;
	a.beside = &handed;
	call(&a, 3);
}

static void readers_are_beside_each_other(void **state)
{
	struct act writer = { 0 }, r1 = { .after = &writer.at }, r2 = { .after = &writer.at, .beside = &r1.at };
	struct act writer2 = { .after = &r1.at };

	(void)state;
	call(&writer, 5);
	call_as(&r1, 5, true);
	call_as(&r2, 5, true);
	call(&writer2, 5);
	assert_string_equal(models[r2.at.fiber].name, "color 5, shared (act)");
}

static void who_deletes_comes_after(void **state)
{
	struct act a = { 0 }, other = { 0 };

	(void)state;
	call(&a, 1);
	call(&other, 1);
	assert_false(comes_after(a.at));
	ec_fibers_forget(f, &a);
	assert_true(comes_after(a.at) && !comes_after(other.at));
}

static void a_pause_comes_after_all_and_before_all(void **state)
{
	struct stamp paused;
	struct act a = { 0 }, b = { 0 };

	(void)state;
	call(&a, 1);
	call(&b, 2);
	ec_fibers_rest(f);
	assert_true(comes_after(a.at) && comes_after(b.at));
	paused = stamp();
	ec_fibers_open(f);
	a.after = b.after = &paused;
	call(&a, 1);
	call(&b, 2);
}

static struct stamp other_pause;

/* Another thread's pause ends, and then this callback's begins. */
static void pause_in_callback(void)
{
	void *self = now;

	now = &models[0];
	ec_fibers_rest(f);
	other_pause = stamp();
	ec_fibers_open(f);
	now = self;
	assert_false(comes_after(other_pause));
	ec_fibers_rest(f);
	assert_true(comes_after(other_pause));
	ec_fibers_open(f);
}

static void pauses_come_one_after_the_other(void **state)
{
	struct act a = { .more = pause_in_callback };

	(void)state;
	call(&a, 1);
}

static void loops_come_one_after_the_other(void **state)
{
	struct act a = { 0 }, b = { .after = &a.at };

	(void)state;
	call(&a, 1);
	ec_fibers_leave(f);
	assert_true(comes_after(a.at));
	ec_fibers_enter(f);
	call(&b, 2);
}

/* ---------------------------------------------------------------- around callbacks */

static struct act inner;

static void call_inner(void)
{
	call(&inner, 9);
	assert_false(comes_after(inner.at));
}

static void calls_nest(void **state)
{
	struct act outer = { .more = call_inner };

	(void)state;
	inner = (struct act){ 0 };
	call(&outer, 8);
	assert_ptr_equal(now, &models[0]);
	assert_int_equal(inner.runs, 1);
}

static void block_usr2(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	errno = EBADMSG;
}

static void mask_and_errno_are_the_callbacks(void **state)
{
	struct act a = { .more = block_usr2 };
	sigset_t set, before;

	(void)state;
	sigprocmask(SIG_SETMASK, NULL, &before);
	call(&a, 1);
	assert_int_equal(errno, EBADMSG);
	sigprocmask(SIG_SETMASK, &before, &set);
	assert_true(sigismember(&set, SIGUSR2) == 1 && sigismember(&set, SIGUSR1) == 0);
}

static void names_say_color_and_function(void **state)
{
	struct act a = { 0 };

	(void)state;
	call(&a, 42);
	assert_string_equal(models[a.at.fiber].name, "color 42 (act)");
}

/* Each gives its fiber up in time; its order stays. */
static void more_colors_than_fibers(void **state)
{
	enum { COLORS = EC_FIBERS_MAX + 50 };
	static struct act acts[COLORS];
	static struct stamp first[COLORS];
	uint32_t i;

	(void)state;
	for (i = 0; i < COLORS; i++) {
		acts[i].beside = i > 0 ? &first[i - 1] : NULL;
		call(&acts[i], i + 1);
		first[i] = acts[i].at;
		assert_true(models_live <= EC_FIBERS_MAX + 2);
	}
	acts[0].after = &first[0];
	acts[0].beside = &first[1];
	call(&acts[0], 1);
	assert_true(acts[0].at.fiber != first[0].fiber);
}

/* ---------------------------------------------------------------- plans */

struct planned {
	enum ec_check mode;
	struct ec_fiber_call a, b;
	bool is_same;
};

static struct stamp planned_at;
static bool planned_after;

static void planned_first(void *arg)
{
	(void)arg;
	planned_at = stamp();
}

static void planned_second(void *arg)
{
	(void)arg;
	planned_after = comes_after(planned_at);
}

static void plans_decide_which_color(void **state)
{
	static int x, y, t1, t2;
	static const struct planned plans[] = {
		{ EC_CHECK_DESCRIPTOR, { .fd = 7, .arg = &x }, { .fd = 7, .arg = &y }, true },
		{ EC_CHECK_DESCRIPTOR, { .fd = 7, .arg = &x }, { .fd = 8, .arg = &x }, false },
		{ EC_CHECK_DESCRIPTOR, { .fd = -1, .arg = &x }, { .fd = -1, .arg = &y }, true },
		{ EC_CHECK_CONNECTION, { .fd = 7, .arg = &x }, { .fd = -1, .arg = &x }, true },
		{ EC_CHECK_CONNECTION, { .fd = 7, .arg = &x }, { .fd = 7, .arg = &y }, false },
		{ EC_CHECK_CONNECTION, { .fd = 7 }, { .fd = 7 }, true },
		{ EC_CHECK_CONNECTION, { .fd = 7 }, { .fd = -1 }, false },
		{ EC_CHECK_CALLBACK, { .fd = 7, .fn = &x }, { .fd = 8, .fn = &x }, true },
		{ EC_CHECK_CALLBACK, { .fd = 7, .fn = &x }, { .fd = 7, .fn = &y }, false },
		/* Readers are not planned. */
		{ EC_CHECK_DESCRIPTOR, { .fd = 7, .is_shared = true }, { .fd = 7, .is_shared = true }, true },
	};
	struct ec_fiber_call a, b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
		setup(NULL);
		ec_fibers_leave(f);
		ec_fibers_free(f);
		f = ec_fibers_new(plans[i].mode);
		ec_fibers_enter(f);
		a = plans[i].a;
		b = plans[i].b;
		a.task = a.event = &t1;
		b.task = b.event = &t2;
		ec_fibers_call(f, &a, planned_first, NULL);
		ec_fibers_call(f, &b, planned_second, NULL);
		assert_int_equal(planned_after, plans[i].is_same);
		teardown(NULL);
	}
}

/* ---------------------------------------------------------------- without memory */

/* All callbacks run, and no order is lost: there may be more orders than without the failure. */
static void run_all(void)
{
	struct stamp handed, paused;
	struct act a = { .after = &handed }, b = { 0 }, reader = { .after = &a.at }, writer = { .after = &reader.at };

	ec_fibers_enter(f);
	handed = stamp();
	ec_fibers_hand(f, &a, -1);
	call(&a, 1);
	call(&b, 2);
	call_as(&reader, 1, true);
	call(&writer, 1);
	ec_fibers_forget(f, &b);
	assert_true(comes_after(b.at));
	ec_fibers_rest(f);
	assert_true(comes_after(writer.at));
	paused = stamp();
	ec_fibers_open(f);
	b.after = &paused;
	call(&b, 2);
	a.after = &writer.at;
	call(&a, 1);
	ec_fibers_leave(f);
	assert_true(comes_after(a.at) && a.runs + b.runs + reader.runs + writer.runs == 6);
}

static void each_allocation_may_fail(void **state)
{
	unsigned long n, fails_num = 0;

	(void)state;
	for (n = 1;; n++) {
		allocs = 0;
		fail_at = n;
		f = ec_fibers_new(EC_CHECK_COLORS);
		if (f != NULL) {
			run_all();
			ec_fibers_free(f);
		}
		assert_int_equal(ignores, 0);
		if (allocs < n)
			break;
		fails_num++;
	}
	fail_at = 0;
	assert_true(fails_num > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(colors_are_not_ordered, setup, teardown),
		cmocka_unit_test_setup_teardown(color_0_is_the_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(a_task_takes_what_was_handed_to_it, setup, teardown),
		cmocka_unit_test_setup_teardown(readers_are_beside_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(who_deletes_comes_after, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pause_comes_after_all_and_before_all, setup, teardown),
		cmocka_unit_test_setup_teardown(pauses_come_one_after_the_other, setup, teardown),
		cmocka_unit_test_setup_teardown(loops_come_one_after_the_other, setup, teardown),
		cmocka_unit_test_setup_teardown(calls_nest, setup, teardown),
		cmocka_unit_test_setup_teardown(mask_and_errno_are_the_callbacks, setup, teardown),
		cmocka_unit_test_setup_teardown(names_say_color_and_function, setup, teardown),
		cmocka_unit_test_setup_teardown(more_colors_than_fibers, setup, teardown),
		cmocka_unit_test(plans_decide_which_color),
		cmocka_unit_test(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
