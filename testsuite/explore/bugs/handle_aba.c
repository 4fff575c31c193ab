/*
 * A handle is the number of a slot. It is in use by a transfer while its owner gives it back, and another client gets
 * the same number: the transfer then writes to the wrong client.
 */
#include "bug.h"

enum { OWNER = 1, TRANSFER, SLOTS, NEXT };

enum { SLOTS_NUM = 2 };

static int owner_of[SLOTS_NUM];		/* 0: free */

struct transfer {
	int slot, owner;
};

static void transfer(void *arg)
{
	const struct transfer *t = arg;

	if (owner_of[t->slot] != 0 && owner_of[t->slot] != t->owner)
		fail("a transfer writes to another client");
}

static int acquire(int owner)
{
	int i;

	for (i = 0; i < SLOTS_NUM; i++) {
		if (owner_of[i] == 0) {
			owner_of[i] = owner;
			return i;
		}
	}
	return -1;
}

static void release(void *arg)
{
	owner_of[(intptr_t)arg] = 0;
}

static void next_client(void *arg)
{
	(void)arg;
	must(acquire(2) >= 0);
}

static void close_owner(void *arg)
{
	post(SLOTS, release, arg);
}

static void first_client(void *arg)
{
	static struct transfer t;

	(void)arg;
	t = (struct transfer){ .slot = acquire(1), .owner = 1 };
	post(TRANSFER, transfer, &t);
	post(OWNER, close_owner, (void *)(intptr_t)t.slot);
}

int main(void)
{
	begin();
	post(OWNER, first_client, NULL);
	post(NEXT, next_client, NULL);
	run();
	return 0;
}
