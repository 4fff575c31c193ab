/*
 * One thread of a base. Worker 0 is embedded in the base; its thread is whichever called
 * ec_base_loop. The others are started with the first colored work and live until the base
 * is freed.
 *
 * A descriptor, timer or color is at one worker. What waits (source, timer) is guarded by
 * SOURCE, what is to run by RUNQ; a thread takes SOURCE first. Both are no-ops while the
 * base is not locked: then there is one worker and one thread.
 */
#ifndef EC_WORKER_H
#define EC_WORKER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "color.h"
#include "ec.h"
#include "io/fds.h"
#include "io/timer.h"
#include "lock/sync.h"
#include "os/thread.h"
#include "os/wakeup.h"
#include "runq.h"
#include "yield.h"

struct ec_poller;

enum { EC_LOCAL_MAX = 128 };		/* a power of two */

struct ec_local {
	ec_post_fn fn;
	void *arg;
	uint32_t color;
};

/* Where the running callback's descriptor is watched; at NULL: it has none. */
struct ec_ran {
	struct ec_worker *at;
	int fd;
};

/* What a popped task calls, as it was under the lock: its event is the program's again then. */
struct ec_call {
	ec_event_fn fn;
	void *arg;
	int fd;
	int16_t res;
	uint8_t kind;
	bool is_internal;
};

/* A ring of colors by index, oldest first: those that came to rest here since they are in it, see EC_COLOR_KEPT. */
struct ec_idle {
	uint32_t *colors;
	uint32_t cap;			/* 0 or a power of two */
	uint32_t head, num;
	uint32_t only;			/* without memory for more */
};

enum { EC_KNOWN_NUM = 64 };		/* a power of two */
#ifdef EC_SIM
enum { EC_MAILBOX_MAX = 2 };		/* that often there is no room */
#else
enum { EC_MAILBOX_MAX = 10 };		/* two on the line of the lock, the others on three lines more */
#endif

/* A post by another thread that was not put into the queue of its color yet: see mailbox.h. */
struct ec_message {
	struct ec_color *color;
	ec_post_fn fn;
	void *arg;
};

/* What other workers write or watch lies on lines of its own: each look at such a line by another one costs. */
struct ec_worker {
	/* run: what this worker runs. Who posts to it from another one touches the first lines alone. */
	struct ec_spin run;
	bool asleep;			/* will not look at the queue again before a wake-up */
	bool is_pausing;		/* its callback waits for its turn in ec_base_pause */
	_Atomic(uint8_t) mailbox_num;
	uint8_t mailbox_cap;		/* spare posts, one for each letter at least */
	struct ec_message mailbox[EC_MAILBOX_MAX];

	_Atomic(uint32_t) active_num;	/* queued tasks, and one for each run in progress */
	_Atomic(uint32_t) pushes;	/* colors that became runnable: tells two looks apart */
	struct ec_color *current;	/* whose callbacks this thread runs */
	struct ec_runq runq;
	struct ec_idle idle;
	struct ec_task *mailbox_posts[EC_MAILBOX_MAX]; /* the spare ones: what letters become */
	char pad1[EC_CACHE_LINE];

	/* const: set before the first thread starts; but for has_thread and is_started, which change with threads */
	struct ec_base *base;
	unsigned id;
	_Atomic(bool) has_thread;
	_Atomic(bool) is_started;	/* that is past its start callback; else what is here waits for other workers */
	uint16_t *victims;		/* the other workers, nearest cache first */
	char pad2[EC_CACHE_LINE];

