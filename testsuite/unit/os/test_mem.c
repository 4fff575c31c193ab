/*
 * core/os/mem.c: libc's allocator and the program's, at sizes of nothing and of too much.
 */
#include "child.h"

#include <errno.h>

#include "core/ec.h"

static struct {
	size_t mallocs, reallocs, frees, last_size;
	size_t fail_at; /* the call of malloc that fails, from 1; 0: none */
} seen;

static void *counting_malloc(size_t size)
{
	seen.mallocs++;
	seen.last_size = size;
	return seen.mallocs == seen.fail_at ? NULL : malloc(size);
}

static void *counting_realloc(void *p, size_t size)
{
	seen.reallocs++;
	seen.last_size = size;
	return realloc(p, size);
}

static void counting_free(void *p)
{
	seen.frees++;
	assert_non_null(p);
	free(p);
}

static int use_own(void **state)
{
	(void)state;
	memset(&seen, 0, sizeof(seen));
	ec_mem_set_fns(counting_malloc, counting_realloc, counting_free);
	return 0;
}

static int use_libc(void **state)
{
	(void)state;
	ec_mem_set_fns(NULL, NULL, NULL);
	return 0;
}

static void no_size_is_no_memory_and_no_error(void **state)
{
	(void)state;
	errno = 0;
	assert_null(ec_malloc(0));
	assert_null(ec_calloc(0, 5));
	assert_null(ec_calloc(5, 0));
	assert_int_equal(errno, 0);
	assert_int_equal(seen.mallocs, 0);
}

static void too_much_is_an_error(void **state)
{
	(void)state;
	errno = 0;
	assert_null(ec_calloc(SIZE_MAX, 2));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	assert_null(ec_calloc(SIZE_MAX / 2 + 1, 2));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(seen.mallocs, 0);
}

static void lines_begin_on_a_cache_line(void **state)
{
	enum { NUM = 8 };
	void *p[NUM];
	size_t i;

	(void)state;
	for (i = 0; i < NUM; i++) {
		p[i] = ec_lines_alloc(i + 1);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % 64, 0);
		memset(p[i], 1, i + 1);
	}
	for (i = 0; i < NUM; i++)
		ec_free(p[i]);
}

static void calloc_clears(void **state)
{
	unsigned char *p = ec_calloc(3, 7);
	size_t i;

	(void)state;
	assert_non_null(p);
	for (i = 0; i < 21; i++)
		assert_int_equal(p[i], 0);
	ec_free(p);
}

static void strdup_copies_and_refuses_null(void **state)
{
	char *s = ec_strdup("abc");

	(void)state;
	assert_string_equal(s, "abc");
	ec_free(s);
	s = ec_strdup("");
	assert_string_equal(s, "");
	ec_free(s);
	errno = 0;
	assert_null(ec_strdup(NULL));
	assert_int_equal(errno, EINVAL);
}

static void realloc_keeps_what_was_there(void **state)
{
	char *p = ec_realloc(NULL, 4);

	(void)state;
	assert_non_null(p);
	memcpy(p, "abc", 4);
	p = ec_realloc(p, 4096);
	assert_string_equal(p, "abc");
	ec_free(p);
}

static void the_programs_functions_see_each_call(void **state)
{
	void *p;

	(void)state;
	p = ec_malloc(5);
	assert_int_equal(seen.mallocs, 1);
	assert_int_equal(seen.last_size, 5);
	p = ec_realloc(p, 9);
	assert_int_equal(seen.reallocs, 1);
	assert_int_equal(seen.last_size, 9);
	ec_free(p);
	assert_int_equal(seen.frees, 1);
	p = ec_calloc(3, 5);
	assert_int_equal(seen.last_size, 15);
	ec_free(p);
	p = ec_strdup("abc");
	assert_int_equal(seen.last_size, 4);
	ec_free(p);
	assert_int_equal(seen.mallocs, 3);
	assert_int_equal(seen.frees, 3);
}

/* Its free may be one that counts or looks. */
static void the_programs_free_never_gets_null(void **state)
{
	(void)state;
	ec_free(NULL);
	assert_int_equal(seen.frees, 0);
}

static void a_failure_of_theirs_has_an_error_number(void **state)
{
	(void)state;
	seen.fail_at = 1;
	assert_null(ec_malloc(1));
	errno = 0;
	seen.fail_at = 2;
	assert_null(ec_calloc(1, 1));
	assert_int_equal(errno, ENOMEM);
	errno = 0;
	seen.fail_at = 3;
	assert_null(ec_strdup("x"));
	assert_int_equal(errno, ENOMEM);
}

static void what_is_not_replaced_stays(void **state)
{
	void *p;

	(void)state;
	ec_mem_set_fns(counting_malloc, NULL, NULL);
	p = ec_malloc(3);
	p = ec_realloc(p, 30);
	ec_free(p);
	assert_int_equal(seen.mallocs, 1);
	assert_int_equal(seen.reallocs, 0);
	assert_int_equal(seen.frees, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(no_size_is_no_memory_and_no_error, use_libc),
		cmocka_unit_test_setup_teardown(no_size_is_no_memory_and_no_error, use_own,
						use_libc),
		cmocka_unit_test_setup(too_much_is_an_error, use_libc),
		cmocka_unit_test_setup_teardown(too_much_is_an_error, use_own, use_libc),
		cmocka_unit_test_setup(lines_begin_on_a_cache_line, use_libc),
		cmocka_unit_test_setup(calloc_clears, use_libc),
		cmocka_unit_test_setup_teardown(calloc_clears, use_own, use_libc),
		cmocka_unit_test_setup(strdup_copies_and_refuses_null, use_libc),
		cmocka_unit_test_setup_teardown(strdup_copies_and_refuses_null, use_own, use_libc),
		cmocka_unit_test_setup(realloc_keeps_what_was_there, use_libc),
		cmocka_unit_test_setup_teardown(realloc_keeps_what_was_there, use_own, use_libc),
		cmocka_unit_test_setup_teardown(the_programs_functions_see_each_call, use_own,
						use_libc),
		cmocka_unit_test_setup_teardown(the_programs_free_never_gets_null, use_own,
						use_libc),
		cmocka_unit_test_setup_teardown(a_failure_of_theirs_has_an_error_number, use_own,
						use_libc),
		cmocka_unit_test_setup_teardown(what_is_not_replaced_stays, use_own, use_libc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
