/*
 * core/observe/subject.c: faces on top of each other tell what a callback is about.
 */
#include "../table.h"

#include "core/observe/subject.h"

static bool lower(struct ec_subject *s, short what)
{
	if (s->fn != 1)
		return false;
	s->kind = EC_OBJECT_BUFFEREVENT;
	s->fn = what == EC_READ ? 2 : 3;
	s->object++;
	return true;
}

static bool upper(struct ec_subject *s, short what)
{
	(void)what;
	if (s->fn != 2)
		return false;
	s->kind = EC_OBJECT_HTTP;
	s->fn = 4;
	return true;
}

/* A face that always knows better must not hold up the loop. */
static bool circle(struct ec_subject *s, short what)
{
	(void)what;
	s->fn++;
	return true;
}

static struct ec_subject find(uintptr_t fn, short what)
{
	struct ec_subject s = { .fn = fn, .object = 10 };

	ec_subject_find(&s, what);
	return s;
}

static void each_face_is_asked(void **state)
{
	(void)state;
	assert_int_equal(find(1, EC_READ).fn, 1);
	ec_subject_add(upper);
	ec_subject_add(lower);
	assert_int_equal(find(1, EC_READ).fn, 4);
	assert_int_equal(find(1, EC_READ).object, 11);
	assert_int_equal(find(1, EC_READ).kind, EC_OBJECT_HTTP);
	assert_int_equal(find(1, EC_WRITE).fn, 3);
	assert_int_equal(find(1, EC_WRITE).kind, EC_OBJECT_BUFFEREVENT);
	assert_int_equal(find(9, EC_READ).fn, 9);
	assert_int_equal(find(9, EC_READ).kind, EC_OBJECT_EVENT);
	ec_subject_remove(upper);
	assert_int_equal(find(1, EC_READ).fn, 2);
	ec_subject_remove(upper);
	ec_subject_remove(lower);
	assert_int_equal(find(1, EC_READ).fn, 1);
}

static void circle_ends(void **state)
{
	(void)state;
	ec_subject_add(circle);
	assert_true(find(1, EC_READ).fn < 10);
	ec_subject_remove(circle);
}

static void too_many_faces_do_no_harm(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		ec_subject_add(lower);
	assert_int_equal(find(1, EC_READ).fn, 2);
	for (i = 0; i < 100; i++)
		ec_subject_remove(lower);
	assert_int_equal(find(1, EC_READ).fn, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_face_is_asked),
		cmocka_unit_test(circle_ends),
		cmocka_unit_test(too_many_faces_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
