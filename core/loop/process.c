/*
 * The process-wide state that belongs to no other file: watch bits, the current base, the faces' slots.
 */
#include "ec.h"

#include "os/atomic.h"
#include "os/chunk.h"
#include "os/mem.h"

unsigned ec_watch = EC_WATCH_FIRST;
const char ec_self_arg = 0;

void ec_watch_set(unsigned which, bool is_on)
{
	if (is_on)
		(void)__atomic_fetch_or(&ec_watch, which, __ATOMIC_RELAXED);
	else
		(void)__atomic_fetch_and(&ec_watch, ~which, __ATOMIC_RELAXED);
}

/* atomic: event_init publishes the base that it made, for calls that name none */
static _Atomic(struct ec_base *) current_base;

struct ec_base *ec_current_base(void)
{
	return ec_load_acquire(&current_base); /* meets ec_set_current_base */
}

void ec_set_current_base(struct ec_base *base)
{
	ec_store_release(&current_base, base);
}

/* atomic: a face publishes what the word points to; ec_slot_set meets ec_slot_get */
static _Atomic(uintptr_t) slots[EC_SLOTS];

uintptr_t ec_slot_get(enum ec_slot slot)
{
	return ec_load_acquire(&slots[slot]);
}

void ec_slot_set(enum ec_slot slot, uintptr_t value)
{
	ec_store_release(&slots[slot], value);
}

/* The blocks in the caches are libc's. */
void ec_mem_set_fns(void *(*malloc_fn)(size_t), void *(*realloc_fn)(void *, size_t), void (*free_fn)(void *))
{
	ec_chunk_leave_cache();
	ec_mem_use(malloc_fn, realloc_fn, free_fn);
}

/* The current base stays: as all bases, it is the program's. */
void ec_global_shutdown(void)
{
	ec_debug_shutdown();
	ec_thread_shutdown();
	ec_chunk_shutdown();
}
