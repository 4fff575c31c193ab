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

/*
 * A flag that is set once, before what it tells may happen. A plain load costs a third of an atomic one, which no
 * compiler joins with the test or with the load before it; but ThreadSanitizer takes it for a race.
 */
#if defined(__SANITIZE_THREAD__)
#define LIBASYNC_LOAD_FLAG(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LIBASYNC_LOAD_FLAG(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)
#endif
#endif
#ifndef LIBASYNC_LOAD_FLAG
#define LIBASYNC_LOAD_FLAG(flag) (flag)
#endif

#endif
