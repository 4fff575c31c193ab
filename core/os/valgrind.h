/*
 * The program may run in valgrind, whose tools Helgrind and DRD look for races. They see all accesses, but do not know
 * that an atomic orders them; so they are told as ThreadSanitizer is (tsan.h), with the same two calls.
 *
 * The calls are requests to valgrind: a few instructions that do nothing elsewhere. They are made only if one of the
 * two tools was found when the library was loaded. Other tools, Callgrind for instance, see a process as it always is.
 */
#ifndef EC_VALGRIND_H
#define EC_VALGRIND_H

#include <stdbool.h>

/* Does Helgrind or DRD run this process? */
bool ec_valgrind_looks_for_races(void);

/* As __tsan_acquire and __tsan_release. Only if it does. */
void ec_valgrind_acquire(const void *at);
void ec_valgrind_release(const void *at);

#endif
