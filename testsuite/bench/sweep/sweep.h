/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef SWEEP_H
#define SWEEP_H

/*
 * Usage patterns of libevent's API, one function each. A pattern makes what it needs, runs
 *
 *	while (sweep_next(s))
 *		one operation;
 *
 * and frees what it made. The first operations are a warm-up; those after them are counted. Each
 * pattern runs in a process of its own, so the figures do not depend on the other patterns.
 *
 * The program has a clock of its own (clock.c), which advances by a fixed time for each read. No
 * figure depends on the time that the machine takes.
 */

#define EVENT_SMP_WEAK
#include <event2/event.h>
#include <event2/smp.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct sweep_pattern;

struct sweep {
	const struct sweep_pattern *pattern;
	unsigned long left; /* operations until the next phase */
	int phase;
	unsigned num; /* the pattern's: how many objects */
	bool is_locked, is_colored; /* --locks, --colors */
	bool is_profiled; /* --clean: count until the process ends in the usual way */
	ev_uint32_t color; /* the last one that was given out */
	int calls; /* callbacks that ran: for those that need no argument of their own */
	struct event_base *base; /* for callbacks: the pattern's base and event */
	struct event *ev;
	int fd[2];
};

enum {
	SWEEP_COLORS = 1, /* colors make sense */
	SWEEP_LOCKS = 2, /* only with evthread_use_pthreads() */
	SWEEP_UNEVEN = 4, /* two runs may differ: threads */
	SWEEP_SLOW = 8, /* not in the test */
};

struct sweep_pattern {
	const char *name;
	void (*run)(struct sweep *s);
	unsigned ops; /* operations to count */
	unsigned flags;
	unsigned num;
	const char *method; /* of polling; NULL: the default one */
};

/* The tables, each ends with a NULL name. */
extern const struct sweep_pattern sweep_event[], sweep_loop[], sweep_timer[], sweep_base_table[], sweep_buffer[],
	sweep_segment[], sweep_bev[], sweep_filter[], sweep_tls[], sweep_util[], sweep_dns[], sweep_http[], sweep_uri[],
	sweep_rpc[], sweep_tag[], sweep_old[];

bool sweep_turn(struct sweep *s);

/* True: do one operation. */
static inline bool sweep_next(struct sweep *s)
{
	if (__builtin_expect(s->left == 0, 0))
		return sweep_turn(s);
	s->left--;
	return true;
}

_Noreturn void sweep_die(const char *file, int line, const char *what);

/* What a pattern counts on; the process ends otherwise. */
#define sweep_check(is_so) \
	do { \
		if (__builtin_expect(!(is_so), 0)) \
			sweep_die(__FILE__, __LINE__, #is_so); \
	} while (0)

/* A base with the pattern's method of polling, and `flags` of enum event_base_config_flag. */
struct event_base *sweep_base(struct sweep *s);
struct event_base *sweep_base_with(struct sweep *s, int flags);

/* In a colored run, give the event a color of its own. */
void sweep_color(struct sweep *s, struct event *ev);

/* Nonblocking, and -1 does not come back. */
void sweep_pipe(int fd[2]);
void sweep_socketpair(int fd[2]);
void sweep_close(int fd[2]);

/* The end of a pattern with sweep_base and s->fd. */
static inline void sweep_end(struct sweep *s)
{
	event_base_free(s->base);
	sweep_close(s->fd);
}

/* One turn of the loop: all that is ready now. */
static inline void sweep_poll(struct event_base *base)
{
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/* Let the clock go on, by a second or more. */
void sweep_advance_us(int64_t us);

/* Reads of the clock so far. */
uint64_t sweep_clock_reads(void);

/* What malloc and its relatives did so far; count.c, which only one of the two programs has. */
struct sweep_allocs {
	uint64_t allocs, frees, bytes; /* bytes: asked for */
};
__attribute__((weak)) void sweep_count_allocs(struct sweep_allocs *ret);

/* Does nothing, and counts. `arg` is the struct sweep. */
void sweep_nop(evutil_socket_t fd, short what, void *arg);
void sweep_count(evutil_socket_t fd, short what, void *arg);

/* memory.c: bytes of objects. */
int sweep_memory(int argc, char **argv, bool is_locked);

#endif /* SWEEP_H */
