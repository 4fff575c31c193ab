/*
 * A bufferevent, for the files that implement kinds of it (sockets, pairs, filters, TLS) and
 * for what they share (public.c, call.c: callbacks; life.c: references; ratelim.c).
 *
 * A kind embeds struct le_bev as its first member, fills a const struct bufferevent_ops, and calls
 *   le_bev_init() when it is made, le_bev_discard() if it then cannot be made after all,
 *   le_bev_enter()/le_bev_leave() around what its own events do,
 *   le_bev_trigger() when there is something to read, or room to write; le_bev_tell_event() for the
 *   rest.
 *
 * Threads. Everything of a bufferevent happens in its color: its events' callbacks and its own
 * have that color, and so has the finalizer that frees it. BEV_OPT_THREADSAFE adds a lock for calls
 * from elsewhere. It is short: no callback of the program runs under it and nothing waits for
 * anything under it (call.c says how). Members of a pair share one,
 * and so does a filter with what it is on; the evbuffers of all of them have it too. Functions
 * below marked "held" are called with it held, if there is one.
 */
#ifndef LE_BEV_H
#define LE_BEV_H

#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/event_struct.h>

#include "abi/private.h"
#include "buffer/buffer.h"
#include "event/le.h"

/* Why reading or writing rests, although it is enabled. */
enum le_bev_suspend {
	LE_SUSPEND_WATERMARK = 0x01,	/* as much is buffered as the high watermark says */
	LE_SUSPEND_RATE = 0x02,		/* its own rate limit */
	LE_SUSPEND_GROUP = 0x04,	/* its group's */
	LE_SUSPEND_LOOKUP = 0x08,	/* the name to connect to is being looked up */
	LE_SUSPEND_FILTER = 0x10,	/* the filter above has no room */
};

enum { LE_BEV_LINE = 64 };		/* bytes of a cache line */

struct le_bev_limit;
struct le_bev_lock;

enum le_bev_ctrl { LE_CTRL_SET_FD, LE_CTRL_GET_FD, LE_CTRL_GET_UNDERLYING };

union le_bev_ctrl_data {
	evutil_socket_t fd;
	struct bufferevent *underlying;
};

/* What makes a kind. All are called held. NULL: the kind has nothing to do there. */
struct bufferevent_ops {
	struct le_buffer_owner_ops owner; /* first: LE_BEV_OWNER, which its buffers call */
	const char *type;

	/*
	 * EV_READ and EV_WRITE that may begin, or are to rest, from now on. Nothing is suspended
	 * then.
	 */
	int (*enable)(struct bufferevent *bev, short events);
	int (*disable)(struct bufferevent *bev, short events);

	/*
	 * The last reference went: forget whom it knows. Callbacks of its own may still be running.
	 */
	void (*unlink)(struct bufferevent *bev);

	/*
	 * bufferevent_free, with or without other references: what it waits for besides its events
	 * is not wanted.
	 */
	void (*cancel)(struct bufferevent *bev);

	/* The last: nothing of it runs or will. Not held. */
	void (*destruct)(struct bufferevent *bev);

	/* timeout_read or timeout_write changed. */
	int (*adjust_timeouts)(struct bufferevent *bev);

	int (*flush)(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode);
	int (*ctrl)(struct bufferevent *bev, enum le_bev_ctrl op, union le_bev_ctrl_data *data);

	/* The output is to be sent, as far as possible now: called at the end of a turn. */
	void (*send)(struct bufferevent *bev);
};

/* le_bev.waiting: what the next run of `later` is to do. */
enum {
	LE_WAITING_READ = 0x02,
	LE_WAITING_WRITE = 0x04,
	LE_WAITING_EVENT = 0x08,
	LE_WAITING_SEND = 0x10,		/* ops->send */
	LE_WAITING_KIND = 0x20,		/* le_bev.kind_later */
	/* events that were pending before the color changed: add them */
	LE_WAITING_MOVED = 0x40,
};

/*
 * One block holds it and its two buffers. What every turn touches are five cache lines: the two of
 * bev.ev_read, the three from bev.input to the end of the section `turn`; and the first line of
 * each buffer. With a thousand connections each further one is fetched anew for each request.
 */
struct le_bev {
	struct bufferevent bev;		/* programs see it; first */

