/*
 * The program's ThreadSanitizer.
 *
 * A program may be compiled with -fsanitize=thread, and these libraries not. ThreadSanitizer then sees the program's
 * accesses and the calls of the C library, but not the atomics here. So it must be told where one thread hands over to
 * another: release at an address before, acquire at the same address after. It orders what the releasing thread did
 * before what the acquiring thread does next. Without ThreadSanitizer in the process, each costs one untaken branch.
 *
 * Where the program runs in Helgrind or DRD (valgrind.h), the same calls tell these.
 *
 * Fibers are threads to it that take turns on one thread of the system. Each has an order of its own, so it reports
 * what two of them do to the same memory as if they ran at the same time.
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

static inline bool ec_tsan_has_fibers(void)
{
	return false;
}

#else

/* const: set when the library is loaded */
extern bool ec_tsan_is_loaded __attribute__((visibility("hidden")));
extern bool ec_tsan_is_prepared __attribute__((visibility("hidden")));

static inline bool ec_tsan_is_on(void)
{
	return __builtin_expect(ec_tsan_is_loaded, 0);
}

/* Are fibers in use? */
static inline bool ec_tsan_has_fibers(void)
{
	return __builtin_expect(ec_tsan_is_prepared, 0);
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

/* ---------------------------------------------------------------- fibers */

/* What else the runtime must have. Called before the program's main; true: all of the functions below work. */
bool ec_tsan_fibers_prepare(void);

/* Before the first fiber is made. All fibers are ordered after the first call. No two threads call it at one time. */
void ec_tsan_fibers_start(void);

/* A fiber that is ordered after nothing else. No two threads make one at one time. `name` is copied. */
void *ec_tsan_fiber_new(void);
void ec_tsan_fiber_free(void *fiber);
void ec_tsan_fiber_set_name(void *fiber, const char *name);

/* The fiber of the calling thread; a thread that never switched is one, too. */
void *ec_tsan_fiber_self(void);

/* It orders nothing. */
void ec_tsan_fiber_switch(void *fiber);

/*
 * The thread-local variables of the calling thread are no memory that two fibers share: two workers would have two of
 * them. Races about them are not reported from now on. They may be told more than once.
 */
void ec_tsan_own_thread_locals(void);

/* Between the two, accesses of this thread are not seen. They nest. */
void ec_tsan_ignore_begin(void);
void ec_tsan_ignore_end(void);

#endif
