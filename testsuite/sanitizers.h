/*
 * Which sanitizer a test is compiled with: 1 or 0. gcc says it by macros, clang by features.
 */
#ifndef SANITIZERS_H
#define SANITIZERS_H

#if defined(__has_feature)
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

/* It has a thread of its own, and starts none in a child of a process with threads. */
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define HAS_TSAN 1
#else
#define HAS_TSAN 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define HAS_ASAN 1
#else
#define HAS_ASAN 0
#endif

#define IS_SANITIZED (HAS_TSAN || HAS_ASAN)

#endif
