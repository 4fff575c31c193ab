/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_IHASH_H
#define LIBASYNC_IHASH_H

/*
 * Intrusive hash tables: an element is in a table by a member of type ihash_entry, so that neither
 * insertion nor removal allocates.
 *
 *   ihash<K, V, &V::key, &V::link>             by one member
 *   ihash2<K1, K2, V, &V::k1, &V::k2, &V::link>   by two
 *   shash<V, &V::link>                         the element is its key
 *   fhash<K, V, &V::link, F>                   F makes the key from the element
 *   ihash_core<V, &V::link>                    by a hash that the caller computes
 *
 * Ownership: the table owns no element and destroys none, except in deleteall. An element must leave
 * the table before it dies or its key changes. Copies of an element are in no table.
 *
 * Order: several elements may have one key; then the one inserted last is found first, and nextkeq
 * goes on to older ones. The order of traverse, first and next is otherwise unspecified.
 *
 * Changes while iterating: the callback of traverse may remove and delete the element it got. A loop
 * with first and next may remove the element it is at, and delete it after it called next. What is
 * inserted meanwhile may or may not be seen.
 *
 * The table grows when it has more elements than buckets, by a factor of two; it does not shrink.
 */
#include "callback.h"
#include "keyfunc.h"
#include "libasync_container.h"

/* The link of an element; pprev is NULL while it is in no table. */
struct _ihash_entry {
	void *next;
	void **pprev;
	hash_t val;

	_ihash_entry() : next(NULL), pprev(NULL) {}
	_ihash_entry(const _ihash_entry &) : next(NULL), pprev(NULL) {}
	_ihash_entry &operator=(const _ihash_entry &) { return *this; }
};

template <class T> class ihash_entry : public _ihash_entry
{
};

/*
 * `buckets` is 0 or a power of two. Buckets below `low` are empty: without that note, a program that
 * takes first() and removes it until the table is empty would search all buckets each time.
 */
struct _ihash_table {
	size_t buckets;
	size_t entries;
	void **tab;
	unsigned shift;
	unsigned leaving; /* elements in no chain, which deleteall deletes */
	size_t low;
};

namespace libasync
{

/* An empty table with this many buckets, a power of two; and the end of its memory. */
LIBASYNC_EXPORT void ihash_table_init(_ihash_table *t, size_t buckets);
LIBASYNC_EXPORT void ihash_table_fini(_ihash_table *t);

} // namespace libasync

