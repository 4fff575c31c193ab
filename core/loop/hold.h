/*
 * Holding an event: the locks that guard it.
 */
#ifndef EC_HOLD_H
#define EC_HOLD_H

struct ec_batch;
struct ec_color;
struct ec_event;

/*
 * They are in `b` then, and left by ec_batch_end. NULL: nothing refers to the color of `ev`, so it is neither pending
 * nor active, and SOURCE is all that is held.
 */
struct ec_color *ec_event_hold(struct ec_batch *b, struct ec_event *ev);

#endif
