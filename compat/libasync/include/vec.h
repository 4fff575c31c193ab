/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_VEC_H
#define LIBASYNC_VEC_H

/*
 * vec<T, N>: an array that grows at its end and shrinks at both ends. The first N elements need no
 * memory of their own (N = 0: none).
 *
 * Elements are constructed in place, and new ones are value-initialized: numbers and pointers begin
 * as 0. Each is destroyed once. Growth moves the elements, so it ends the life of pointers to them;
 * pop_front and pop_back do not. Capacity grows by factors of two; a queue that is filled at the end
 * and emptied at the front uses its memory again.
 *
 * A parameter may be the vec itself, an element of it, or a part of one: v.push_back(v[0]), v += v and
 * v = v[0].kids are right.
 *
 * If a constructor of an element throws, the vec keeps the elements that it had, and no memory is lost.
 * The exceptions are swap() and assignment of vecs with N > 0: those may lose elements.
 */
#include "array.h"
#include "libasync_container.h"
#include "stllike.h"

#include <initializer_list>
#include <stdint.h>

/* Tells one live vec from another. */
struct vec_obj_id_t {
	vec_obj_id_t() {}
	int operator()(void) const
	{
		return static_cast<int>(reinterpret_cast<uintptr_t>(this) / sizeof(void *) & INT32_MAX);
	}
};

/*
 * Decides how much memory vecs get. `nalloc` is the capacity now and `nwanted` what is needed, both in
 * elements. The result is the new capacity; less than `nwanted` counts as `nwanted`.
 */
class LIBASYNC_EXPORT vec_resizer_t
{
public:
	vec_resizer_t() {}
	virtual ~vec_resizer_t();
	virtual size_t resize(u_int nalloc, u_int nwanted, int objid) = 0;
};

/* Use `v` for all vecs from now on; NULL: the rule above. Before the first worker starts. The caller keeps `v`. */
LIBASYNC_EXPORT void set_vec_resizer(vec_resizer_t *v);

namespace libasync
{

/* The capacity for a vec that has `nalloc` and needs `nwanted`; each element has `size` bytes. */
LIBASYNC_EXPORT size_t vec_capacity(size_t nalloc, size_t nwanted, size_t size, int objid);

template <class T, size_t N> struct vec_inline {
	T *room() { return reinterpret_cast<T *>(bytes); }

private:
	alignas(T) unsigned char bytes[N * sizeof(T)];
};

template <class T> struct vec_inline<T, 0> {
	T *room() { return NULL; }
};

} // namespace libasync

/* The memory of a vec: elements lie from firstp to lastp, in room from basep to limp. */
template <class T, size_t N = 0>
class vec_base : private vec_obj_id_t, private libasync::vec_inline<typename __toarray<T>::type, N>
{
public:
	typedef typename toarray(T) elm_t;

protected:
	elm_t *basep;
	elm_t *firstp;
	elm_t *lastp;
	elm_t *limp;

	vec_base() { init(); }
	~vec_base() {}
	vec_base(const vec_base &) = delete;
	vec_base &operator=(const vec_base &) = delete;

	elm_t *inline_room() { return this->room(); }

	void init()
	{
		basep = firstp = lastp = inline_room();
		limp = basep + N;
	}

	size_t in_use() const { return static_cast<size_t>(lastp - firstp); }

	/* All elements of `v`, which is then empty. This vec has none and no memory. */
	void take(vec_base &v)
	{
		if (v.basep != v.inline_room()) {
			basep = v.basep;
			firstp = v.firstp;
			lastp = v.lastp;
			limp = v.limp;
		} else {
			libasync::relocate(firstp, v.firstp, v.in_use());
			lastp = firstp + v.in_use();
		}
		v.init();
	}

	/* Memory that the elements are about to move to; freed if they did not. */
	struct new_block {
		elm_t *room;

		explicit new_block(size_t capacity)
			: room(static_cast<elm_t *>(
				  libasync::container_alloc(capacity, sizeof(elm_t), alignof(elm_t))))
		{
		}
		~new_block()
		{
			if (room)
				libasync::container_free(room);
		}
		new_block(const new_block &) = delete;
		new_block &operator=(const new_block &) = delete;
	};

	/* The elements move to this block, which has room for `capacity`. */
	void use_block(new_block &block, size_t capacity)
	{
		const size_t n = in_use();

		libasync::relocate(block.room, firstp, n);
		bfree(basep);
		basep = firstp = block.room;
		lastp = basep + n;
		limp = basep + capacity;
		block.room = NULL;
	}

	/*
	 * Can the elements move to the front of the memory they have? Then their number is at most the
	 * number of those popped since: this is what keeps the cost of one push constant.
	 */
	bool slide_is_enough(size_t more) const
	{
		return static_cast<size_t>(firstp - basep) >= in_use() &&
		       static_cast<size_t>(limp - basep) - in_use() >= more;
	}

