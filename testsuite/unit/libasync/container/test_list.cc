/*
 * list.h, clist.h and qtailq.h: what a list of the standard library does under the same operations.
 */
#define LIBASYNC_CHECKED
#include "clist.h"
#include "list.h"
#include "qtailq.h"
#include "vec.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "container/elements.h"

namespace
{

struct element {
	int n;
	list_entry<element> llink;
	tailq_entry<element> tlink;
	dllist_entry<element> dlink;
	clist_entry<element> clink;

	explicit element(int i) : n(i) {}
};

typedef list<element, &element::llink> list_t;
typedef tailq<element, &element::tlink> tailq_t;
typedef dllist<element, &element::dlink> dllist_t;
typedef clist<element, &element::clink> clist_t;
typedef std::deque<element *> model_t;

element *first_of(list_t &l) { return l.first; }
element *first_of(tailq_t &l) { return l.first; }
element *first_of(dllist_t &l) { return l.head(); }
element *first_of(clist_t &l) { return l.first; }

template <class L> void same_forward(L &l, const model_t &model)
{
	element *e = first_of(l);

	for (element *wanted : model) {
		assert_ptr_equal(e, wanted);
		e = l.next(e);
	}
	assert_null(e);
}

template <class L> void same(L &l, const model_t &model)
{
	same_forward(l, model);
}

template <class L> void same_backward(L &l, const model_t &model, element *e)
{
	for (auto m = model.rbegin(); m != model.rend(); ++m) {
		assert_ptr_equal(e, *m);
		e = l.prev(e);
	}
	assert_null(e);
}

void same(dllist_t &l, const model_t &model)
{
	same_forward(l, model);
	same_backward(l, model, l.tail());
	l.check();
}

void same(clist_t &l, const model_t &model)
{
	same_forward(l, model);
	same_backward(l, model, l.last());
}

void insert_tail(list_t &l, element *e, model_t &model)
{
	l.insert_head(e);
	model.push_front(e);
}

template <class L> void insert_tail(L &l, element *e, model_t &model)
{
	l.insert_tail(e);
	model.push_back(e);
}

template <class L> void random_operations(uint64_t seed)
{
	L l;
	model_t model;
	numbers random(seed);

	for (int i = 0; i < 3000; i++) {
		switch (random.below(4)) {
		case 0:
			model.push_front(new element(i));
			l.insert_head(model.front());
			break;
		case 1:
			insert_tail(l, new element(i), model);
			break;
		default:
			if (!model.empty()) {
				const auto m = model.begin() + random.below(static_cast<uint32_t>(model.size()));
				element *e = *m;

				assert_ptr_equal(l.remove(e), e);
				model.erase(m);
				if (random.below(2)) {
					insert_tail(l, e, model);
				} else {
					delete e;
				}
			}
		}
		same(l, model);
	}
	for (element *e : model)
		delete l.remove(e);
	same(l, {});
}

void list_tailq_dllist_and_clist_do_what_a_list_does(void **)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		random_operations<list_t>(seed);
		random_operations<tailq_t>(seed);
		random_operations<dllist_t>(seed);
		random_operations<clist_t>(seed);
	}
}

template <class L> void delete_odd(L *l, element *e)
{
	if (e->n % 2)
		delete l->remove(e);
}

/* The callback deletes the element it got; a loop goes on from one that it removed. */
template <class L> void passes()
{
	L l;
	std::vector<element *> removed;

	for (int i = 0; i < 100; i++)
		l.insert_head(new element(i));
	l.traverse(wrap(delete_odd<L>, &l));
	for (element *e = first_of(l); e; e = l.next(e)) {
		assert_int_equal(e->n % 2, 0);
		l.remove(e);
		removed.push_back(e);
	}
	assert_null(first_of(l));
	assert_int_equal(removed.size(), 50);
	for (element *e : removed)
		delete e;
}

void list_passes_may_remove_the_element_they_are_at(void **)
{
	passes<list_t>();
	passes<tailq_t>();
	passes<dllist_t>();
	passes<clist_t>();
}

void list_moves_take_the_elements_along(void **)
{
	element a(1), b(2), c(3);
	list_t l, k;
	tailq_t t, u;

	l.insert_head(&a);
	l.swap(k);
	assert_null(l.first);
	k.insert_head(&b);
	k.swap(l);
	l.remove(&b);
	assert_ptr_equal(l.first, &a);
	k = std::move(l);
	k.remove(&a);

	t.insert_tail(&a);
	u.insert_tail(&b);
	t.swap(u);
	t.insert_tail(&c);
	same(t, { &b, &c });
	same(u, { &a });
	u = std::move(t);
	same(u, { &b, &c });
	t.insert_tail(&a);
	same(t, { &a });
	u.remove(&c);
	u.remove(&b);
	u.insert_head(&c);
	u.insert_tail(&b);
	same(u, { &c, &b });

	/* So a vec of lists may grow. */
	vec<list_t> lists;
	vec<tailq_t> tailqs;
	std::deque<element> elements;

	for (int i = 0; i < 100; i++) {
		elements.emplace_back(i);
		lists.push_back().insert_head(&elements.back());
		tailqs.push_back().insert_tail(&elements.back());
	}
	for (ptrdiff_t i = 0; i < 100; i++) {
		lists[i].remove(lists[i].first);
		tailqs[i].remove(tailqs[i].first);
		assert_null(lists[i].first);
		tailqs[i].insert_tail(&a);
		tailqs[i].remove(&a);
	}
}

