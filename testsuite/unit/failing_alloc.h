/*
 * An allocator whose Nth call, of whatever thread, fails, and that counts what is not given back.
 */
#ifndef FAILING_ALLOC_H
#define FAILING_ALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/ec.h"

static struct {
	atomic_size_t calls;
	atomic_size_t fail_at;	/* from 1; 0: none */
	atomic_long live;
} failing;

static inline void *failing_malloc(size_t size)
{
	void *p;

	if (++failing.calls == failing.fail_at)
		return NULL;
	p = malloc(size);
	failing.live += p != NULL;
	return p;
}

static inline void *failing_realloc(void *p, size_t size)
{
	void *to;

	if (++failing.calls == failing.fail_at)
		return NULL;
	to = realloc(p, size);
	failing.live += p == NULL && to != NULL;
	return to;
}

static inline void failing_free(void *p)
{
	failing.live -= p != NULL;
	free(p);
}

/* Count, and from now on let the Nth call fail. */
static inline void failing_from_now(size_t nth)
{
	failing.calls = 0;
	failing.fail_at = nth;
}

static inline int failing_setup(void **state)
{
	(void)state;
	failing_from_now(0);
	failing.live = 0;
	ec_mem_set_fns(failing_malloc, failing_realloc, failing_free);
	return 0;
}

/* Fails where something was not given back. */
static inline int failing_teardown(void **state)
{
	(void)state;
	ec_mem_set_fns(NULL, NULL, NULL);
	return failing.live == 0 ? 0 : -1;
}

#endif
