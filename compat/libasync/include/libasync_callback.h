/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CALLBACK_CLASS_H
#define LIBASYNC_CALLBACK_CLASS_H

/*
 * The classes color and callback. Programs include callback.h, which describes them.
 */
#include <cerrno>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "libasync_config.h"
#include "refcnt.h"

template <class R = void, class B1 = void, class B2 = void, class B3 = void, class... More> class callback;

/*
 * A color: 32 bits, the same as in <event2/smp.h>. Its constructors are explicit, so (color) fd is one, and a number
 * that is to be bound is never taken for one.
 */
class color
{
	uint32_t num;

public:
	constexpr color() : num(0) {}
	template <class Number, class = std::enable_if_t<std::is_integral_v<Number> || std::is_enum_v<Number>>>
	constexpr explicit color(Number number) : num(static_cast<uint32_t>(number))
	{
	}

	constexpr uint32_t value() const { return num; }
	constexpr explicit operator uint32_t() const { return num; }
	constexpr bool operator==(const color &c) const { return num == c.num; }
	constexpr bool operator!=(const color &c) const { return num != c.num; }
	constexpr bool operator<(const color &c) const { return num < c.num; }
};

namespace libasync
{

/* Whether the program has made a callback with a color other than 0. It never becomes false again. */
extern LIBASYNC_EXPORT bool colors_are_used;

/* Does the caller run in this color? Color 0 is also that of the first thread while no callback runs. Any thread. */
LIBASYNC_EXPORT bool is_own_color(uint32_t number);

/* As cpucb: run it soon, in its color. Any thread. */
LIBASYNC_EXPORT void post(::ref<callback<void>> cb);

inline bool are_colors_used()
{
	return __builtin_expect(__atomic_load_n(&colors_are_used, __ATOMIC_RELAXED), false);
}

inline void note_color(uint32_t number)
{
	if (number != 0 && !are_colors_used())
		__atomic_store_n(&colors_are_used, true, __ATOMIC_RELAXED);
}

template <class R, class... B> class triggered;

/* What callbacks of all signatures are: a count, a color and a function. */
template <class R, class... B> class callback_base : public virtual refcount
{
	uint32_t color_num;

public:
	explicit callback_base(color c = color()) : color_num(c.value()) { note_color(color_num); }

	/* Call it, in the caller's color. */
	virtual R operator()(B... b) = 0;

	/* Call it in its own color: at once if that is the caller's, else soon. Any thread. */
	void trigger(B... b)
	{
		if ((color_num == 0 && !are_colors_used()) || is_own_color(color_num))
			(void)(*this)(std::forward<B>(b)...);
		else
			post(new refcounted<triggered<R, B...>>(this, std::forward<B>(b)...));
	}

	color get_color() const { return color(color_num); }

	/* For whoever made it, before it is handed on. */
	void set_color(color c)
	{
		color_num = c.value();
		note_color(color_num);
	}
};

/* A ref or ptr of a callback can be called as the callback is. */
template <class C, class R, class... B> class callback_refops
{
	friend struct refaccess;

protected:
	C *p;

	constexpr callback_refops() : p(nullptr) {}
	constexpr explicit callback_refops(C *object) : p(object) {}

public:
	C *get() const { return p; }
	operator C *() const { return p; }
	C *operator->() const { return p; }
	C &operator*() const { return *p; }
	R operator()(B... b) const { return (*p)(std::forward<B>(b)...); }
};

} // namespace libasync

/* Trailing parameters of type void do not count: callback<void, int> and callback<void, int, void> are one type. */
template <class R, class B1, class B2, class B3, class... More>
class callback : public libasync::callback_base<R, B1, B2, B3, More...>
{
public:
	typedef ::ref<callback> ref;
	typedef ::ptr<callback> ptr;
	typedef callback type;
	using libasync::callback_base<R, B1, B2, B3, More...>::callback_base;
};

template <class R, class B1, class B2>
class callback<R, B1, B2, void> : public libasync::callback_base<R, B1, B2>
{
public:
	typedef ::ref<callback> ref;
	typedef ::ptr<callback> ptr;
	typedef callback type;
	using libasync::callback_base<R, B1, B2>::callback_base;
};

template <class R, class B1> class callback<R, B1, void, void> : public libasync::callback_base<R, B1>
{
public:
	typedef ::ref<callback> ref;
	typedef ::ptr<callback> ptr;
	typedef callback type;
	using libasync::callback_base<R, B1>::callback_base;
};

template <class R> class callback<R, void, void, void> : public libasync::callback_base<R>
{
public:
	typedef ::ref<callback> ref;
	typedef ::ptr<callback> ptr;
	typedef callback type;
	using libasync::callback_base<R>::callback_base;
};

template <class R, class B1, class B2, class B3, class... More>
class refops<callback<R, B1, B2, B3, More...>>
    : public libasync::callback_refops<callback<R, B1, B2, B3, More...>, R, B1, B2, B3, More...>
{
	typedef libasync::callback_refops<callback<R, B1, B2, B3, More...>, R, B1, B2, B3, More...> base;

protected:
	constexpr refops() {}
	constexpr explicit refops(callback<R, B1, B2, B3, More...> *object) : base(object) {}
};

template <class R, class B1, class B2>
class refops<callback<R, B1, B2, void>> : public libasync::callback_refops<callback<R, B1, B2, void>, R, B1, B2>
{
	typedef libasync::callback_refops<callback<R, B1, B2, void>, R, B1, B2> base;

protected:
	constexpr refops() {}
	constexpr explicit refops(callback<R, B1, B2, void> *object) : base(object) {}
};

template <class R, class B1>
class refops<callback<R, B1, void, void>> : public libasync::callback_refops<callback<R, B1, void, void>, R, B1>
{
	typedef libasync::callback_refops<callback<R, B1, void, void>, R, B1> base;

protected:
	constexpr refops() {}
	constexpr explicit refops(callback<R, B1, void, void> *object) : base(object) {}
};

template <class R>
class refops<callback<R, void, void, void>> : public libasync::callback_refops<callback<R, void, void, void>, R>
{
	typedef libasync::callback_refops<callback<R, void, void, void>, R> base;

protected:
	constexpr refops() {}
	constexpr explicit refops(callback<R, void, void, void> *object) : base(object) {}
};

#endif
