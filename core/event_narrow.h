/*
 * The layout of struct event where pointers have 32 bits. Part of ec.h.
 *
 * There are no holes, but a third of the struct is private to libevent: two list links, a place in the timer
 * queues, and two struct timeval. What the engine needs fits in there, so an event owns nothing here either, and a
 * program may free or reuse its memory as on other machines. Rejected: a table beside the events. An event may be
 * freed without a call, so nobody could tell which of its entries are still in use.
 *
 *	libevent			here
 *	evcb_active_next		task.link
 *	ev_timeout_pos, first half	color
 *	ev_timeout_pos, second half	timer.slot
 *	ev_io_next, ev_signal_next	of.*.link
 *	ev_io.ev_timeout		interval or due, state, runner
 *	ev_timeout			deadline_ns
 *
 * This leaves out, at some cost in time but none in behaviour:
 *
 *   - The link of a common timeout's queue: a common timeout is a timer like others.
 *   - The index of the color: hints are in one table for all events, by address. As everywhere, a wrong hint costs a
 *     lookup.
 *   - Half of the interval. It is exact up to 17 minutes, and then at most a millionth too long.
 */
#ifndef EC_EVENT_NARROW_H
#define EC_EVENT_NARROW_H

struct ec_task {
	struct ec_list link;
	union {
		struct {
			int16_t flags;
			uint8_t pri;		/* smaller is more urgent */
			uint8_t kind;
		};
		uint32_t word;
	};
	union ec_task_fn fn;
	void *arg;
	uint32_t color;				/* beyond struct event_callback */
};

/* As aligned as struct timeval is where its members have 32 bits. */
typedef int64_t ec_event_ns __attribute__((aligned(4)));

/* Guards as in event_wide.h. The timevals are there for their size and alignment: their members may have 64 bits. */
struct ec_event {
	struct ec_task task;
	struct {
		uint32_t slot;		/* in the timer heap */
	} timer;
	int fd;				/* or the signal's number */
	struct ec_base *base;
	union {
		struct {
			struct ec_list link;		/* events of one descriptor */
			union {
				struct timeval unused;
				uint32_t interval;	/* of a persistent timeout: ec_interval_pack() */
			};
		} io;
		struct {
			struct ec_list link;		/* events of one signal */
			union {
				struct timeval unused;
				int16_t ncalls;
				uint32_t due;		/* calls for the signals that came; 0 unless active */
			};
		} sig;
		struct {
			struct ec_list link;
			union {
				struct timeval unused;
				struct {
					uint32_t first;
					uint16_t state;		/* EC_EV_… in sched/event.h, with its guard */
					uint16_t runner;	/* EC_RUNNER_… in sched/event.h, with its guard */
				};
			};
		} both;
	} of;
	int16_t events;			/* EC_READ, …, EC_PERSIST as assigned */
	int16_t res;			/* what happened, for the callback */
	union {
		struct timeval unused;
		ec_event_ns deadline_ns;	/* of the monotonic clock, while EC_IN_TIMEOUT */
	};
};

/* ---------------------------------------------------------------- intervals */

/* 30 bits of a number, and above them its unit. Rounded up, for a timer must not be early. */
enum { EC_INTERVAL_BITS = 30, EC_INTERVAL_MAX = (1 << EC_INTERVAL_BITS) - 1, EC_INTERVAL_UNITS = 4 };

static inline int64_t ec_interval_unit_ns(uint32_t unit)
{
	/* A microsecond, a millisecond, a second, a minute. */
	return unit == 0 ? 1000 : unit == 1 ? 1000000 : unit == 2 ? 1000000000 : INT64_C(60000000000);
}

static inline uint32_t ec_interval_pack(int64_t ns)
{
	int64_t unit_ns, num = 0;
	uint32_t unit;

	if (ns <= 0)
		return 0;		/* of less than 0: the timer is always due, as with 0 */
	for (unit = 0; unit < EC_INTERVAL_UNITS; unit++) {
		unit_ns = ec_interval_unit_ns(unit);
		num = (ns - 1) / unit_ns + 1;
		if (num <= EC_INTERVAL_MAX)
			return unit << EC_INTERVAL_BITS | (uint32_t)num;
	}
	return UINT32_MAX;
}

static inline int64_t ec_interval_unpack(uint32_t interval)
{
	return (int64_t)(interval & EC_INTERVAL_MAX) * ec_interval_unit_ns(interval >> EC_INTERVAL_BITS);
}

/* ---------------------------------------------------------------- what both layouts offer */

/* Can events be in the queue of a common timeout, or in a bucket? */
enum { EC_HAS_COMMON = 0 };

static inline struct ec_list *ec_event_common_link(struct ec_event *ev)
{
	(void)ev;
	__builtin_unreachable();
}

static inline struct ec_event *ec_event_of_common(struct ec_list *link)
{
	(void)link;
	__builtin_unreachable();
}

static inline uint32_t *ec_event_far_seq(struct ec_event *ev)
{
	(void)ev;
	__builtin_unreachable();
}

static inline uint64_t ec_event_common(const struct ec_event *ev)
{
	(void)ev;
	return 0;
}

static inline int64_t ec_event_interval_ns(const struct ec_event *ev)
{
	return ec_interval_unpack(ev->of.io.interval);
}

static inline void ec_event_clear_interval(struct ec_event *ev)
{
	ev->of.io.interval = 0;
}

static inline void ec_event_set_interval(struct ec_event *ev, int64_t interval_ns, uint64_t common)
{
	(void)common;
	ev->of.io.interval = ec_interval_pack(interval_ns);
}

/* flags, pri, kind and color as one number, for one test. */
static inline uint64_t ec_task_word(const struct ec_task *t)
{
	return (uint64_t)t->color << 32 | t->word;
}

enum { EC_BOUNDS = 1024 };

extern uint32_t ec_event_bounds[EC_BOUNDS];	/* atomic, relaxed */

static inline uint32_t *ec_event_bound(struct ec_event *ev)
{
	return &ec_event_bounds[((uintptr_t)ev >> 6 ^ (uintptr_t)ev >> 16) % EC_BOUNDS];
}

static inline uint16_t *ec_event_state_field(struct ec_event *ev)
{
	return &ev->of.both.state;
}

static inline uint16_t *ec_event_runner_field(struct ec_event *ev)
{
	return &ev->of.both.runner;
}

#endif
