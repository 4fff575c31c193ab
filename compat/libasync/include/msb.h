/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_MSB_H
#define LIBASYNC_MSB_H

/*
 * The most significant bit of a number. Any thread.
 */
#include <sys/types.h>

#include "libasync_config.h"
#include "sysconf.h"

/* The number of the most significant bit that is 1; the least significant bit is number 1. 0 of 0. */
constexpr unsigned fls32(u_int32_t v)
{
	return v ? 32 - unsigned(__builtin_clz(v)) : 0;
}

constexpr unsigned fls64(u_int64_t v)
{
	return v ? 64 - unsigned(__builtin_clzll(v)) : 0;
}

/* The least n for which 2^n is at least `v`; 0 of 0 and 1. */
constexpr unsigned log2c32(u_int32_t v)
{
	return v <= 1 ? 0 : fls32(v - 1);
}

constexpr unsigned log2c64(u_int64_t v)
{
	return v <= 1 ? 0 : fls64(v - 1);
}

/* The same of a constant. */
template <u_int64_t n> struct log2c {
	enum { value = log2c64(n) };
};

#endif
