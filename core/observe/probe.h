/*
 * Each worker of an observed base has a probe, and tells it of each callback, poll, steal and post. The probe hands
 * that to what is on: counters, trace, stalls (its consumers).
 *
 * A base that is not observed has no probes, and none of this is called: see observe.h and sched/observed.h. A probe is
 * written by its worker's thread alone, with plain stores.
 */
#ifndef EC_PROBE_H
#define EC_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control.h"
#include "os/atomic.h"

struct ec_consumer;
struct ec_counters;
struct ec_observer;
struct ec_stats_file;
struct ec_trace;
struct ec_trace_file;
struct ec_stall;

/* Functions that are no face's, by a hash: most callbacks need no question. */
enum { EC_PLAIN_MAX = 16 };

/* A callback. It lies on the stack of the thread that runs it, and says so from begin to end. */
struct ec_probe_call {
	/* const: set by the caller of ec_call_begin; `fn` may change: ec_probe_rename */
	uintptr_t fn, arg;		/* the program's function, if it is known; the argument of the task */
	uint64_t queued_at;		/* ticks: when its event became active, or it was posted; 0: not known */
	uint32_t color;
	int fd;
	int16_t res;
	uint16_t home;			/* the worker that is the home of the color */
	uint8_t kind;			/* enum ec_kind */
	uint8_t pri;
	bool is_alone;			/* all other workers of the base are idle */
	bool is_open;			/* a face's: the program's function is not known for sure */
	uint8_t object_kind;		/* for EC_TRACE_OBJECT, as the next one */
	uintptr_t event;

	/* own: set by ec_call_begin */
	uint64_t began_at;		/* ticks */
	uint64_t inner;			/* ticks: of the callbacks that ran within this one, in ec_base_turn */
	struct ec_probe_call *outer;	/* the callback that this one runs within, or NULL */
};

/*
 * What else a worker does. `value` of BEGIN and END: when that was, in ticks. A poll's begin is told after the poll,
 * and is the end of what the worker did before.
 */
enum ec_probe_what {
	EC_PROBE_TURN,			/* after each poll; value: enum ec_stats_mode of the base */
	EC_PROBE_POLL_BEGIN,
	EC_PROBE_POLL_END,
	EC_PROBE_SLEEP_BEGIN,		/* a poll that was to block */
	EC_PROBE_SLEEP_END,
	EC_PROBE_SPIN_BEGIN,
	EC_PROBE_SPIN_END,
	EC_PROBE_STEAL,			/* value: number of colors */
	EC_PROBE_STEAL_MISS,
	EC_PROBE_POST,			/* to `color`; value: the post's queued_at */
	EC_PROBE_WAKEUP,		/* sent; value: to which worker */
	EC_PROBE_MOVE,			/* the home of `color` is now this worker */
	EC_PROBE_QUEUE,			/* value: the number of tasks that wait at this worker */
	EC_PROBE_TOUCH,			/* value: a const struct ec_event that is added or deleted */
};

enum { EC_CONSUMERS = 3 };

struct ec_probe {
	/* const */
	struct ec_observer *observer;	/* NULL: this process is a child of the one that made the probe */
	uint32_t worker;

	/* own */
	unsigned on;			/* bits of what is wanted, whether that could be opened or not */
	unsigned consumers_num;
	const struct ec_consumer *consumers[EC_CONSUMERS];
	uint64_t now;			/* ticks: the time of the begin, end or note that consumers are told of */
	uint64_t mark;			/* ticks: the end of what the worker did last */
	uint64_t since;			/* ticks: when what is on was switched on */
	uint64_t sleeps;		/* at the last poll */
	bool is_spinning;
	bool is_cycles;			/* ticks are cycles */
	bool is_brief;			/* and only a trace is on: a callback begins as what was before ends */
	struct ec_probe_call *call;	/* the callback that runs, or NULL */
	uintptr_t plain[EC_PLAIN_MAX];