	/* own: the thread that runs this worker */
	uint32_t local_room;		/* how many posts `local` may hold; 0: it takes none now */
	uint32_t local_color, local_mask; /* of which color: equal under the mask */
	struct ec_color *local_of;	/* whose run the ring serves, or NULL: posts in its queue go first */
	uint32_t local_head, local_tail; /* of the ring: taken, put; they wrap */
	uint32_t fetched_num;		/* posts that came to the ring from the queue: active until the run ends */
	uint32_t free_posts_num;	/* at least as many as the ring holds: they can move to the queue */
	struct ec_list free_posts;
	struct ec_color *known[EC_KNOWN_NUM]; /* where colors that it posted to were found, by number; or NULL */
	struct ec_local local[EC_LOCAL_MAX]; /* posts to the running color by itself, not in its queue */
	uint64_t batch_start;		/* ticks */
	uint64_t poll_at;		/* ticks: when the next look is due, */
	uint64_t poll_late_at;		/* while there is work */
	uint64_t run_ticks;		/* how long a color may run */
	uint64_t idle_since;		/* ticks: when it found nothing to run */
	uint64_t ran_until;		/* ticks: when it last had ended a run, or found none */
	struct ec_yields yields;
	uint32_t reports;		/* of the last look at the poller */
	uint64_t steal_ns;		/* measured cost of a steal, running mean */
	uint64_t take_ns;		/* of each color that a steal takes */
	uint64_t steal_at;		/* ticks: when to look into others' queues again */
	uint64_t spin_ns;		/* how long to look for work before sleeping: what paid lately */
	int64_t tick_ns;		/* of the last nap as ticker; 0: it found work since */
	int64_t now_ns;			/* cached time; 0: not cached */
	int64_t wall_offset_ns;		/* wall clock minus monotonic, as of wall_synced_ns */
	int64_t wall_synced_ns;
	struct ec_call call;		/* of the task that ec_task_pop took last */
	uint32_t burst;			/* callbacks between two looks at the clock: fewer, if they took long lately */
	uint32_t posts_credit;		/* single.c: posts until the next look at whose turn it is */
	uint32_t posts_left;		/* while is_called: posts that still go first, */
	uint64_t posts_since;		/* … for a while from then on, in ticks */
	bool is_called;			/* it is the other callbacks' turn: single.c first lets posts_left go */
	bool is_run_over;		/* the last run of a lane ended for the time that its posts took */
	uint32_t running_color;		/* of the callback, in a base that is alone */
	bool is_sleeper;		/* counts among base.sleepers */
	uint32_t calls_left;		/* of the signal's event that runs, after this one */
	uint32_t calls_carried;		/* to the same event in a new life, once it waits for that signal */
	int calls_signal;
	bool is_successor;		/* after a fork in a callback: is to become the loop's thread */
	struct ec_worker *outer;	/* in whose callback this one's loop runs, or NULL; wait.h reads it */

	/* RUNQ of the color that runs here */
	struct ec_ran ran;
	bool is_reader;			/* `current` runs a shared callback */
	_Atomic(bool) is_calls_end;	/* calls_left is void: the event was deleted; by others under this RUNQ */

	/* src: what this worker waits for */
	char pad3[EC_CACHE_LINE];
	struct ec_spin src;
	struct ec_poller *poller;
	struct ec_fds fds;
	struct ec_timers timers;
	int64_t wait_until_ns;		/* while is_waiting: when it will look again by itself */
	bool is_waiting;		/* a thread is in poller->ops->wait() */
	_Atomic(uint32_t) polls;	/* looks that are over */
	_Atomic(uint32_t) migrants_num;
	struct ec_list migrants;	/* sources with events whose home is elsewhere now */
	uint32_t stale_polls;		/* in a row that reported what nobody watches */
	_Atomic(uint32_t) disarmed_num;	/* silenced descriptors; changes under a RUNQ lock too, see run_ended */
	_Atomic(uint32_t) pending_num;	/* registrations that keep the loop alive */

	/* atomic: hints that others read */
	char pad4[EC_CACHE_LINE];
	_Atomic(uint64_t) busy_since;	/* ticks; 0: in no callback */
	_Atomic(uint32_t) run_ns;	/* of a color's run, running mean; 0: not known */
	_Atomic(struct ec_event *) running_event; /* whose callback runs; set under RUNQ of its color */
	_Atomic(uint32_t) run_seq;	/* of callbacks of events begun */
	_Atomic(uint32_t) del_waiters;	/* threads that wait for run_seq to pass */
	_Atomic(uint32_t) run_done;	/* futex: changes when a callback that was waited for ends */

	/* any thread */
	char pad5[EC_CACHE_LINE];
	struct ec_wakeup wakeup;
	_Atomic(uint64_t) woken_at;	/* ticks: when the last one was sent */

	struct ec_osthread thread;

	/* own; others read them for statistics */
	char pad6[EC_CACHE_LINE];
	uint64_t lanes_began;		/* cycles: when it last began to run the lanes of a base without workers */
	uint64_t lanes_cycles;		/* that it spent so before */
	struct {
		_Atomic(uint64_t) callbacks, posts, turns, sleeps, steals, stolen_colors, steal_misses, steal_ns, moves,
			disarms, busy_ns;
		_Atomic(uint64_t) wakeups; /* by whoever sends them */
	} stats;
};

_Static_assert(offsetof(struct ec_worker, mailbox) + 2 * sizeof(struct ec_message) == EC_CACHE_LINE,
	       "who posts seldom needs more than a line");
_Static_assert(offsetof(struct ec_worker, active_num) % EC_CACHE_LINE == 0, "nor any of the owner's");

static inline struct ec_worker *ec_worker_self(const struct ec_base *base)
{
	struct ec_worker *w = ec_self();

	return w != NULL && w->base == base ? w : NULL;
}

/* The same, also where a loop of another base runs in a callback of this one. */
static inline struct ec_worker *ec_worker_in(const struct ec_base *base)
{
	struct ec_worker *w = ec_self();

	while (w != NULL && w->base != base)
		w = w->outer;
	return w;
}

/* Does the calling thread run `w`? */
static inline bool ec_worker_is_mine(const struct ec_worker *w)
{
	const struct ec_worker *at = ec_self();

	while (at != NULL && at != w)
		at = at->outer;
	return at != NULL;
}

#endif
