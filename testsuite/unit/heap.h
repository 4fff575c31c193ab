/* How many bytes libc's heap has handed out; 0 where libc does not count them (musl, glibc before 2.33, sanitizers). */
#ifndef UNIT_HEAP_H
#define UNIT_HEAP_H

#include <features.h>
#include <malloc.h>
#include <stddef.h>

#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33)
#define HAS_MALLINFO2
#endif
#endif

#ifdef HAS_MALLINFO2
static inline size_t heap_in_use(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}
#else
static inline size_t heap_in_use(void)
{
	return 0;
}
#endif

#endif
