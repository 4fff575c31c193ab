/*
 * itree.h: what a multimap of the standard library does under the same operations, with a tree that
 * keeps its invariants; who owns the elements; what may change during a pass.
 */
#define LIBASYNC_CHECKED
#include "itree.h"

#include <map>

#include "container/elements.h"

namespace
{

struct element {
	static long alive;

	int key;
	bool seen;
	itree_entry<element> link;

	explicit element(int k) : key(k), seen(false) { alive++; }
	element(const element &e) : key(e.key), seen(false) { alive++; }
	~element() { alive--; }
	void see() { seen = true; }
	bool operator<(const element &e) const { return key < e.key; }
};

long element::alive;

typedef itree<int, element, &element::key, &element::link> tree;

/* The number of black elements on each way down from `n`; the tree below is checked. */
int black_height(const element *n, const element *up)
{
	if (!n)
		return 0;

	const element *const l = n->link.left(), *const r = n->link.right();
	const int height = black_height(l, n);
	const bool red = n->link.state == libasync::ITREE_RED;

	assert_int_equal(height, black_height(r, n));
	assert_ptr_equal(n->link.up(), up);
	assert_true(!l || l->key <= n->key);
	assert_true(!r || n->key <= r->key);
	if (red)
		assert_true((!l || l->link.state == libasync::ITREE_BLACK) &&
			    (!r || r->link.state == libasync::ITREE_BLACK));
	return height + !red;
}

struct checked {
	tree t;
	std::multimap<int, element *> model;

	void insert(int k)
	{
		element *e = new element(k);

		t.insert(e);
		model.insert({ k, e });
	}

	/* One of those with the key, or of the next key. */
	void remove(int k, uint32_t nth)
	{
		auto m = model.lower_bound(k);

		if (m == model.end())
			return;

		const size_t n = nth % model.count(m->first);

		std::advance(m, n);
		t.remove(m->second);
		delete m->second;
		model.erase(m);
	}

	void check()
	{
		black_height(t.root(), NULL);
		assert_true(!t.root() || t.root()->link.state == libasync::ITREE_BLACK);

		const element *e = t.first(), *before = NULL;

		/* Equal keys: in the order of insertion, which is the model's too. */
		for (const auto &m : model) {
			assert_ptr_equal(e, m.second);
			assert_ptr_equal(t.prev(e), before);
			before = e;
			e = t.next(e);
		}
		assert_null(e);
		assert_ptr_equal(t.last(), before);
	}

	void check_key(int k)
	{
		const auto m = model.lower_bound(k);

		assert_ptr_equal(t[k], m != model.end() && m->first == k ? m->second : NULL);
	}
};

void itree_does_what_a_multimap_does(void **)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		checked c;
		numbers random(seed);
		const uint32_t keys = 5 << random.below(8);

		for (int i = 0; i < 4000; i++) {
			if (random.below(100) < 52)
				c.insert(static_cast<int>(random.below(keys)));
			else
				c.remove(static_cast<int>(random.below(keys)), random.next());
			c.check_key(static_cast<int>(random.below(keys)));
			if (i < 300 || i % 100 == 0)
				c.check();
		}
		c.check();
		c.t.deleteall();
		assert_int_equal(element::alive, 0);
		assert_null(c.t.root());
	}
}

void itree_owns_nothing(void **)
{
	element e(1);
	{
		tree t;

		t.insert(&e);

		element copy(e);

		t.insert(&copy);
		assert_ptr_equal(t.next(t.first()), &copy);
		t.clear();
		assert_null(t[1]);
		t.insert(&e);
		assert_ptr_equal(t.root(), &e);
	}
	assert_int_equal(element::alive, 1);
}

struct leaver;
void leave(leaver *);

struct leaver {
	int key;
	itree_entry<leaver> link;

	explicit leaver(int k) : key(k) {}
	~leaver() { leave(this); }
};

typedef itree<int, leaver, &leaver::key, &leaver::link> leavers;

leavers *all_leavers;
int leavers_gone;

/* Takes another one along, and half of them remove themselves. */
void leave(leaver *l)
{
	leavers_gone++;
	if (l->key % 4 == 0)
		if (leaver *other = (*all_leavers)[l->key + 100]) {
			all_leavers->remove(other);
			other->key = -3;
			delete other;
		}
	if (l->key % 2 == 0)
		all_leavers->remove(l);
}

