/*
 * A color: the serial queue of the callbacks that share a 32-bit number.
 *
 *          post          run           done
 *   IDLE ------> QUEUED ------> RUNNING ------> IDLE, or QUEUED when tasks are left
 *                  ^   shared run  |
 *                  |               v
 *                  +---- last ---- WAITING   an exclusive task waits for shared ones to end
 *
 * A color is at one worker at a time, and that worker's RUNQ lock guards it: one lock, one
 * read-modify-write for a post, its queueing and the decision to wake. (A state word
 * changed by compare-and-swap was tried on paper: it needs the queue's lock as well,
 * because event_del takes tasks out of the middle.)
 *
 * It exists only while something refers to it: a pending event, a queued task, a run in
 * progress, a hint. Idle ones are kept for a while in a ring of their worker, so that
 * a color that comes and goes costs no birth each time.
 *
 * Lookup takes no lock: color structs are never given back to the allocator while the
 * base lives, so a stale pointer is harmless, and what it found is checked under the lock
 * of the worker that it names (ec_color_lock).
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
	EC_COLOR_YIELDED = 0x10,	/* used up its turn: queued behind the others, posts or not */
	EC_COLOR_KEPT = 0x08,		/* its worker's ring of idle colors has it, idle or not */
	EC_COLOR_IN_POSTS = 0x20,	/* which of the two lists of its level has it */
	EC_COLOR_OTHERS_NEXT = 0x40,		/* its posts had the last run: what waits beside them is owed the next one */
	EC_COLOR_OTHERS_FIRST = 0x80,		/* `others_due` of those go first now */
};

/* What its worker writes at each run is one line; what who looks for it reads is the next, and hardly ever written. */
struct ec_color {
	/* RUNQ of `worker` */
	struct ec_list node;		/* in a run queue (QUEUED) */
	struct ec_list tasks;		/* by priority, posts before others, then in order */
	uint32_t tasks_num;
	_Atomic(uint32_t) posts_num;	/* of tasks; the worker that runs it reads it without the lock */
	uint32_t refs;
	uint32_t cost_ns;		/* of a callback, running mean; 0: not known yet */
	uint64_t callbacks;
	uint32_t run_ns;		/* of the last run */
	uint8_t state;
	uint8_t flags;
	uint8_t level;			/* of the run queue it is in */
	uint8_t away;			/* grows with steals, shrinks with runs at home */

	/* atomic: worker and number are written before `alive`, and read to find the lock that guards the rest */
	_Atomic(struct ec_worker *) worker;
	_Atomic(uint32_t) number;
	_Atomic(uint32_t) hash_next;	/* index + 1; 0: none */
	uint32_t index;			/* const: where it lies, for ec_color_at */
	_Atomic(uint16_t) home;		/* index of the worker that watches what is added now */
	_Atomic(uint8_t) alive;

	/* RUNQ of `worker` */
	uint8_t others_due;			/* if EC_COLOR_OTHERS_FIRST: tasks other than posts that go before posts; not 0 */
	uint16_t penalty;		/* 0: never moves */
	uint16_t readers;		/* shared callbacks running now */
	uint32_t last_num;		/* tasks that still run though the loop ends; none in one that is IDLE */
};

_Static_assert(offsetof(struct ec_color, worker) == EC_CACHE_LINE, "who only looks for a color disturbs nobody");

/*
 * May a color that is not there yet be made? A caller that can report a failure leaves the last free structs to those
 * that cannot, whose callback would be lost: there are as many of them as all colors so far, and 64 at least.
 */
enum ec_birth { EC_BIRTH_MAY_FAIL, EC_BIRTH_NEEDED, EC_BIRTH_NONE };

/* The shards of the table that finds colors by number. */
struct ec_color_shard;

struct ec_colors {
	struct ec_color_shard *shards;
	_Atomic(struct ec_color *) slabs[27];
	void *blocks[27];		/* what slabs lie in: slab_mu */
	char pad[EC_CACHE_LINE];
	struct ec_spin slab_mu;		/* rank LEAF: guards growth, and what follows */
	uint32_t free;			/* index + 1, and then by hash_next; 0: none */
	uint32_t slabs_num;
	uint32_t used;			/* how many were handed out */
	uint32_t next_home;
};

#endif
