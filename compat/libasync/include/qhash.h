/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_QHASH_H
#define LIBASYNC_QHASH_H

/*
 * qhash<K, V> maps keys to values, bhash<K> is a set of keys. Both own copies of what is inserted.
 *
 * A lookup returns NULL or a pointer to the value, which is valid until the key is removed; insertion
 * of other keys does not move it. If the values are ref<T>, it returns a ptr<T>.
 *
 * The order is unspecified. An iterator looks one element ahead: what next() returned, or what the
 * callback of traverse got, may be removed; the element after it may not. qhash_safe_const_iterator_t
 * works on a copy of the keys, so that any change is safe.
 */
#include "callback.h"
#include "ihash.h"
#include "keyfunc.h"
#include "libasync_container.h"
#include "refcnt.h"
#include "vec.h"

#include <initializer_list>

/* A key and its value in the table. */
template <class K, class V> struct qhash_slot {
	ihash_entry<qhash_slot> link;
	const K key;
	V value;

	qhash_slot(const K &k) : key(k), value() {}
	qhash_slot(const K &k, typename CREF(V) v) : key(k), value(v) {}
	qhash_slot(const K &k, typename NCREF(V) v) : key(k), value(v) {}
};

template <class K> struct qhash_slot<K, void> {
	ihash_entry<qhash_slot> link;
	const K key;

	qhash_slot(const K &k) : key(k) {}
};

/* What a lookup returns for a value, or for NULL. */
template <class T> struct qhash_lookup_return {
	typedef T *type;
	typedef const T *const_type;
	static type ret(T *v) { return v; }
	static const_type const_ret(T *v) { return v; }
};

template <class T> struct qhash_lookup_return<::ref<T>> {
	typedef ptr<T> type;
	typedef ptr<T> const_type;
	static type ret(::ref<T> *v)
	{
		if (v)
			return *v;
		return NULL;
	}
	static const_type const_ret(::ref<T> *v) { return ret(v); }
};

namespace libasync
{

/* A table that owns its slots: what qhash and bhash have in common. */
template <class K, class Slot, class H, class E, ihash_entry<Slot> Slot::*link>
class slot_table : public ihash_core<Slot, link>
{
public:
	typedef Slot slot;
	typedef ihash_core<slot, link> core;

	const E eq;
	const H hash;

	slot_table() : eq(), hash() {}
	slot_table(const slot_table &in) : core(), eq(in.eq), hash(in.hash) { add_copies(in); }
	slot_table(slot_table &&in) noexcept : core(), eq(in.eq), hash(in.hash) { take(in); }
	~slot_table() { clear(); }

	slot_table &operator=(const slot_table &in)
	{
		if (&in != this) {
			clear();
			add_copies(in);
		}
		return *this;
	}
	slot_table &operator=(slot_table &&in) noexcept
	{
		if (&in != this) {
			clear();
			take(in);
		}
		return *this;
	}

	/* Remove and destroy all. */
	void clear() { this->deleteall(); }

	/* The slot of a key, or NULL; and the end of a slot. */
	slot *getslot(const K &k) const { return core::size() ? find(k, hash(k)) : NULL; }
	void delslot(slot *s)
	{
		core::remove(s);
		delete s;
	}

protected:
	const core *as_core() const { return this; }

	slot *find(const K &k, hash_t h) const
	{
		return this->first_that(core::lookup_val(h), [&](slot *s) { return eq(k, s->key); });
	}

	/* call(s) for each slot, which it may remove. */
	template <class F> void each_slot(F call)
	{
		slot *following;

		for (slot *s = core::first(); s; s = following) {
			following = core::next(s);
			call(s);
		}
	}

private:
	void add_copies(const slot_table &in)
	{
		core::reserve(in.size());
		for (slot *s = in.first(); s; s = in.next(s))
			core::insert_val(new slot(*s), s->link.val);
	}

	/* All of `in`; that table is empty and without memory. */
	void take(slot_table &in)
	{
		this->t = in.t;
		in.init();
	}
};

/* What the iterators have in common: they point at the slot that next() returns. */
template <class Core, class Slot, class K, class Self> class slot_iterator
{
	const Core *table;
	Slot *at;

	const Self &self() const { return static_cast<const Self &>(*this); }

protected:
	slot_iterator(const Core *t, Slot *s) : table(t), at(s) {}

	Slot *step()
	{
		Slot *const s = at;

		if (s)
			at = table->next(s);
		return s;
	}

public:
	void reset() { at = table->first(); }

	const K operator*() const { return at->key; }
	const Self &operator++()
	{
		step();
		return self();
	}
	const Self operator++(int)
	{
		const Self before = self();

		step();
		return before;
	}
	bool operator==(const slot_iterator &other) const { return at == other.at; }
	bool operator!=(const slot_iterator &other) const { return at != other.at; }
};

} // namespace libasync