	/* own: of the consumers; NULL: not on */
	struct ec_counters *counters;
	struct ec_trace *trace;
	struct ec_stall *stall;
	char pad[EC_CACHE_LINE];
};

/* What a probe tells. `open` and `close` are called under observe.c's lock, by the probe's thread or without one. */
struct ec_consumer {
	unsigned bit;
	const char *name;		/* for a message: "cannot keep NAME" */
	int (*open)(struct ec_probe *p);	/* 0 or -errno */
	void (*close)(struct ec_probe *p);
	void (*begin)(struct ec_probe *p, const struct ec_probe_call *call);
	void (*rename)(struct ec_probe *p, const struct ec_probe_call *call);	/* it runs; `fn` is another */
	void (*end)(struct ec_probe *p, const struct ec_probe_call *call);
	void (*note)(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value);
	void (*fini)(struct ec_observer *o);	/* all probes are closed; NULL: nothing to do */
};

/*
 * When a task was queued, by its address. A task has no room for the time, nor may it be read when it runs: an event
 * belongs to the program again then. A collision loses the older time.
 */
enum { EC_QUEUED_MAX = 4096 };

struct ec_queued {
	/* atomic: written as the task is queued, read as it runs; both under RUNQ, or one thread uses the base */
	_Atomic(uintptr_t) task;
	_Atomic(uint64_t) at;		/* ticks */
};

/* The observation of one base, from the first time that it was wanted until the base is freed. */
struct ec_observer {
	/* const */
	uint32_t base;			/* a number that no other base of the process had */
	unsigned workers_max;
	size_t size;			/* of the memory */

	/* observe.c's lock */
	unsigned probes_on;
	unsigned open_num[EC_CONTROL_BITS]; /* probes that have a consumer open, by its bit */
	unsigned refused;		/* bits of consumers that could not be opened: they are not tried again */
	struct ec_stats_file *stats;	/* counters.c */
	struct ec_trace_file *trace;	/* trace_file.c */

	struct ec_queued queued[EC_QUEUED_MAX];
	struct ec_probe probes[];
};

/* A callback of the worker begins, and ends; call.h has both. */
void ec_probe_begin(struct ec_probe *p, struct ec_probe_call *call);
void ec_probe_end(struct ec_probe *p, struct ec_probe_call *call);
void ec_probe_note(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value);

/* The callback that runs turned out to be `fn`'s; is_open: and that may not be all. */
void ec_probe_rename(struct ec_probe *p, uintptr_t fn, bool is_open);

static inline uintptr_t *ec_plain_at(struct ec_probe *p, uintptr_t fn)
{
	return &p->plain[(fn >> 4) % EC_PLAIN_MAX];
}

/* A poll of the worker has ended; `sleeps`: how many so far were to block. Notes the turn. */
void ec_probe_polled(struct ec_probe *p, uint64_t sleeps, uint64_t waiting_num, unsigned mode);

static inline struct ec_queued *ec_queued_at(struct ec_observer *o, const void *task)
{
	uintptr_t key = (uintptr_t)task;

	return &o->queued[(key >> 4 ^ key >> 14) % EC_QUEUED_MAX];
}

static inline void ec_queued_note(struct ec_observer *o, const void *task, uint64_t at)
{
	struct ec_queued *q = ec_queued_at(o, task);

	ec_store_relaxed(&q->task, (uintptr_t)task);
	ec_store_relaxed(&q->at, at);
}

/*
 * The worker of `p` runs `task` now. When was it queued? In ticks; 0: not known. A time of before the worker was
 * observed is from an earlier life of the task.
 */
static inline uint64_t ec_probe_queued_at(struct ec_probe *p, const void *task)
{
	struct ec_queued *q;
	uint64_t at;

	if (__builtin_expect(p->observer == NULL, 0))
		return 0;
	q = ec_queued_at(p->observer, task);
	if (ec_load_relaxed(&q->task) != (uintptr_t)task)
		return 0;
	ec_store_relaxed(&q->task, 0);
	at = ec_load_relaxed(&q->at);
	return at >= p->since ? at : 0;
}

#endif
