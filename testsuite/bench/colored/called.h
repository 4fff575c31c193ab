/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef COLORED_CALLED_H
#define COLORED_CALLED_H

/*
 * The least that a library can do to whom callbacks are posted: the post is a call into it, which
 * notes function, argument and color in a ring; its loop takes them out. One thread, no locks, no
 * other work to look for. A shared library, since that is how programs call one.
 */

#include <stdint.h>

struct called;

struct called *called_new(void);		/* NULL: no memory */

/* 0, or -1: called by another thread than the one that made it, or too many wait. */
int called_post(struct called *c, uint32_t color, void (*fn)(void *), void *arg);

/* Until none waits. */
void called_run(struct called *c);

#endif /* COLORED_CALLED_H */
