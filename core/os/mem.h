/*
 * The allocator, for core's own files; ec.h has the rest.
 */
#ifndef EC_MEM_H
#define EC_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* before run: set with the functions, when nothing is allocated yet */
extern bool ec_mem_has_fns __attribute__((visibility("hidden")));

/* These allocate from here on; NULL: libc's do. ec_mem_set_fns also empties the caches of libc's blocks. */
void ec_mem_use(void *(*malloc_fn)(size_t), void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *));

/* Did the program put functions of its own in libc's place? */
static inline bool ec_mem_is_custom(void)
{
	return __builtin_expect(ec_mem_has_fns, 0);
}

#endif
