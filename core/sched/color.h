/*
 * A color: the serial queue of the callbacks that share a 32-bit number.
 *
 *          post          run           done
 *   IDLE ------> QUEUED ------> RUNNING ------> IDLE, or QUEUED when tasks are left
 *                  ^   shared run  |
 *                  |               v
 *                  +---- last ---- WAITING   an exclusive task waits for shared ones to end
 *
 * A color is at one worker at a time, and the RUNQ lock of that worker guards it. So one read-modify-write is enough
 * for a post, its queueing and the decision to wake. Rejected: a state word changed by compare-and-swap. It would
 * need the lock of the queue as well, because event_del takes tasks from the middle.
 *
 * A color exists while a pending event, a queued task, a run or a hint of the program refers to it. After that it
 * stays in the ring of idle colors for some time (refs.h).
 *
 * A lookup takes no lock. The base frees no color struct while it lives, so a stale pointer is
 * harmless: ec_color_lock checks the color under the lock of its worker.
 */
#ifndef EC_COLOR_H
#define EC_COLOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock/sync.h"
#include "os/list.h"

struct ec_base;
struct ec_worker;
struct ec_task;

enum ec_color_state { EC_COLOR_IDLE, EC_COLOR_QUEUED, EC_COLOR_RUNNING, EC_COLOR_WAITING };

enum {
	EC_COLOR_COST_SET = 0x01,	/* cost_ns is the program's */
	EC_COLOR_PENALTY_SET = 0x02,
	EC_COLOR_PINNED = 0x04,		/* never leaves its worker: color 0 */
	EC_COLOR_YIELDED = 0x10,	/* used up its budget: it is queued among colors without posts */
	EC_COLOR_KEPT = 0x08,		/* in its worker's ring of idle colors, idle or not */
	EC_COLOR_IN_POSTS = 0x20,	/* which of the two lists of its level has it */
	EC_COLOR_OTHERS_NEXT = 0x40,	/* posts ran in the last run: other tasks go first in the next one */
	EC_COLOR_OTHERS_FIRST = 0x80,	/* `others_due` tasks go before posts now */
};

/* In posts_num, while a thread that holds RUNQ delivers messages: it does not count all posts yet. */
#define EC_POSTS_COMING UINT32_C(0x80000000)

/* How much shorter a pointer is than the widest. */
enum { EC_SHORT = 8 - sizeof(void *) };

/* Each run writes the fields of the first cache line. Lookups read the second one, which is hardly ever written. */
struct ec_color {
	/* RUNQ of `worker` */
	struct ec_list node;		/* in a run queue (QUEUED) */
	struct ec_list tasks;		/* by priority, posts before others, then in order */
	uint32_t tasks_num;		/* of color 0: counted only in a base with several workers */
	_Atomic(uint32_t) posts_num;	/* of tasks; the worker that runs the color reads it without the lock */
	uint32_t refs;
	uint32_t cost_ns;		/* of a callback, running mean; 0: not known yet */
	uint64_t callbacks;
	uint32_t run_ns;		/* of the last run */
	uint8_t state;
	uint8_t flags;
	uint8_t level;			/* of the run queue it is in */
	uint8_t away;			/* grows with steals, shrinks with runs at home */
	char pad0[4 * EC_SHORT];

	/* atomic: worker and number are written before `alive`. A lookup uses them to find the lock for the rest. */
	_Atomic(struct ec_worker *) worker;
	_Atomic(uint32_t) number;
	_Atomic(uint32_t) hash_next;	/* index + 1; 0: none */
	uint32_t index;			/* const: of this struct, for ec_color_at */
	_Atomic(uint16_t) home;		/* id of the worker that watches new descriptors and timers */
	_Atomic(uint8_t) alive;

	/* RUNQ of `worker` */
	uint8_t others_due;			/* if EC_COLOR_OTHERS_FIRST, and then not 0 */
	uint16_t penalty;		/* 0: never moves */
	uint16_t readers;		/* shared callbacks that run now */
	uint32_t last_num;		/* tasks that must still run before the loop ends; 0 if IDLE */
	char pad1[EC_SHORT];
};

_Static_assert(offsetof(struct ec_color, worker) == EC_CACHE_LINE, "a lookup takes no line from the worker");
_Static_assert(2 * sizeof(struct ec_color) % EC_CACHE_LINE == 0, "every other color begins on a line");

/*
 * May a color be born? MAY_FAIL: yes, and the caller can report a failure. NEEDED: yes, and a failure would lose a
 * callback. The last free structs are reserved for NEEDED: as many as all colors so far, and at least 64.
 */
enum ec_birth { EC_BIRTH_MAY_FAIL, EC_BIRTH_NEEDED, EC_BIRTH_NONE };

/* The shards of the table that finds colors by number. */
struct ec_color_shard;
struct ec_colors_first;

struct ec_colors {
	/* atomic: written under slab_mu */
	_Atomic(struct ec_color_shard *) shards; /* each has a lock; NULL: no color was born */
	_Atomic(struct ec_color *) slabs[27];

	/* slab_mu: rank LEAF */
	void *blocks[27];		/* the memory of slabs; NULL: it is in `first` */
	/* memory for slab 0 and for the shards, not cleared yet; NULL: none, or in use */
	void *reserve;
	void *shards_reserve;

	/* the start lock */
	struct ec_colors_first *first;	/* the memory of both; NULL: the base never had a color */
	char pad[EC_CACHE_LINE];
	struct ec_spin slab_mu;

	/* slab_mu */
	uint32_t free;			/* the first free struct: index + 1; hash_next links the others; 0: none */
	uint32_t slabs_num;
	uint32_t used;			/* structs that were handed out */
	uint32_t next_home;
};

/* The numbers that the base hands out: see numbers.h. */
enum { EC_NUMBER_USED = -1 };

struct ec_numbers {
	/* mu: rank LEAF */
	struct ec_spin mu;
	int32_t *next;			/* by number: EC_NUMBER_USED, or the next released one + 1; 0: it is the last */
	int32_t cap;
	int32_t num;			/* handed out so far; those above were never */
	int32_t first, last;		/* of the released ones, + 1; 0: there is none */
};

#endif
