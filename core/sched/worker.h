/*
 * One thread of a base. A base embeds worker 0; its thread is the one that calls ec_base_loop. The
 * other workers start with the first color and live until the base is freed.
 *
 * Each descriptor, timer and color is at one worker. SOURCE guards descriptors and timers, RUNQ the colors that are
 * to run. A thread takes SOURCE first. While the base is not locked, both locks do nothing: it has one worker and one
 * thread.
 */
#ifndef EC_WORKER_H
#define EC_WORKER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

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
struct ec_probe;
struct ec_suspended;
struct ec_task;

enum { EC_LOCAL_MAX = 128, EC_KNOWN_NUM = 64 };		/* powers of two */

/* A post of the running color to itself. */
struct ec_local {
	ec_post_fn fn;
	void *arg;
	uint32_t color;
};

/* Posts of a worker's callbacks. Apart from the worker, so that a base without colors has none. Own. */
struct ec_ring {
	struct ec_color *known[EC_KNOWN_NUM]; /* colors that it posted to recently, by number; or NULL */
	struct ec_local at[EC_LOCAL_MAX];
};

/* The descriptor of the running callback, and the worker that watches it. `at` NULL: it has none. */
struct ec_ran {
	struct ec_worker *at;
	int fd;
};

/* The call of a popped task, copied under the lock: after that the event belongs to the program again. */
struct ec_call {
	ec_event_fn fn;
	void *arg;
	int fd;
	int16_t res;
	uint8_t kind;
	bool is_internal;
};

/* A ring of idle colors, the oldest first: see refs.h and EC_COLOR_KEPT. */
struct ec_idle {
	/* RUNQ of its worker */
	uint32_t *colors;		/* by index */
	uint32_t cap;			/* 0 or a power of two */
	uint32_t head, num;
	uint32_t only;			/* the ring if memory is short */
};

#ifdef EC_SIM
enum { EC_MAILBOX_MAX = 2 };		/* so that it is often full */
#else
enum { EC_MAILBOX_MAX = 42 };		/* two on the line of the lock, the others on 15 more lines */
#endif

/* A post by another thread that is not in the queue of its color yet: see mailbox.h. */
struct ec_message {
	/* MAIL */
	struct ec_color *color;
	ec_post_fn fn;
	void *arg;
};

/* Apart from the worker, so that a base without colors has none. */
struct ec_mailbox {
	/* mu: rank MAIL. A post from another worker touches only the lines from here to the end of `messages`. */
	struct ec_spin mu;
	_Atomic(uint8_t) num;
	bool is_closed;			/* the worker sleeps */
	_Atomic(uint8_t) posts_num;	/* in `posts`, at least one for each message; grows under RUNQ alone */
	struct ec_message messages[EC_MAILBOX_MAX]; /* `num` of them */

	/* RUNQ of the worker */
	struct ec_task *posts[EC_MAILBOX_MAX]; /* messages become these posts */
};

/* Fields that other workers access have their own cache lines, because each such access transfers the line. */
struct ec_worker {
	/* run: rank RUNQ; what this worker runs */
	struct ec_spin run;
	bool asleep;			/* does not check the queue again before a wake-up */
	bool is_pausing;		/* its callback waits for its turn in ec_base_pause */
	_Atomic(uint32_t) active_num;	/* queued tasks, and one for each run in progress */
	_Atomic(uint32_t) pushes;	/* counts colors that became runnable, to detect any between two checks */
	struct ec_color *current;	/* whose callbacks this thread runs */
	struct ec_runq runq;
	struct ec_task *mark;		/* queued in a color here; or NULL: queue.c */
	struct ec_idle idle;
	char pad1[EC_CACHE_LINE];

	/* const: set before the first thread starts. The two atomics change as the thread starts and ends. */
	struct ec_base *base;
	unsigned id;
	_Atomic(bool) has_thread;
	_Atomic(bool) is_started;	/* its start callback has returned; before that, other workers run its colors */
	uint16_t *victims;		/* the other workers, nearest cache first */
	struct ec_mailbox *mailbox;	/* &ec_mailbox_none: it has no color yet, or no memory */
	char pad2[EC_CACHE_LINE];

