/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_LATCH_H
#define COLORED_LATCH_H

/*
 * Counts tasks down from any thread. Tasks are counted in groups of neighbours, which mostly run on
 * one worker: one counter for all would be what many short tasks wait for, and be measured.
 */

#ifdef __cplusplus
extern "C" {
#endif

struct latch;

struct latch *latch_new(void);

/* Before the first hit: `count` tasks, numbered from 0. */
void latch_set(struct latch *latch, unsigned count);

/* Task `i` is done. */
void latch_hit(struct latch *latch, unsigned i);

int latch_is_done(struct latch *latch);

/* Sleep until all tasks are. */
void latch_wait(struct latch *latch);

#ifdef __cplusplus
}
#endif

#endif /* COLORED_LATCH_H */
