/*
 * qhash.h: what a map (a set) of the standard library does under the same operations, copies that are
 * made and destroyed, lookups of references, iterators.
 */
#define LIBASYNC_CHECKED
#include "qhash.h"
#include "itree.h"
#include "stllike.h"
#include "str.h"

#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "container/elements.h"

template <> struct hashfn<std::string> {
	hashfn() {}
	hash_t operator()(const std::string &s) const { return hash_bytes(s.data(), static_cast<int>(s.size())); }
};

namespace
{

struct few_hashes {
	hash_t operator()(int k) const { return static_cast<u_int>(k) % 3; }
};

template <class Q> void same(const Q &q, const std::map<int, int> &model)
{
	size_t n = 0;

	assert_int_equal(q.size(), model.size());
	for (auto i = q.begin(); i != q.end(); ++i, n++)
		assert_int_equal(model.count(*i), 1);
	assert_int_equal(n, model.size());
}

template <class Q> void step(Q &q, std::map<int, int> &model, numbers &random)
{
	const int k = static_cast<int>(random.below(200)), v = static_cast<int>(random.next() >> 1);
	const Q &c = q;
	counted out(-5);

	switch (random.below(7)) {
	case 0:
	case 1:
		q.insert(k, v);
		model[k] = v;
		break;
	case 2:
		q.insert(k);
		model.insert({ k, 0 });
		break;
	case 3:
		q.remove(k);
		model.erase(k);
		break;
	case 4:
		assert_int_equal(q.remove(k, &out), model.count(k));
		assert_int_equal(out.value, model.count(k) ? model[k] : -5);
		model.erase(k);
		break;
	case 5:
		assert_int_equal(q.lookup(k, &out), model.count(k));
		assert_int_equal(out.value, model.count(k) ? model[k] : -5);
		break;
	case 6:
		if (random.below(100) == 0) {
			q.clear();
			model.clear();
		}
		break;
	}
	if (model.count(k)) {
		assert_int_equal(q[k]->value, model[k]);
		assert_ptr_equal(c[k], q[k]);
	} else {
		assert_null(q[k]);
		assert_null(c[k]);
	}
}

template <class Q> void random_operations(uint64_t seed)
{
	{
		Q q;
		std::map<int, int> model;
		numbers random(seed);

		for (int i = 0; i < 5000; i++) {
			step(q, model, random);
			if (i % 50 == 0)
				same(q, model);
		}
	}
	counted::none_is_alive();
}

void qhash_does_what_a_map_does(void **)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		random_operations<qhash<int, counted>>(seed);
		random_operations<qhash<int, counted, few_hashes>>(seed);
	}
}

void qhash_owns_copies(void **)
{
	{
		qhash<std::string, counted> a = { { "one", 1 }, { "two", 2 }, { "one", 11 } }, b(a), c;
		const qhash<std::string, counted> &itself = a;
		counted *one = a["one"];

		assert_int_equal(a.size(), 2);
		assert_int_equal(one->value, 11);
		b.remove("one");
		for (int i = 0; i < 1000; i++)
			a.insert(std::to_string(i), i);

		/* Growth moves no value. */
		assert_ptr_equal(a["one"], one);
		c = a;
		a = itself;
		assert_int_equal(c.size(), 1002);
		assert_int_equal(c["999"]->value, 999);

		qhash<std::string, counted> moved(std::move(c));

		assert_int_equal(c.size(), 0);
		assert_null(c["999"]);
		c.insert("new", 5);
		c = std::move(moved);
		assert_null(c["new"]);
		assert_int_equal(c["999"]->value, 999);
		assert_int_equal(b["two"]->value, 2);
	}
	counted::none_is_alive();
}

struct object {
	static int alive;
	int n;
	object(int i) : n(i) { alive++; }
	~object() { alive--; }
};

int object::alive;

