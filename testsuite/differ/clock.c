/*
 * A virtual clock for a program and the libraries it loads, stock's or ours, whichever they are:
 * preloaded (`run --clock`), it stands in for the functions that tell the time and those that wait
 * for it. Time passes only where the program waits for it or looks at it again and again, so how long
 * a machine takes (a host takes its CPUs away, its coarse clock stands still) is no part of a trace.
 *
 * A wait that ends by its timeout moves the clock to its end. First it waits in earnest, for at most
 * GRACE_MS: a packet on the loopback may be with another thread of the kernel. So a program on this
 * clock must not wait for what another process or thread does in its own time.
 */
/* Its headers define some of the functions that this file defines. */
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>

#define GRACE_MS 20
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000
#define NS_PER_READING 100		/* or who looks at the clock until it has moved would never end */

static atomic_int_fast64_t passed_ns;

static int64_t ns_of(const struct timespec *ts)
{
	return ts->tv_sec * (int64_t)NS_PER_S + ts->tv_nsec;
}

static struct timespec timespec_of(int64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

/* The C library's own function of that name. */
static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		abort();
	return fn;
}

#define NEXT(fn) ((__typeof__(&(fn)))next(#fn))

/* ---------------------------------------------------------------- what time is it? */

static int64_t monotonic_ns, realtime_ns;	/* at the start, the machine's */

static int64_t machine_ns(clockid_t clock)
{
	struct timespec ts;

	NEXT(clock_gettime)(clock, &ts);
	return ns_of(&ts);
}

__attribute__((constructor)) static void start(void)
{
	monotonic_ns = machine_ns(CLOCK_MONOTONIC);
	realtime_ns = machine_ns(CLOCK_REALTIME);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int64_t now = atomic_fetch_add(&passed_ns, NS_PER_READING);

	switch (clock) {
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_BOOTTIME:
		now += monotonic_ns;
		break;
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		now += realtime_ns;
		break;
	default:
		return NEXT(clock_gettime)(clock, ts);
	}
	*ts = timespec_of(now);
	return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec ts;

	(void)tz;
	clock_gettime(CLOCK_REALTIME, &ts);
	TIMESPEC_TO_TIMEVAL(tv, &ts);
	return 0;
}

time_t time(time_t *at)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (at != NULL)
		*at = ts.tv_sec;
	return ts.tv_sec;
}

/* ---------------------------------------------------------------- until when? */

/* -1: without end. */
static int64_t ns_until(const struct timespec *timeout)
{
	return timeout != NULL ? ns_of(timeout) : -1;
}

static int64_t ns_of_ms(int ms)
{
	return ms >= 0 ? ms * (int64_t)NS_PER_MS : -1;
}

static int64_t ns_of_timeval(const struct timeval *tv)
{
	return tv != NULL ? tv->tv_sec * (int64_t)NS_PER_S + tv->tv_usec * (int64_t)1000 : -1;
}

/* How long a wait is in earnest. */
static struct timespec grace(int64_t wait_ns)
{
	const int64_t most = GRACE_MS * (int64_t)NS_PER_MS;

	return timespec_of(wait_ns < most ? wait_ns : most);
}

/* What a wait of `wait_ns` returns that in earnest returned `ret`. */
static int waited(int ret, int64_t wait_ns)
{
	if (ret == 0)
		atomic_fetch_add(&passed_ns, wait_ns);
	return ret;
}

int epoll_pwait2(int fd, struct epoll_event *evs, int num, const struct timespec *timeout, const sigset_t *mask)
{
	int64_t wait_ns = ns_until(timeout);
	struct timespec ts = grace(wait_ns);

	return waited(NEXT(epoll_pwait2)(fd, evs, num, wait_ns < 0 ? NULL : &ts, mask), wait_ns);
}

int epoll_wait(int fd, struct epoll_event *evs, int num, int ms)
{
	struct timespec ts = timespec_of(ns_of_ms(ms));

	return epoll_pwait2(fd, evs, num, ms < 0 ? NULL : &ts, NULL);
}

int ppoll(struct pollfd *fds, nfds_t num, const struct timespec *timeout, const sigset_t *mask)
{
	int64_t wait_ns = ns_until(timeout);
	struct timespec ts = grace(wait_ns);

	return waited(NEXT(ppoll)(fds, num, wait_ns < 0 ? NULL : &ts, mask), wait_ns);
}

int poll(struct pollfd *fds, nfds_t num, int ms)
{
	struct timespec ts = timespec_of(ns_of_ms(ms));

	return ppoll(fds, num, ms < 0 ? NULL : &ts, NULL);
}

int pselect(int num, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x,
	    const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
	int64_t wait_ns = ns_until(timeout);
	struct timespec ts = grace(wait_ns);

	return waited(NEXT(pselect)(num, r, w, x, wait_ns < 0 ? NULL : &ts, mask), wait_ns);
}

int select(int num, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, struct timeval *restrict timeout)
{
	struct timespec ts = timespec_of(ns_of_timeval(timeout));

	return pselect(num, r, w, x, timeout == NULL ? NULL : &ts, NULL);
}