void list_copies(void **)
{
	element a(1), b(2);
	tailq_t t;

	t.insert_tail(&a);

	/* A copy of an element is in no list, a copy of an empty list is one, and one of a list is for reading. */
	element c(a);
	tailq_t reader(t), empty;
	tailq_t other(empty);

	t.insert_tail(&c);
	same(t, { &a, &c });
	assert_ptr_equal(reader.first, &a);
	other.insert_tail(&b);
	same(other, { &b });
	c = b;
	same(t, { &a, &c });
}

void clist_turns_round(void **)
{
	element a(1), b(2), c(3);
	clist_t l;

	l.rotate();
	assert_null(l.last());
	l.insert_tail(&a);
	l.rotate();
	assert_ptr_equal(l.first, &a);
	l.insert_tail(&b);
	l.insert_tail(&c);
	l.rotate();
	same(l, { &b, &c, &a });
	l.remove(&c);
	l.rotate();
	same(l, { &a, &b });

	int sum = 0;
	void (*add)(int *, element *) = [](int *s, element *e) { *s = 10 * *s + e->n; };

	l.traverse(wrap(add, &sum));
	assert_int_equal(sum, 12);
}

void tailq_of_a_million(void **)
{
	tailq_t t;
	int n = 0;

	for (int i = 0; i < 1000000; i++)
		t.insert_tail(new element(i));
	while (element *e = t.first) {
		assert_int_equal(e->n, n++);
		delete t.remove(e);
	}
	assert_int_equal(n, 1000000);
}

/* `b` is alone in its lists, and `a` in others. */
void remove_from_another_list()
{
	element a(1), b(2);
	list_t l, other_l;
	tailq_t t, other_t;
	dllist_t d, other_d;
	clist_t c, other_c;

	l.insert_head(&a);
	t.insert_head(&a);
	d.insert_head(&a);
	c.insert_head(&a);
	other_l.insert_head(&b);
	other_t.insert_tail(&b);
	other_d.insert_tail(&b);
	other_c.insert_tail(&b);
	must_abort("tailq: the element to remove is not in the queue", [&] { t.remove(&b); });
	must_abort("dllist: the element to remove is not in the list", [&] { d.remove(&b); });
	must_abort("clist: the element to remove is in no list", [&] { c.remove(&b); });
	/* It leaves the list that it is in. */
	l.remove(&b);
	assert_null(other_l.first);
	assert_ptr_equal(l.first, &a);
}

void list_ends_the_program_when_misused(void **)
{
	element a(1), b(2);
	list_t l;
	tailq_t t;
	dllist_t d;
	clist_t c;

	l.insert_head(&a);
	t.insert_head(&a);
	d.insert_head(&a);
	c.insert_head(&a);
	must_abort("list: the element is in the list already", [&] { l.insert_head(&a); });
	must_abort("tailq: the element is in the queue already", [&] { t.insert_tail(&a); });
	must_abort("tailq: the element is in the queue already", [&] { t.insert_head(&a); });
	must_abort("dllist: the element is in the list already", [&] { d.insert_tail(&a); });
	must_abort("clist: the element is in the list already", [&] { c.insert_tail(&a); });
	must_abort("list: the element to remove is in no list", [&] { l.remove(&b); });
	must_abort("tailq: the element to remove is not in the queue", [&] { t.remove(&b); });
	must_abort("dllist: the element to remove is not in the list", [&] { d.remove(&b); });
	must_abort("clist: the element to remove is in no list", [&] { c.remove(&b); });
	remove_from_another_list();
	d.insert_tail(&b);
	b.dlink.prev = &b;
	must_abort("dllist: an element does not point back", [&] { d.check(); });
}

void qtailq_is_a_queue_of_copies(void **)
{
	{
		qtailq_t<counted> q;
		std::deque<int> model;
		numbers random(1);
		counted out(0);

		assert_false(q.pop_front(&out));
		for (int i = 0; i < 2000; i++) {
			switch (random.below(4)) {
			case 0:
				q.push_front(i);
				model.push_front(i);
				break;
			case 1:
				q.push_back(i);
				model.push_back(i);
				break;
			default:
				assert_int_equal(q.empty(), model.empty());
				assert_int_equal(q.pop_front(&out), !model.empty());
				if (!model.empty()) {
					assert_int_equal(out.value, model.front());
					model.pop_front();
				}
			}
		}
		q.push_back(1);
		q.push_back(2);
		assert_true(q.pop_front(NULL));
		q.push_back(3);
		assert_int_equal(qtailq_slot_t<int>(5).obj(), 5);
	}
	counted::none_is_alive();
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_tailq_dllist_and_clist_do_what_a_list_does),
		cmocka_unit_test(list_passes_may_remove_the_element_they_are_at),
		cmocka_unit_test(list_moves_take_the_elements_along),
		cmocka_unit_test(list_copies),
		cmocka_unit_test(clist_turns_round),
		cmocka_unit_test(tailq_of_a_million),
		cmocka_unit_test(list_ends_the_program_when_misused),
		cmocka_unit_test(qtailq_is_a_queue_of_copies),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
