/*
 * vec.h and array.h: what a deque of the standard library does under the same operations, each element
 * destroyed once, and the limits.
 */
#define LIBASYNC_CHECKED
#include "vec.h"
#include "refcnt.h"
#include "str.h"

#include <deque>
#include <memory>
#include <stdexcept>
#include <string>

#include "container/elements.h"

ALLOCATIONS_MAY_FAIL

namespace
{

template <size_t N> void same(const vec<counted, N> &v, const std::deque<int> &model)
{
	assert_int_equal(v.size(), model.size());
	assert_int_equal(v.empty(), model.empty());
	for (size_t i = 0; i < model.size(); i++) {
		v[static_cast<ptrdiff_t>(i)].must_live();
		assert_int_equal(v[static_cast<ptrdiff_t>(i)].value, model[i]);
	}
	assert_ptr_equal(v.base() + v.size(), v.lim());
	if (!model.empty()) {
		assert_int_equal(v.front().value, model.front());
		assert_int_equal(v.back().value, model.back());
	}
}

/* One random operation on both. */
template <size_t N> void step(vec<counted, N> &v, std::deque<int> &model, numbers &random)
{
	const int value = static_cast<int>(random.below(1000));

	switch (random.below(13)) {
	case 0:
	case 1:
	case 2:
		v.push_back(value);
		model.push_back(value);
		break;
	case 3:
		v.push_back() = counted(value);
		model.push_back(value);
		break;
	case 4:
		v.emplace_back(value);
		model.push_back(value);
		break;
	case 5:
	case 6:
		if (!model.empty()) {
			assert_int_equal(v.pop_front().value, model.front());
			model.pop_front();
		}
		break;
	case 7:
		if (!model.empty()) {
			assert_int_equal(v.pop_back().value, model.back());
			model.pop_back();
		}
		break;
	case 8: {
		const size_t n = random.below(40);

		v.setsize(n);
		model.resize(n);
		break;
	}
	case 9: {
		const size_t n = random.below(static_cast<uint32_t>(model.size()) + 1);

		if (value % 2) {
			v.popn_front(n);
			model.erase(model.begin(), model.begin() + static_cast<ptrdiff_t>(n));
		} else {
			v.popn_back(n);
			model.resize(model.size() - n);
		}
		break;
	}
	case 10:
		if (!model.empty()) {
			v.push_back(v[0]);
			model.push_back(model[0]);
		}
		break;
	case 11:
		v.reserve(random.below(50));
		break;
	case 12:
		if (value % 10 == 0) {
			v.clear();
			model.clear();
		} else {
			v.reverse();
			model = std::deque<int>(model.rbegin(), model.rend());
		}
		break;
	}
}

template <size_t N> void random_operations(uint64_t seed)
{
	{
		vec<counted, N> v;
		std::deque<int> model;
		numbers random(seed);

		for (int i = 0; i < 3000; i++) {
			step(v, model, random);
			same(v, model);
		}
	}
	counted::none_is_alive();
}

void vec_does_what_a_deque_does(void **)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		random_operations<0>(seed);
		random_operations<7>(seed);
		random_operations<100>(seed);
	}
}

/* Such elements move as bytes. Each is destroyed once, also if a parameter is an element that moves. */
void vec_of_references_grows(void **)
{
	struct object : virtual refcount {
	};
	vec<ref<object>> refs;
	vec<vec<int>> vecs;
	vec<str> strs;

	refs.push_back(New refcounted<object>());
	vecs.emplace_back().push_back(7);
	strs.push_back("a string");
	for (int i = 1; i < 100; i++) {
		refs.push_back(refs[0]);
		vecs.push_back(vecs[0]);
		strs.push_back(strs[0]);
	}
	strs.pop_front();
	strs.push_back(strs.front());
	for (int i = 0; i < 100; i++)
		assert_true(refs[i] == refs[0] && vecs[i][0] == 7 && strs[i] == "a string");
	assert_int_equal(refs[0].get()->refcount_getcnt(), 100);
}

void vec_copies_moves_and_swaps(void **)
{
	{
		vec<counted> a, b;
		vec<counted, 3> small;
		const vec<counted> &itself = a;

		for (int i = 0; i < 10; i++)
			a.push_back(i);
		for (int i = 0; i < 2; i++)
			small.push_back(100 + i);
		b = a;
		a += a;
		same(a, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 });
		a = itself;
		assert_int_equal(a.size(), 20);
		a = small;
		same(a, { 100, 101 });
		a += small;
		same(a, { 100, 101, 100, 101 });
		swap(a, b);
		assert_int_equal(a.size(), 10);
		assert_int_equal(b.size(), 4);

		vec<counted> copy(small), moved(std::move(copy)), again(moved);

		same(moved, { 100, 101 });
		same(again, { 100, 101 });
		assert_true(copy.empty());
		copy = std::move(moved);
		same(copy, { 100, 101 });

		/* Elements in the room of the vecs, in memory of their own, and one of each. */
		vec<counted, 3> x, y;

		x.push_back(1);
		for (int i = 0; i < 5; i++)
			y.push_back(10 + i);
		x.swap(y);
		same(x, { 10, 11, 12, 13, 14 });
		same(y, { 1 });
		x.swap(x);
		y.swap(small);
		same(y, { 100, 101 });
		same(small, { 1 });
		vec<counted, 3> z(std::move(y));
		same(z, { 100, 101 });
	}
	counted::none_is_alive();
}

