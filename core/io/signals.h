/*
 * Signals of a process go to one base at a time: the last that added a signal event. The
 * handler only counts the signal and wakes worker 0, which activates the events.
 */
#ifndef EC_SIGNAL_H
#define EC_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock/sync.h"
#include "os/list.h"

struct ec_base;
struct ec_event;
struct ec_batch;

enum { EC_SIGNALS = 65 };		/* as NSIG of Linux, on every machine */

/* SOURCE of worker 0. */
struct ec_signals {
	struct ec_list *at;		/* the events of each signal; allocated with the first */
	int *kept;			/* of each, how many came before another base got them; mu in signals.c */
	_Atomic(bool) has_kept;
	struct sigaction *old;		/* what the program had before us */
	_Atomic(uint64_t) installed[2];	/* signals whose handler is ours: those that it has events for */
	int added_num;
};

void ec_signals_init(struct ec_signals *s);

/* Give the program its handlers back. */
void ec_signals_fini(struct ec_base *base);

/* The loop of a base that has events for signals begins: they go to it. */
void ec_signals_claim(struct ec_base *base);

int ec_signal_add(struct ec_base *base, struct ec_event *ev);
void ec_signal_del(struct ec_base *base, struct ec_event *ev);

/* Activate the events of the signals that came since. */
void ec_signals_dispatch(struct ec_base *base, struct ec_batch *batch);
void ec_signals_activate(struct ec_base *base, int sig, int ncalls, struct ec_batch *batch);

/* Did any come since the last dispatch? Any thread. */
extern _Atomic(int) ec_signals_any __attribute__((visibility("hidden")));

static inline bool ec_signals_are_pending(struct ec_signals *s)
{
	return ec_load_relaxed(&ec_signals_any) != 0 || ec_load_relaxed(&s->has_kept);
}

/* Around a fork: nobody is in the midst of a change. */
void ec_signals_freeze(void);
void ec_signals_thaw(void);
void ec_signals_reset(void);

/* In the child after fork: what came before belongs to the parent. */
int ec_signals_reinit(struct ec_base *base);

#endif
