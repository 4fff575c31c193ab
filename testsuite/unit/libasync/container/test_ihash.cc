/*
 * ihash.h: what a multimap of the standard library finds under the same operations, who owns the
 * elements, and what may change during a pass.
 */
#define LIBASYNC_CHECKED
#include "ihash.h"

#include <list>
#include <map>
#include <set>
#include <string>

#include "container/elements.h"

namespace
{

struct element {
	static long alive;

	const int key;
	long second;
	std::string name;
	ihash_entry<element> link, by_two, by_name, by_itself;
	bool seen;

	explicit element(int k, long s = 0) : key(k), second(s), name(std::to_string(k)), seen(false) { alive++; }
	element(const element &e) : key(e.key), second(e.second), name(e.name), seen(e.seen) { alive++; }
	~element() { alive--; }
	void see() { seen = true; }
	bool operator==(const element &e) const { return key == e.key; }
	operator hash_t() const { return static_cast<u_int>(key); }
	operator const std::string &() const { return name; }
};

long element::alive;

typedef ihash<const int, element, &element::key, &element::link> table;

} // namespace

template <> struct hashfn<std::string> {
	hashfn() {}
	hash_t operator()(const std::string &s) const { return hash_bytes(s.data(), static_cast<int>(s.size())); }
};

/* A program's rule: this key of an element is neither called key nor what the element converts to. */
template <> struct keyfn<element, long> {
	keyfn() {}
	const long &operator()(element *e) const { return e->second; }
};

namespace
{

struct name_of {
	const std::string &operator()(const element *e) const { return e->name; }
};

/* Bad hashes, so that chains are long and keys with one hash differ. */
struct few_hashes {
	hash_t operator()(int k) const { return static_cast<u_int>(k) % 3; }
};

template <class Table> class checked
{
	Table t;
	std::map<int, std::list<element *>> model; /* newest first */
	size_t model_size = 0;

	element *some(numbers &random)
	{
		auto m = model.lower_bound(static_cast<int>(random.below(60)));

		if (m == model.end())
			m = model.begin();

		auto e = m->second.begin();

		std::advance(e, random.below(static_cast<uint32_t>(m->second.size())));
		return *e;
	}

	void check_key(int k)
	{
		element *e = t[k];

		for (element *wanted : model.count(k) ? model[k] : std::list<element *>()) {
			assert_ptr_equal(e, wanted);
			e = t.nextkeq(e);
		}
		assert_null(e);
	}

	void check_all()
	{
		std::set<element *> seen;

		for (element *e = t.first(); e; e = t.next(e)) {
			assert_true(seen.insert(e).second);
			assert_true(t.present(e));
		}
		assert_int_equal(seen.size(), model_size);
	}

public:
	void step(numbers &random)
	{
		const int k = static_cast<int>(random.below(60));

		if (random.below(100) < 51) {
			element *e = new element(k);

			assert_true(t.insert(e));
			model[k].push_front(e);
			model_size++;
		} else if (model_size) {
			element *e = some(random);

			t.remove(e);
			assert_false(t.present(e));
			model[e->key].remove(e);
			if (model[e->key].empty())
				model.erase(e->key);
			model_size--;
			delete e;
		}
		assert_int_equal(t.size(), model_size);
		check_key(k);
		if (random.below(50) == 0)
			check_all();
		if (random.below(500) == 0)
			t.reserve(random.below(200));
		assert_true(t.room() >= 0 && t.buckets() >= t.size());
	}

	void finish()
	{
		const long others = element::alive - static_cast<long>(model_size);

		t.deleteall();
		assert_int_equal(t.size(), 0);
		assert_null(t.first());
		assert_int_equal(element::alive, others);
	}
};

void ihash_does_what_a_multimap_does(void **)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		checked<table> good;
		checked<ihash<const int, element, &element::key, &element::link, few_hashes>> bad;
		numbers random(seed);

		for (int i = 0; i < 5000; i++) {
			good.step(random);
			bad.step(random);
		}
		good.finish();
		bad.finish();
		assert_int_equal(element::alive, 0);
	}
}

