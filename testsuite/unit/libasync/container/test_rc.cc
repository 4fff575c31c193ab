/*
 * rclist.h, rctailq.h and rctree.h: the order of their elements, and the references that they hold.
 */
#define LIBASYNC_CHECKED
#include "rclist.h"
#include "rctailq.h"
#include "rctree.h"

#include <deque>
#include <map>
#include <set>

#include "container/elements.h"

namespace
{

struct element : public virtual refcount {
	static long alive;

	int key;
	rclist_entry_t<element> llink;
	rctailq_entry_t<element> tlink;
	rctree_entry_t<int, element> treelink;
	rctree_entry_t<element> otherlink;

	element(int k) : key(k) { alive++; }
	element(const element &e) : refcount(), key(e.key), llink(e.llink) { alive++; }
	~element() { alive--; }
};

long element::alive;

typedef rclist_t<element, &element::llink> list_type;
typedef rctailq_t<element, &element::tlink> tailq_type;
typedef rctree_t<int, element, &element::key, &element::treelink> tree_type;

ptr<element> make(int k)
{
	return New refcounted<element>(k);
}

template <class L> void same(L &l, const std::deque<int> &model)
{
	ptr<element> e = l.first();

	for (int wanted : model) {
		assert_int_equal(e->key, wanted);
		e = l.next(e);
	}
	assert_true(e == NULL);
	assert_int_equal(element::alive, model.size());
}

void rclist_holds_its_elements(void **)
{
	{
		list_type l;

		for (int i = 0; i < 5; i++)
			l.insert_head(make(i));
		same(l, { 4, 3, 2, 1, 0 });
		l.remove(l.next(l.first()));
		same(l, { 4, 2, 1, 0 });

		ptr<element> first = l.first(), copy = New refcounted<element>(*first);

		l.remove(first);
		l.insert_head(copy);
		l.insert_head(first);
		assert_int_equal(l.first()->key, 4);
		assert_true(l.first() == first);
	}
	assert_int_equal(element::alive, 0);
}

void rctailq_holds_its_elements(void **)
{
	{
		tailq_type q;

		assert_true(q.last() == NULL);
		q.insert_tail(make(1));
		q.insert_head(make(0));
		q.insert_tail(make(2));
		same(q, { 0, 1, 2 });
		assert_int_equal(q.last()->key, 2);
		q.remove(q.last());
		assert_int_equal(q.last()->key, 1);
		q.remove(q.last());
		q.remove(q.last());
		assert_true(q.first() == NULL && q.last() == NULL);
		q.insert_tail(make(7));
		assert_int_equal(q.last()->key, 7);
	}
	assert_int_equal(element::alive, 0);
}

struct visit {
	std::set<int> seen;
	tailq_type *q;
	tree_type *tree;
	int stop_at;
};

void remove_each(visit *v, ptr<element> e)
{
	v->seen.insert(e->key);
	if (v->q) {
		v->q->remove(e);
		if (e->key == v->stop_at)
			v->q->remove(v->q->first());
	} else {
		v->tree->remove(e);
	}
}

void rctailq_passes_may_remove(void **)
{
	tailq_type q;
	visit v = { {}, &q, NULL, -1 };

	for (int i = 0; i < 10; i++)
		q.insert_tail(make(i));
	q.traverse(wrap(remove_each, &v));
	assert_int_equal(v.seen.size(), 10);
	assert_int_equal(element::alive, 0);

	/* The pass ends where the next element went away. */
	for (int i = 0; i < 10; i++)
		q.insert_tail(make(i));
	v = { {}, &q, NULL, 4 };
	q.traverse(wrap(remove_each, &v));
	assert_int_equal(v.seen.size(), 5);
	assert_int_equal(q.first()->key, 6);
}

int towards(int k, ptr<element> e)
{
	return k - e->key;
}

void rctree_does_what_a_multimap_does(void **)
{
	{
		tree_type t;
		const tree_type &c = t;
		std::multimap<int, element *> model;
		numbers random(1);

		for (int i = 0; i < 3000; i++) {
			const int k = static_cast<int>(random.below(100));

			if (random.below(100) < 55) {
				ptr<element> e = make(k);

				t.insert(e);
				model.insert({ k, e });
			} else if (t[k]) {
				const auto m = model.lower_bound(k);

				assert_true(t[k] == m->second);
				assert_true(c[k] == m->second);
				t.remove(t[k]);
				model.erase(m);
			} else {
				assert_true(c[k] == NULL);
				assert_int_equal(model.count(k), 0);
			}
			assert_int_equal(element::alive, model.size());
		}

		ptr<element> e = t.first();

		for (const auto &m : model) {
			assert_true(e == m.second);
			e = t.next(e);
		}
		assert_true(e == NULL);
		assert_int_equal(t.search(wrap(towards, t.last()->key))->key, t.last()->key);
		assert_true(t.search(wrap(towards, 1000)) == NULL);
		assert_true(t.up(t.left(t.root())) == t.root());
		assert_true(t.prev(t.next(t.first())) == t.first());
		assert_true(t.right(t.root())->key >= t.root()->key);
	}
	assert_int_equal(element::alive, 0);
}

/* The tree keeps the key with which an element came. */
void rctree_keeps_keys(void **)
{
	tree_type t;
	rctree_t<int, element, &element::key, &element::otherlink> other;
	visit v = { {}, NULL, &t, 0 };
	ptr<element> e = make(1);

	t.insert(e);
	e->key = 9;
	t.insert(make(5));
	assert_true(t[1] == e);
	assert_true(t[9] == NULL);
	other.insert(e);
	assert_true(other[9] == e);
	t.traverse(wrap(remove_each, &v));
	assert_true(v.seen.count(9) && v.seen.count(5));
	assert_true(t.root() == NULL);
	other.clear();
	assert_int_equal(element::alive, 1);
	e = NULL;
	assert_int_equal(element::alive, 0);
}

void rctree_rclist_nodes(void **)
{
	ptr<element> e = make(3);
	rclist_node_t<element> l(e);
	rctailq_node_t<element> q(e);
	rctree_node_t<int, element> t(3, e);
	const rctree_node_t<int, element> &c = t;

	assert_true(l.elem() == e && q.elem() == e && t.elem() == e && c.elem() == e);
}

void rclist_ends_the_program_when_misused(void **)
{
	list_type l;
	tree_type t;
	ptr<element> e = make(1), other = make(2);

	l.insert_head(e);
	t.insert(e);
	must_abort("rclist: the element is in a list already", [&] { l.insert_head(e); });
	must_abort("rclist: the element is in no list", [&] { l.remove(other); });
	must_abort("rclist: the element is in no list", [&] { l.next(other); });
	must_abort("rctree: the element is in a tree already", [&] { t.insert(e); });
	must_abort("rctree: the element is in no tree", [&] { t.remove(other); });
	must_abort("rclist: an element died while it was in its list", [] {
		rclist_entry_t<element> link;

		link.node = reinterpret_cast<libasync::rc_node<element> *>(&link);
	});
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rclist_holds_its_elements),
		cmocka_unit_test(rctailq_holds_its_elements),
		cmocka_unit_test(rctailq_passes_may_remove),
		cmocka_unit_test(rctree_does_what_a_multimap_does),
		cmocka_unit_test(rctree_keeps_keys),
		cmocka_unit_test(rctree_rclist_nodes),
		cmocka_unit_test(rclist_ends_the_program_when_misused),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