	/* turn: under the lock but for what is const after le_bev_init, set_color and base_set */
	struct le_bev_lock *lock;	/* const; NULL: one color, or one thread, uses it */
	struct le_bev_limit *limit;	/* NULL: none, neither own nor group's */
	size_t read_max, write_max;	/* of one call */
	unsigned refs_num;
	/* le_bev_lock without a lock: so many times a new one must be taken */
	unsigned held;
	uint32_t color;			/* const */
	uint16_t turns;			/* le_bev_enter without le_bev_leave */
	uint16_t calling_depth;		/* 0: nobody calls, and `calling` means nothing */
	uint8_t options;		/* const; BEV_OPT_… */
	uint8_t waiting;		/* LE_WAITING_… */
	uint8_t read_suspended, write_suspended; /* LE_SUSPEND_… */
	bool is_dead : 1;		/* no reference is left: adds no event, calls nothing */
	bool is_connecting : 1;
	bool is_refused : 1;		/* connect() failed at once, which is told as if later */
	bool is_other_file : 1;		/* its descriptor is no socket */
	bool may_watch_output : 1;	/* false: nothing has added ev_write */
	bool has_sent : 1;		/* in this turn: the next write waits for EV_WRITE */
	/* to next_color, when the turns of all that move with it have ended */
	bool is_moving : 1;
	bool has_missed : 1;		/* some callback waits for the end of `calling` */
	short event_waiting;		/* BEV_EVENT_… to tell */

	alignas(LE_BEV_LINE) struct evbuffer input_buf;
	alignas(LE_BEV_LINE) struct evbuffer output_buf;

	/* const after le_bev_init */
	/* filter or TLS on it, which shares color and lock; or NULL */
	struct le_bev *above;
	struct le_bev *partner;		/* pair: the other half, which shares the lock; or NULL */
	struct evbuffer_cb_entry *input_cb; /* NULL: there is no high watermark */

	/* lock */
	uint32_t next_color;
	int event_errno;		/* errno, for event_waiting */
	int dns_error;
	void *dns_request;		/* name being looked up */
	void (*kind_later)(struct bufferevent *bev); /* LE_WAITING_KIND */

	/* lock: whose callback runs (bufferevent_lock keeps others from starting, too) */
	pthread_t calling;
	unsigned calling_waiters;

	unsigned block_refs;		/* atomic: its own, and of each buffer that outlives it */
	uint16_t block_shift;		/* const: so far behind what the allocator gave, */
	bool is_chunk;			/* const: ec_chunk_new's */

	struct event later;		/* activated to do what is `waiting`; and the finalizer */
};

_Static_assert(sizeof(struct le_bev) + LE_BEV_LINE - 1 <= EC_CHUNK_ODD_SIZE,
	       "a bufferevent on a socket lies in a recycled block");

_Static_assert(sizeof(void *) != 8 ||
		       offsetof(struct le_bev, input_buf) ==
			       offsetof(struct le_bev, bev.enabled) + LE_BEV_LINE,
	       "what turns touch ends with the line that begins with bev.enabled");

static inline struct le_bev *le_bev(const struct bufferevent *bev)
{
	return ec_container_of((uintptr_t)bev, struct le_bev, bev);
}

/* ---------------------------------------------------------------- life */

/*
 * The memory of a bufferevent, zeroed: `size` bytes that begin with a struct le_bev. NULL: there is
 * none. A buffer may outlive it, while its callbacks run, and has a reference of the memory then.
 */
void *le_bev_alloc(size_t size);
void le_bev_memory_put(struct bufferevent *bev);

/*
 * `p` is of le_bev_alloc, and gets buffers, a reference, a lock if the options ask. `mate`, or NULL: it is
 * in one color with it and shares its lock; it gets one if it had none. -1: no memory, and nothing
 * is left to undo but the memory of `p`.
 */
int le_bev_init(struct le_bev *p, struct event_base *base, const struct bufferevent_ops *ops,
		int options, struct le_bev *mate);

/* Undo le_bev_init of one that nobody else knows, and that is not to be after all. */
void le_bev_discard(struct le_bev *p);

/*
 * References. Putting the last one ends the bufferevent: at once what it waits for, later what it
 * holds.
 */
void le_bev_get(struct bufferevent *bev);
void le_bev_put(struct bufferevent *bev);
void le_bev_get_and_lock(struct bufferevent *bev);
int le_bev_put_and_unlock(struct bufferevent *bev);	/* 1: it was the last */

void le_bev_lock_shared(struct le_bev *p);
void le_bev_unlock_shared(struct le_bev *p);

static inline void le_bev_lock(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	if (__builtin_expect(p->lock == NULL, 1))
		p->held++;
	else
		le_bev_lock_shared(p);
}

static inline void le_bev_unlock(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	if (__builtin_expect(p->lock == NULL, 1))
		p->held--;
	else
		le_bev_unlock_shared(p);
}

/* What it is on; or NULL. */
struct le_bev *le_bev_below(struct le_bev *p);

/* ---------------------------------------------------------------- turns */

/*
 * Around what the callback of one of its events does: lock and reference; leaving sends what
 * was written meanwhile. held in between.
 */
