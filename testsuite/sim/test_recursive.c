/*
 * The recursive mutex (lock/recursive.h): never are two threads inside, a nested pair does not let others in, no
 * wake-up is lost, and a thread that does not hold it cannot release it.
 */
#include <stddef.h>
#include <stdlib.h>

#include "core/lock/recursive.h"
#include "driver.h"
#include "sched.h"
#include "engine.h"

enum { ROUNDS = 4, THREADS_MAX = 3 };

static struct {
	struct ec_recursive lock;
	struct sim_mark mark;
	unsigned rounds;		/* all threads'; the lock guards it */
} t;

static void inside(unsigned depth)
{
	unsigned before;

	ec_recursive_lock(&t.lock);
	if (depth > 0) {
		inside(depth - 1);
		sim_check(ec_recursive_unlock(&t.lock) == 0);
		return;
	}
	sim_mark_enter(&t.mark);
	before = t.rounds;
	(void)ec_load_relaxed(&t.lock.word);	/* another thread may run here */
	t.rounds = before + 1;
	sim_mark_leave(&t.mark);
	sim_check(ec_recursive_unlock(&t.lock) == 0);
}

static void thread_main(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		inside(sim_random(3));
		sim_check(ec_recursive_unlock(&t.lock) == -EPERM);
	}
}

static void body(const void *arg)
{
	const unsigned *num = arg;
	int ids[THREADS_MAX];
	unsigned i;

	t.lock = (struct ec_recursive){ .word = EC_RECURSIVE_FREE };
	t.mark = (struct sim_mark){ .is_in = false };
	t.rounds = 0;
	for (i = 0; i < *num; i++)
		ids[i] = sim_start("thread", thread_main, NULL);
	for (i = 0; i < *num; i++)
		sim_join(ids[i]);
	sim_check(t.rounds == *num * ROUNDS);
	sim_check(t.lock.word == EC_RECURSIVE_FREE && t.lock.depth == 0 && t.lock.holder == 0);
}

/* Who gets the lock may end what it lies in, while the thread that released it is still on its way out. */
static struct {
	struct ec_recursive *lock;
	unsigned refs;			/* the lock's */
} owned;

static void put_main(void *arg)
{
	struct ec_recursive *lock = owned.lock;
	unsigned left;

	(void)arg;
	ec_recursive_lock(lock);
	left = --owned.refs;
	sim_check(ec_recursive_unlock(lock) == 0);
	if (left == 0)
		free(lock);
}

static void body_put(const void *arg)
{
	const unsigned *num = arg;
	int ids[THREADS_MAX];
	unsigned i;

	owned.lock = calloc(1, sizeof(*owned.lock));
	sim_check(owned.lock != NULL);
	owned.refs = *num;
	for (i = 0; i < *num; i++)
		ids[i] = sim_start("put", put_main, NULL);
	for (i = 0; i < *num; i++)
		sim_join(ids[i]);
	sim_check(owned.refs == 0);
}

int main(int argc, char **argv)
{
	static const unsigned two = 2, three = 3;
	const struct sim_case cases[] = {
		{ .name = "two", .body = body, .arg = &two },
		{ .name = "three", .body = body, .arg = &three },
		{ .name = "last-one-frees", .body = body_put, .arg = &three },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
