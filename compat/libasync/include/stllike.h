/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_STLLIKE_H
#define LIBASYNC_STLLIKE_H

/*
 * Small helpers that the standard library of 1999 did not have everywhere.
 */
#include "libasync_config.h"
#include "sysconf.h"

#include <algorithm>
#include <stddef.h>

/* The same functions, so that a program may also say `using namespace std`. */
using std::max;
using std::min;

/* `r` as an R, if it converts by itself: implicit_cast<int> (x) is no other cast in disguise. */
template <class R> inline R implicit_cast(R r)
{
	return r;
}

/* Owns one object, which it deletes when it dies. A copy takes the object over and leaves NULL behind. */
template <class T> class auto_ptr
{
	T *obj;

public:
	typedef T element_type;

	explicit auto_ptr(T *p = 0) : obj(p) {}
	auto_ptr(auto_ptr &a) : obj(a.release()) {}
	auto_ptr(auto_ptr &&a) noexcept : obj(a.release()) {}
	template <class U> auto_ptr(auto_ptr<U> &a) : obj(a.release()) {}
	template <class U> auto_ptr(auto_ptr<U> &&a) : obj(a.release()) {}
	~auto_ptr() { delete obj; }

	auto_ptr &operator=(auto_ptr &a)
	{
		reset(a.release());
		return *this;
	}
	auto_ptr &operator=(auto_ptr &&a) noexcept
	{
		reset(a.release());
		return *this;
	}
	template <class U> auto_ptr &operator=(auto_ptr<U> &a)
	{
		reset(a.release());
		return *this;
	}
	template <class U> auto_ptr &operator=(auto_ptr<U> &&a)
	{
		reset(a.release());
		return *this;
	}

	T &operator*() const { return *obj; }
	T *operator->() const { return obj; }
	T *get() const { return obj; }

	/* The object, which then belongs to the caller. */
	T *release()
	{
		T *const p = obj;

		obj = 0;
		return p;
	}

	/* Own `p` instead; the object until now is deleted. */
	void reset(T *p = 0)
	{
		T *const before = obj;

		if (before == p)
			return;
		obj = p;
		delete before;
	}
};

#endif