template <class T, ihash_entry<T> T::*field> class ihash_core
{
public:
	typedef T elm_t;
	typedef void is_ihash_core;

protected:
	_ihash_table t;

	ihash_core(const ihash_core &) = delete;
	ihash_core &operator=(const ihash_core &) = delete;

	/* How far the check of a removal searches. */
	enum { CHAIN_CHECK_MAX = 256 };

	static _ihash_entry &entry(T *elm) { return elm->*field; }
	static T *elm_of(void *p) { return static_cast<T *>(p); }

	/* Fibonacci hashing: the high bits of the product depend on all bits of the hash. */
	static size_t bucket(u_int hval, unsigned shift)
	{
		return static_cast<size_t>(static_cast<uint64_t>(hval * 0x9e3779b1U) >> shift);
	}
	size_t bucket(u_int hval) const { return bucket(hval, t.shift); }

	/* The first element of this or a later bucket. */
	T *first_from(size_t i) const
	{
		for (; i < t.buckets; i++)
			if (t.tab[i])
				return elm_of(t.tab[i]);
		return NULL;
	}

	/* All chains keep their order: the two halves of a bucket are neighbours in the larger table. */
	void move_to(_ihash_table *larger)
	{
		void **end_of_chain;

		for (size_t i = 0; i < t.buckets; i++) {
			T *next;
			void **ends[2] = { &larger->tab[2 * i], &larger->tab[2 * i + 1] };

			for (T *elm = elm_of(t.tab[i]); elm; elm = next) {
				_ihash_entry &e = entry(elm);
				const size_t half = bucket(e.val, larger->shift) & 1;

				next = elm_of(e.next);
				end_of_chain = ends[half];
				e.next = NULL;
				e.pprev = end_of_chain;
				*end_of_chain = elm;
				ends[half] = &e.next;
			}
		}
		larger->entries = t.entries;
		larger->leaving = t.leaving;
		larger->low = 2 * t.low;
	}

	/* From `elm` on, which may be NULL, the first element with its hash for which is_it(element) is true. */
	template <class F> T *first_that(T *elm, F is_it) const
	{
		while (elm && !is_it(elm))
			elm = next_val(elm);
		return elm;
	}

	/* An element of this table, so that what it points at may be read? Only for checks. */
	bool in_chain(T *elm) const
	{
		if (!t.entries)
			return false;
		for (T *e = elm_of(t.tab[bucket(entry(elm).val)]); e; e = elm_of(entry(e).next))
			if (e == elm)
				return true;
		return false;
	}

	/* The same for an element to remove. A check must not search a chain of thousands of equal keys each time. */
	bool may_remove(T *elm) const
	{
		int n = 0;

		if (!entry(elm).pprev)
			return false;
		if (t.leaving)
			return true;
		for (T *e = t.entries ? elm_of(t.tab[bucket(entry(elm).val)]) : NULL; e; e = elm_of(entry(e).next))
			if (e == elm || ++n == CHAIN_CHECK_MAX)
				return true;
		return false;
	}

public:
	ihash_core() { init(); }
	~ihash_core() { libasync::ihash_table_fini(&t); }

	/* For code that handles memory by itself: an empty table without memory. */
	void init()
	{
		t.leaving = 0;
		init_empty();
	}

	/* Forget all elements, which are not touched: they may be gone already. */
	void clear()
	{
		libasync::ihash_table_fini(&t);
		init_empty();
	}

	/*
	 * Delete all elements. While an element is deleted, the table has no link to it; its destructor
	 * may remove it all the same, and may remove others.
	 */
	void deleteall()
	{
		while (T *elm = first()) {
			_ihash_entry &e = entry(elm);
			void *alone = elm;

			unlink(e);
			e.next = NULL;
			e.pprev = &alone;
			t.leaving++;
			delete elm;
			t.leaving--;
			if (alone)
				t.entries--;
		}
		clear();
	}

	size_t size() const { return t.entries; }
	size_t buckets() const { return t.buckets; }

	/* How many elements fit before the table grows; negative never. */
	ssize_t room() const { return static_cast<ssize_t>(t.buckets - t.entries); }

	/* Room for `sz` more elements. */
	void reserve(size_t sz)
	{
		while (static_cast<size_t>(room()) < sz)
			grow();
	}

	void grow()
	{
		_ihash_table larger;

		libasync::ihash_table_init(&larger, t.buckets ? 2 * t.buckets : 8);
		move_to(&larger);
		libasync::ihash_table_fini(&t);
		t = larger;
	}

	/* Is this element in the table? It must be alive. */
	bool present(T *elm) { return entry(elm).pprev && in_chain(elm); }

	/* False, and no change: the element is in this table already. */
	bool insert_val(T *elm, hash_t hval)
	{
		_ihash_entry &e = entry(elm);

		if (__builtin_expect(e.pprev != NULL, 0) && in_chain(elm)) {
			LIBASYNC_CHECK(false, "ihash: the element is in the table already");
			return false;
		}
		if (t.entries >= t.buckets)
			grow();

		const size_t i = bucket(hval);
		void **const head = &t.tab[i];

		e.val = hval;
		e.next = *head;
		e.pprev = head;
		if (e.next)
			entry(elm_of(e.next)).pprev = &e.next;
		*head = elm;
		t.entries++;
		if (i < t.low)
			t.low = i;
		return true;
	}

	/* The newest element with this hash; the next older one. NULL: none. */
	T *lookup_val(hash_t hval) const
	{
		if (!t.entries)
			return NULL;
		return same_val(elm_of(t.tab[bucket(hval)]), hval);
	}
	T *next_val(T *elm) const { return same_val(elm_of(entry(elm).next), entry(elm).val); }

	void remove(T *elm)
	{
		_ihash_entry &e = entry(elm);

		LIBASYNC_CHECK(may_remove(elm), "ihash: the element to remove is not in the table");
		unlink(e);
		e.pprev = NULL;
		t.entries--;
	}

	/* Some element; the one after `n`. NULL: there is no more. */
	T *first() const
	{
		if (!t.entries)
			return NULL;

		/* Readers at the same time note the same number, or one that is right too. */
		size_t i = __atomic_load_n(&t.low, __ATOMIC_RELAXED);
		const size_t noted = i;

		while (i < t.buckets && !t.tab[i])
			i++;
		if (i != noted)
			__atomic_store_n(const_cast<size_t *>(&t.low), i, __ATOMIC_RELAXED);
		return first_from(i);
	}
	T *next(const T *n) const
	{
		const _ihash_entry &e = n->*field;

		return e.next ? elm_of(e.next) : first_from(bucket(e.val) + 1);
	}

	/* Call `cb` (the method) for each element. */
	void traverse(typename callback<void, T *>::ref cb)
	{
		T *following;

		for (T *elm = first(); elm; elm = following) {
			following = next(elm);
			(*cb)(elm);
		}
	}
	void traverse(typename callback<void, const T &>::ref cb) const
	{
		T *following;

		for (T *elm = first(); elm; elm = following) {
			following = next(elm);
			(*cb)(*elm);
		}
	}
	void traverse(void (T::*fn)())
	{
		T *following;

		for (T *elm = first(); elm; elm = following) {
			following = next(elm);
			(elm->*fn)();
		}
	}

private:
	static T *same_val(T *elm, u_int hval)
	{
		while (elm && entry(elm).val != hval)
			elm = elm_of(entry(elm).next);
		return elm;
	}

	void init_empty()
	{
		t.buckets = t.entries = t.low = 0;
		t.tab = NULL;
		t.shift = 32;
	}

	/* Out of its chain. `next` stays: a loop may go on from an element that it removed. */
	static void unlink(_ihash_entry &e)
	{
		if (e.next)
			entry(elm_of(e.next)).pprev = e.pprev;
		*e.pprev = e.next;
	}
};