bool le_bev_enter(struct bufferevent *bev);	/* false: it is dead, and was not entered */
void le_bev_leave(struct bufferevent *bev);

/* Have `later` do that, soon and in the bufferevent's color. held */
void le_bev_do_later(struct le_bev *p, unsigned waiting);

/* The output grew: send it at the end of this turn, or in a turn of its own. held */
void le_bev_send_soon(struct le_bev *p);

/* ---------------------------------------------------------------- telling the program */

/*
 * Callbacks: now, or later if the options (BEV_OPT_… of the bufferevent, or'ed to what is passed)
 * or its color say so. held; let go of while the program is called, so look again at what can have
 * changed.
 * le_bev_trigger: iotype EV_READ, EV_WRITE; as far as watermarks are reached, but with
 * BEV_TRIG_IGNORE_WATERMARKS.
 */
void le_bev_trigger(struct bufferevent *bev, short iotype, int options);
void le_bev_tell_event(struct bufferevent *bev, short what, int options);

/* ---------------------------------------------------------------- reading and writing */

/* held */
void le_bev_suspend_read(struct bufferevent *bev, unsigned why);
void le_bev_unsuspend_read(struct bufferevent *bev, unsigned why);
void le_bev_suspend_write(struct bufferevent *bev, unsigned why);
void le_bev_unsuspend_write(struct bufferevent *bev, unsigned why);

static inline void le_bev_note_waiting(struct le_bev *p, unsigned waiting)
{
	p->waiting = (uint8_t)(p->waiting | waiting);
}

static inline void le_bev_note_done(struct le_bev *p, unsigned waiting)
{
	p->waiting = (uint8_t)(p->waiting & ~waiting);
}

static inline bool le_bev_can_read(const struct le_bev *p)
{
	return (p->bev.enabled & EV_READ) != 0 && p->read_suspended == 0 && !p->is_dead;
}

static inline bool le_bev_can_write(const struct le_bev *p)
{
	return (p->bev.enabled & EV_WRITE) != 0 && p->write_suspended == 0 && !p->is_dead;
}

/* Watch for `ev` (ev_read or ev_write) with its timeout; without a descriptor only time. held */
int le_bev_event_add(struct le_bev *p, struct event *ev);
/* Never waits for a callback. held */
int le_bev_event_del(struct le_bev *p, struct event *ev);

/* For kinds whose events only time: start them where they should run, stop them elsewhere. held */
int le_bev_adjust_timers(struct bufferevent *bev);
/* Data moved: they start anew, where they run. held */
void le_bev_restart_timer(struct bufferevent *bev, short event);
/* Callbacks of ev_read and ev_write of such kinds. */
void le_bev_read_timer_cb(evutil_socket_t fd, short what, void *arg);
void le_bev_write_timer_cb(evutil_socket_t fd, short what, void *arg);

/* ---------------------------------------------------------------- rate limits, ratelim.c */

/* How much one call may move now: limits, watermark, group's share. Not positive: nothing. held */
ev_ssize_t le_bev_limit_max_to_read(struct le_bev *p);
ev_ssize_t le_bev_limit_max_to_write(struct le_bev *p);

static inline ev_ssize_t le_bev_max_to_read(struct le_bev *p)
{
	if (__builtin_expect(p->limit != NULL, 0))
		return le_bev_limit_max_to_read(p);
	return (ev_ssize_t)p->read_max;
}

static inline ev_ssize_t le_bev_max_to_write(struct le_bev *p)
{
	if (__builtin_expect(p->limit != NULL, 0))
		return le_bev_limit_max_to_write(p);
	return (ev_ssize_t)p->write_max;
}

/* Much was read or written: suspends when a limit is reached. held */
void le_bev_limit_spend_read(struct le_bev *p, size_t len);
void le_bev_limit_spend_write(struct le_bev *p, size_t len);

static inline void le_bev_spend_read(struct le_bev *p, size_t len)
{
	if (__builtin_expect(p->limit != NULL, 0))
		le_bev_limit_spend_read(p, len);
}

static inline void le_bev_spend_write(struct le_bev *p, size_t len)
{
	if (__builtin_expect(p->limit != NULL, 0))
		le_bev_limit_spend_write(p, len);
}

void le_bev_limit_set_color(struct le_bev *p, uint32_t color);
void le_bev_limit_detach(struct le_bev *p);	/* nothing of it starts any more */
void le_bev_limit_free(struct le_bev *p);	/* not held */

/* ---------------------------------------------------------------- kinds */

#define LE_BEV_OWNER { .get = le_bev_get, .put = le_bev_put, .memory_put = le_bev_memory_put }

extern const struct bufferevent_ops le_bev_socket_ops, le_bev_pair_ops, le_bev_filter_ops;

#endif