template <class K, class V, class H, class E> class qhash_iterator_t;
template <class K, class V, class H, class E> class qhash_const_iterator_t;
template <class K, class H, class E> class bhash_const_iterator_t;

template <class K, class V, class H = hashfn<K>, class E = equals<K>, class R = qhash_lookup_return<V>,
	  ihash_entry<qhash_slot<K, V>> qhash_slot<K, V>::*kludge = &qhash_slot<K, V>::link>
class qhash : public libasync::slot_table<K, qhash_slot<K, V>, H, E, kludge>
{
	typedef libasync::slot_table<K, qhash_slot<K, V>, H, E, kludge> base;
	using base::as_core;
	using base::find;

public:
	typedef typename base::slot slot;
	typedef typename base::core core;

	using base::delslot;
	using base::getslot;
	using base::hash;

	qhash() {}
	qhash(std::initializer_list<slot> l)
	{
		for (const slot *s = l.begin(); s != l.end(); s++)
			insert(s->key, s->value);
	}

	/* Set the value of a key. Without a value, a new key gets V() and a known one keeps its own. */
	void insert(const K &k)
	{
		const hash_t h = hash(k);

		if (!find(k, h))
			core::insert_val(new slot(k), h);
	}
	void insert(const K &k, typename CREF(V) v)
	{
		const hash_t h = hash(k);

		if (slot *s = find(k, h))
			s->value = v;
		else
			core::insert_val(new slot(k, v), h);
	}
	void insert(const K &k, typename NCREF(V) v)
	{
		const hash_t h = hash(k);

		if (slot *s = find(k, h))
			s->value = v;
		else
			core::insert_val(new slot(k, v), h);
	}

	/* The value of a key, or NULL. */
	typename R::type operator[](const K &k)
	{
		slot *const s = getslot(k);

		return R::ret(s ? &s->value : NULL);
	}
	typename R::const_type operator[](const K &k) const
	{
		slot *const s = getslot(k);

		return R::const_ret(s ? &s->value : NULL);
	}

	/* Copy the value of a key to *v; false: the key is unknown and *v as it was. */
	bool lookup(const K &k, typename R::type v) const
	{
		slot *const s = getslot(k);

		if (!s)
			return false;
		*v = *R::ret(&s->value);
		return true;
	}

	/* Remove a key and its value, which may be unknown; with `v`, the value goes to *v. */
	void remove(const K &k)
	{
		if (slot *s = getslot(k))
			delslot(s);
	}
	bool remove(const K &k, V *v)
	{
		slot *const s = getslot(k);

		if (!s)
			return false;
		*v = s->value;
		delslot(s);
		return true;
	}

	void traverse(::ref<callback<void, const K &, typename R::type>> cb)
	{
		this->each_slot([&cb](slot *s) { (*cb)(s->key, R::ret(&s->value)); });
	}

	qhash_iterator_t<K, V, H, E> begin() { return qhash_iterator_t<K, V, H, E>(as_core(), core::first()); }
	qhash_iterator_t<K, V, H, E> end() { return qhash_iterator_t<K, V, H, E>(as_core(), NULL); }
	qhash_const_iterator_t<K, V, H, E> begin() const
	{
		return qhash_const_iterator_t<K, V, H, E>(as_core(), core::first());
	}
	qhash_const_iterator_t<K, V, H, E> end() const { return qhash_const_iterator_t<K, V, H, E>(as_core(), NULL); }
};

/*
 * Both as iterators of C++ (*i is the key) and as `while (const K *k = i.next (&value))`. getslot returns
 * the slot whose key next would return, and goes on likewise.
 */
template <class K, class V, class H = hashfn<K>, class E = equals<K>>
class qhash_iterator_t : public libasync::slot_iterator<ihash_core<qhash_slot<K, V>, &qhash_slot<K, V>::link>,
							qhash_slot<K, V>, K, qhash_iterator_t<K, V, H, E>>
{
	typedef ihash_core<qhash_slot<K, V>, &qhash_slot<K, V>::link> core;
	typedef libasync::slot_iterator<core, qhash_slot<K, V>, K, qhash_iterator_t<K, V, H, E>> base;

public:
	qhash_iterator_t(qhash<K, V, H, E> &q) : base(&q, q.core::first()) {}
	qhash_iterator_t(const core *q, qhash_slot<K, V> *s) : base(q, s) {}

	const K *next(V *val = NULL)
	{
		qhash_slot<K, V> *const s = getslot();

		if (!s)
			return NULL;
		if (val)
			*val = s->value;
		return &s->key;
	}
	qhash_slot<K, V> *getslot() { return this->step(); }
};

