/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_OPNEW_H
#define LIBASYNC_OPNEW_H

/*
 * Allocation under its old names. `New T (...)` is `new T (...)`, and `vNew T (...)` is the same for an object that
 * nobody keeps a pointer to. The placement forms remember nothing of file and line: use a sanitizer to find leaks.
 * Without memory, operator new throws std::bad_alloc, which ends a program that does not catch it. Any thread.
 */
#include <cstddef>
#include <cstdlib>
#include <new>
#include <typeinfo>

#include "libasync_config.h"
#include "sysconf.h"

using std::nothrow;
using std::nothrow_t;

/* Tags that choose an allocator. All of them choose the C++ library's. */
struct dmalloc_t {
};

struct simple_leak_checker_t {
};

inline constexpr dmalloc_t dmalloc{};
inline constexpr simple_leak_checker_t simple_leak_checker{};

inline void *operator new(size_t size, dmalloc_t, const char *, int)
{
	return ::operator new(size);
}

inline void *operator new[](size_t size, dmalloc_t, const char *, int)
{
	return ::operator new[](size);
}

inline void *operator new(size_t size, simple_leak_checker_t, const char *, int)
{
	return ::operator new(size);
}

inline void *operator new[](size_t size, simple_leak_checker_t, const char *, int)
{
	return ::operator new[](size);
}

/* NULL: no memory. */
inline void *operator new(size_t size, nothrow_t, const char *, int) noexcept
{
	return ::operator new(size, std::nothrow);
}

inline void *operator new[](size_t size, nothrow_t, const char *, int) noexcept
{
	return ::operator new[](size, std::nothrow);
}

/* For a constructor that throws. */
inline void operator delete(void *p, dmalloc_t, const char *, int) noexcept
{
	::operator delete(p);
}

inline void operator delete[](void *p, dmalloc_t, const char *, int) noexcept
{
	::operator delete[](p);
}

inline void operator delete(void *p, simple_leak_checker_t, const char *, int) noexcept
{
	::operator delete(p);
}

inline void operator delete[](void *p, simple_leak_checker_t, const char *, int) noexcept
{
	::operator delete[](p);
}

inline void operator delete(void *p, nothrow_t, const char *, int) noexcept
{
	::operator delete(p);
}

inline void operator delete[](void *p, nothrow_t, const char *, int) noexcept
{
	::operator delete[](p);
}

#define New new
#define vNew (void)New

/* Whether allocations are recorded: never. */
class dmalloc_init
{
public:
	dmalloc_init() {}
	static bool ok() { return false; }
};

/* In its scope, deletes were not checked. Always true, so that it can stand in a condition. */
class nodelete_ignore
{
public:
	nodelete_ignore() {}
	~nodelete_ignore() {}
	operator bool() const { return true; }
};

#endif
