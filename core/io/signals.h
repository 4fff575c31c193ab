/*
 * The signals of a process go to one base at a time: the last one that added a signal event or began its loop. The
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

struct ec_signals {
	/* src: SOURCE of worker 0 */
	struct ec_list *at;		/* the events of each signal; allocated with the first */
	struct sigaction *old;		/* the program's own actions */
	/* mu of signals.c */
	int *kept;			/* of each signal, how many came before another base became the target */

	/* atomic: written under mu or src, read without: hints */
	_Atomic(bool) has_kept;
	_Atomic(uint32_t) added_num;
	_Atomic(uint64_t) installed[2];	/* signals with the engine's handler: the base has events for them */

	/* own: a child of fork, before ec_signals_reinit */
	bool is_inherited;		/* ec_signals_inherit was called */
};

void ec_signals_init(struct ec_signals *s);

/* Give the program its handlers back. */
void ec_signals_fini(struct ec_base *base);

/* Called when the loop of a base with signal events begins: the base becomes the target. */
void ec_signals_claim(struct ec_base *base);

int ec_signal_add(struct ec_base *base, struct ec_event *ev);
void ec_signal_del(struct ec_base *base, struct ec_event *ev);

/* Activate the events of the signals that came since the last call. */
void ec_signals_dispatch(struct ec_base *base, struct ec_batch *batch);
/* `batch` NULL: as ec_event_ready_by. */
void ec_signals_activate(struct ec_base *base, int sig, int ncalls, struct ec_batch *batch);

/* Did a signal come since the last dispatch? Any thread. */
extern _Atomic(int) ec_signals_any __attribute__((visibility("hidden")));

static inline bool ec_signals_are_pending(struct ec_signals *s)
{
	return ec_load_relaxed(&ec_signals_any) != 0 || ec_load_relaxed(&s->has_kept);
}

/* Called before and after a fork: between the two, no thread changes the signals. */
void ec_signals_freeze(void);
void ec_signals_thaw(void);
void ec_signals_reset(void);

/*
 * In the child after fork: signals that came before are the parent's. Inherit is for a handler of pthread_atfork: those
 * that come after it are kept for the base. Without it, also those that come before reinit are dropped.
 */
void ec_signals_inherit(struct ec_base *base);
int ec_signals_reinit(struct ec_base *base);

#endif
