/*
 * A worker waits with a poller: one file for each kernel interface, this table for all.
 *
 * A poller belongs to one worker. The worker's SOURCE lock is held in each call except `wait`. The one thread that
 * set `is_waiting` calls `wait` without the lock (polling.c). So `wait` may touch only the copies that prepare()
 * made, and the ready list. A thread that polls for a busy worker holds SOURCE in `wait`, which then does not block.
 */
#ifndef EC_POLLER_H
#define EC_POLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct ec_poller;

/* A wait that time_t is too short for ends early. */
static inline struct timespec ec_poller_timespec(int64_t wait_ns)
{
	int64_t sec = wait_ns / 1000000000;

	if (sizeof(time_t) < sizeof(sec) && sec > INT32_MAX)
		sec = INT32_MAX;
	return (struct timespec){ .tv_sec = (time_t)sec, .tv_nsec = (long)(wait_ns % 1000000000) };
}

/*
 * Identifies the watch() that caused a report: descriptor and cookie in one word. Cookie 0: the kernel stores none.
 */
static inline uint64_t ec_watch_id(int fd, uint32_t cookie)
{
	return (uint64_t)cookie << 32 | (uint32_t)fd;
}

static inline int ec_watch_fd(uint64_t id)
{
	return (int)(uint32_t)id;
}

static inline uint32_t ec_watch_cookie(uint64_t id)
{
	return (uint32_t)(id >> 32);
}

/*
 * One report, which ec_ready_what() reads. It has the layout of struct epoll_event, also where that is packed. So
 * epoll writes its reports here, and nothing is copied.
 */
struct ec_ready {
	uint32_t what;			/* in the poller's own bits */
	uint64_t id;			/* ec_watch_id */
}
#if defined(__x86_64__)
__attribute__((packed, aligned(4)))
#endif
;

struct ec_poller_ops {
	/* const, all of it */
	const char *name;		/* of event_base_get_method */
	unsigned features;		/* EC_FEATURE_… of ec.h */
	bool is_kernel_set;		/* watch() is a system call; it refuses some files */

	/* precise: sleep to the nanosecond, if the kernel can; else in milliseconds, rounded up. */
	int (*open)(bool precise, struct ec_poller **ret);
	void (*close)(struct ec_poller *p);

	/* After fork: a new kernel object that watches nothing; user-space sets are emptied too. */
	int (*reopen)(struct ec_poller *p);

	/*
	 * Sets the interest in `fd`: EC_READ | EC_WRITE | EC_CLOSED | EC_ET; 0 forgets `fd`. `had` is the interest
	 * that the caller believes is set now. If the kernel disagrees (the descriptor was closed and opened anew),
	 * the function corrects that and reports no error. Forgetting what the kernel forgot is no error either.
	 * -EPERM: no poller can watch this kind of file; -EBADF; -ENOMEM; -EINVAL: out of the poller's range.
	 */
	int (*watch)(struct ec_poller *p, int fd, unsigned had, unsigned want, uint32_t cookie);

	/*
	 * Under SOURCE, before wait(), if is_changed: copies the set that wait() needs. 0 or -ENOMEM. NULL: no copy.
	 */
	int (*prepare)(struct ec_poller *p);

	/*
	 * Blocks for at most `wait_ns` (-1: no limit, 0: not at all). Returns the number of reports in `ready`, which
	 * stay there until the next call; or -EINTR, or another -errno. A full list grows for the next call.
	 */
	int (*wait)(struct ec_poller *p, int64_t wait_ns);

	/* Turns the `what` of a report into EC_READ, EC_WRITE, EC_CLOSED. NULL: it has these bits already. */
	unsigned (*decode)(uint32_t what);
	uint32_t input;			/* the `what` that means EC_READ alone */
};

struct ec_poller {
	/* const */
	const struct ec_poller_ops *ops;

	/* src; but while a thread is in wait(), `ready` and `random` are its own */
	struct ec_ready *ready;
	int kernel_fd;			/* pollable itself (epoll), or -1 */
	bool is_changed;		/* the set of a poller that has prepare() */
	uint64_t random;		/* of ec_ready_shuffle: a linear congruential generator */
};

/* As wait, by a thread that holds SOURCE: it does not block, and no pthread_cancel ends the thread in it. */
int ec_poller_ask(struct ec_poller *p);

/*
 * Puts `num` reports in a random order; each order is as likely (Fisher and Yates; Knuth, TAOCP volume 2, 3.4.2). A
 * poller that scans finds the reports in the order of its set. If callbacks share something, such as the bytes of a
 * rate-limit group, the one that always comes last starves. Starting each scan at another place is not enough: of a
 * group of neighbours, the first one comes first for every start in the gap before them.
 */
static inline void ec_ready_shuffle(struct ec_poller *p, int num)
{
	struct ec_ready swap;
	int i, j;

	for (i = num - 1; i > 0; i--) {
		p->random = p->random * UINT64_C(6364136223846793005) + 1442695040888963407;
		j = (int)((p->random >> 32) * ((uint64_t)i + 1) >> 32);
		swap = p->ready[i];
		p->ready[i] = p->ready[j];
		p->ready[j] = swap;
	}
}

/* EC_READ, EC_WRITE, EC_CLOSED. An error or hang-up reports EC_READ | EC_WRITE. */
static inline unsigned ec_ready_what(const struct ec_poller *p, const struct ec_ready *r)
{
	return p->ops->decode == NULL ? r->what : p->ops->decode(r->what);
}

extern const struct ec_poller_ops ec_poller_epoll;
extern const struct ec_poller_ops ec_poller_poll;
extern const struct ec_poller_ops ec_poller_select;

/* In order of preference, NULL-terminated. */
extern const struct ec_poller_ops *const ec_pollers[];

#endif
