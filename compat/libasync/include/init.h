/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_INIT_H
#define LIBASYNC_INIT_H

/*
 * Initialization before the static objects of all files that include a header.
 *
 * `INIT (foo_init);` in a header declares a class foo_init. Its start () runs once, before the static objects of each
 * file that includes the header, and stop () once, after them. One file defines both, and `int foo_init::count;`.
 * The library needs no such call: what it offers works from the first static object on.
 */
#include "libasync_config.h"
#include "sysconf.h"

#define INIT(name) \
	static class name { \
		static int count; \
		static int &cnt() { return count; } \
		static void start(); \
		static void stop(); \
 \
	public: \
		name() \
		{ \
			if (!cnt()++) \
				start(); \
		} \
		~name() \
		{ \
			if (!--cnt()) \
				stop(); \
		} \
	} init_##name

/* Calls fn (), which the file defines, when the static objects of the file are made. */
#define INITFN(fn) \
	static void fn(); \
	static struct fn##_caller { \
		fn##_caller() { fn(); } \
	} fn##_call

/* Calls fn (), which the file defines, when the static objects of the file are destroyed. */
#define EXITFN(fn) \
	static void fn(); \
	static struct fn##_exit_caller { \
		~fn##_exit_caller() { fn(); } \
	} fn##_exit_call

#endif