	void slide()
	{
		const size_t n = in_use();

		libasync::relocate(basep, firstp, n);
		firstp = basep;
		lastp = basep + n;
	}

	size_t capacity_for(size_t more) const
	{
		LIBASYNC_LIMIT(more <= SIZE_MAX / sizeof(elm_t) - in_use(), "vec: too many elements");
		return libasync::vec_capacity(static_cast<size_t>(limp - basep), in_use() + more, sizeof(elm_t), id());
	}

	int id() const { return vec_obj_id_t::operator()(); }

	/* Room for `more` elements after the last one. */
	LIBASYNC_NOINLINE void make_room(size_t more)
	{
		if (slide_is_enough(more)) {
			slide();
			return;
		}

		const size_t capacity = capacity_for(more);

		if constexpr (libasync::moves_as_bytes<elm_t>::value && alignof(elm_t) <= alignof(max_align_t)) {
			if (basep != inline_room() && firstp == basep) {
				const size_t n = in_use();

				firstp = basep = static_cast<elm_t *>(
					libasync::container_realloc(basep, capacity, sizeof(elm_t)));
				lastp = basep + n;
				limp = basep + capacity;
				return;
			}
		}

		new_block block(capacity);

		use_block(block, capacity);
	}

	/* One more element at the end of a full vec, made before the others move: perhaps it is a copy of one. */
	template <class... Params> LIBASYNC_NOINLINE elm_t &grow_back(Params &&...p)
	{
		if (libasync::moves_as_bytes<elm_t>::value || slide_is_enough(1)) {
			elm_t made(std::forward<Params>(p)...);

			make_room(1);
			libasync::construct_from(static_cast<void *>(lastp), made);
			return *lastp++;
		}

		const size_t capacity = capacity_for(1);
		new_block block(capacity);
		libasync::objects_in_making<elm_t> made(block.room + in_use());

		made.make(std::forward<Params>(p)...);
		use_block(block, capacity);
		lastp = made.keep();
		return lastp[-1];
	}

	/* Copies of `n` elements at the end, for which there is no room. They may be parts of those that move. */
	LIBASYNC_NOINLINE void grow_copies(const elm_t *from, size_t n)
	{
		const size_t capacity = slide_is_enough(n) ? static_cast<size_t>(limp - basep) : capacity_for(n);
		new_block block(capacity);
		libasync::objects_in_making<elm_t> made(block.room + in_use());

		for (size_t i = 0; i < n; i++)
			made.make(from[i]);
		use_block(block, capacity);
		lastp = made.keep();
	}

public:
	/* Free memory that the vec allocated; its own room stays. */
	void bfree(elm_t *t)
	{
		if (t != inline_room())
			libasync::container_free(t);
	}

	/* Exchange the elements. Those in the room of a vec with N > 0 move. */
	void swap(vec_base &v)
	{
		vec_base other;

		if (&v == this)
			return;
		other.take(*this);
		take(v);
		v.take(other);
	}
};

