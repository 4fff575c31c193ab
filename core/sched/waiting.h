/*
 * One wait of a thread, as wait.h records it. A base embeds that of its nested loop.
 */
#ifndef EC_WAITING_H
#define EC_WAITING_H

#include <stdbool.h>
#include <stdint.h>

#include "lock/sync.h"
#include "os/list.h"

struct ec_base;
struct ec_worker;

enum ec_wait_for {
	EC_WAIT_CALLBACK,		/* the end of the callback that `worker` runs */
	EC_WAIT_QUIESCENT,			/* … or until it waits in ec_base_pause for its turn */
	EC_WAIT_RESUME,			/* the end of the pause of `base`; its callback is quiescent meanwhile */
	EC_WAIT_LOOP,			/* a nested loop: the end of all callbacks of `base` */
	EC_WAIT_THREADS			/* the end of the threads of `base` */
};

/* A wait of one thread, on its stack; of a nested loop, in its base. */
struct ec_waiting {
	/* const while it is in the graph */
	enum ec_wait_for what;
	bool is_implied;		/* of a nested loop: the thread does not sleep */
	struct ec_base *base;
	struct ec_worker *worker;	/* CALLBACK, QUIESCENT */
	_Atomic(uint32_t) *futex;	/* where it sleeps */
	const void *thread;
	struct ec_worker *self;		/* ec_self() of the thread */
	struct ec_worker *frame;	/* the innermost callback that it is in, or NULL */

	/* waits: the WAIT lock */
	struct ec_list link;
	unsigned epoch;			/* of the list that it is in */
	struct ec_waiting *from;	/* of the search: a wait that depends on this one */
	struct ec_waiting *todo;

	/* atomic: another wait ended this one: break_one sets it, ec_wait_is_broken reads it */
	_Atomic(bool) is_broken;
};

#endif
