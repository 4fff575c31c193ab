/*
 * callback.h: wrap binds the first parameters of functions, methods and callable objects, copies what it binds, holds
 * counted objects, and leaves the others open.
 */
#include "callback.h"

#include <functional>
#include <memory>
#include <string>

#include "test.h"

namespace
{

std::string said;
int alive;

void say(const std::string &s)
{
	said += s;
}

std::string heard()
{
	return std::exchange(said, "");
}

#define assert_heard(text) assert_string_equal(heard().c_str(), text)

void none()
{
	say("none");
}

void one(int a)
{
	say("one" + std::to_string(a));
}

int sum(int a, int b, int c)
{
	return a + b + c;
}

void eleven(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k)
{
	say(std::to_string(a + b + c + d + e + f + g + h) + "+" + std::to_string(i * 100 + j * 10 + k));
}

void by_arity()
{
	say("0");
}

void by_arity(int, int, int, int)
{
	say("4");
}

void by_arity(int, int, int, int, int, int, int, int)
{
	say("8");
}

void twice(int &count, std::string s)
{
	say(s + std::to_string(++count));
}

void text(const std::string &s, const char *t, std::string *ret)
{
	say(s + t + (ret == nullptr ? "null" : ""));
}

void old_text(char *s)
{
	say(s);
}

void owner(std::unique_ptr<int> p)
{
	say(p == nullptr ? "gone" : std::to_string(*p));
}

void rvalue(std::string &&s)
{
	say(s);
	s.clear();
}

struct animal {
	int legs;
	explicit animal(int n) : legs(n) { alive++; }
	virtual ~animal() { alive--; }
	void walk() { say("walk" + std::to_string(legs)); }
	void walk(int, int, int, int) { say("walk far"); }
	int count(int factor) const { return legs * factor; }
	void run(int speed) noexcept { say("run" + std::to_string(speed)); }
	virtual void speak(int) { say("animal"); }
};

struct dog : animal, virtual refcount {
	dog() : animal(4) {}
	void speak(int times) override { say("dog" + std::to_string(times)); }
	cbi later() { return wrap(mkref(this), &dog::speak); }
};

void wrap_functions(void **)
{
	cbv v = wrap(none);
	cbi i = wrap(&one);
	callback<int, int, int>::ptr p = wrap(sum, 1);
	callback<int>::ref all = wrap(sum, 1, 2, 3);
	callback<int, int, int, int>::type *raw = p == NULL ? nullptr : wrap(sum);

	v();
	(*v)();
	assert_heard("nonenone");
	i(1);
	(*i)(2);
	assert_heard("one1one2");
	assert_int_equal(p(10, 100), 111);
	assert_int_equal((*p)(20, 200), 221);
	assert_int_equal(all(), 6);
	assert_int_equal((*raw)(1, 1, 1), 3);
	mkref(raw);
	static_assert(std::is_same_v<callback<void, int>::ref, callback<void, int, void, void>::ref>);
	static_assert(std::is_same_v<cbv::type, callback<void>> && std::is_same_v<cbv::ptr, callback<void>::ptr>);
}

void wrap_binds_eight_and_opens_three(void **)
{
	callback<void, int, int, int>::ref cb = wrap(eleven, 1, 2, 3, 4, 5, 6, 7, 8);
	callback<void, int, int, int, int>::ref four = wrap(eleven, 1, 2, 3, 4, 5, 6, 7);
	cbv all = wrap(eleven, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9);

	cb(1, 2, 3);
	assert_heard("36+123");
	four(8, 3, 2, 1);
	assert_heard("36+321");
	all();
	assert_heard("36+999");
}

void wrap_chooses_overloads_by_number(void **)
{
	animal a(2);
	cbv v0 = wrap(by_arity);
	callback<void, int, int, int>::ref v4 = wrap(by_arity, 1);
	cbv v8 = wrap(by_arity, 1, 2, 3, 4, 5, 6, 7, 8);
	cbv near = wrap(&a, &animal::walk);
	callback<void, int>::ref far = wrap(&a, &animal::walk, 1, 2, 3);

	v0();
	v4(2, 3, 4);
	v8();
	near();
	far(4);
	assert_heard("048walk2walk far");
}

void wrap_methods(void **)
{
	animal a(3);
	const animal *constant = &a;
	dog d;
	callback<int, int>::ref count = wrap(&a, &animal::count);
	callback<int>::ref of_const = wrap(constant, &animal::count, 5);
	cbv runs = wrap(&a, &animal::run, 7);
	cbi base = wrap(&d, &animal::speak);

	assert_int_equal(count(2), 6);
	a.legs = 4;
	assert_int_equal(count(2), 8);
	assert_int_equal(of_const(), 20);
	runs();
	base(2);
	assert_heard("run7dog2");
}

void wrap_holds_counted_objects(void **)
{
	ptr<dog> d = New refcounted<dog>;
	cbi::ptr cb = d->later(), by_ptr = wrap(d, &dog::speak), by_ref = wrap(ref<animal>(d), &animal::speak);

	d = NULL;
	assert_int_equal(alive, 1);
	cb(1);
	by_ptr(2);
	by_ref(3);
	cb = by_ptr = NULL;
	assert_int_equal(alive, 1);
	by_ref = NULL;
	assert_int_equal(alive, 0);
	cb = wrap(New refcounted<dog>, &animal::speak);
	cb(4);
	assert_int_equal(alive, 1);
	cb = NULL;
	assert_int_equal(alive, 0);
	assert_heard("dog1dog2dog3dog4");
}

void wrap_converts_and_copies_at_once(void **)
{
	char changing[] = "early";
	int count = 5;
	cbv converted = wrap(text, changing, "x", NULL), counts = wrap(twice, count, "n");
	cbv literal = wrap(old_text, "abc");
	callback<void, std::string>::ref open = wrap(twice, count);

	changing[0] = 'E';
	converted();
	assert_heard("earlyxnull");
	counts();
	counts();
	open("m");
	assert_heard("n6n7m6");
	assert_int_equal(count, 5);
	literal();
	assert_heard("abc");
}

void wrap_binds_what_only_moves(void **)
{
	cbv cb = wrap(owner, std::make_unique<int>(5)), text_once = wrap(rvalue, "r");
	callback<void, std::unique_ptr<int>>::ref open = wrap(owner);

	cb();
	cb();
	text_once();
	open(std::make_unique<int>(6));
	assert_heard("5goner6");
}

int copies_num;

/* Something whose copies cost. */
struct heavy {
	heavy() {}
	heavy(const heavy &) { copies_num++; }
	heavy(heavy &&) noexcept {}
	heavy &operator=(const heavy &) = delete;
};

void carry(int a, const heavy &, bool b)
{
	say(std::to_string(a) + (b ? "t" : "f"));
}

struct bits {
	int number : 4;
	bool is_set : 1;
};

/* A variable may be a bit-field, as far as a template knows; that must not make what is beside it a copy. */
void wrap_numbers_beside_what_moves(void **)
{
	int n = 3;
	heavy h;
	bits b = { 5, true };

	copies_num = 0;
	cbv moved = wrap(carry, n, heavy(), true), only = wrap(owner, std::make_unique<int>(5));
	assert_int_equal(copies_num, 0);
	cbv copied = wrap(carry, b.number, h, b.is_set), colored = cwrap(carry, b.number, h, b.is_set, color(b.number));
	assert_int_equal(copies_num, 2);
	assert_int_equal(colored->get_color().value(), 5);
	b.number = 0;
	moved();
	copied();
	colored();
	only();
	assert_heard("3t5t5t5");
}

struct functor {
	int base;
	int operator()(int a, int b) { return base++ + a + b; }
};

void wrap_callable_objects(void **)
{
	int local = 5;
	cbv lambda = wrap([&] { local++; });
	cbi open = wrap([](const std::string &s, int i) { say(s + std::to_string(i)); }, "l");
	cbv generic = wrap([](auto x) { say(x); }, "generic");
	std::function<void(int)> f = one;
	cbi of_std = wrap(f);
	cbv of_callback = wrap(of_std, 8), of_method = wrap(of_std, &cbi::type::operator(), 9);
	callback<int, int>::ref of_struct = wrap(functor{ 100 }, 1);

	lambda();
	assert_int_equal(local, 6);
	open(3);
	generic();
	of_callback();
	of_method();
	assert_heard("l3genericone8one9");
	assert_int_equal(of_struct(1), 102);
	assert_int_equal(of_struct(1), 103);
}

struct noted {
	noted() { alive++; }
	noted(const noted &) { alive++; }
	~noted() { alive--; }
};

void with_noted(noted, int)
{
}

void callback_frees_what_it_binds(void **)
{
	cbi::ptr cb = wrap(with_noted, noted());

	assert_int_equal(alive, 1);
	cb(1);
	assert_int_equal(alive, 1);
	cb = NULL;
	assert_int_equal(alive, 0);
	cb = wrap(with_noted, noted());
	cbi::ptr second = cb;
	cb = NULL;
	assert_int_equal(alive, 1);
}

void callback_null_does_nothing(void **)
{
	cbv_null();
	cbi_null(1);
	cbb_null(true);
	assert_true(cbv_null != cbv(wrap(none)));
	assert_heard("");
}

void wrap_takes_no_number_for_a_pointer(void **)
{
	assert_aborts([] { vNew cbv(wrap(old_text, libasync::null_number(5))); });
}

void cwrap_takes_a_color(void **)
{
	animal a(2);
	cbi i = cwrap(one, (color)7);
	cbv bound = cwrap(one, 3, (color)8), plain = cwrap(one, 4), lambda = cwrap([] { say("l"); }, color(9u));
	cbv method = cwrap(&a, &animal::run, 5, color(10)), overloaded = cwrap(by_arity, color(1));

	assert_int_equal(i->get_color().value(), 7);
	assert_int_equal(bound->get_color().value(), 8);
	assert_int_equal(plain->get_color().value(), 0);
	assert_int_equal(lambda->get_color().value(), 9);
	assert_int_equal(method->get_color().value(), 10);
	assert_int_equal(cbv(wrap(none))->get_color().value(), 0);
	plain->set_color((color)11);
	assert_true(plain->get_color() == color(11) && plain->get_color() != color());
	i(2);
	bound();
	plain();
	lambda();
	method();
	overloaded();
	assert_heard("one2one3one4lrun50");
	static_assert(!std::is_convertible_v<int, color> && !std::is_convertible_v<color, int>);
}

int reset(void **)
{
	int left = alive;

	alive = 0;
	return left;
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(wrap_functions, reset),
		cmocka_unit_test_teardown(wrap_binds_eight_and_opens_three, reset),
		cmocka_unit_test_teardown(wrap_chooses_overloads_by_number, reset),
		cmocka_unit_test_teardown(wrap_methods, reset),
		cmocka_unit_test_teardown(wrap_holds_counted_objects, reset),
		cmocka_unit_test_teardown(wrap_converts_and_copies_at_once, reset),
		cmocka_unit_test_teardown(wrap_binds_what_only_moves, reset),
		cmocka_unit_test_teardown(wrap_numbers_beside_what_moves, reset),
		cmocka_unit_test_teardown(wrap_callable_objects, reset),
		cmocka_unit_test_teardown(callback_frees_what_it_binds, reset),
		cmocka_unit_test_teardown(callback_null_does_nothing, reset),
		cmocka_unit_test_teardown(wrap_takes_no_number_for_a_pointer, reset),
		cmocka_unit_test_teardown(cwrap_takes_a_color, reset),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
