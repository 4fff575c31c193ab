/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * The limit: a thread and a private FIFO per worker, nothing shared but an inbox for what comes
 * from elsewhere. Colors never move. Compiled into the shapes.
 */
#ifndef COLORED_RT_LIMIT_H
#define COLORED_RT_LIMIT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "futex.h"

struct rt_limit_worker {
	/* own */
	struct task *head, **tail;

	/*
	 * atomic: a stack; who pushes onto an empty one wakes: first the push, then `wakes`
	 * raised. The worker reads `wakes`, then finds the inbox empty, then sleeps while
	 * `wakes` is the same.
	 */
	_Alignas(64) _Atomic(struct task *) inbox;
	_Atomic uint32_t wakes;
};

extern struct rt_limit_worker *rt_limit_workers;
extern _Thread_local struct rt_limit_worker *rt_limit_self;

void rt_limit_send(struct rt_limit_worker *w, struct task *task);

/* The color is its worker. */
static inline void rt_post(struct color *color, struct task *task)
{
	struct rt_limit_worker *w = (struct rt_limit_worker *)color;

	if (w != rt_limit_self) {
		rt_limit_send(w, task);
		return;
	}
	task->next = NULL;
	*w->tail = task;
	w->tail = &task->next;
}

#endif /* COLORED_RT_LIMIT_H */