/* Elements V, found by their member `key`. */
template <class K, class V, K V::*key, ihash_entry<V> V::*field, class H = hashfn<K>, class E = equals<K>>
class ihash : public ihash_core<V, field>
{
	const E eq;
	const H hash;

public:
	ihash() : eq(), hash() {}
	ihash(const E &e, const H &h) : eq(e), hash(h) {}

	/* False: the element is in this table already. */
	bool insert(V *elm) { return this->insert_val(elm, hash(elm->*key)); }

	/* The newest element with key `k`, or NULL; the next older one with the key of `v`. */
	V *operator[](const K &k) const { return same_key(this->lookup_val(hash(k)), k); }
	V *nextkeq(V *v) const { return same_key(this->next_val(v), v->*key); }

private:
	V *same_key(V *v, const K &k) const
	{
		return this->first_that(v, [&](V *e) { return eq(k, e->*key); });
	}
};

/* Elements V, found by two members together. */
template <class K1, class K2, class V, K1 V::*key1, K2 V::*key2, ihash_entry<V> V::*field,
	  class H = hash2fn<K1, K2>, class E1 = equals<K1>, class E2 = equals<K2>>
class ihash2 : public ihash_core<V, field>
{
	const E1 eq1;
	const E2 eq2;
	const H hash;

public:
	ihash2() : eq1(), eq2(), hash() {}
	ihash2(const E1 &e1, const E2 &e2, const H &h) : eq1(e1), eq2(e2), hash(h) {}

	void insert(V *elm) { this->insert_val(elm, hash(elm->*key1, elm->*key2)); }
	V *operator()(const K1 &k1, const K2 &k2) const { return same_key(this->lookup_val(hash(k1, k2)), k1, k2); }
	V *nextkeq(V *v) const { return same_key(this->next_val(v), v->*key1, v->*key2); }

private:
	V *same_key(V *v, const K1 &k1, const K2 &k2) const
	{
		return this->first_that(v, [&](V *e) { return eq1(k1, e->*key1) && eq2(k2, e->*key2); });
	}
};

/* Elements that are their own keys: found by any element that equals them. */
template <class V, ihash_entry<V> V::*field, class H = hashfn<V>, class E = equals<V>>
class shash : public ihash_core<V, field>
{
	const E eq;
	const H hash;

public:
	shash() : eq(), hash() {}
	shash(const E &e, const H &h) : eq(e), hash(h) {}

	void insert(V *elm) { this->insert_val(elm, hash(*elm)); }
	V *operator[](const V &k) const { return same_key(this->lookup_val(hash(k)), k); }
	V *nextkeq(V *v) const { return same_key(this->next_val(v), *v); }

private:
	V *same_key(V *v, const V &k) const
	{
		return this->first_that(v, [&](V *e) { return eq(k, *e); });
	}
};

/*
 * The key of an element V: what *v converts to, or the member that is called key. A program specializes it for other
 * rules: template <> struct keyfn<V, K> { const K &operator()(V *v) const; };
 */
template <class V, class K> struct keyfn {
	keyfn() {}
	decltype(auto) operator()(V *v) const
	{
		if constexpr (std::is_convertible<V &, const K &>::value)
			return static_cast<const K &>(*v);
		else
			return static_cast<const K &>(v->key);
	}
};

/* Elements V, found by the key that F makes of V *. */
template <class K, class V, ihash_entry<V> V::*field, class F = keyfn<V, K>, class H = hashfn<K>, class E = equals<K>>
class fhash : public ihash_core<V, field>
{
	const E eq;
	const H hash;
	const F keyof;

public:
	fhash() : eq(), hash(), keyof() {}
	fhash(const E &e, const H &h, const F &k) : eq(e), hash(h), keyof(k) {}

	void insert(V *elm) { this->insert_val(elm, hash(keyof(elm))); }
	V *operator[](const K &k) const { return same_key(this->lookup_val(hash(k)), k); }
	V *nextkeq(V *v) const { return same_key(this->next_val(v), keyof(v)); }

private:
	V *same_key(V *v, const K &k) const
	{
		return this->first_that(v, [&](V *e) { return eq(k, keyof(e)); });
	}
};

namespace libasync
{

/* Of two types, the one that is a hash table, and the other one. */
template <class A, class B, class = void> struct table_of {
	typedef B type;
	typedef A element;
};
template <class A, class B> struct table_of<A, B, typename A::is_ihash_core> {
	typedef A type;
	typedef B element;
};

} // namespace libasync

/* One pass over the elements V of the table H. What next() returned may be removed and deleted. */
template <class V, class H> class ihash_iterator_t
{
	typedef typename libasync::table_of<V, H>::type table_t;
	typedef typename libasync::table_of<V, H>::element elm_t;

	table_t &table;
	elm_t *upcoming;

public:
	ihash_iterator_t(table_t &h) : table(h), upcoming(h.first()) {}

	/* The next element; NULL at the end. */
	elm_t *next()
	{
		elm_t *const v = upcoming;

		if (v)
			upcoming = table.next(v);
		return v;
	}
};

#endif
