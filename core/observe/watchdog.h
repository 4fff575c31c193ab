/*
 * A thread that calls a function at an interval. It blocks all signals. There is one in the process at most.
 *
 * The caller orders start and stop; fn must not wait for a thread that calls them.
 */
#ifndef EC_WATCHDOG_H
#define EC_WATCHDOG_H

#include <stdbool.h>

/* 0, or the -errno of a thread that cannot be made. */
int ec_watchdog_start(void (*fn)(void), unsigned interval_ms);

/* Returns when the thread has ended. */
void ec_watchdog_stop(void);

bool ec_watchdog_is_on(void);

/* In a forked child, where the thread does not exist. */
void ec_watchdog_reset(void);

#endif
