/*
 * The libevent face: struct event is struct ec_event (abi/layout.c asserts it), and struct
 * event_base is struct ec_base; errors become -1 here, once.
 */
#ifndef LE_H
#define LE_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "core/ec.h"

static inline struct ec_event *le_ec(const struct event *ev)
{
	return (struct ec_event *)(void *)(uintptr_t)ev;
}

static inline struct event *le_event(struct ec_event *ev)
{
	return (struct event *)(void *)ev;
}

static inline struct ec_base *le_base(const struct event_base *base)
{
	return (struct ec_base *)(void *)(uintptr_t)base;
}

static inline struct event_base *le_event_base(struct ec_base *base)
{
	return (struct event_base *)(void *)base;
}

/* `base`, or where it is NULL the one that event_init made. */
static inline struct ec_base *le_base_or_current(const struct event_base *base)
{
	return base != NULL ? le_base(base) : ec_current_base();
}

static inline int le_result(int r)
{
	return r < 0 ? -1 : r;
}

#endif
