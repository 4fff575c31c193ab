/*
 * The functions of io/ and loop/ that the scheduler calls. scripts/check-layers checks their number. Any other call
 * of an upper room is a bug.
 */
#ifndef EC_ABOVE_H
#define EC_ABOVE_H

#include "color.h"

struct ec_base;
struct ec_event;
struct ec_worker;

/* io/watch.c: a callback that ran on another worker has ended. Its descriptor may be reported again. */
void ec_source_rearm(struct ec_worker *w, int fd);

/* loop/registration.c. Under SOURCE and RUNQ: the registrations of `ev`, of `c`, end. */
void ec_event_forget(struct ec_base *base, struct ec_color *c, struct ec_event *ev);

/*
 * loop/registration.c. Under SOURCE and RUNQ: `ev`, of `c`, leaves its queue to run. Its registrations end, or the
 * timeout of a persistent event starts anew.
 */
void ec_event_popped(struct ec_base *base, struct ec_color *c, struct ec_event *ev);

/*
 * loop/start.c. Makes the workers, and locks the base from now on. Idempotent. Threads start with the loop. 0 or
 * -errno. EC_BIRTH_NEEDED cannot fail: if the workers cannot be made, the loop's thread runs the colors, until
 * ec_base_prepare_colors makes the workers.
 */
int ec_base_start_colors(struct ec_base *base, enum ec_birth birth);

/* loop/fork.c. Before a thread holds locks that a forked child needs. 0 or -ENOMEM. */
int ec_fork_prepare(void);

#endif