void vec_makes_elements_in_place(void **)
{
	counted::made = counted::copied = 0;
	{
		vec<counted> v;

		v.reserve(10);
		v.push_back();
		v.emplace_back(3);
		assert_int_equal(counted::made, 2);
		assert_int_equal(counted::copied, 0);
		v.setsize(10);
		assert_int_equal(counted::made, 10);
		v.push_back();
		for (int i = 0; i < 1000; i++)
			v.push_back();

		/* Growth moves: it copies none. */
		assert_int_equal(counted::copied, 0);
	}
	counted::none_is_alive();

	vec<int> numbers_in_it;

	numbers_in_it.setsize(1000);
	for (int n : numbers_in_it)
		assert_int_equal(n, 0);
	numbers_in_it.push_back() = 7;
	assert_int_equal(numbers_in_it.push_back(), 0);
}

void vec_takes_parameters_that_are_its_elements(void **)
{
	vec<std::string> words;
	vec<int> ints;

	words.push_back("a word that is too long for the string itself");
	ints.push_back(42);
	for (int i = 0; i < 300; i++) {
		words.push_back(words.front());
		ints.push_back(ints.back());
	}
	for (const std::string &w : words)
		assert_string_equal(w.c_str(), "a word that is too long for the string itself");
	for (int n : ints)
		assert_int_equal(n, 42);

	/* The same when the elements slide to the front instead of growing. */
	for (int i = 0; i < 2000; i++) {
		words.push_back(words.front());
		words.pop_front();
	}
	assert_int_equal(words.size(), 301);
	assert_string_equal(words.back().c_str(), "a word that is too long for the string itself");
}

/* It has no move constructor, and the copy that brings `left` to 0 fails. */
struct fragile {
	static int left;
	counted c;

	fragile(int v = 0) : c(v) {}
	fragile(const fragile &f) : c(f.c.value)
	{
		f.c.must_live();
		if (--left == 0)
			throw std::runtime_error("no copy");
	}
};

int fragile::left;

/* change(v) with the first, the second, ... copy failing, until none does. The elements stay, or are `after`. */
template <size_t N, class F> void fails_whole(size_t popped, const std::deque<int> &after, F change)
{
	const long alive = counted::alive;
	bool has_failed = true;

	for (int nth = 1; has_failed; nth++) {
		assert_int_equal(counted::alive, alive);

		vec<fragile, N> v;
		std::deque<int> model;

		fragile::left = 0;
		for (int i = 0; i < 8; i++)
			v.push_back(i);
		v.popn_front(popped);
		for (int i = static_cast<int>(popped); i < 8; i++)
			model.push_back(i);
		fragile::left = nth;
		try {
			change(v);
			has_failed = false;
		} catch (const std::runtime_error &) {
		}
		if (!has_failed)
			model = after;
		assert_true(v.size() >= model.size());
		for (size_t i = 0; i < model.size(); i++) {
			v[static_cast<ptrdiff_t>(i)].c.must_live();
			assert_int_equal(v[static_cast<ptrdiff_t>(i)].c.value, model[i]);
		}
	}
}

template <size_t N> void fails_whole_in_all_changes()
{
	typedef vec<fragile, N> V;
	const fragile other(50);
	vec<fragile> more;

	fragile::left = 0;
	for (int i = 0; i < 4; i++)
		more.push_back(100 + i);
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7, 50 }, [&](V &v) { v.push_back(other); });
	fails_whole<N>(5, { 5, 6, 7, 50 }, [&](V &v) { v.push_back(other); });
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7 }, [&](V &v) { v.reserve(200); });
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7, 100 }, [&](V &v) { v += more; });
	fails_whole<N>(5, { 5, 6, 7, 100, 101, 102, 103 }, [&](V &v) { v += more; });
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7, 0, 1 }, [&](V &v) { v += v; });
	if (N == 0)
		fails_whole<N>(0, { 100, 101, 102, 103 }, [&](V &v) { v = more; });
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7, 0 }, [&](V &v) { v.setsize(300); });
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7 }, [&](V &v) { V copy(v); });
	fails_whole<N>(0, { 0, 1, 2, 3, 4, 5, 6, 7 }, [&](V &v) { V copy = { v[0], v[1], v[2], v[3], v[4] }; });
}

