/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_REFCNT_H
#define LIBASYNC_REFCNT_H

/*
 * Reference counted objects.
 *
 *   ref<foo> r = New refcounted<foo> (args);	never NULL
 *   ptr<foo> p = r;				may be NULL
 *   ref<foo> s = mkref (this);			if foo has `public virtual refcount`
 *
 * refcounted<T> is a T with a count that begins at 0. Each ref or ptr holds one count; when the last one goes, the
 * object's finalize() runs, which deletes it unless its class says otherwise. `New refcounted<T>` without a ref is not
 * counted and not freed.
 *
 * Threads. A ref or ptr itself belongs to one color at a time, as an int does. The object that it points to may be
 * shared: as long as the process has one worker, a count changes by a plain add; before a second worker starts, the
 * library calls libasync::share_counts (), and from then on by an atomic one. A program with threads of its own that
 * share counted objects calls it first.
 *
 * Errors. A ref that gets a NULL ptr ends the program at once, with a message. Without memory, New throws bad_alloc.
 */
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "libasync_bytes.h"
#include "libasync_config.h"
#include "libasync_forward.h"
#include "opnew.h"

/* None of ref: clang drops a second declaration after `using namespace std`, which has another ref. */
template <class T> class ptr;

/* Programs name their scalar types by it, for a compiler of the time. It declares nothing new. */
#define TYPE2STRUCT(tmpl, ...) struct libasync_scalar

namespace libasync
{

/*
 * The last address whose count threads share: 0, none; or UINTPTR_MAX, all, and then for ever. NULL is never above it,
 * so a program without threads pays no test for them: is_null_or_shared() takes the place of the test for NULL.
 */
extern LIBASYNC_EXPORT uintptr_t last_shared_count;

/* From now on counts change atomically. Call it before another thread gets a counted object. Any thread. */
LIBASYNC_EXPORT void share_counts();

/* Ends the program: a ref was to hold NULL. */
[[noreturn]] LIBASYNC_EXPORT void ref_is_null();

/* May some of A be a bit-field, and does a T take constants? Not if its constructor is private, or for an X &. */
template <class T, class... A> constexpr bool can_be_made_const()
{
	if constexpr (should_be_const<A...>)
		return std::is_constructible_v<T, const std::remove_reference_t<A> &...>;
	else
		return false;
}
template <class T, class... A> inline constexpr bool is_made_const = can_be_made_const<T, A...>();

inline bool are_counts_shared()
{
	return __builtin_expect(LIBASYNC_LOAD_FLAG(last_shared_count) != 0, false);
}

inline bool is_null_or_shared(const void *object)
{
	return reinterpret_cast<uintptr_t>(object) <= LIBASYNC_LOAD_FLAG(last_shared_count);
}

struct refaccess;

/* Well-formed if a U * is a T *. No trait: what was wrong for an incomplete U may be right later. */
template <class U, class T>
using if_converts = decltype(std::declval<void (&)(T *)>()(std::declval<U *>()));

} // namespace libasync

/*
 * The count. Derive from it virtually to use mkref, or to have an own finalize():
 *
 *   class foo : public virtual refcount { void finalize (); ... };
 */
class LIBASYNC_EXPORT refcount
{
	friend class refpriv;

	mutable uint32_t refcount_num = 0;

public:
	refcount() {}
	/* A copy is another object, with a count of its own. */
	refcount(const refcount &) {}
	refcount &operator=(const refcount &) { return *this; }
	virtual ~refcount() {}

	/*
	 * Called each time the count falls to 0. It may take a new reference, and keep the object. The default deletes
	 * the object.
	 */
	virtual void finalize();

	void refcount_inc() const
	{
		if (libasync::are_counts_shared())
			(void)__atomic_fetch_add(&refcount_num, 1, __ATOMIC_RELAXED);
		else
			refcount_num++;
	}

	void refcount_dec()
	{
		if (refcount_drop())
			finalize();
	}

