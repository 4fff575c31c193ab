/*
 * What the tests of virtual workers share: a base with a seed's order, in a child process, and what it runs.
 */
#ifndef UNIT_VIRTUAL_H
#define UNIT_VIRTUAL_H

#include "child.h"

#include <event2/event.h>
#include <event2/smp.h>

static struct event_base *base;
static unsigned priorities = 1;

static inline void base_make(unsigned workers)
{
	struct event_config *cfg = event_config_new();

	check(cfg != NULL && event_config_set_workers(cfg, workers, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	check(base != NULL);
	event_config_free(cfg);
	check(priorities == 1 || event_base_priority_init(base, (int)priorities) == 0);
}

static inline struct event *event_make(int fd, short what, unsigned color, event_callback_fn fn, void *arg)
{
	struct event *ev = event_new(base, fd, what, fn, arg);

	check(ev != NULL && event_set_color(ev, color) == 0);
	return ev;
}

static inline void post(unsigned color, void (*fn)(void *), uintptr_t arg)
{
	check(event_base_post(base, color, fn, (void *)arg) == 0);
}

static inline void set(const char *seed, const char *policy)
{
	setenv("EVENT_SMP_SEED", seed, 1);
	if (policy != NULL)
		setenv("EVENT_SMP_POLICY", policy, 1);
}

#endif