	/* own: the thread of this worker */
	uint32_t local_room;		/* how many posts the ring may hold; 0: it is closed */
	uint32_t local_color, local_mask; /* the ring takes posts to colors that equal this one under the mask */
	struct ec_color *local_of;	/* the color that runs, or NULL; posts in its queue go first */
	uint32_t local_head, local_tail; /* of the ring; they wrap */
	uint32_t fetched_num;		/* posts moved from the queue to the ring: active until the run ends */
	uint32_t free_posts_num;	/* at least as many as the ring holds, so that those can move to the queue */
	struct ec_list free_posts;
	struct ec_ring *ring;		/* const once there are colors; NULL: none yet, or no memory for it */
	uint64_t batch_start;		/* ticks */
	uint64_t poll_at;		/* ticks: when the next poll is due */
	uint64_t poll_late_at;		/* … while there is work */
	uint64_t run_ticks;		/* the time that a color may run */
	uint64_t idle_since;		/* ticks: when it found nothing to run */
	uint64_t ran_until;		/* ticks: when the last run ended, or it found none */
	struct ec_yields yields;
	uint32_t reports;		/* of the last poll */
	uint64_t ask_ticks;		/* busy, it polls for so long without asking the kernel; 0: it asks each time */
	uint64_t asked_at;		/* ticks: … since then */
	uint64_t asked_callbacks, asked_posts; /* that had run then */
	uint64_t steal_ns;		/* measured cost of a steal, running mean */
	uint64_t take_ns;		/* the same for each stolen color; 0: it never tried */
	uint32_t move_ns;		/* the same where it stole many at once; 0: it never did */
	uint64_t steal_at;		/* ticks: no steal before, see MISS_BACKOFF and POOR */
	uint64_t stolen_cost_ns;	/* of the last steal; 0: it was judged */
	uint64_t stolen_busy_ns;	/* stats.busy_ns at that time */
	uint64_t poor_ns;		/* the wait after the last poor steal; 0: it was not poor */
	uint64_t spin_ns;		/* the time to spin before sleeping, as long as that paid recently */
	int64_t tick_ns;		/* of its last sleep as the ticker; 0: it found work since */
	int64_t now_ns;			/* cached time; 0: not cached */
	int64_t read_ns;		/* the last time read while it was not cached; 0: never */
	int64_t wall_offset_ns;		/* wall clock minus monotonic, as of wall_synced_ns */
	int64_t wall_synced_ns;
	int64_t wall_of_ns;		/* the cached time that `wall` is for; 0: none */
	struct timeval wall;
	struct ec_call call;		/* of the last task that ec_task_pop took */
	void (*run_popped)(struct ec_worker *w, struct ec_task *t); /* runs that task; see observed.h */
	struct ec_probe *probe;		/* NULL: it is not observed */
	uint32_t plain_input;		/* how the poller reports input; if observed, a value that it never reports */
	uint32_t burst;			/* callbacks between two reads of the clock: fewer if they took long recently */
	uint32_t posts_credit;		/* single.c: posts until the turn is checked again */
	uint32_t posts_left;		/* if is_others_due: posts that still go first, */
	uint64_t posts_since;		/* … and since when, in ticks */
	bool is_others_due;			/* it is the turn of other callbacks: after posts_left posts */
	bool is_run_over;		/* the last run of a lane ended early, for the loop to poll */
	uint32_t running_color;		/* of the callback, in a base with a single worker */
	uint32_t deferred_num;		/* ec_event_defer calls of its callbacks since */
	uint64_t deferred_in;		/* … stats.turns had this value */
	bool is_finishing;		/* its loop is over, and it runs what was ready */
	bool is_sleeper;		/* is counted in base.sleepers */
	bool gets_messages;		/* its last search for work ended with one: mailbox.h */
	uint32_t calls_left;		/* of the signal event that runs, after this call */
	uint32_t calls_carried;		/* of an event assigned anew in its callback, once it is added: see runs.h */
	int calls_signal;		/* the signal of both */
	_Atomic(struct ec_suspended *) suspended; /* runs.h; changes under RUNQ */
	_Atomic(bool) has_suspended;	/* a run, ever */
	bool is_successor;		/* after a fork in a callback: becomes the loop's thread */
	struct ec_worker *outer;	/* the worker in whose callback this loop runs, or NULL; wait.h reads it */