void vec_stays_whole_if_a_copy_fails(void **)
{
	fails_whole_in_all_changes<0>();
	fails_whole_in_all_changes<8>();
	fails_whole_in_all_changes<9>();
	counted::none_is_alive();
}

struct branch {
	counted id;
	vec<branch> kids;

	branch(int i = 0) : id(i) {}
};

/* A root with `n` kids, of which each has one. */
vec<branch> tree_of(int n)
{
	vec<branch> v;

	v.push_back(1);
	for (int i = 0; i < n; i++)
		v[0].kids.push_back(10 + i).kids.push_back(100 + i);
	return v;
}

void same_kids(const vec<branch> &v, int n)
{
	assert_int_equal(v.size(), n);
	for (int i = 0; i < n; i++) {
		v[i].id.must_live();
		assert_int_equal(v[i].id.value, 10 + i);
		assert_int_equal(v[i].kids[0].id.value, 100 + i);
	}
}

void vec_appends_a_part_of_its_element(void **)
{
	for (int n = 0; n < 40; n++) {
		vec<branch> v = tree_of(n), slides = tree_of(n);

		v += v[0].kids;
		assert_int_equal(v.pop_front().id.value, 1);
		same_kids(v, n);

		/* There is room enough, at the front. */
		slides.reserve(100);
		for (int i = 0; i < 200; i++) {
			slides.push_back(std::move(slides[0]));
			slides.popn_front(1);
			if (i % 3 == 0 && n > 0) {
				slides += slides[0].kids;
				assert_int_equal(slides[n].id.value, 10 + n - 1);
				slides.popn_back(static_cast<size_t>(n));
			}
		}
		slides.append(slides[0].kids);
		slides.popn_front(1);
		same_kids(slides, n);
	}
	counted::none_is_alive();
}

void vec_becomes_a_part_of_its_element(void **)
{
	for (int n = 0; n < 40; n++) {
		vec<branch> copied = tree_of(n), moved = tree_of(n), deep = tree_of(n + 1);

		copied = copied[0].kids;
		same_kids(copied, n);
		moved = std::move(moved[0].kids);
		same_kids(moved, n);
		deep = deep[0].kids[n].kids;
		assert_int_equal(deep.size(), 1);
		assert_int_equal(deep[0].id.value, 100 + n);
	}
	counted::none_is_alive();
}

/* Holds no more memory than twice what a queue needs, however much passes through. */
class largest : public vec_resizer_t
{
public:
	size_t most = 0, calls = 0;
	size_t resize(u_int, u_int nwanted, int) override
	{
		calls++;
		if (nwanted > most)
			most = nwanted;
		return nwanted < 4 ? 0 : 2 * static_cast<size_t>(nwanted);
	}
};

void vec_that_is_a_queue_uses_its_memory_again(void **)
{
	largest l;
	vec<int> q;

	set_vec_resizer(&l);
	for (int i = 0; i < 10; i++)
		q.push_back(i);
	for (int i = 0; i < 100000; i++) {
		q.push_back(10 + i);
		assert_int_equal(q.pop_front(), i);
	}
	set_vec_resizer(NULL);
	assert_true(l.calls > 0 && l.calls < 20);
	assert_true(l.most < 50);

	vec_obj_id_t id;

	assert_true(id() >= 0);
}

struct alignas(64) wide {
	char bytes[64];
};

struct alignas(64) wide_counted : counted {
};

template <class T, size_t N> void is_aligned()
{
	vec<T, N> v;

	for (int i = 0; i < 100; i++) {
		v.push_back();
		assert_int_equal(reinterpret_cast<uintptr_t>(v.base()) % alignof(T), 0);
	}
}

void vec_aligns_its_elements(void **)
{
	is_aligned<wide, 0>();
	is_aligned<wide, 5>();
	is_aligned<wide_counted, 0>();
	is_aligned<wide_counted, 5>();
	is_aligned<long double, 0>();
	counted::none_is_alive();
}

/* Without a move constructor, and copied from what may change only. */
struct handed_on {
	int *p;

	handed_on() : p(NULL) {}
	handed_on(handed_on &h) : p(h.p) { h.p = NULL; }
};

struct node {
	vec<node> below;
};

