/*
 * A machine whose host takes its CPUs away, for a test that must not notice: preloaded, it makes calls
 * of the system late at times, and lets the coarse clock stand still for longer than its tick.
 *
 *   LD_PRELOAD=$PWD/build/testsuite/liblate.so LATE_SEED=7 build/testsuite/unit/test_timer
 *
 * Which calls depends on the seed (LATE_SEED, 1) and the program's name, and on the order of its threads.
 */
/* Its headers define some of the functions that this file defines. */
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define LATE_MS_MAX 15
#define LATE_PER_MILLE 20
#define COARSE_MS_MAX 20
#define NS_PER_MS 1000000
#define NS_PER_S 1000000000

static atomic_uint_fast64_t state;

__attribute__((constructor)) static void start(void)
{
	const char *seed = getenv("LATE_SEED");

	state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
	for (const char *c = program_invocation_short_name; *c != '\0'; c++)
		state = state * 31 + (unsigned char)*c;
}

/* SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t below(uint64_t max)
{
	uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15) + 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (x ^ x >> 31) % max;
}

/* By the system's own number, for the C library's functions may be someone's who was preloaded too. */
static void be_late(void)
{
	struct timespec ts = { 0, (long)(1 + below(LATE_MS_MAX)) * NS_PER_MS };
	int saved = errno;

	if (below(1000) < LATE_PER_MILLE)
		syscall(SYS_nanosleep, &ts, NULL);
	errno = saved;
}

static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (fn == NULL)
		abort();
	return fn;
}

/* A function of the C library that is late before it does its work, and after. */
#define LATE(type, name, params, args) \
	type name params \
	{ \
		static type(*_Atomic fn) params; \
		type ret; \
\
		if (fn == NULL) \
			fn = (type(*) params)next(#name); \
		be_late(); \
		ret = fn args; \
		be_late(); \
		return ret; \
	}

LATE(int, epoll_wait, (int fd, struct epoll_event *evs, int num, int ms), (fd, evs, num, ms))
/* glibc before 2.35 and musl do not declare it. */
int epoll_pwait2(int fd, struct epoll_event *evs, int num, const struct timespec *timeout, const sigset_t *mask);

LATE(int, epoll_pwait2,
     (int fd, struct epoll_event *evs, int num, const struct timespec *timeout, const sigset_t *mask),
     (fd, evs, num, timeout, mask))
LATE(int, poll, (struct pollfd * fds, nfds_t num, int ms), (fds, num, ms))
LATE(int, ppoll, (struct pollfd * fds, nfds_t num, const struct timespec *timeout, const sigset_t *mask),
     (fds, num, timeout, mask))
LATE(int, select,
     (int num, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, struct timeval *restrict timeout),
     (num, r, w, x, timeout))
LATE(int, pselect,
     (int num, fd_set *restrict r, fd_set *restrict w, fd_set *restrict x, const struct timespec *restrict timeout,
      const sigset_t *restrict mask),
     (num, r, w, x, timeout, mask))
LATE(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len))
LATE(ssize_t, readv, (int fd, const struct iovec *parts, int num), (fd, parts, num))
LATE(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len))
LATE(ssize_t, writev, (int fd, const struct iovec *parts, int num), (fd, parts, num))
LATE(ssize_t, recvfrom,
     (int fd, void *restrict buf, size_t len, int flags, struct sockaddr *restrict from, socklen_t *restrict from_len),
     (fd, buf, len, flags, from, from_len))
LATE(ssize_t, sendto,
     (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len),
     (fd, buf, len, flags, to, to_len))

/* The last reading of the coarse clock, until a time that chance says. */
static void hold(struct timespec *ts)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static int64_t shown, until;
	int64_t now = ts->tv_sec * (int64_t)NS_PER_S + ts->tv_nsec;

	pthread_mutex_lock(&lock);
	if (now >= until) {
		shown = now;
		until = now + (int64_t)below(COARSE_MS_MAX) * NS_PER_MS;
	}
	*ts = (struct timespec){ .tv_sec = (time_t)(shown / NS_PER_S), .tv_nsec = (long)(shown % NS_PER_S) };
	pthread_mutex_unlock(&lock);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int ret;

	be_late();
	ret = (int)syscall(SYS_clock_gettime, clock, ts);
	if (ret == 0 && clock == CLOCK_MONOTONIC_COARSE)
		hold(ts);
	return ret;
}