void qhash_of_references_returns_pointers(void **)
{
	{
		qhash<int, ref<object>> q;
		const qhash<int, ref<object>> &c = q;
		ref<object> other = New refcounted<object>(2);

		q.insert(1, New refcounted<object>(1));

		ptr<object> p = q[1];

		assert_int_equal(p->n, 1);
		assert_true(q[2] == NULL);
		if (ptr<object> found = c[1])
			assert_int_equal(found->n, 1);
		q.insert(1, other);
		assert_int_equal(q[1]->n, 2);

		/* What a lookup returned lives on. */
		assert_int_equal(p->n, 1);
		q.remove(1);
		assert_int_equal(q.size(), 0);
		p = NULL;
		assert_int_equal(object::alive, 1);
	}
	assert_int_equal(object::alive, 0);
}

/* Values that are handed on, not copied. */
void qhash_takes_values_over(void **)
{
	{
		qhash<int, auto_ptr<counted>> q;
		auto_ptr<counted> p(new counted(7)), out;

		q.insert(1, p);
		assert_null(p.get());
		assert_int_equal((*q[1])->value, 7);
		assert_true(q.remove(1, &out));
		assert_int_equal(out->value, 7);
	}
	counted::none_is_alive();
}

void remove_odd(qhash<int, int> *q, int k, int *v)
{
	assert_int_equal(*v, 10 * k);
	if (k % 2)
		q->remove(k);
	else
		*v = k;
}

void traverse_odd(qhash<int, int> *q, const int &k, int *v)
{
	remove_odd(q, k, v);
}

void qhash_iterates(void **)
{
	qhash<int, int> q;
	const qhash<int, int> &c = q;
	int n = 0, v;

	assert_true(q.begin() == q.end());
	for (int i = 0; i < 1000; i++)
		q.insert(i, 10 * i);
	q.traverse(wrap(traverse_odd, &q));
	assert_int_equal(q.size(), 500);

	qhash_iterator_t<int, int> i(q);
	qhash_const_iterator_t<int, int> ci(c);

	while (const int *k = ci.next(&v)) {
		assert_int_equal(*k, v);
		n++;
	}
	assert_int_equal(n, 500);
	ci.reset();
	assert_true(ci == c.begin());
	assert_int_equal(*ci, c.first()->key);
	assert_int_equal(*ci++, c.first()->key);
	assert_ptr_equal(ci.getslot(), c.next(c.first()));
	for (int k : c)
		n -= c[k] != NULL;
	assert_int_equal(n, 0);

	/* What next returned may go. */
	while (const int *k = i.next()) {
		const int copy = *k;

		q.remove(copy);
		n++;
	}
	assert_int_equal(n, 500);
	assert_int_equal(q.size(), 0);
	assert_null(i.next());
	i.reset();
	assert_null(i.getslot());
}

void qhash_safe_iteration_allows_any_change(void **)
{
	qhash<int, int> q;
	int k = -1, v = -1, n = 0;

	for (int i = 0; i < 100; i++)
		q.insert(i, i);

	qhash_safe_const_iterator_t<int, int> i(q);

	while (i.next(&k, &v)) {
		assert_int_equal(k, v);
		assert_non_null(q[k]);
		n++;

		/* The one after it, whichever that is, and a new one. */
		q.remove(k ^ 1);
		q.insert(1000 + k, 0);
	}
	assert_int_equal(n, 50);
	assert_int_equal(q.size(), 100);
	i.reset();
	for (n = 0; i.next(&k); n++)
		q.clear();
	assert_int_equal(n, 1);
}

void note(std::set<int> *s, const int &k)
{
	s->insert(k);
}

void bhash_does_what_a_set_does(void **)
{
	bhash<int> b = { 1, 2, 3, 2 };
	std::set<int> model = { 1, 2, 3 }, seen;
	numbers random(1);

	for (int i = 0; i < 5000; i++) {
		const int k = static_cast<int>(random.below(100));

		if (random.below(2)) {
			assert_int_equal(b.insert(k), model.insert(k).second);
		} else {
			b.remove(k);
			model.erase(k);
		}
		assert_int_equal(b[k], model.count(k));
		assert_int_equal(b.size(), model.size());
	}
	b.traverse(wrap(note, &seen));
	assert_true(seen == model);

	bhash<int> copy(b), assigned, moved(std::move(b));
	bhash_const_iterator_t<int> i(copy);

	assert_int_equal(b.size(), 0);
	assigned = copy;
	while (const int *k = i.next())
		assert_true(moved[*k] && assigned[*k]);
	i.reset();
	assert_true(i == copy.begin() && !(i != copy.begin()));
	for (int k : assigned)
		seen.erase(k);
	assert_true(seen.empty());
	assigned.clear();
	assert_true(assigned.begin() == assigned.end());
	b = std::move(moved);
	assert_int_equal(b.size(), model.size());
}

