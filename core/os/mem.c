/*
 * The allocator for all memory that a program may own, free or count: libc's, or the functions of
 * event_set_mem_functions.
 *
 * The functions are set before anything is allocated, as <event2/event.h> demands, so they are
 * plain pointers. A size of 0 asks for nothing and gets NULL without an error.
 */
#include "mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "ec.h"
#include "tsan.h"

bool ec_mem_has_fns;

static struct {
	/* const: set before run */
	void *(*malloc)(size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
} custom;

/*
 * A block of memory also passes from thread to thread. The program's ThreadSanitizer takes its allocation and its end
 * for writes. So the first is released, the second acquired: by functions in the place of a program's own, so that
 * chunk.c keeps no blocks either.
 *
 * Where colors are fibers (observe/fibers.h), that would order two colors by the engine's own memory. libc's functions
 * are hidden from ThreadSanitizer there; those of a program are not, because they may have races of their own.
 */
static struct {
	/* const: set before run. What the program set, or libc's. */
	void *(*malloc)(size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
} told = { malloc, realloc, free };

static void *hidden_malloc(size_t size)
{
	void *p;

	ec_tsan_ignore_begin();
	p = malloc(size);
	ec_tsan_ignore_end();
	return p;
}

static void *hidden_realloc(void *p, size_t size)
{
	void *to;

	ec_tsan_ignore_begin();
	to = realloc(p, size);
	ec_tsan_ignore_end();
	return to;
}

static void *hidden_calloc(size_t size)
{
	void *p;

	ec_tsan_ignore_begin();
	p = calloc(1, size);
	ec_tsan_ignore_end();
	return p;
}

static void hidden_free(void *p)
{
	ec_tsan_ignore_begin();
	free(p);
	ec_tsan_ignore_end();
}

static void *told_malloc(size_t size)
{
	void *p = told.malloc(size);

	if (p != NULL)
		ec_tsan_release(p);
	return p;
}

static void *told_realloc(void *p, size_t size)
{
	void *to;

	if (p != NULL)
		ec_tsan_acquire(p);
	to = told.realloc(p, size);
	if (to != NULL)
		ec_tsan_release(to);
	return to;
}

static void told_free(void *p)
{
	ec_tsan_acquire(p);
	told.free(p);
}

void ec_mem_use(void *(*malloc_fn)(size_t), void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *))
{
	if (ec_tsan_is_on()) {
		told.malloc = malloc_fn != NULL ? malloc_fn : malloc;
		told.realloc = realloc_fn != NULL ? realloc_fn : realloc;
		told.free = free_fn != NULL ? free_fn : free;
		malloc_fn = told_malloc;
		realloc_fn = told_realloc;
		free_fn = told_free;
	}
	if (ec_tsan_has_fibers() && told.malloc == malloc && told.realloc == realloc && told.free == free) {
		malloc_fn = hidden_malloc;
		realloc_fn = hidden_realloc;
		free_fn = hidden_free;
	}
	custom.malloc = malloc_fn;
	custom.realloc = realloc_fn;
	custom.free = free_fn;
	ec_mem_has_fns = malloc_fn != NULL || realloc_fn != NULL || free_fn != NULL;
}

/* Before the program's main. */
static __attribute__((constructor)) void look_for_tsan(void)
{
	if (ec_tsan_look())
		ec_mem_use(NULL, NULL, NULL);
}

void *ec_malloc(size_t size)
{
	if (size == 0)
		return NULL;
	if (custom.malloc != NULL)
		return custom.malloc(size);
	return malloc(size);
}

/* Sets errno, because callers may read it and the program's malloc need not set it. */
static void *custom_alloc(size_t size)
{
	void *p = custom.malloc(size);

	if (p == NULL)
		errno = ENOMEM;
	return p;
}

void *ec_calloc(size_t num, size_t size)
{
	size_t total;
	void *p;

	if (num == 0 || size == 0)
		return NULL;
	if (__builtin_mul_overflow(num, size, &total)) {
		errno = ENOMEM;
		return NULL;
	}
	if (custom.malloc == NULL)
		return calloc(num, size);
	if (custom.malloc == hidden_malloc)
		return hidden_calloc(total);
	p = custom_alloc(total);
	if (p != NULL)
		memset(p, 0, total);
	return p;
}

char *ec_strdup(const char *s)
{
	size_t size;
	char *p;

	if (s == NULL) {
		errno = EINVAL;
		return NULL;
	}
	if (custom.malloc == NULL)
		return strdup(s);
	size = strlen(s) + 1;
	p = custom_alloc(size);
	if (p != NULL)
		memcpy(p, s, size);
	return p;
}

/* The program's malloc takes no alignment. Memory that begins within a cache line is only slower. */
void *ec_lines_alloc(size_t size)
{
	void *p;

	if (custom.malloc != NULL)
		return custom_alloc(size);
	return posix_memalign(&p, EC_CACHE_LINE, size) == 0 ? p : NULL;
}

void *ec_realloc(void *p, size_t size)
{
	if (custom.realloc != NULL)
		return custom.realloc(p, size);
	return realloc(p, size);
}

void ec_free(void *p)
{
	if (p == NULL)
		return;
	if (custom.free != NULL)
		custom.free(p);
	else
		free(p);
}