	uint32_t refcount_getcnt() const { return __atomic_load_n(&refcount_num, __ATOMIC_RELAXED); }

private:
	/* True: it was the last one. */
	bool refcount_drop() const
	{
		return libasync::are_counts_shared() ? refcount_drop_shared() : --refcount_num == 0;
	}

	bool refcount_drop_shared() const
	{
		/* No other thread can use the object of the only reference: no read-modify-write is needed. */
		if (__atomic_load_n(&refcount_num, __ATOMIC_ACQUIRE) == 1) {
			__atomic_store_n(&refcount_num, 0, __ATOMIC_RELAXED);
			return true;
		}
		return __atomic_fetch_sub(&refcount_num, 1, __ATOMIC_ACQ_REL) == 1;
	}
};

/* What kind of object a refcounted<T> is. The first is for what is no class. */
enum reftype { scalar, vsize, vbase };

/* What refcounted<T> derives from: T, or a struct with a T in it. */
template <class T, bool is_class = std::is_class_v<T> || std::is_union_v<T>> struct type2struct {
	typedef T type;
};

template <class T> struct type2struct<T, false> {
	struct type {
		T value;
		type() : value() {}
		template <class A> explicit type(A &&a) : value(std::forward<A>(a)) {}
	};
};

/* A T with a count. The destructor of T may be protected. */
template <class T, reftype v = std::is_class_v<T> ? vbase : scalar>
class refcounted : public virtual refcount, public type2struct<T>::type
{
	friend struct libasync::refaccess;
	typedef typename type2struct<T>::type object_type;

public:
	template <class... Params, std::enable_if_t<!libasync::is_made_const<object_type, Params...>, int> = 0>
	refcounted(Params &&...args) : object_type(std::forward<Params>(args)...)
	{
	}
	template <class... Params, std::enable_if_t<(libasync::is_number<Params> || ...), int> = 0>
	refcounted(const Params &...args) : object_type(args...)
	{
	}
};

/*
 * A T that more bytes follow: alloc(n) has room for n bytes from the beginning of the T on, and for sizeof(T) at least.
 * The T is made by its default constructor. A number that is too large throws bad_alloc.
 */
