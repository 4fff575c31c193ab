/*
 * Two colors use one variable, on two workers: the first one waits for the second.
 */
#include <stdatomic.h>

#include "../abi/tsan/program.h"

static struct event_base *base;
static unsigned long spoilt;
static atomic_uint met;

static void spoil(void *arg)
{
	(void)arg;
	atomic_fetch_add_explicit(&met, 1, memory_order_relaxed);
	while (atomic_load_explicit(&met, memory_order_relaxed) < 2)
		usleep(100);		/* valgrind runs one thread at a time */
	spoilt++;
}

int main(void)
{
	base = base_new(2);
	post(base, 1, spoil, NULL);
	post(base, 2, spoil, NULL);
	CHECK(event_base_loop(base, 0) == 1 && spoilt > 0);
	event_base_free(base);
	return 0;
}
