/*
 * The struct of a bufferevent. Files that implement a kind (sockets, pairs, filters, TLS) include
 * this header, and so do those that all kinds share: public.c, call.c (callbacks), life.c
 * (references), ratelim.c.
 *
 * A kind embeds struct le_bev as its first member, fills a const struct bufferevent_ops, and calls
 *
 *   le_bev_init()           when it is made
 *   le_bev_discard()        if a later step of making it fails
 *   le_bev_enter(), _leave  around the callbacks of its own events
 *   le_bev_trigger()        when there is input, or room for output
 *   le_bev_trigger_event()  for all other events (BEV_EVENT_…)
 *
 * Threads. A bufferevent's events, its callbacks and the finalizer that frees it run in its color.
 * BEV_OPT_THREADSAFE adds a lock for callers from elsewhere. Its critical sections are short: no
 * callback of the program runs under it, and nothing waits under it (see call.c). The members of a
 * pair share one lock, and so do a filter and the bufferevent below it. Their evbuffers have the
 * same lock. The word "held" below marks functions that are called with that lock held, if there is
 * one.
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

/* Why reading or writing is suspended, although it is enabled. */
enum le_bev_suspend {
	LE_SUSPEND_WATERMARK = 0x01,	/* the high watermark is reached */
	LE_SUSPEND_RATE = 0x02,		/* its own rate limit */
	LE_SUSPEND_GROUP = 0x04,	/* the rate limit of its group */
	LE_SUSPEND_LOOKUP = 0x08,	/* the name to connect to is being resolved */
	LE_SUSPEND_FILTER = 0x10,	/* the filter above has no room */
};

enum { LE_BEV_LINE = 64 };		/* bytes of a cache line */

struct le_bev_limit;
struct le_bev_lock;
struct le_bev_post;

enum le_bev_ctrl { LE_CTRL_SET_FD, LE_CTRL_GET_FD, LE_CTRL_GET_UNDERLYING };

union le_bev_ctrl_data {
	evutil_socket_t fd;
	struct bufferevent *underlying;
};

/* The operations of a kind, called with the lock held. NULL: the kind has nothing to do. */
struct bufferevent_ops {
	struct le_buffer_owner_ops owner; /* first: LE_BEV_OWNER, which its buffers call */
	const char *type;

	/*
	 * EV_READ and EV_WRITE that may start, or must stop, from now on. Nothing is suspended when
	 * enable is called.
	 */
	int (*enable)(struct bufferevent *bev, short events);
	int (*disable)(struct bufferevent *bev, short events);

	/*
	 * After the last reference was dropped: remove the pointers that other objects have to it.
	 * Callbacks of its events may still run. Returns the bufferevent below if that must be freed, too, or NULL.
	 */
	struct bufferevent *(*unlink)(struct bufferevent *bev);

	/*
	 * In bufferevent_free, even if other references exist: cancel pending work other than
	 * events.
	 */
	void (*cancel)(struct bufferevent *bev);

	/* The last call: no callback of the bufferevent runs or will run. Not held. */
	void (*destruct)(struct bufferevent *bev);

	/* timeout_read or timeout_write changed. */
	int (*adjust_timeouts)(struct bufferevent *bev);

	int (*flush)(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode);
	int (*ctrl)(struct bufferevent *bev, enum le_bev_ctrl op, union le_bev_ctrl_data *data);

	/* Send as much of the output as possible now. Called at the end of a turn. */
	void (*send)(struct bufferevent *bev);

	/* LE_WAITING_KIND: what the kind left for a turn of its own. */
	void (*later)(struct bufferevent *bev);
};

/* le_bev.waiting: the work of the next run of `later`. */
enum {
	LE_WAITING_READ = 0x02,
	LE_WAITING_WRITE = 0x04,
	LE_WAITING_EVENT = 0x08,
	LE_WAITING_SEND = 0x10,		/* ops->send */
	LE_WAITING_KIND = 0x20,		/* ops->later */
	/* add the events that were pending before, or report that it is impossible */
	LE_WAITING_MOVED = 0x40,
	LE_WAITING_POST = 0x80,		/* le_bev.posts */
};

/*
 * One block holds a bufferevent and its two buffers. Each turn touches seven cache lines: two of
 * bev.ev_read, three from bev.input to the end of the section `turn`, and the first line of each
 * buffer. With a thousand connections, each of these lines is a cache miss for each request.
 */
struct le_bev {
	struct bufferevent bev;		/* the public part; first */

