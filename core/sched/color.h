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
	EC_COLOR_OWED = 0x40,		/* its posts had a run while others waited: `owed` of those go first now */
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
	uint8_t owed;			/* if EC_COLOR_OWED: tasks other than posts that go before posts; not 0 */
	uint16_t penalty;		/* 0: never moves */
	uint16_t readers;		/* shared callbacks running now */
	uint32_t last_num;		/* tasks that still run though the loop ends; none in one that is IDLE */
};

_Static_assert(offsetof(struct ec_color, worker) == EC_CACHE_LINE, "who only looks for a color disturbs nobody");

/*
 * The color `number`, with the RUNQ lock of the worker that it is at (ec_color_unlock). It is
 * made if it does not exist; NULL then means no memory. `hint`: an index + 1 that an
 * earlier call wrote, or 0; *hint is set.
 */
struct ec_color *ec_color_lock(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint);

/* As above, for a post: a new color begins at `near`, the worker that posts; NULL: at its home. */
struct ec_color *ec_color_lock_near(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint,
				    struct ec_worker *near);

/* As above, but NULL if nothing refers to it. */
struct ec_color *ec_color_lock_existing(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint);

/*
 * Without locks: that color, or what was it just now, or NULL. It is to be looked at again (ec_color_is) under the RUNQ
 * lock of its worker.
 */
struct ec_color *ec_color_guess(struct ec_base *base, uint32_t number);

void ec_color_unlock(struct ec_color *c);

/* Under its RUNQ lock. put: the last one leaves it to the idle ring (rest), whose oldest may end. */
static inline void ec_color_get(struct ec_color *c)
{
	c->refs++;
}

void ec_color_rest(struct ec_base *base, struct ec_color *c);

static inline void ec_color_put(struct ec_base *base, struct ec_color *c)
{
	if (--c->refs == 0 && (c->flags & (EC_COLOR_PINNED | EC_COLOR_KEPT)) == 0)
		ec_color_rest(base, c);
}

/*
 * Under RUNQ of `w`: does that lock guard `c`, which may be any that was ever handed out? `worker` (acquire)
 * meets ec_color_take (release), where a color comes that was guarded by another lock until then,
 * and color_birth: who sees it come in the next life sees that the last one is over, unless it lives again.
 */
static inline bool ec_color_is_at(struct ec_color *c, const struct ec_worker *w)
{
	return ec_load_acquire(&c->worker) == w && ec_load_acquire(&c->alive) != 0;
}

/* The same: and is it that one? */
static inline bool ec_color_is(struct ec_color *c, const struct ec_worker *w, uint32_t number)
{
	return ec_color_is_at(c, w) && ec_load_relaxed(&c->number) == number;
}

/* It goes to `w`, whose lock guards it from then on. Under the lock of where it was. */
void ec_color_take(struct ec_color *c, struct ec_worker *w);

/* As ec_color_lock, for a hint: the base gets its workers if it has none. A color with a hint is kept. */
struct ec_color *ec_color_hint_lock(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint);
void ec_color_keep(struct ec_base *base, struct ec_color *c, unsigned flag, bool is_set);

struct ec_color *ec_color_at(struct ec_base *base, uint32_t index);

/*
 * The struct that `hint`, not 0, names, or NULL: it may be another base's. Whether it is the color is to be
 * asked under the lock of its worker.
 */
struct ec_color *ec_color_hinted(struct ec_base *base, uint32_t hint);

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

int ec_colors_init(struct ec_colors *t);
void ec_colors_fini(struct ec_colors *t);

/* Every struct that was ever handed out has an index below it; others there are not alive. */
uint32_t ec_colors_used(struct ec_colors *t);

/* For fork. */
void ec_colors_freeze(struct ec_colors *t);
void ec_colors_thaw(struct ec_colors *t);
bool ec_colors_reset(struct ec_colors *t);	/* as ec_spin_reset */

#endif
