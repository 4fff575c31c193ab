/*
 * union.h: one arm at a time is an object; copies are deep; what is left is destroyed.
 */
#include "union.h"

#include <string>

#include "test.h"

namespace
{

int alive;

struct item {
	int value = 1;
	item() { alive++; }
	item(const item &i) : value(i.value) { alive++; }
	item &operator=(const item &) = default;
	~item() { alive--; }
};

struct wide {
	alignas(32) double numbers[4] = { 1, 2, 3, 4 };
};

union either {
	union_entry_base all;
	union_entry<item> one;
	union_entry<std::string> text;
	union_entry<wide> numbers;
};

void union_entry_selects(void **)
{
	either e;

	e.all.init();
	assert_null(e.all.type());
	e.one.select();
	e.one->value = 5;
	e.one.select();
	assert_int_equal((*e.one).value, 5);
	assert_true(*e.all.type() == typeid(item));
	assert_int_equal(alive, 1);
	e.text.select();
	assert_int_equal(alive, 0);
	e.text->append("a text that is too long to be kept in the object itself");
	assert_int_equal(e.text.addr()->size(), 55);
	e.numbers.select();
	assert_int_equal(uintptr_t(e.numbers.addr()) % 32, uintptr_t(&e) % 32);
	assert_true(e.numbers->numbers[3] == 4);
	e.all.destroy();
	assert_null(e.all.type());
}

void union_entry_copies(void **)
{
	either a, b;

	a.all.init();
	a.one.select();
	a.one->value = 7;
	b.all.init(a.all);
	assert_int_equal(b.one->value, 7);
	assert_int_equal(alive, 2);
	a.one->value = 8;
	b.all.assign(a.all);
	b.all.assign(b.all);
	assert_int_equal(b.one->value, 8);
	assert_int_equal(alive, 2);
	a.text.select();
	*a.text = "x";
	b.all.assign(a.all);
	assert_int_equal(alive, 0);
	const item *none = b.one;
	assert_ptr_equal(none, b.one.addr());
	std::string *s = b.text;
	assert_string_equal(s->c_str(), "x");
	a.all.destroy();
	b.all.assign(a.all);
	assert_null(b.all.type());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(union_entry_selects),
		cmocka_unit_test(union_entry_copies),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