	/* turn: under the lock; "const": only le_bev_init, set_color and base_set change it */
	struct le_bev_lock *lock;	/* const; NULL: used from one color or one thread */
	struct le_bev_limit *limit;	/* NULL: no limit of its own or of a group */
	size_t read_max, write_max;	/* limits of one call */
	unsigned refs_num;
	/* nesting depth of le_bev_lock while there is no lock: so often a new lock must be taken */
	unsigned held;
	uint32_t color;			/* const */
	uint16_t turns;			/* nesting depth of le_bev_enter */
	uint16_t calling_depth;		/* 0: no callback runs, and `calling` is not valid */
	uint8_t options;		/* const; BEV_OPT_… */
	uint8_t waiting;		/* LE_WAITING_… */
	uint8_t read_suspended, write_suspended; /* LE_SUSPEND_… */
	bool is_dead : 1;		/* without references: adds and calls nothing */
	bool is_connecting : 1;
	bool is_other_file : 1;		/* its descriptor is not a socket */
	bool may_watch_output : 1;	/* false: nothing has added ev_write */
	bool has_sent : 1;		/* in this turn: the next write waits for EV_WRITE */
	/* changes to next_color when the turns of all that change with it have ended */
	bool is_moving : 1;
	bool has_missed : 1;		/* a callback waits for the end of `calling` */
	bool is_awaited : 1;		/* calling_waiters is not 0 */
	bool is_refused : 1;		/* connect() failed at once; reported later */
	short event_waiting;		/* BEV_EVENT_… to report */

	/*
	 * Each buffer begins on a line, if pointers have 64 bits. With alignas, the size would be a multiple of a line,
	 * too. Lock: what is between them.
	 */
	struct evbuffer input_buf;
	void *dns_request;		/* for the name that is being resolved */
	struct le_bev_post *posts;	/* the last one; NULL: there is none */
	struct evbuffer output_buf;

	/* const after le_bev_init */
	/* the filter or TLS on top of it, which shares color and lock; or NULL */
	struct le_bev *above;
	struct le_bev *partner;		/* pair: the other one, which shares the lock; or NULL */
	struct evbuffer_cb_entry *input_cb; /* NULL: no high watermark */

	/* lock */
	uint32_t next_color;
	int event_errno;		/* errno of event_waiting */
	int dns_error;
	uint16_t block_shift;		/* const: offset in the allocator's block */
	uint8_t block_order;		/* const: of the block, ec_chunk_new's; 0: ec_malloc's */
	bool is_freed;			/* by bufferevent_free, though there may be other references */

	/* lock: the thread that runs a callback, or holds bufferevent_lock */
	const void *calling;		/* ec_place() */
	unsigned calling_waiters;

	unsigned block_refs;		/* atomic: its own, and of each buffer that outlives it */

	struct event later;		/* does the work in `waiting`; at last the finalizer */
};

/* A block is as aligned as malloc's blocks, so this part of it may lie before the bufferevent's first line. */
enum { LE_BEV_SLACK = LE_BEV_LINE - alignof(max_align_t) };

_Static_assert(sizeof(struct le_bev) + LE_BEV_SLACK <= EC_CHUNK_BEV_SIZE,
	       "a bufferevent on a socket lies in a recycled block");

_Static_assert(sizeof(void *) != 8 ||
		       offsetof(struct le_bev, input_buf) ==
			       offsetof(struct le_bev, bev.enabled) + LE_BEV_LINE,
	       "what turns touch ends with the line that begins with bev.enabled");
_Static_assert(sizeof(void *) != 8 || (offsetof(struct le_bev, input_buf) % LE_BEV_LINE == 0 &&
				       offsetof(struct le_bev, output_buf) % LE_BEV_LINE == 0),
	       "each buffer begins on a line");

static inline struct le_bev *le_bev(const struct bufferevent *bev)
{
	return ec_container_of((uintptr_t)bev, struct le_bev, bev);
}

/* ---------------------------------------------------------------- life */

/*
 * Allocates zeroed memory for a bufferevent: `size` bytes that begin with a struct le_bev. NULL:
 * out of memory. A buffer may outlive the bufferevent while its callbacks run; it then holds a
 * reference on this memory.
 */
void *le_bev_alloc(size_t size);
void le_bev_memory_put(struct bufferevent *bev);

/*
 * Initializes `p`, which le_bev_alloc returned: buffers, a reference, and a lock if the options ask
 * for one. -1: out of memory; the caller frees the memory of `p`.
 *
 * `mate` is NULL, or a bufferevent of the same color whose lock `p` shares. `mate` gets a lock if
 * it has none.
 */
int le_bev_init(struct le_bev *p, struct event_base *base, const struct bufferevent_ops *ops,
		int options, struct le_bev *mate);

/* Undoes le_bev_init after a later step has failed. Nothing else may refer to the bufferevent. */
void le_bev_discard(struct le_bev *p);

/*
 * References. Dropping the last one ends the bufferevent: its pending work is canceled at once, and
 * its memory and descriptor are freed later.
 */
void le_bev_get(struct bufferevent *bev);
void le_bev_put(struct bufferevent *bev);
void le_bev_end_and_unlock(struct le_bev *p);	/* it was the last one */

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

static inline void le_bev_get_and_lock(struct bufferevent *bev)
{
	le_bev_lock(bev);
	le_bev(bev)->refs_num++;
}

/* 1: it was the last one. */
static inline int le_bev_put_and_unlock(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	if (__builtin_expect(--p->refs_num != 0, 1)) {
		le_bev_unlock(bev);
		return 0;
	}
	le_bev_end_and_unlock(p);
	return 1;
}

