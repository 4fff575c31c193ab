/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CONFIG_H
#define LIBASYNC_CONFIG_H

/*
 * What all headers of libasync-smp share: which names the library exports, and what depends on the compiler.
 */
#if !defined(__cplusplus) || __cplusplus < 201703L
#error "libasync-smp needs C++17: compile with -std=gnu++17 (old programs: add -fpermissive -w)"
#endif

#define LIBASYNC_EXPORT __attribute__((visibility("default")))
#define LIBASYNC_HIDDEN __attribute__((visibility("hidden")))

#define LIBASYNC_COLD __attribute__((noinline, cold))
#define LIBASYNC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* For conditions. In a function that returns the result, clang forgets it. */
#define LIBASYNC_LIKELY(what) __builtin_expect((what), true)

#if defined(__has_feature)
#define LIBASYNC_HAS_FEATURE(name) __has_feature(name)
#else
#define LIBASYNC_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || LIBASYNC_HAS_FEATURE(thread_sanitizer)
#define LIBASYNC_IS_TSAN 1
#else
#define LIBASYNC_IS_TSAN 0
#endif
#if LIBASYNC_IS_TSAN || defined(__SANITIZE_ADDRESS__) || LIBASYNC_HAS_FEATURE(address_sanitizer) || \
	LIBASYNC_HAS_FEATURE(memory_sanitizer)
#define LIBASYNC_IS_SANITIZED 1
#else
#define LIBASYNC_IS_SANITIZED 0
#endif

/*
 * A flag that is set once, before what it tells may happen. A plain load costs a third of an atomic one, which no
 * compiler joins with the test or with the load before it; but ThreadSanitizer takes it for a race.
 */
#if LIBASYNC_IS_TSAN
#define LIBASYNC_LOAD_FLAG(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)
#else
#define LIBASYNC_LOAD_FLAG(flag) (flag)
#endif

#endif
