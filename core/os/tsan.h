/*
 * The program's ThreadSanitizer.
 *
 * A program may be compiled with -fsanitize=thread, and these libraries not. ThreadSanitizer then sees the program's
 * accesses and the calls of the C library, but not the atomics here. So it must be told where one thread hands over to
 * another: release at an address before, acquire at the same address after. It orders what the releasing thread did
 * before what the acquiring thread does next. Without ThreadSanitizer in the process, each costs one untaken branch.
 *
 * If the libraries themselves are compiled with -fsanitize=thread, it sees the atomics, and these do nothing.
 */
#ifndef EC_TSAN_H
#define EC_TSAN_H

#include <stdbool.h>

#if defined(__SANITIZE_THREAD__)
#define EC_TSAN_SEES_ALL
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define EC_TSAN_SEES_ALL
#endif
#endif

#if defined(EC_TSAN_SEES_ALL) || defined(EC_SIM)

static inline bool ec_tsan_is_on(void)
{
	return false;
}

#else

/* const: set when the library is loaded */
extern bool ec_tsan_is_loaded __attribute__((visibility("hidden")));

static inline bool ec_tsan_is_on(void)
{
	return __builtin_expect(ec_tsan_is_loaded, 0);
}

#endif

/* Is it in the process? Before the program's main, and before other threads: see mem.c. */
bool ec_tsan_look(void);

/* For the next two only. */
void ec_tsan_do_acquire(const void *at);
void ec_tsan_do_release(const void *at);

static inline void ec_tsan_acquire(const void *at)
{
	if (ec_tsan_is_on())
		ec_tsan_do_acquire(at);
}

static inline void ec_tsan_release(const void *at)
{
	if (ec_tsan_is_on())
		ec_tsan_do_release(at);
}

#endif