	/* RUNQ of the color that runs here */
	struct ec_ran ran;
	bool is_reader;			/* `current` runs a shared callback */
	_Atomic(bool) is_calls_end;	/* the event was deleted: no more of calls_left; any thread under this RUNQ */

	/* src: rank SOURCE; the descriptors, timers and signals that this worker waits for */
	char pad3[EC_CACHE_LINE];
	struct ec_spin src;
	struct ec_poller *poller;
	struct ec_fds fds;
	struct ec_timers timers;
	int64_t wait_until_ns;		/* if is_waiting: when the poll times out */
	bool is_waiting;		/* a thread is in poller->ops->wait() */
	_Atomic(uint32_t) polls;	/* that have ended */
	_Atomic(uint32_t) migrants_num;
	uint32_t stale_reports;		/* of unwatched descriptors, with no good report since: see report.c */
	_Atomic(uint32_t) disarmed_num;	/* disarmed descriptors; ec_run_settle reads it without the lock */
	_Atomic(uint32_t) pending_num;	/* registrations that keep the loop alive */

	/* atomic: written by this worker, read by others */
	char pad4[EC_CACHE_LINE];
	_Atomic(uint64_t) busy_since;	/* ticks; 0: in no callback; 1: in one that takes as long as a stuck one */
	_Atomic(uint32_t) run_ns;	/* of a color's run, running mean; 0: not known */
	_Atomic(struct ec_event *) running_event; /* the event whose callback runs; set under RUNQ of its color */
	_Atomic(uint32_t) run_seq;	/* of callbacks of events begun */
	_Atomic(uint32_t) del_waiters;	/* threads that wait for the end of a run; written by those */
	_Atomic(uint32_t) run_done;	/* futex: changes when a callback that was waited for ends */

	/* atomic: written by the thread that wakes it */
	char pad5[EC_CACHE_LINE];
	struct ec_wakeup wakeup;
	_Atomic(uint64_t) woken_at;	/* ticks: when the last wake-up was sent */

	/* own: the thread that starts and joins it */
	struct ec_osthread thread;

	/* own; other threads read them for statistics */
	char pad6[EC_CACHE_LINE];
	uint64_t lanes_began;		/* cycles: when it last began to run lanes */
	uint64_t lanes_cycles;		/* spent in lanes before */

	/* RUNQ; in debug mode only */
	uint64_t told_since;		/* the value of busy_since of which the program was told */

	/* own, but for wakeups; any thread reads them */
	struct {
		_Atomic(uint64_t) callbacks, posts, turns, sleeps, steals, stolen_colors, steal_misses, steal_ns, moves,
			disarms, busy_ns;
		_Atomic(uint64_t) wakeups; /* any thread */
	} stats;
};

_Static_assert(sizeof(void *) != 8 ||
		       offsetof(struct ec_mailbox, messages) + 2 * sizeof(struct ec_message) == EC_CACHE_LINE,
	       "a post seldom needs more than one line");
_Static_assert(sizeof(void *) != 8 || offsetof(struct ec_mailbox, posts) % EC_CACHE_LINE == 0,
	       "a post needs no line of the owner");

static inline struct ec_worker *ec_worker_self(const struct ec_base *base)
{
	struct ec_worker *w = ec_self();

	return w != NULL && w->base == base ? w : NULL;
}

/* The same, also if the caller is in a loop of another base within a callback of this one. */
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