void fill(table &t, int n)
{
	for (int i = 0; i < n; i++)
		t.insert(new element(i));
}

void ihash_owns_nothing(void **)
{
	element e(1);
	{
		table t;

		t.insert(&e);
	}
	assert_int_equal(element::alive, 1);
	{
		/* The element is not in the table of before: it may enter another one. */
		table t, other;

		t.insert(&e);
		t.clear();
		assert_int_equal(t.size(), 0);
		assert_null(t[1]);
		t.insert(&e);
		assert_ptr_equal(t[1], &e);
		t.remove(&e);
		other.insert(&e);
	}

	/* clear does not touch elements, which may be gone. */
	table t;

	fill(t, 100);
	for (element *p = t.first(), *next; p; p = next) {
		next = t.next(p);
		delete p;
	}
	t.clear();
	assert_int_equal(element::alive, 1);
}

void ihash_copies_of_elements_are_in_no_table(void **)
{
	table t;
	element e(1);

	t.insert(&e);

	element copy(e);

	assert_false(t.present(&copy));
	t.insert(&copy);
	assert_ptr_equal(t[1], &copy);
	assert_ptr_equal(t.nextkeq(&copy), &e);
}

struct leaver {
	int key;
	ihash_entry<leaver> link;

	explicit leaver(int k) : key(k) {}
	~leaver();
};

typedef ihash<int, leaver, &leaver::key, &leaver::link> leavers;

leavers *all_leavers;
long leavers_gone;

/* Takes another one along, and removes itself, which half of the elements do. */
leaver::~leaver()
{
	leavers_gone++;
	if (key % 4 == 0)
		if (leaver *other = (*all_leavers)[key + 1]) {
			all_leavers->remove(other);
			other->key = -3;
			delete other;
		}
	if (key % 2 == 0)
		all_leavers->remove(this);
}

void ihash_deleteall_lets_destructors_remove(void **)
{
	leavers t;

	all_leavers = &t;
	leavers_gone = 0;
	for (int i = 0; i < 1000; i++)
		t.insert(new leaver(i));
	t.deleteall();
	assert_int_equal(leavers_gone, 1000);
	assert_int_equal(t.size(), 0);
	t.deleteall();
	t.insert(new leaver(1));
	assert_int_equal(t.size(), 1);
	t.deleteall();
}

/* Its destructor empties the table in which it was. */
struct emptier {
	int key = 1;
	ihash_entry<emptier> link;
	~emptier();
};

typedef ihash<int, emptier, &emptier::key, &emptier::link> emptiers;

emptiers *all_emptiers;
int emptiers_gone;

emptier::~emptier()
{
	if (emptiers_gone++ == 0)
		all_emptiers->deleteall();
	all_emptiers->remove(this);
}

void ihash_deleteall_within_deleteall(void **)
{
	emptiers t;
	emptier *alone = new emptier;

	all_emptiers = &t;
	for (int i = 0; i < 10; i++)
		t.insert(new emptier);
	t.deleteall();
	assert_int_equal(emptiers_gone, 10);
	assert_int_equal(t.size(), 0);
	must_abort("ihash: the element to remove is not in the table", [&] { delete alone; });
	t.insert(alone);
	delete alone;
}

void delete_odd(table *t, int *calls, element *e)
{
	++*calls;
	if (e->key % 2) {
		t->remove(e);
		delete e;
	}
}

void count_const(int *calls, const element &)
{
	++*calls;
}