/* The bufferevent below it; or NULL. */
struct le_bev *le_bev_below(struct le_bev *p);
/* The lowest of those below it; or `p`. */
struct le_bev *le_bev_bottom(struct le_bev *p);
/* For `unlink` of a kind that is above `below`, whose event callback is `eventcb`: what it returns. held */
struct bufferevent *le_bev_leave_below(struct le_bev *p, struct bufferevent *below, bufferevent_event_cb eventcb);

/* ---------------------------------------------------------------- turns */

/*
 * Called at the beginning and the end of each callback of the bufferevent's events. Entering takes
 * the lock and a reference. Leaving sends the output written meanwhile, and releases both.
 */
static inline bool le_bev_enter(struct bufferevent *bev)	/* false: it is dead, and was not entered */
{
	struct le_bev *p = le_bev(bev);

	le_bev_lock(bev);
	if (__builtin_expect(p->is_dead, 0)) {
		le_bev_unlock(bev);
		return false;
	}
	p->refs_num++;
	p->turns++;
	return true;
}

void le_bev_leave(struct bufferevent *bev);

/* Lets `later` do this work, soon and in the bufferevent's color. held */
void le_bev_do_later(struct le_bev *p, unsigned waiting);

/* The output has grown: send it at the end of this turn, or in a turn of its own. held */
void le_bev_send_soon(struct le_bev *p);

/* ---------------------------------------------------------------- the program's callbacks */

/*
 * These call the program's callbacks: at once, or deferred if the options (BEV_OPT_… of the
 * bufferevent or of the call) or the color require it. They are called with the lock held, and
 * may release it during the callback. So the caller must check again afterwards.
 *
 * le_bev_trigger: iotype is EV_READ, EV_WRITE or both. It respects watermarks, unless the options
 * contain BEV_TRIG_IGNORE_WATERMARKS.
 */
void le_bev_trigger(struct bufferevent *bev, short iotype, int options);
void le_bev_trigger_event(struct bufferevent *bev, short what, int options);

/*
 * As le_bev_trigger for EV_READ or EV_WRITE without options, for callers in a turn: they run in the
 * bufferevent's color.
 */
void le_bev_call_read(struct le_bev *p);
void le_bev_call_write(struct le_bev *p);

static inline void le_bev_trigger_read(struct le_bev *p)
{
	if (p->bev.readcb != NULL && le_buffer_length(p->bev.input) >= p->bev.wm_read.low)
		le_bev_call_read(p);
}

static inline void le_bev_trigger_write(struct le_bev *p)
{
	if (p->bev.writecb != NULL && le_buffer_length(p->bev.output) <= p->bev.wm_write.low)
		le_bev_call_write(p);
}

/*
 * `s` is a callback of the events of `p`, for `what`: which function of the program will it call? False: none that is
 * known before.
 */
static inline bool le_bev_subject(struct le_bev *p, struct ec_subject *s, short what)
{
	bufferevent_data_cb fn = NULL;

	s->kind = EC_OBJECT_BUFFEREVENT;
	le_bev_lock(&p->bev);
	s->is_open = true;			/* it may be the event callback instead */
	if ((what & EV_READ) != 0 || (p->waiting & LE_WAITING_READ) != 0)
		fn = p->bev.readcb;
	else if ((what & EV_WRITE) != 0 || (p->waiting & LE_WAITING_WRITE) != 0)
		fn = p->bev.writecb;
	if (fn != NULL) {
		s->fn = (uintptr_t)fn;
		s->object = (uintptr_t)p->bev.cbarg;
	}
	le_bev_unlock(&p->bev);
	return fn != NULL;
}

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

/*
 * Watch for `ev` (ev_read or ev_write) with its timeout; without a descriptor only the timeout.
 * held
 */
int le_bev_event_add(struct le_bev *p, struct event *ev);
/* Never waits for a callback. held */
int le_bev_event_del(struct le_bev *p, struct event *ev);

/*
 * For kinds whose events are only timeouts: start those that should run, stop the others. -1: out
 * of memory. held
 */
int le_bev_adjust_timers(struct bufferevent *bev);
/* Data moved: restart the timeout if it should run. -1: out of memory. held */
int le_bev_restart_timer(struct bufferevent *bev, short event);
/* Callbacks of ev_read and ev_write of those kinds. */
void le_bev_read_timer_cb(evutil_socket_t fd, short what, void *arg);
void le_bev_write_timer_cb(evutil_socket_t fd, short what, void *arg);

/* ---------------------------------------------------------------- rate limits, ratelim.c */

/*
 * How many bytes one call may move now: limits, watermark, the group's share. 0 or less: none. held
 */
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

/* Counts bytes that were read or written, and suspends when a limit is reached. held */
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
void le_bev_limit_set_base(struct le_bev *p, struct event_base *base);
void le_bev_limit_detach(struct le_bev *p);	/* its events start no more */
void le_bev_limit_free(struct le_bev *p);	/* not held */

/* ---------------------------------------------------------------- kinds */

#define LE_BEV_OWNER { .get = le_bev_get, .put = le_bev_put, .memory_put = le_bev_memory_put }

extern const struct bufferevent_ops le_bev_socket_ops, le_bev_pair_ops, le_bev_filter_ops;

#endif
