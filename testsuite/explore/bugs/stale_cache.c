/*
 * A cache asks the store, and the answer comes over the network. A write that comes meanwhile invalidates the cache
 * before the older answer fills it.
 */
#include "bug.h"

enum { STORE = 1, CACHE, NETWORK, WRITER };

static int stored = 1, cached;		/* 0: nothing is cached */

static void fill(void *arg)
{
	cached = (int)(intptr_t)arg;
}

static void carry(void *arg)
{
	post(CACHE, fill, arg);
}

static void store_read(void *arg)
{
	(void)arg;
	post(NETWORK, carry, (void *)(intptr_t)stored);
}

static void miss(void *arg)
{
	(void)arg;
	post(STORE, store_read, NULL);
}

static void invalidate(void *arg)
{
	(void)arg;
	cached = 0;
}

static void store_write(void *arg)
{
	(void)arg;
	stored = 2;
	post(CACHE, invalidate, NULL);
}

static void write_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	post(STORE, store_write, NULL);
}

int main(void)
{
	begin();
	post(CACHE, miss, NULL);
	after(10, WRITER, write_late, NULL);
	run();
	if (cached != 0 && cached != stored)
		fail("the cache has an old value");
	return 0;
}
