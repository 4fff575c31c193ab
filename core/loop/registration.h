/*
 * The registrations of an event: its descriptor or signal, and its deadline. All of it under SOURCE of the worker where
 * they are, and RUNQ of the event's color. sched/above.h has what the scheduler calls of this file.
 */
#ifndef EC_REGISTRATION_H
#define EC_REGISTRATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#include "io/common.h"

struct ec_base;
struct ec_color;
struct ec_event;
struct ec_worker;

/*
 * Is the sum of `tv` and any time a time? A handle of event_base_init_common_timeout is none: it has EC_COMMON_MARK in
 * its tv_usec.
 */
static inline bool ec_timeout_is_short(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec < INT32_MAX && (uint64_t)tv->tv_usec < EC_COMMON_MARK;
}

/* Of `ev`, at `w`. `tv`: from now; NULL leaves the deadline as it is. 0 or -errno: nothing changed then. */
int ec_registration_add(struct ec_worker *w, struct ec_color *c, struct ec_event *ev, const struct timeval *tv);
/* The same at worker 0, in color 0: the way of bases with one worker. */
int ec_registration_add_zero(struct ec_base *base, struct ec_event *ev, const struct timeval *tv);

/* Also takes `ev` from the queue of `c`. */
void ec_registration_del(struct ec_base *base, struct ec_color *c, struct ec_event *ev);

/* The deadline alone. */
void ec_registration_del_deadline(struct ec_base *base, struct ec_color *c, struct ec_event *ev);

#endif
