/*
 * The loop runs until the test has seen what it waits for; if that never comes, the test's time limit ends it.
 */
#ifndef LIBASYNC_TURNS_H
#define LIBASYNC_TURNS_H

#include "async.h"

template <class F> inline void turn_until(F is_done)
{
	while (!is_done())
		acheck();
}

/* All that is ready now, and what that makes ready, has run. */
inline void turn_all()
{
	for (int i = 0; i < 3; i++) {
		bool is_run = false;

		cpucb_tail(wrap([&is_run]() { is_run = true; }));
		turn_until([&is_run]() { return is_run; });
	}
}

#endif
