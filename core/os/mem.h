/*
 * The allocator, for core's own files; ec.h has the rest.
 */
#ifndef EC_MEM_H
#define EC_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* before run: set with the functions, when nothing is allocated yet */
extern bool ec_mem_has_fns __attribute__((visibility("hidden")));

/* Sets the allocator; NULL: libc's. ec_mem_set_fns, which calls this, also frees the recycled blocks of libc. */
void ec_mem_use(void *(*malloc_fn)(size_t), void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *));

/* Did the program set its own allocator? */
static inline bool ec_mem_is_custom(void)
{
	return __builtin_expect(ec_mem_has_fns, 0);
}

/*
 * Gives free memory of libc's heap back to the kernel, wherever it lies. The kernel needs up to 0.5 ms for each MB, so
 * this is for a thread that is about to poll, long after the burst, and holds no lock.
 */
void ec_mem_trim(void);

#endif
