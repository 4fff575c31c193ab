/*
 * The colors of a base: found by number without a lock, made, kept, and handed from worker to worker.
 */
#ifndef EC_COLORS_H
#define EC_COLORS_H

#include <stdbool.h>
#include <stdint.h>

#include "base.h"
#include "color.h"
#include "worker.h"

/*
 * Finds the color `number`, or makes it, and takes the RUNQ lock of its worker (ec_color_unlock). NULL: no memory.
 * `hint`: 0, or the index + 1 that an earlier call wrote; *hint is set.
 */
struct ec_color *ec_color_lock(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint);

/* As above, for a post: a new color begins at `near`, the worker that posts; NULL: at its home. */
struct ec_color *ec_color_lock_near(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint,
				    struct ec_worker *near, enum ec_birth birth);

/* As above, but NULL if the color does not exist. */
struct ec_color *ec_color_lock_existing(struct ec_base *base, uint32_t number, _Atomic(uint32_t) *hint);

/*
 * Without locks: the color, or a struct that was this color until recently, or NULL. The caller must check it
 * (ec_color_is) under the RUNQ lock of its worker.
 */
struct ec_color *ec_color_guess(struct ec_base *base, uint32_t number);

void ec_color_unlock(struct ec_color *c);

/* Under the lock of its worker: `c`, which has no reference, ends. */
void ec_color_end(struct ec_base *base, struct ec_color *c);

/*
 * Under RUNQ of `w`: does that lock guard `c`? `c` may be any struct that was ever handed out. The load of `worker`
 * (acquire) meets ec_color_take (release), which moves the color from another lock, and color_birth.
 *
 * Under MAIL of `w` it is the same: a color leaves its worker, or ends, under both.
 *
 * `alive` is read twice. A color that lives at `w` cannot end or move without this lock. So if the struct lives before
 * the load of `worker`, that worker is not the last one of a color that has ended here, while the next life begins
 * elsewhere. If it lives after that load, its birth at `w` is complete.
 */
static inline bool ec_color_is_at(struct ec_color *c, const struct ec_worker *w)
{
	return ec_load_acquire(&c->alive) != 0 && ec_load_acquire(&c->worker) == w && ec_load_acquire(&c->alive) != 0;
}

/* The same; and is it the color `number`? */
static inline bool ec_color_is(struct ec_color *c, const struct ec_worker *w, uint32_t number)
{
	return ec_color_is_at(c, w) && ec_load_relaxed(&c->number) == number;
}

/* Under the lock of its worker: moves the color to `w`, whose lock guards it from then on. */
void ec_color_take(struct ec_color *c, struct ec_worker *w);

void ec_colors_init(struct ec_colors *t);
void ec_colors_fini(struct ec_colors *t);

/*
 * Before the base has its first color: memory for the first ones, so that no callback is lost for lack of memory. 0 or
 * -ENOMEM. Start lock.
 */
int ec_colors_reserve(struct ec_colors *t);

/* The same for a color that must not fail: without memory, takes some that the library keeps for that. Start lock. */
void ec_colors_reserve_needed(struct ec_colors *t);

/* For fork. */
void ec_colors_freeze(struct ec_colors *t);
void ec_colors_thaw(struct ec_colors *t);
bool ec_colors_reset(struct ec_colors *t);	/* as ec_spin_reset */

#endif