void itree_deleteall_lets_destructors_remove(void **)
{
	leavers t;

	all_leavers = &t;
	leavers_gone = 0;
	for (int i = 0; i < 1000; i++)
		t.insert(new leaver(i));
	t.deleteall_correct();
	assert_int_equal(leavers_gone, 1000);
	assert_null(t.first());
	t.insert(new leaver(1));
	t.deleteall();
	assert_int_equal(leavers_gone, 1001);
}

void delete_odd(tree *t, int *last, element *e)
{
	assert_true(*last <= e->key);
	*last = e->key;
	if (e->key % 2) {
		t->remove(e);
		delete e;
	}
}

struct counter {
	mutable long n;
};

int at_least(const int *k, const counter *calls, const element *e)
{
	calls->n++;
	return *k < e->key ? -1 : *k > e->key ? 1 : 0;
}

int to_key(int k, const element *e)
{
	return k - e->key;
}

void itree_passes_and_searches(void **)
{
	tree t;
	const tree &c = t;
	int last = -1, k = 500;
	const counter calls = { 0 };

	for (int i = 0; i < 1000; i++)
		t.insert(new element(i * 7919 % 1000));
	t.traverse(wrap(delete_odd, &t, &last));
	assert_int_equal(last, 999);
	t.traverse(&element::see);
	for (element *e = t.first(); e; e = t.next(e))
		assert_true(e->seen && e->key % 2 == 0);

	assert_int_equal(t.search(at_least, &k, &calls)->key, 500);
	assert_true(calls.n > 0 && calls.n < 20);
	k = 501;
	assert_null(t.search(at_least, &k, &calls));
	assert_int_equal(c.search(wrap(to_key, 42))->key, 42);
	assert_null(c.search(wrap(to_key, 43)));
	assert_int_equal(c[42]->key, 42);
	assert_true(t.left(t.root())->key < t.root()->key);
	assert_ptr_equal(t.up(t.right(t.root())), t.root());
	t.deleteall();
}

/* The order of a comparison that the program gives, by elements and by keys. */
struct backwards {
	int operator()(const element &a, const element &b) const { return b.key - a.key; }
	int operator()(int a, int b) const { return b - a; }
};

void itree_orders_by_what_the_program_says(void **)
{
	itree_core<element, &element::link, backwards> by_element((backwards()));
	itree<int, element, &element::key, &element::link, backwards> by_key((backwards()));
	itree_core<element, &element::link> by_itself;
	element a(1), b(2);

	by_element.insert(&a);
	by_element.insert(&b);
	assert_ptr_equal(by_element.first(), &b);
	by_element.remove(&a);
	by_element.remove(&b);
	by_key.insert(&a);
	by_key.insert(&b);
	assert_ptr_equal(by_key.first(), &b);
	assert_ptr_equal(by_key[1], &a);
	by_key.remove(&a);
	by_key.remove(&b);
	by_itself.insert(&b);
	by_itself.insert(&a);
	assert_ptr_equal(by_itself.first(), &a);
}

void itree_of_a_million(void **)
{
	tree t;
	long n = 0;

	for (int i = 0; i < 1000000; i++)
		t.insert(new element(i));
	assert_true(black_height(t.root(), NULL) < 21);
	for (element *e = t.first(); e; e = t.next(e))
		assert_int_equal(e->key, n++);
	assert_int_equal(n, 1000000);
	t.deleteall();
	assert_int_equal(element::alive, 0);
}

void itree_ends_the_program_when_misused(void **)
{
	tree t;
	element e(1), other(1);

	t.insert(&e);
	must_abort("itree: the element is in the tree already", [&] { t.insert(&e); });
	must_abort("itree: the element to remove is in no tree", [&] { t.remove(&other); });
	t.remove(&e);
	must_abort("itree: the element to remove is in no tree", [&] { t.remove(&e); });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(itree_does_what_a_multimap_does),
		cmocka_unit_test(itree_owns_nothing),
		cmocka_unit_test(itree_deleteall_lets_destructors_remove),
		cmocka_unit_test(itree_passes_and_searches),
		cmocka_unit_test(itree_orders_by_what_the_program_says),
		cmocka_unit_test(itree_of_a_million),
		cmocka_unit_test(itree_ends_the_program_when_misused),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