template <class K, class V, class H = hashfn<K>, class E = equals<K>>
class qhash_const_iterator_t
	: public libasync::slot_iterator<ihash_core<qhash_slot<K, V>, &qhash_slot<K, V>::link>, qhash_slot<K, V>, K,
					 qhash_const_iterator_t<K, V, H, E>>
{
	typedef ihash_core<qhash_slot<K, V>, &qhash_slot<K, V>::link> core;
	typedef libasync::slot_iterator<core, qhash_slot<K, V>, K, qhash_const_iterator_t<K, V, H, E>> base;

public:
	qhash_const_iterator_t(const qhash<K, V, H, E> &q) : base(&q, q.core::first()) {}
	qhash_const_iterator_t(const core *q, qhash_slot<K, V> *s) : base(q, s) {}

	const K *next(V *val = NULL)
	{
		const qhash_slot<K, V> *const s = getslot();

		if (!s)
			return NULL;
		if (val)
			*val = s->value;
		return &s->key;
	}
	const qhash_slot<K, V> *getslot() { return this->step(); }
};

/* One pass over the keys that `q` has now; those removed before their turn are left out. */
template <class K, class V, class H = hashfn<K>, class E = equals<K>> class qhash_safe_const_iterator_t
{
	const qhash<K, V, H, E> &table;
	vec<K> keys;
	size_t done;

public:
	qhash_safe_const_iterator_t(const qhash<K, V, H, E> &q) : table(q), done(0) { reset(); }

	/* Begin anew, with the keys that there are now. */
	void reset()
	{
		keys.clear();
		done = 0;
		keys.reserve(table.size());
		for (const qhash_slot<K, V> *s = table.first(); s; s = table.next(s))
			keys.push_back(s->key);
	}

	/* False at the end; then *key and *val are as they were. */
	bool next(K *key, V *val = NULL)
	{
		while (done < keys.size()) {
			const K &k = keys[static_cast<ptrdiff_t>(done++)];
			const qhash_slot<K, V> *const s = table.getslot(k);

			if (!s)
				continue;
			if (key)
				*key = k;
			if (val)
				*val = s->value;
			return true;
		}
		return false;
	}
};

template <class K, class H = hashfn<K>, class E = equals<K>,
	  ihash_entry<qhash_slot<K, void>> qhash_slot<K, void>::*kludge = &qhash_slot<K, void>::link>
class bhash : public libasync::slot_table<K, qhash_slot<K, void>, H, E, kludge>
{
	typedef libasync::slot_table<K, qhash_slot<K, void>, H, E, kludge> base;
	using base::as_core;
	using base::find;

public:
	typedef typename base::slot slot;
	typedef typename base::core core;

	using base::delslot;
	using base::getslot;
	using base::hash;

	bhash() {}
	bhash(std::initializer_list<K> l)
	{
		for (const K *k = l.begin(); k != l.end(); k++)
			insert(*k);
	}

	/* True: the key is new. */
	bool insert(const K &k)
	{
		const hash_t h = hash(k);

		if (find(k, h))
			return false;
		core::insert_val(new slot(k), h);
		return true;
	}

	/* The key may be unknown. */
	void remove(const K &k)
	{
		if (slot *s = getslot(k))
			delslot(s);
	}

	bool operator[](const K &k) const { return getslot(k) != NULL; }

	void traverse(::ref<callback<void, const K &>> cb)
	{
		this->each_slot([&cb](slot *s) { (*cb)(s->key); });
	}

	bhash_const_iterator_t<K, H, E> begin() const
	{
		return bhash_const_iterator_t<K, H, E>(as_core(), core::first());
	}
	bhash_const_iterator_t<K, H, E> end() const { return bhash_const_iterator_t<K, H, E>(as_core(), NULL); }
};

template <class K, class H = hashfn<K>, class E = equals<K>>
class bhash_const_iterator_t
	: public libasync::slot_iterator<ihash_core<qhash_slot<K, void>, &qhash_slot<K, void>::link>,
					 qhash_slot<K, void>, K, bhash_const_iterator_t<K, H, E>>
{
	typedef ihash_core<qhash_slot<K, void>, &qhash_slot<K, void>::link> core;
	typedef libasync::slot_iterator<core, qhash_slot<K, void>, K, bhash_const_iterator_t<K, H, E>> base;

public:
	bhash_const_iterator_t(const bhash<K, H, E> &h) : base(&h, h.core::first()) {}
	bhash_const_iterator_t(const core *h, qhash_slot<K, void> *s) : base(h, s) {}

	const K *next()
	{
		qhash_slot<K, void> *const s = this->step();

		return s ? &s->key : NULL;
	}
};

#endif