/* Keys of other kinds: strings of C by what they say, pointers by where they point. */
void qhash_takes_all_kinds_of_keys(void **)
{
	qhash<const char *, int> names;
	qhash<void *, int> places;
	qhash<uint64_t, int> wide;
	char copy[] = "name";

	names.insert("name", 1);
	assert_int_equal(*names[copy], 1);
	places.insert(copy, 2);
	assert_int_equal(*places[copy], 2);
	assert_null(places[copy + 1]);
	for (uint64_t i = 0; i < 1000; i++)
		wide.insert(i << 40, static_cast<int>(i));
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(*wide[i << 40], i);
}

/* Each thread walks and looks up; none changes the table. The first buckets are empty: first() has to search. */
void qhash_can_be_read_by_many(void **)
{
	qhash<int, int> q;
	const qhash<int, int> &c = q;
	std::vector<std::thread> readers;
	long sums[4] = {};

	for (int i = 0; i < 10000; i++)
		q.insert(i, i);
	for (int i = 0; i < 9000; i++)
		q.remove(*q.begin());
	for (long &sum : sums)
		readers.emplace_back([&c, &sum] {
			for (int i = 0; i < 10; i++)
				for (int k : c)
					sum += *c[k];
		});
	for (std::thread &t : readers)
		t.join();
	for (long sum : sums)
		assert_int_equal(sum, sums[0]);
	assert_true(sums[0] > 0);
}

struct named {
	str name;
	ihash_entry<named> hlink;
	itree_entry<named> tlink;

	named(const char *n) : name(n) {}
};

void qhash_ihash_and_itree_take_str_as_key(void **)
{
	qhash<str, str> q;
	bhash<str> b;
	ihash<str, named, &named::name, &named::hlink> h;
	itree<str, named, &named::name, &named::tlink> t;
	const char *const words[] = { "delta", "alpha", "charlie", "bravo" };
	str all = "";

	for (const char *w : words) {
		named *n = new named(w);

		q.insert(w, strbuf("<%s>", w));
		b.insert(w);
		h.insert(n);
		t.insert(n);
	}
	q.insert("alpha", "new");
	assert_true(*q["alpha"] == "new" && *q["bravo"] == "<bravo>" && !q["echo"]);
	assert_true(b["delta"] && !b["echo"]);
	assert_true(h["charlie"]->name == "charlie" && !h["echo"]);
	assert_ptr_equal(t["charlie"], h["charlie"]);
	for (const named *n = t.first(); n; n = t.next(n))
		all = strbuf() << all << n->name << " ";
	assert_string_equal(all.cstr(), "alpha bravo charlie delta ");
	h.deleteall();
}

void qhash_of_a_million(void **)
{
	qhash<int, int> q;

	for (int i = 0; i < 1000000; i++)
		q.insert(i, 2 * i);
	assert_int_equal(q.size(), 1000000);
	for (int i = 0; i < 1000000; i += 7)
		assert_int_equal(*q[i], 2 * i);
	for (int i = 0; i < 1000000; i++)
		q.remove(i);
	assert_int_equal(q.size(), 0);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(qhash_does_what_a_map_does),
		cmocka_unit_test(qhash_owns_copies),
		cmocka_unit_test(qhash_of_references_returns_pointers),
		cmocka_unit_test(qhash_takes_values_over),
		cmocka_unit_test(qhash_iterates),
		cmocka_unit_test(qhash_safe_iteration_allows_any_change),
		cmocka_unit_test(bhash_does_what_a_set_does),
		cmocka_unit_test(qhash_takes_all_kinds_of_keys),
		cmocka_unit_test(qhash_can_be_read_by_many),
		cmocka_unit_test(qhash_ihash_and_itree_take_str_as_key),
		cmocka_unit_test(qhash_of_a_million),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
