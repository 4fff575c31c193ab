/*
 * The race checker of a base: its colors as fibers of the program's ThreadSanitizer (os/tsan.h), all on the loop's
 * thread. So what two colors do to the same memory is reported whenever nothing orders them, not only if they overlap.
 *
 *   a color		is a fiber: its callbacks are ordered as they run
 *   a reader of a	has a fiber for each event: after the exclusive callbacks before, before those after
 *   shared color
 *   color 0		is the fiber that called the loop
 *   before a loop,	->  all callbacks
 *   and a resume
 *   any callback	->  after the loop, and after a pause
 *   hand-overs		see orders.h
 *
 * ThreadSanitizer knows a few thousand threads, and each may need a megabyte. So at most EC_FIBERS_MAX colors have a
 * fiber at one time; the one that ran longest ago gives its fiber up, and keeps its order. Of the colors beyond
 * EC_FIBERS_KEPT, even the order is put together.
 *
 * A fiber also has a stack of its own. Callbacks are named by their symbols: "color 42 (on_read)".
 */
#ifndef EC_FIBERS_H
#define EC_FIBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "check.h"

enum { EC_FIBERS_MAX = 400, EC_FIBERS_KEPT = 16384 };

struct ec_fibers;

/* A callback that is about to run. */
struct ec_fiber_call {
	const void *fn, *arg;
	const void *task;		/* what was handed over: the event, or the post */
	const void *event;		/* NULL: it is none's */
	uint32_t color;
	int fd;				/* -1: none */
	bool is_shared;
};

/* For a base, with a mode other than EC_CHECK_OFF. NULL: no memory. */
struct ec_fibers *ec_fibers_new(enum ec_check mode);
void ec_fibers_free(struct ec_fibers *f);

/* The calling thread begins the loop, or ends it. All callbacks run between the two. */
void ec_fibers_enter(struct ec_fibers *f);
void ec_fibers_leave(struct ec_fibers *f);

/* Calls run(arg), which calls the callback, in its color's fiber. In the loop's thread. Such calls nest. */
void ec_fibers_call(struct ec_fibers *f, const struct ec_fiber_call *call, void (*run)(void *arg), void *arg);

/* As in orders.h. `fd`: the descriptor of an event that is handed over, else -1. any thread */
void ec_fibers_hand(struct ec_fibers *f, const void *task, int fd);
void ec_fibers_forget(struct ec_fibers *f, const void *event);

/* No callback runs, and none begins: the caller comes after all of them, and after who made them rest before. */
void ec_fibers_rest(struct ec_fibers *f);

/* Callbacks may run again: they come after what the caller did. any thread */
void ec_fibers_open(struct ec_fibers *f);

#endif
