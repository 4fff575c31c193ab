/*
 * The layout of struct event where pointers and long have 64 bits: its three holes hold what the engine needs besides.
 * Part of ec.h.
 */
#ifndef EC_EVENT_WIDE_H
#define EC_EVENT_WIDE_H

/*
 * The layout of struct event_callback; the hole before the function holds the color. The guard of all fields is the
 * RUNQ lock of the worker where the color is; sched/event.h has the exceptions of an event.
 */
struct ec_task {
	struct ec_list link;
	union {
		struct {
			int16_t flags;
			uint8_t pri;		/* smaller is more urgent */
			uint8_t kind;
			uint32_t color;
		};
		uint64_t word;			/* all four: one test for what is out of the ordinary */
	};
	union ec_task_fn fn;
	void *arg;
};

/*
 * The layout of struct event, its holes named. An event that is neither pending nor active belongs to the program,
 * which may free it; so the engine keeps nothing in it that must be released. Guards: `task`, `bound` and `res` RUNQ of
 * the color's worker, `timer`, `of`, `deadline_ns` and `far_seq` SOURCE of the worker in `state`; the rest is const
 * once assigned.
 */
struct ec_event {
	struct ec_task task;
	union {
		struct ec_list common;	/* in the queue of its common timeout, or in a bucket of io/far.h */
		uint32_t slot;		/* in the timer heap */
	} timer;
	int fd;				/* or the signal's number */
	uint32_t bound;			/* the color's index + 1, a hint: see sched/event.h; 0: none */
	struct ec_base *base;
	union {
		struct {
			struct ec_list link;		/* events of one descriptor */
			int64_t interval_ns;		/* of a persistent timeout; 0: none */
			uint64_t common;		/* the common timeout that it uses: its index + 1, or 0 */
		} io;
		struct {
			struct ec_list link;		/* events of one signal */
			union {
				int16_t ncalls;		/* what libevent has here */
				uint32_t due;		/* calls for the signals that came; 0 unless active */
			};
			void *unused;
		} sig;
	} of;
	int16_t events;			/* EC_READ, …, EC_PERSIST as assigned */
	int16_t res;			/* what happened, for the callback */
	uint16_t state;			/* engine: EC_EV_… in sched/event.h, with its guard */
	uint16_t runner;		/* engine: EC_RUNNER_… in sched/event.h, with its guard */
	int64_t deadline_ns;		/* of the monotonic clock, while EC_IN_TIMEOUT */
	uint32_t far_seq;		/* in a bucket of io/far.h: its place among equal deadlines */
	uint32_t unused;
};

/* ---------------------------------------------------------------- what both layouts offer */

/* Can events be in the queue of a common timeout, or in a bucket? */
enum { EC_HAS_COMMON = 1 };

static inline struct ec_list *ec_event_common_link(struct ec_event *ev)
{
	return &ev->timer.common;
}

static inline struct ec_event *ec_event_of_common(struct ec_list *link)
{
	return ec_container_of(link, struct ec_event, timer.common);
}

static inline uint32_t *ec_event_far_seq(struct ec_event *ev)
{
	return &ev->far_seq;
}

static inline uint64_t ec_event_common(const struct ec_event *ev)
{
	return ev->of.io.common;
}

static inline int64_t ec_event_interval_ns(const struct ec_event *ev)
{
	return ev->of.io.interval_ns;
}

static inline void ec_event_clear_interval(struct ec_event *ev)
{
	ev->of.io.interval_ns = 0;
}

static inline void ec_event_set_interval(struct ec_event *ev, int64_t interval_ns, uint64_t common)
{
	ev->of.io.interval_ns = interval_ns;
	ev->of.io.common = common;
}

/* flags, pri, kind and color as one number, for one test. */
static inline uint64_t ec_task_word(const struct ec_task *t)
{
	return t->word;
}

static inline uint32_t *ec_event_bound(struct ec_event *ev)
{
	return &ev->bound;
}

static inline uint16_t *ec_event_state_field(struct ec_event *ev)
{
	return &ev->state;
}

static inline uint16_t *ec_event_runner_field(struct ec_event *ev)
{
	return &ev->runner;
}

#endif
