#include "tsan.h"

#include <stddef.h>
#include <stdint.h>

#include "ec.h"

/* ThreadSanitizer's runtime has them. */
void __tsan_acquire(void *at) __attribute__((weak));
void __tsan_release(void *at) __attribute__((weak));

bool ec_has_tsan;

void ec_tsan_do_acquire(const void *at)
{
	__tsan_acquire((void *)(uintptr_t)at);
}

void ec_tsan_do_release(const void *at)
{
	__tsan_release((void *)(uintptr_t)at);
}

#if defined(EC_TSAN_SEES_ALL) || defined(EC_SIM)

bool ec_tsan_look(void)
{
	return false;
}

#else

bool ec_tsan_is_loaded;

bool ec_tsan_look(void)
{
	ec_has_tsan = ec_tsan_is_loaded = __tsan_acquire != NULL && __tsan_release != NULL;
	return ec_tsan_is_loaded;
}

#endif
