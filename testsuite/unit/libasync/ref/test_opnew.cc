/*
 * opnew.h: New, vNew and the placement forms allocate, and delete frees what they made.
 */
#include "opnew.h"

#include "test.h"

namespace
{

int alive;

struct counted {
	explicit counted(int v) : value(v) { alive++; }
	~counted() { alive--; }
	int value;
};

counted *kept;

struct keeps_itself {
	keeps_itself() { kept = New counted(8); }
};

void new_makes_and_delete_frees(void **)
{
	counted *c = New counted(7);

	assert_int_equal(c->value, 7);
	assert_int_equal(alive, 1);
	delete c;
	assert_int_equal(alive, 0);
}

void vnew_drops_its_result(void **)
{
	alignas(keeps_itself) static char room[sizeof(keeps_itself)];

	vNew(room) keeps_itself;
	assert_int_equal(kept->value, 8);
	delete kept;
}

void placement_forms_allocate(void **)
{
	counted *a = new (dmalloc, __FILE__, __LINE__) counted(1);
	counted *b = new (nothrow, __FILE__, __LINE__) counted(2);
	counted *c = new (simple_leak_checker, __FILE__, __LINE__) counted(3);
	char *d = new (nothrow, __FILE__, __LINE__) char[10];

	assert_int_equal(a->value + b->value + c->value, 6);
	d[9] = 'x';
	delete a;
	delete b;
	delete c;
	delete[] d;
	assert_int_equal(alive, 0);
	assert_false(dmalloc_init::ok());
	assert_true(bool(nodelete_ignore()));
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_makes_and_delete_frees),
		cmocka_unit_test(vnew_drops_its_result),
		cmocka_unit_test(placement_forms_allocate),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
