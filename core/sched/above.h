/*
 * What the rooms above do for this one: the scheduler calls these, and they are in io/ and loop/. They are named in
 * the list of exceptions of scripts/check-layers; all else that goes up is a bug.
 */
#ifndef EC_ABOVE_H
#define EC_ABOVE_H

struct ec_base;
struct ec_color;
struct ec_event;
struct ec_worker;

/* io/watch.c: a callback that ran elsewhere has ended; its descriptor may be reported again. */
void ec_source_rearm(struct ec_worker *w, int fd);

/* loop/registration.c. Under SOURCE and RUNQ: give up the registrations. */
void ec_event_forget(struct ec_base *base, struct ec_color *c, struct ec_event *ev);

/* loop/registration.c. Under SOURCE and RUNQ: a persistent event of `c` is about to run; its timeout starts anew. */
void ec_event_reschedule(struct ec_base *base, struct ec_color *c, struct ec_event *ev);

/* loop/start.c. Make the workers, and lock the base from here on. Idempotent. Threads start with the loop. */
int ec_base_start_colors(struct ec_base *base);

/*
 * loop/start.c. As ec_base_start_colors, for a caller that cannot report a failure. Where the workers cannot be made,
 * the base has colors all the same, and the loop's thread runs them until ec_base_prepare_colors makes the workers.
 */
void ec_base_start_colors_anyway(struct ec_base *base);

#endif
