/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * Counts what malloc and its relatives do, in all of the process: the loader finds a program's functions ahead of
 * libc's. Only sweep-calls has this file, so the program that counts instructions runs malloc as it is.
 */
#include "sweep.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define HERE __attribute__((visibility("default")))

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *at);

static uint64_t allocs, frees, bytes;

void sweep_count_allocs(struct sweep_allocs *ret)
{
	ret->allocs = __atomic_load_n(&allocs, __ATOMIC_RELAXED);
	ret->frees = __atomic_load_n(&frees, __ATOMIC_RELAXED);
	ret->bytes = __atomic_load_n(&bytes, __ATOMIC_RELAXED);
}

static void *counted(void *at, size_t size)
{
	__atomic_add_fetch(&allocs, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&bytes, size, __ATOMIC_RELAXED);
	return at;
}

HERE void *malloc(size_t size)
{
	return counted(__libc_malloc(size), size);
}

HERE void *calloc(size_t count, size_t size)
{
	return counted(__libc_calloc(count, size), count * size);
}

HERE void *realloc(void *at, size_t size)
{
	return counted(__libc_realloc(at, size), size);
}

HERE void *memalign(size_t align, size_t size)
{
	return counted(__libc_memalign(align, size), size);
}

HERE void *aligned_alloc(size_t align, size_t size)
{
	return counted(__libc_memalign(align, size), size);
}

HERE int posix_memalign(void **ret, size_t align, size_t size)
{
	void *at = counted(__libc_memalign(align, size), size);

	if (at == NULL)
		return ENOMEM;
	*ret = at;
	return 0;
}

HERE void free(void *at)
{
	if (at != NULL)
		__atomic_add_fetch(&frees, 1, __ATOMIC_RELAXED);
	__libc_free(at);
}
