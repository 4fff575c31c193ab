/*
 * The allocator that event_set_mem_functions can replace.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ec.h"

static void *(*malloc_fn)(size_t);
static void *(*realloc_fn)(void *, size_t);
static void (*free_fn)(void *);

void ec_mem_set_fns(void *(*m)(size_t), void *(*r)(void *, size_t), void (*f)(void *))
{
	malloc_fn = m;
	realloc_fn = r;
	free_fn = f;
}

void *ec_malloc(size_t size)
{
	if (size == 0)
		return NULL;
	return malloc_fn != NULL ? malloc_fn(size) : malloc(size);
}

void *ec_calloc(size_t num, size_t size)
{
	size_t bytes;
	void *p;

	if (num == 0 || size == 0)
		return NULL;
	if (malloc_fn == NULL)
		return calloc(num, size);
	if (__builtin_mul_overflow(num, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	p = malloc_fn(bytes);
	if (p != NULL)
		memset(p, 0, bytes);
	return p;
}

char *ec_strdup(const char *s)
{
	size_t size;
	char *copy;

	if (s == NULL) {
		errno = EINVAL;
		return NULL;
	}
	size = strlen(s) + 1;
	copy = ec_malloc(size);
	if (copy == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	return memcpy(copy, s, size);
}

void *ec_realloc(void *p, size_t size)
{
	return realloc_fn != NULL ? realloc_fn(p, size) : realloc(p, size);
}

void ec_free(void *p)
{
	if (p == NULL)
		return;			/* a program's own function need not know that */
	if (free_fn != NULL)
		free_fn(p);
	else
		free(p);
}
