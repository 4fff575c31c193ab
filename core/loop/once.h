/*
 * Events that are made for one callback and end with it.
 */
#ifndef EC_ONCE_H
#define EC_ONCE_H

#include "sched/base.h"

/* ec_base_once, of ec.h, in any color. */
int ec_once_add(struct ec_base *base, uint32_t color, int fd, short events, ec_event_fn fn, void *arg,
		const struct timeval *tv);

/* Those that have not run; as the base ends. */
void ec_onces_free(struct ec_base *base);

#endif
