/*
 * Waiting for a callback that runs in another worker: what event_del promises.
 *
 * A worker that waits from inside a callback could wait in a circle: two callbacks that
 * delete each other's event. Each worker waits for at most one other, so the circle is
 * found by walking; walking and joining are one step under the WAIT lock. Who would close
 * the circle logs it and goes on without waiting. A callback in ec_base_pause waits for
 * all others: to wait for it is a circle too.
 */
#ifndef EC_WAIT_H
#define EC_WAIT_H

#include <stdint.h>

struct ec_worker;
struct ec_event;

struct ec_wait {
	struct ec_worker *runner;
	struct ec_event *ev;		/* compared, never looked into */
	uint32_t seq;
};

/* Under RUNQ of the event's color, `ev` running at `runner`. */
void ec_wait_prepare(struct ec_wait *wait, struct ec_worker *runner, struct ec_event *ev);

/* No lock held. Returns when that callback has ended, or at once from inside a circle. */
void ec_wait_for(struct ec_wait *wait);

/* `w` ended a callback and del_waiters is not 0. */
void ec_wait_notify(struct ec_worker *w);

#endif