template <class T> class refcounted<T, vsize> : public virtual refcount
{
	friend struct libasync::refaccess;
	typedef refcounted<T, vsize> rc_t;

	/* The T begins behind this object. */
	static constexpr size_t offset()
	{
		return (sizeof(rc_t) + alignof(T) - 1) / alignof(T) * alignof(T);
	}

	T *object()
	{
		return std::launder(reinterpret_cast<T *>(reinterpret_cast<char *>(this) + offset()));
	}

	refcounted() { ::new (static_cast<void *>(reinterpret_cast<char *>(this) + offset())) T; }
	~refcounted() { object()->~T(); }

	static constexpr size_t align()
	{
		return alignof(T) < alignof(rc_t) ? alignof(rc_t) : alignof(T);
	}

	static void *new_room(size_t size)
	{
		if constexpr (align() > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
			return ::operator new(size, std::align_val_t(align()));
		else
			return ::operator new(size);
	}

	/* Frees the room if the constructor throws. */
	struct room {
		void *p;

		explicit room(size_t size) : p(new_room(size)) {}
		room(const room &) = delete;
		~room() { rc_t::operator delete(p); }
	};

public:
	static rc_t *alloc(size_t n)
	{
		size_t size;
		bool is_too_large = __builtin_add_overflow(offset(), n < sizeof(T) ? sizeof(T) : n, &size);
		room r(is_too_large ? SIZE_MAX : size);
		rc_t *made = ::new (r.p) rc_t;

		r.p = nullptr;
		return made;
	}

	/* The object is larger than its type: no sized delete. */
	static void operator delete(void *p)
	{
		if constexpr (align() > __STDCPP_DEFAULT_NEW_ALIGNMENT__)
			::operator delete(p, std::align_val_t(align()));
		else
			::operator delete(p);
	}
};

/* What ref and ptr share: the count. */
class refpriv
{
	friend struct libasync::refaccess;

protected:
	/* NULL is a pointer to it, and nothing else is. */
	class privtype
	{
	};

	refcount *c;

	constexpr refpriv() : c(nullptr) {}
	constexpr explicit refpriv(refcount *count) : c(count) {}

	static void inc(refcount *count)
	{
		if (LIBASYNC_LIKELY(!libasync::is_null_or_shared(count)))
			count->refcount_num++;
		else if (count != nullptr)
			(void)__atomic_fetch_add(&count->refcount_num, 1, __ATOMIC_RELAXED);
	}

	/* The same of a ref, which must not hold NULL. */
	static void inc_object(refcount *count)
	{
		if (LIBASYNC_LIKELY(!libasync::is_null_or_shared(count)))
			count->refcount_num++;
		else if (count != nullptr)
			(void)__atomic_fetch_add(&count->refcount_num, 1, __ATOMIC_RELAXED);
		else
			libasync::ref_is_null();
	}

	/* An exception of finalize() ends the program, as that of a destructor does. */
	static void dec(refcount *count) noexcept
	{
		if (LIBASYNC_LIKELY(!libasync::is_null_or_shared(count))) {
			if (--count->refcount_num == 0)
				count->finalize();
		} else if (count != nullptr && count->refcount_drop_shared()) {
			count->finalize();
		}
	}

	/* What it held before is no longer needed. */
	template <class T> void replace(T *&p, T *object, refcount *count)
	{
		refcount *old = c;

		p = object;
		c = count;
		dec(old);
	}

public:
	/* The same object? */
	bool operator==(const refpriv &r) const { return c == r.c; }
	bool operator!=(const refpriv &r) const { return c != r.c; }

	/* Takes a count that nobody gives back: the object is never freed. Returns the count's address. */
	void *Xleak() const
	{
		inc(c);
		return c;
	}
};

/* What ref and ptr share: the object. */
template <class T> class refops
{
	friend struct libasync::refaccess;

protected:
	T *p;

	constexpr refops() : p(nullptr) {}
	constexpr explicit refops(T *object) : p(object) {}

public:
	T *get() const { return p; }
	operator T *() const { return p; }
	T *operator->() const { return p; }
	T &operator*() const { return *p; }
	void operator[](size_t) const = delete;		/* an array is no object */
};

template <> class refops<void>
{
	friend struct libasync::refaccess;

protected:
	void *p;

	constexpr refops() : p(nullptr) {}
	constexpr explicit refops(void *object) : p(object) {}

public:
	void *get() const { return p; }
	operator void *() const { return p; }
};

template <> class refops<const void>
{
	friend struct libasync::refaccess;

protected:
	const void *p;

	constexpr refops() : p(nullptr) {}
	constexpr explicit refops(const void *object) : p(object) {}

public:
	const void *get() const { return p; }
	operator const void *() const { return p; }
};

namespace libasync
{

/*
 * The parts of refcounted, ref and ptr that only they use of each other. Not `template <class U> friend class ::ref`:
 * g++ 12 crashes at that after `using namespace std`, for then there is std::ref too.
 */
struct refaccess {
	template <class U, reftype v> static U *object(refcounted<U, v> *r)
	{
		if constexpr (v == vsize)
			return r->object();
		else if constexpr (std::is_class_v<U> || std::is_union_v<U>)
			return r;
		else
			return &r->value;
	}

	template <class R> static refcount *count(const R &r)
	{
		return static_cast<const refpriv &>(r).c;
	}

	/* The reference of `r`, which is NULL then. */
	template <class R> static refcount *take_count(R &r)
	{
		refpriv &priv = r;
		refcount *c = priv.c;

		priv.c = nullptr;
		return c;
	}

	template <class R> static void forget_object(R &r)
	{
		static_cast<refops<typename R::type> &>(r).p = nullptr;
	}
};

} // namespace libasync

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra"	/* "base class should be explicitly initialized" */
#endif

/* A reference to a T, never NULL; only one that was moved from holds nothing. */
template <class T> class ref : public refpriv, public refops<T>
{
	typedef libasync::refaccess access;

	void hold(T *object, refcount *count)
	{
		inc_object(count);
		this->replace(this->p, object, count);
	}

	void take(T *object, refcount *count)
	{
		if (count == nullptr)
			libasync::ref_is_null();
		this->replace(this->p, object, count);
	}

public:
	typedef T type;
	typedef ::ptr<T> ptr;

	/* For mkref and others that know the count: takes a count of its own. */
	ref(T *object, refcount *count) : refpriv(count), refops<T>(object) { inc_object(count); }

	template <class U, reftype v, class = libasync::if_converts<U, T>>
	ref(refcounted<U, v> *pp) : ref(access::object(pp), pp)
	{
	}

	ref(const ref<T> &r) : ref(r.p, r.c) {}
	template <class U, class = libasync::if_converts<U, T>> ref(const ref<U> &r) : ref(r.get(), access::count(r)) {}
	template <class U, class = libasync::if_converts<U, T>>
	ref(const ::ptr<U> &r) : ref(r.get(), access::count(r))
	{
	}

	ref(ref<T> &&src) : refpriv(access::take_count(src)), refops<T>(src.p) { src.p = nullptr; }
	template <class U, class = libasync::if_converts<U, T>>
	ref(ref<U> &&src) : refpriv(access::take_count(src)), refops<T>(src.get())
	{
		access::forget_object(src);
	}
	template <class U, class = libasync::if_converts<U, T>>
	ref(::ptr<U> &&src) : refpriv(access::take_count(src)), refops<T>(src.get())
	{
		if (this->c == nullptr)
			libasync::ref_is_null();
		access::forget_object(src);
	}

	~ref() { dec(this->c); }

	ref<T> &operator=(const ref<T> &r)
	{
		hold(r.p, r.c);
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ref<T> &operator=(const ref<U> &r)
	{
		hold(r.get(), access::count(r));
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ref<T> &operator=(const ::ptr<U> &r)
	{
		hold(r.get(), access::count(r));
		return *this;
	}
	template <class U, reftype v, class = libasync::if_converts<U, T>> ref<T> &operator=(refcounted<U, v> *pp)
	{
		hold(access::object(pp), pp);
		return *this;
	}
	ref<T> &operator=(ref<T> &&src)
	{
		T *object = src.p;

		if (this != &src) {
			src.p = nullptr;
			take(object, access::take_count(src));
		}
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ref<T> &operator=(ref<U> &&src)
	{
		T *object = src.get();

		access::forget_object(src);
		take(object, access::take_count(src));
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ref<T> &operator=(::ptr<U> &&src)
	{
		T *object = src.get();

		access::forget_object(src);
		take(object, access::take_count(src));
		return *this;
	}
};

template <class T> struct libasync::moves_as_bytes<::ref<T>> : std::true_type {
};

template <class T> struct libasync::moves_as_bytes<::ptr<T>> : std::true_type {
};

/* Chooses the constructor that leaves a static object as it is, see bssptr. */
enum __bss_init { __bss_init_tag };

/* A reference to a T, or NULL. */
template <class T> class ptr : public refpriv, public refops<T>
{
	typedef libasync::refaccess access;

	void hold(T *object, refcount *count)
	{
		inc(count);
		this->replace(this->p, object, count);
	}

	void take(T *object, refcount *count) { this->replace(this->p, object, count); }

public:
	typedef T type;
	typedef ::ref<T> ref;

	constexpr ptr() {}
	constexpr ptr(privtype *) {}
	constexpr explicit ptr(__bss_init) {}
	ptr(T *object, refcount *count) : refpriv(count), refops<T>(object) { inc(count); }

	template <class U, reftype v, class = libasync::if_converts<U, T>>
	ptr(refcounted<U, v> *pp) : refpriv(pp), refops<T>(pp != nullptr ? access::object(pp) : nullptr)
	{
		inc(pp);
	}

	ptr(const ptr<T> &r) : ptr(r.p, r.c) {}
	template <class U, class = libasync::if_converts<U, T>> ptr(const ptr<U> &r) : ptr(r.get(), access::count(r)) {}
	template <class U, class = libasync::if_converts<U, T>>
	ptr(const ::ref<U> &r) : ptr(r.get(), access::count(r))
	{
	}

	ptr(ptr<T> &&src) : refpriv(access::take_count(src)), refops<T>(src.p) { src.p = nullptr; }
	template <class U, class = libasync::if_converts<U, T>>
	ptr(ptr<U> &&src) : refpriv(access::take_count(src)), refops<T>(src.get())
	{
		access::forget_object(src);
	}
	template <class U, class = libasync::if_converts<U, T>>
	ptr(::ref<U> &&src) : refpriv(access::take_count(src)), refops<T>(src.get())
	{
		access::forget_object(src);
	}

	~ptr() { dec(this->c); }

	/* Let it hold a new T (args). */
	template <class... Params> void alloc(Params &&...args)
	{
		*this = new refcounted<T>(std::forward<Params>(args)...);
	}

	ptr<T> &operator=(privtype *)
	{
		take(nullptr, nullptr);
		return *this;
	}
	ptr<T> &operator=(const ptr<T> &r)
	{
		hold(r.p, r.c);
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ptr<T> &operator=(const ptr<U> &r)
	{
		hold(r.get(), access::count(r));
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ptr<T> &operator=(const ::ref<U> &r)
	{
		hold(r.get(), access::count(r));
		return *this;
	}
	template <class U, reftype v, class = libasync::if_converts<U, T>> ptr<T> &operator=(refcounted<U, v> *pp)
	{
		hold(pp != nullptr ? access::object(pp) : nullptr, pp);
		return *this;
	}
	ptr<T> &operator=(ptr<T> &&src)
	{
		T *object = src.p;

		if (this != &src) {
			src.p = nullptr;
			take(object, access::take_count(src));
		}
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ptr<T> &operator=(ptr<U> &&src)
	{
		T *object = src.get();

		access::forget_object(src);
		take(object, access::take_count(src));
		return *this;
	}
	template <class U, class = libasync::if_converts<U, T>> ptr<T> &operator=(::ref<U> &&src)
	{
		T *object = src.get();

		access::forget_object(src);
		take(object, access::take_count(src));
		return *this;
	}
};

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/*
 * True once static objects are being destroyed: exit () was called, or main returned. Objects that a bssptr holds stay.
 */
class __globaldestruction_t
{
	LIBASYNC_EXPORT static bool has_begun;

public:
	constexpr __globaldestruction_t() {}
	~__globaldestruction_t() { __atomic_store_n(&has_begun, true, __ATOMIC_RELAXED); }
	operator bool() { return __atomic_load_n(&has_begun, __ATOMIC_RELAXED); }
};

inline __globaldestruction_t globaldestruction;

/*
 * A static ptr. It may be used before its own constructor has run, because it needs none, and after its destructor,
 * which keeps the reference: what it holds is never freed.
 */
template <class T> class bssptr : public ptr<T>
{
public:
	constexpr bssptr() : ptr<T>(__bss_init_tag) {}
	bssptr(const bssptr &) = delete;
	~bssptr() { (void)this->Xleak(); }

	ptr<T> &operator=(refpriv::privtype *null) { return ptr<T>::operator=(null); }
	ptr<T> &operator=(const bssptr<T> &r) { return ptr<T>::operator=(r); }
	template <class U> ptr<T> &operator=(const ptr<U> &r) { return ptr<T>::operator=(r); }
	template <class U> ptr<T> &operator=(const ::ref<U> &r) { return ptr<T>::operator=(r); }
	template <class U, reftype v> ptr<T> &operator=(refcounted<U, v> *pp) { return ptr<T>::operator=(pp); }
};

/* Makes references from raw pointers. */
struct mkcref {
	template <class T> static ::ref<T> mkref(T *p)
	{
		const refcount *count = p;

		return ::ref<T>(p, const_cast<refcount *>(count));
	}
};

/* A counted reference to *p, whose class has `public virtual refcount`. */
template <class T> inline ::ref<T> mkref(T *p)
{
	return mkcref::mkref(p);
}

template <class T> inline ::ref<const T> mkref(const T *p)
{
	return mkcref::mkref(p);
}

#endif
