/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_CONFIG_H
#define LIBASYNC_CONFIG_H

/*
 * What all headers of libasync-smp share: which names the library exports.
 */
#if !defined(__cplusplus) || __cplusplus < 201703L
#error "libasync-smp needs C++17: compile with -std=gnu++17 (old programs: add -fpermissive -w)"
#endif

#define LIBASYNC_EXPORT __attribute__((visibility("default")))
#define LIBASYNC_HIDDEN __attribute__((visibility("hidden")))

#define LIBASYNC_COLD __attribute__((noinline, cold))
#define LIBASYNC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

#endif
