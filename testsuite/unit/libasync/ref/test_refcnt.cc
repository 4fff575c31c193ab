/*
 * refcnt.h: an object lives as long as a reference to it, however references are made, copied, moved and converted.
 */
#include "refcnt.h"

#include <memory>

#include "test.h"

namespace
{

int alive;

struct base {
	base() { alive++; }
	base(int a, int b) : sum(a + b) { alive++; }
	virtual ~base() { alive--; }
	int sum = 0;
};

struct derived : base {
	using base::base;
};

struct other {
	long padding = 0;
};

/* Its base is not at its beginning. */
struct second : other, base {
};

struct counted : virtual refcount {
	counted() { alive++; }
	~counted() { alive--; }
	ref<counted> self() { return mkref(this); }
	ref<const counted> const_self() const { return mkref(this); }
};

struct shy : private virtual refcount {
	int value = 3;
};

/* Kept by finalize() as often as `lives` says. */
struct phoenix : virtual refcount {
	explicit phoenix(int n) : lives(n) { alive++; }
	~phoenix() { alive--; }
	int lives, finalized = 0;
	ptr<phoenix> *nest = nullptr;

private:
	void finalize()
	{
		finalized++;
		if (lives-- > 0)
			*nest = mkref(this);
		else
			delete this;
	}
};

/* Its destructor is for references only. */
class guarded
{
protected:
	~guarded() { alive--; }

public:
	guarded() { alive++; }
};

void ptr_holds_or_is_null(void **)
{
	ptr<base> p;

	assert_true(!p);
	assert_true(p == NULL);
	assert_null(p.get());
	p = New refcounted<base>(2, 3);
	assert_true(bool(p));
	assert_true(p != NULL);
	assert_int_equal(p->sum, 5);
	assert_int_equal((*p).sum, 5);
	assert_int_equal(alive, 1);
	p = NULL;
	assert_int_equal(alive, 0);
	p.alloc(4, 5);
	assert_int_equal(p->sum, 9);
	p = nullptr;
	assert_int_equal(alive, 0);
	ptr<base> q(NULL), r = 0;
	assert_true(q == r);
}

void ptr_copies_and_converts(void **)
{
	ptr<second> s = New refcounted<second>;
	ptr<base> b = s, b2(b), none;
	ptr<const base> cb = s;
	ptr<void> v = b;
	base *raw = b;

	assert_true(b == s && b == b2 && cb == b);
	assert_true(b != none);
	assert_ptr_equal(static_cast<base *>(s.get()), raw);
	assert_ptr_equal(v.get(), raw);
	assert_true(b == raw);
	s = NULL;
	b = NULL;
	cb = NULL;
	v = NULL;
	assert_int_equal(alive, 1);
	none = std::move(b2);
	assert_true(b2 == NULL);
	assert_int_equal(alive, 1);
	ptr<base> &alias = none;
	none = alias;
	assert_int_equal(alive, 1);
	none = NULL;
	assert_int_equal(alive, 0);
}

void ref_is_never_null(void **)
{
	ref<derived> r = New refcounted<derived>(1, 1);
	ref<base> b = r;
	ref<base>::ptr p = b;
	ptr<base>::ref again = p;
	ptr<base> null;

	static_assert(!std::is_default_constructible_v<ref<base>>);
	static_assert(!std::is_assignable_v<ref<base> &, decltype(NULL)>);
	static_assert(!std::is_assignable_v<ref<base> &, std::nullptr_t>);
	static_assert(!std::is_convertible_v<ptr<base>, ptr<derived>>);
	static_assert(!std::is_convertible_v<ref<other>, ref<base>>);
	assert_int_equal(again->sum, 2);
	b = New refcounted<base>;
	assert_int_equal(alive, 2);
	b = p;
	assert_int_equal(alive, 1);
	assert_aborts([&] { b = null; });
	assert_aborts([&] { ref<base> bad = null; });
	assert_aborts([&] { ref<base> bad = std::move(null); });
}

void refs_move(void **)
{
	ref<base> r = New refcounted<derived>;
	ref<base> s = std::move(r);
	ptr<base> p = std::move(s);
	refcount *count = static_cast<refcounted<derived> *>(static_cast<derived *>(p.get()));

	assert_int_equal(count->refcount_getcnt(), 1);
	ref<base> t = std::move(p);
	assert_true(p == NULL);
	r = std::move(t);
	assert_int_equal(count->refcount_getcnt(), 1);
	assert_int_equal(alive, 1);
}

void refcounted_of_any_type(void **)
{
	ref<int> i = New refcounted<int>(7);
	ptr<int> zero = New refcounted<int>;
	ref<const char *> text = New refcounted<const char *>("text");
	ref<shy> s = New refcounted<shy>;
	ptr<guarded> g = New refcounted<guarded>;

	static_assert(std::is_same_v<ptr<int>::type, int> && std::is_same_v<ref<base>::type, base>);
	assert_int_equal(*i, 7);
	*i = 8;
	assert_int_equal(*i + *zero, 8);
	assert_string_equal(*text, "text");
	assert_int_equal(s->value, 3);
	assert_int_equal(alive, 1);
	g = NULL;
	assert_int_equal(alive, 0);
	ptr<std::unique_ptr<int>> owner = New refcounted<std::unique_ptr<int>>(std::make_unique<int>(5));
	assert_int_equal(**owner, 5);
}

void refcounted_begins_at_zero(void **)
{
	refcounted<base> *raw = New refcounted<base>;

	assert_int_equal(raw->refcount_getcnt(), 0);
	raw->refcount_inc();
	raw->refcount_inc();
	raw->refcount_dec();
	assert_int_equal(alive, 1);
	{
		ref<base> r = raw;
		assert_int_equal(raw->refcount_getcnt(), 2);
	}
	raw->refcount_dec();
	assert_int_equal(alive, 0);
}

struct entry {
	entry() { alive++; }
	~entry() { alive--; }
	size_t len = 0;
	char text[1];
};

void refcounted_vsize_has_room(void **)
{
	ptr<entry> e = refcounted<entry, vsize>::alloc(sizeof(size_t) + 1000);

	e->len = 999;
	__builtin_memset(reinterpret_cast<char *>(e.get()) + sizeof(size_t), 'x', 1000);
	assert_int_equal(e->len, 999);
	assert_int_equal(alive, 1);
	e = refcounted<entry, vsize>::alloc(0);
	assert_int_equal(e->len, 0);
	e = NULL;
	assert_int_equal(alive, 0);
}

void mkref_counts_from_this(void **)
{
	ptr<counted> p = New refcounted<counted>;
	ptr<counted> q = p->self();
	ref<const counted> c = p->const_self();
	ref<counted> m = mkcref::mkref(p.get());

	assert_int_equal(p->refcount_getcnt(), 4);
	assert_true(p == q && c == m);
	ptr<counted> plain = mkref(new counted);
	plain = NULL;
	assert_int_equal(alive, 1);
}

void refcount_copies_begin_anew(void **)
{
	ptr<counted> p = New refcounted<counted>;
	counted copy(*p);

	assert_int_equal(copy.refcount_getcnt(), 0);
	copy = *p;
	assert_int_equal(copy.refcount_getcnt(), 0);
	assert_int_equal(p->refcount_getcnt(), 1);
	alive++;	/* the copy constructor counts none */
}

void refcount_finalize_may_keep_the_object(void **)
{
	ptr<phoenix> nest, p = New refcounted<phoenix>(2);

	p->nest = &nest;
	p = NULL;
	assert_true(nest != NULL);
	assert_int_equal(nest->finalized, 1);
	p = nest;
	nest = NULL;
	p = NULL;
	assert_int_equal(nest->finalized, 2);
	assert_int_equal(alive, 1);
	nest = NULL;
	assert_int_equal(alive, 0);
}

bssptr<base> held_at_the_end;

void bssptr_works_before_and_after_its_life(void **)
{
	held_at_the_end = New refcounted<base>;
	assert_int_equal(alive, 1);
	held_at_the_end = NULL;
	assert_int_equal(alive, 0);
	assert_false(bool(globaldestruction));
	alignas(bssptr<base>) static char room[sizeof(bssptr<base>)];
	auto *early = reinterpret_cast<bssptr<base> *>(room);
	*early = New refcounted<base>(1, 2);
	early->~bssptr();
	assert_int_equal(alive, 1);
	assert_int_equal((*early)->sum, 3);
	*early = NULL;
	alive = 0;
}

void ptr_leaks_on_demand(void **)
{
	ptr<counted> p = New refcounted<counted>;
	auto *raw = static_cast<refcount *>(p->self().Xleak());

	assert_int_equal(p->refcount_getcnt(), 2);
	raw->refcount_dec();
	assert_int_equal(p->refcount_getcnt(), 1);
}

/* The same with atomic counts. Last: there is no way back. */
void counts_stay_right_when_shared(void **state)
{
	ptr<counted> before = New refcounted<counted>;

	assert_false(libasync::are_counts_shared());
	libasync::share_counts();
	assert_true(libasync::are_counts_shared());
	assert_int_equal(before->refcount_getcnt(), 1);
	before = NULL;
	assert_int_equal(alive, 0);
	ptr_copies_and_converts(state);
	ref_is_never_null(state);
	refs_move(state);
	refcounted_begins_at_zero(state);
	refcount_finalize_may_keep_the_object(state);
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
		cmocka_unit_test_teardown(ptr_holds_or_is_null, reset),
		cmocka_unit_test_teardown(ptr_copies_and_converts, reset),
		cmocka_unit_test_teardown(ref_is_never_null, reset),
		cmocka_unit_test_teardown(refs_move, reset),
		cmocka_unit_test_teardown(refcounted_of_any_type, reset),
		cmocka_unit_test_teardown(refcounted_begins_at_zero, reset),
		cmocka_unit_test_teardown(refcounted_vsize_has_room, reset),
		cmocka_unit_test_teardown(mkref_counts_from_this, reset),
		cmocka_unit_test_teardown(refcount_copies_begin_anew, reset),
		cmocka_unit_test_teardown(refcount_finalize_may_keep_the_object, reset),
		cmocka_unit_test_teardown(bssptr_works_before_and_after_its_life, reset),
		cmocka_unit_test_teardown(ptr_leaks_on_demand, reset),
		cmocka_unit_test_teardown(counts_stay_right_when_shared, reset),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