void ihash_passes_may_remove_the_element_they_are_at(void **)
{
	table t;
	const table &c = t;
	int calls = 0;

	fill(t, 1000);
	t.traverse(wrap(delete_odd, &t, &calls));
	assert_int_equal(calls, 1000);
	assert_int_equal(t.size(), 500);
	calls = 0;
	c.traverse(wrap(count_const, &calls));
	assert_int_equal(calls, 500);
	t.traverse(&element::see);
	for (int i = 0; i < 1000; i += 2)
		assert_true(t[i]->seen);

	ihash_iterator_t<element, table> it(t);
	ihash_iterator_t<table, element> other_order(t);

	assert_ptr_equal(other_order.next(), t.first());
	for (element *e; (e = it.next());) {
		t.remove(e);
		delete e;
	}
	assert_int_equal(t.size(), 0);
	assert_null(it.next());

	/* Removal in a loop, and the step on after it. */
	fill(t, 100);

	element *removed[100];
	size_t n = 0;

	for (element *e = t.first(); e; e = t.next(e)) {
		t.remove(e);
		removed[n++] = e;
	}
	assert_int_equal(n, 100);
	for (element *e : removed)
		delete e;
}

void ihash2_finds_by_two_keys(void **)
{
	ihash2<const int, long, element, &element::key, &element::second, &element::by_two> t;

	for (int i = 0; i < 20; i++)
		for (long k = 0; k < 20; k++)
			t.insert(new element(i, k));

	element *newer = new element(3, 4);

	t.insert(newer);
	assert_ptr_equal(t(3, 4), newer);
	assert_int_equal(t.nextkeq(newer)->second, 4);
	assert_null(t.nextkeq(t.nextkeq(newer)));
	assert_null(t(3, 20));
	assert_int_equal(t.size(), 401);
	t.deleteall();
}

void fhash_finds_by_a_function(void **)
{
	fhash<std::string, element, &element::by_name, name_of> by_member;
	fhash<std::string, element, &element::by_two> by_conversion;
	fhash<long, element, &element::link> by_rule;
	shash<element, &element::by_itself> by_itself;
	element *e = new element(17, 71), other(17);

	by_member.insert(e);
	by_rule.insert(e);
	assert_ptr_equal(by_rule[71], e);
	assert_null(by_rule[17]);
	by_conversion.insert(e);
	by_itself.insert(e);
	assert_ptr_equal(by_member["17"], e);
	assert_null(by_member["18"]);
	assert_ptr_equal(by_conversion["17"], e);
	assert_null(by_conversion.nextkeq(e));
	assert_ptr_equal(by_itself[other], e);
	assert_null(by_itself.nextkeq(e));
	by_member.deleteall();
}

/* Emptying a table from its front takes one pass over its buckets, not one for each element. */
void ihash_of_a_million(void **)
{
	table t;
	int64_t sum = 0;

	fill(t, 1000000);
	assert_int_equal(t.size(), 1000000);
	for (int i = 0; i < 1000000; i += 1000)
		assert_int_equal(t[i]->key, i);
	while (element *e = t.first()) {
		sum += e->key;
		t.remove(e);
		delete e;
	}
	assert_true(sum == 499999500000);
	assert_int_equal(element::alive, 0);
}

void ihash_ends_the_program_when_misused(void **)
{
	table t, another;
	element e(1), other(1), elsewhere(1);

	t.insert(&e);
	must_abort("ihash: the element is in the table already", [&] { t.insert(&e); });
	must_abort("ihash: the element to remove is not in the table", [&] { t.remove(&other); });
	another.insert(&elsewhere);
	must_abort("ihash: the element to remove is not in the table", [&] { t.remove(&elsewhere); });
	another.clear();
	must_abort("ihash: the element to remove is not in the table", [&] { another.remove(&elsewhere); });
	t.remove(&e);
	must_abort("ihash: the element to remove is not in the table", [&] { t.remove(&e); });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ihash_does_what_a_multimap_does),
		cmocka_unit_test(ihash_owns_nothing),
		cmocka_unit_test(ihash_copies_of_elements_are_in_no_table),
		cmocka_unit_test(ihash_deleteall_lets_destructors_remove),
		cmocka_unit_test(ihash_deleteall_within_deleteall),
		cmocka_unit_test(ihash_passes_may_remove_the_element_they_are_at),
		cmocka_unit_test(ihash2_finds_by_two_keys),
		cmocka_unit_test(fhash_finds_by_a_function),
		cmocka_unit_test(ihash_of_a_million),
		cmocka_unit_test(ihash_ends_the_program_when_misused),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