void vec_takes_all_kinds_of_elements(void **)
{
	vec<handed_on> h;
	vec<std::unique_ptr<int>> u;
	vec<vec<int>> vv;
	vec<int[4]> arrays;
	vec<node> tree;
	int n = 5;

	for (int i = 0; i < 100; i++) {
		h.push_back().p = &n;
		u.push_back(std::make_unique<int>(i));
		vv.push_back().push_back(i);
		arrays.push_back()[3] = i;
		tree.push_back().below.push_back();
	}
	for (ptrdiff_t i = 0; i < 100; i++) {
		assert_ptr_equal(h[i].p, &n);
		assert_int_equal(*u[i], i);
		assert_int_equal(vv[i][0], i);
		assert_int_equal(arrays[i][3], i);
		assert_int_equal(tree[i].below.size(), 1);
	}
	assert_int_equal(*u.pop_front(), 0);
	assert_ptr_equal(h.pop_back().p, &n);

	vec<std::string> words = { "a", "b" };

	assert_int_equal(words.size(), 2);
	words = { "c" };
	assert_string_equal(words[0].c_str(), "c");
}

void vec_of_a_million(void **)
{
	vec<int> v;
	int64_t sum = 0;

	for (int i = 0; i < 1000000; i++)
		v.push_back(i);
	assert_int_equal(v.size(), 1000000);
	for (int n : v)
		sum += n;
	assert_true(sum == 499999500000);
	while (!v.empty())
		sum -= v.pop_front();
	assert_int_equal(sum, 0);
}

void vec_ends_the_program_when_misused(void **)
{
	vec<int> v;
	const vec<int> &c = v;

	v.push_back(1);
	must_abort("vec: index out of range", [&] { v[1] = 0; });
	must_abort("vec: index out of range", [&] { (void)c[-1]; });
	must_abort("vec: fewer elements", [&] { v.popn_back(2); });
	must_abort("vec: fewer elements", [&] { v.popn_front(2); });
	must_abort("vec: too many elements", [&] { v.reserve(SIZE_MAX / 4); });
	must_abort("vec: too many elements", [&] { v.setsize(SIZE_MAX); });
	must_abort("container: too large", [&] { v.reserve(SIZE_MAX / 4 - 1); });
	must_abort("container: too large", [&] { libasync::container_alloc(SIZE_MAX / 2, 4, 8); });
	/* With 32 bits, a size that is not too large may be there. */
	if (sizeof(size_t) == sizeof(uint64_t)) {
		constexpr size_t many = size_t(UINT64_C(1) << 59);

		must_abort("container: out of memory", [&] { v.reserve(many); });
		must_abort("container: out of memory", [&] { libasync::container_alloc(many / 512, 64, 64); });
		v.clear();
		must_abort("container: out of memory", [&] { v.setsize(many); });
	}
	v.clear();
	must_abort("vec: there is no element", [&] { v.pop_back(); });
	must_abort("vec: there is no element", [&] { v.pop_front(); });
	must_abort("vec: there is no element", [&] { v.back(); });
	must_abort("vec: there is no element", [&] { (void)c.front(); });
}

void array_is_elements_in_place(void **)
{
	array<int, 4> a, b;
	array<counted, 3> *c = new array<counted, 3>;
	toarray(int[2][3]) m;

	static_assert(sizeof(a) == 4 * sizeof(int), "an array has nothing but its elements");
	static_assert(std::is_same<toarray(int), int>::value, "no array");
	for (ptrdiff_t i = 0; i < 4; i++)
		a[i] = static_cast<int>(i);
	b = a;
	assert_int_equal(b[3], 3);
	assert_int_equal(a.size(), 4);
	assert_ptr_equal(a.base() + 4, a.lim());
	assert_int_equal(counted::alive, 3);
	delete c;
	counted::none_is_alive();
	m[1][2] = 5;
	assert_int_equal(m.size() * m[0].size(), 6);
	assert_int_equal((array<int, 0>::size()), 0);
	must_abort("array: index out of range", [&] { a[4] = 0; });
	must_abort("array: index out of range", [&] { m[0][-1] = 0; });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vec_does_what_a_deque_does),
		cmocka_unit_test(vec_of_references_grows),
		cmocka_unit_test(vec_copies_moves_and_swaps),
		cmocka_unit_test(vec_makes_elements_in_place),
		cmocka_unit_test(vec_takes_parameters_that_are_its_elements),
		cmocka_unit_test(vec_stays_whole_if_a_copy_fails),
		cmocka_unit_test(vec_appends_a_part_of_its_element),
		cmocka_unit_test(vec_becomes_a_part_of_its_element),
		cmocka_unit_test(vec_that_is_a_queue_uses_its_memory_again),
		cmocka_unit_test(vec_aligns_its_elements),
		cmocka_unit_test(vec_takes_all_kinds_of_elements),
		cmocka_unit_test(vec_of_a_million),
		cmocka_unit_test(vec_ends_the_program_when_misused),
		cmocka_unit_test(array_is_elements_in_place),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