template <class T, size_t N = 0> class vec : public vec_base<T, N>
{
public:
	typedef vec_base<T, N> base_t;
	typedef typename base_t::elm_t elm_t;
	typedef elm_t *iterator;
	typedef const elm_t *const_iterator;
	typedef elm_t value_type;

protected:
	using base_t::basep;
	using base_t::firstp;
	using base_t::lastp;
	using base_t::limp;

	/* Elements in the vec's own room move one by one. */
	typedef std::disjunction<std::bool_constant<N == 0>, std::is_nothrow_move_constructible<elm_t>> moves_safely;

public:
	vec() {}
	vec(const vec &v) : vec() { add_copies(v); }
	template <size_t NN> vec(const vec<T, NN> &v) : vec() { add_copies(v); }
	vec(vec &&v) noexcept(moves_safely::value) : vec() { this->take(v); }
	vec(std::initializer_list<T> l) : vec()
	{
		reserve(l.size());
		for (const T *e = l.begin(); e != l.end(); e++)
			push_back(*e);
	}
	~vec() { del(); }

	vec &operator=(const vec &v) { return assign(v); }
	template <size_t NN> vec &operator=(const vec<T, NN> &v) { return assign(v); }
	vec &operator=(vec &&v) noexcept(moves_safely::value)
	{
		vec taken(static_cast<vec &&>(v));	/* perhaps of an element, which goes now */

		clear();
		this->take(taken);
		return *this;
	}

	/* Copies of all elements of `v` at the end. */
	template <size_t NN> vec &operator+=(const vec<T, NN> &v)
	{
		add_copies(v);
		return *this;
	}
	template <size_t NN> void append(const vec<T, NN> &v) { add_copies(v); }

	/* For code that handles elements by itself: forget all; destroy all and free the memory; one element. */
	void init() { base_t::init(); }
	void del()
	{
		libasync::destroy_range(firstp, lastp);
		this->bfree(basep);
	}
	static elm_t &construct(elm_t &e) { return *new (static_cast<void *>(&e)) elm_t(); }
	static void destroy(elm_t &e) { libasync::destroy_range(&e, &e + 1); }

	/* No elements, and no memory. setsize(0) keeps the memory. */
	void clear()
	{
		del();
		init();
	}

	/* Memory for `n` more elements at the end, which then go there without a move. */
	void reserve(size_t n)
	{
		if (static_cast<size_t>(limp - lastp) < n)
			this->make_room(n);
	}

	/* Exactly `n` elements: new ones at the end, or the last ones destroyed. */
	void setsize(size_t n)
	{
		const size_t have = size();

		if (n <= have) {
			popn_back(have - n);
			return;
		}
		reserve(n - have);
		for (elm_t *const end_of_new = firstp + n; lastp != end_of_new; lastp++)
			construct(*lastp);
	}

	size_t size() const { return this->in_use(); }
	bool empty() const { return firstp == lastp; }

	/* The first element, and the place after the last one. */
	elm_t *base() { return firstp; }
	const elm_t *base() const { return firstp; }
	elm_t *lim() { return lastp; }
	const elm_t *lim() const { return lastp; }
	elm_t *begin() { return firstp; }
	const elm_t *begin() const { return firstp; }
	elm_t *end() { return lastp; }
	const elm_t *end() const { return lastp; }

	elm_t &operator[](ptrdiff_t i)
	{
		LIBASYNC_CHECK(static_cast<size_t>(i) < size(), "vec: index out of range");
		return firstp[i];
	}
	const elm_t &operator[](ptrdiff_t i) const
	{
		LIBASYNC_CHECK(static_cast<size_t>(i) < size(), "vec: index out of range");
		return firstp[i];
	}

	elm_t &front() { return *checked_first(); }
	const elm_t &front() const { return *checked_first(); }
	elm_t &back() { return checked_last()[-1]; }
	const elm_t &back() const { return checked_last()[-1]; }

	/* A new element at the end. The result is that element. */
	elm_t &push_back() { return emplace_back(); }
	elm_t &push_back(const elm_t &e) { return emplace_back(e); }
	elm_t &push_back(elm_t &&e) { return emplace_back(static_cast<elm_t &&>(e)); }
	template <class... Params> elm_t &emplace_back(Params &&...p)
	{
		if (__builtin_expect(lastp == limp, 0))
			return this->grow_back(std::forward<Params>(p)...);

		elm_t *const e = new (static_cast<void *>(lastp)) elm_t(std::forward<Params>(p)...);

		lastp++;
		return *e;
	}

	/* Remove one element, and return it. */
	elm_t pop_back()
	{
		checked_first();
		libasync::destroy_at_end<elm_t> e(--lastp);
		return e.give();
	}
	elm_t pop_front()
	{
		checked_first();
		libasync::destroy_at_end<elm_t> e(firstp++);
		return e.give();
	}

	/* Remove `n` elements. */
	void popn_back(size_t n)
	{
		LIBASYNC_CHECK(n <= size(), "vec: fewer elements than are to be removed");
		lastp -= n;
		libasync::destroy_range(lastp, lastp + n);
	}
	void popn_front(size_t n)
	{
		LIBASYNC_CHECK(n <= size(), "vec: fewer elements than are to be removed");
		firstp += n;
		libasync::destroy_range(firstp - n, firstp);
	}

	void reverse()
	{
		if (empty())
			return;
		for (elm_t *a = firstp, *b = lastp - 1; a < b; a++, b--)
			std::swap(*a, *b);
	}

private:
	elm_t *checked_first() const
	{
		LIBASYNC_CHECK(firstp != lastp, "vec: there is no element");
		return firstp;
	}
	elm_t *checked_last() const
	{
		LIBASYNC_CHECK(firstp != lastp, "vec: there is no element");
		return lastp;
	}

	/* `v` may be this vec, or belong to an element. No element that can be copied as bytes has a vec in it. */
	template <class V> void add_copies(const V &v)
	{
		const size_t n = v.size();

		if constexpr (std::is_trivially_copyable<elm_t>::value) {
			reserve(n);
			if (n)
				memcpy(static_cast<void *>(lastp), v.base(), n * sizeof(elm_t));
			lastp += n;
		} else if (static_cast<size_t>(limp - lastp) < n) {
			this->grow_copies(v.base(), n);
		} else {
			for (size_t i = 0; i < n; i++, lastp++)
				new (static_cast<void *>(lastp)) elm_t(v.base()[i]);
		}
	}

	template <class V> vec &assign(const V &v)
	{
		if (static_cast<const void *>(&v) == this)
			return *this;
		if (std::is_trivially_copyable<elm_t>::value || empty()) {
			popn_back(size());
			add_copies(v);
			return *this;
		}

		vec copies(v);

		clear();
		this->take(copies);
		return *this;
	}
};

template <class T> struct libasync::moves_as_bytes<vec<T, 0>> : std::true_type {
};

template <class T> inline void swap(vec<T> &a, vec<T> &b)
{
	a.swap(b);
}

#endif
