#include "fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/ec.h"

/* More of them than any test can have; a loop that never ends would only look like a slow test. */
enum { TRIES_MAX = 5000 };

/* Workers allocate and call as well: so all of it is atomic, and the count says which one fails. */
struct counter {
	_Atomic(unsigned) seen;
	_Atomic(unsigned) fail_at;	/* 0: none */
	_Atomic(bool) always;
	_Atomic(int) err;
};

static struct counter alloc, calls[FAULT_CALLS_NUM];
static _Atomic(long) alive;
static _Atomic(bool) has_come;
static _Atomic(int) epoll_ms;

static const char *const names[] = {
#define FAULT_TEXT(name) #name,
	FAULT_CALLS(FAULT_TEXT)
#undef FAULT_TEXT
};

static const int usual[FAULT_CALLS_NUM] = {
	[FAULT_close] = EINTR,
	[FAULT_epoll_create1] = EMFILE,
	[FAULT_epoll_ctl] = ENOSPC,
	[FAULT_epoll_pwait2] = ENOSYS,
	[FAULT_epoll_wait] = EINTR,
	[FAULT_eventfd] = ENFILE,
	[FAULT_fcntl] = EBADF,
	[FAULT_fopen] = EMFILE,
	[FAULT_poll] = ENOMEM,
	[FAULT_ppoll] = ENOMEM,
	[FAULT_pselect] = ENOMEM,
	[FAULT_pthread_atfork] = ENOMEM,
	[FAULT_pthread_create] = EAGAIN,
	[FAULT_pthread_sigmask] = EINVAL,
	[FAULT_read] = EINTR,
	[FAULT_recvfrom] = ENOMEM,
	[FAULT_sched_getaffinity] = EFAULT,
	[FAULT_sendto] = ENETUNREACH,
	[FAULT_sigaction] = EINVAL,
	[FAULT_socket] = EMFILE,
	[FAULT_write] = EINTR,
	[FAULT_bind] = EADDRINUSE,
	[FAULT_connect] = ENETUNREACH,
	[FAULT_getsockopt] = ENOBUFS,
	[FAULT_listen] = EADDRINUSE,
	[FAULT_setsockopt] = EINVAL,
	[FAULT_fchmod] = EROFS,
	[FAULT_ftruncate] = EFBIG,
	[FAULT_madvise] = EINVAL,
	[FAULT_memfd_create] = EMFILE,
	[FAULT_mkdir] = EROFS,
	[FAULT_mmap] = ENOMEM,
	[FAULT_open] = EMFILE,
	[FAULT_posix_fallocate] = ENOSPC,
	[FAULT_tgkill] = EAGAIN,
};

static bool is_due(struct counter *c)
{
	unsigned nth = atomic_fetch_add(&c->seen, 1) + 1;

	if (nth != atomic_load(&c->fail_at) && !atomic_load(&c->always))
		return false;
	atomic_store(&has_come, true);
	return true;
}

/* ---------------------------------------------------------------- memory */

static void *fault_malloc(size_t size)
{
	void *p = is_due(&alloc) ? NULL : malloc(size);

	if (p != NULL)
		atomic_fetch_add(&alive, 1);
	return p;
}

static void *fault_realloc(void *p, size_t size)
{
	void *q = is_due(&alloc) ? NULL : realloc(p, size);

	if (q != NULL && p == NULL)
		atomic_fetch_add(&alive, 1);
	return q;
}

static void fault_free(void *p)
{
	if (p != NULL)
		atomic_fetch_sub(&alive, 1);
	free(p);
}

int fault_init(void **state)
{
	(void)state;
	ec_mem_set_fns(fault_malloc, fault_realloc, fault_free);
	return 0;
}

int fault_fini(void **state)
{
	(void)state;
	(void)fault_end();
	ec_mem_set_fns(NULL, NULL, NULL);
	return 0;
}

/* ---------------------------------------------------------------- system calls */

static bool is_call_due(enum fault_call call)
{
	return is_due(&calls[call]);
}

/* WRAP(result, name, parameters, arguments): fails with -1 and errno. */
#define WRAP(type, name, params, args, failure) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		if (is_call_due(FAULT_##name)) { \
			errno = atomic_load(&calls[FAULT_##name].err); \
			return failure; \
		} \
		return __real_##name args; \
	}

int __real_epoll_wait(int epfd, struct epoll_event *evs, int max, int ms);
int __wrap_epoll_wait(int epfd, struct epoll_event *evs, int max, int ms);
int __wrap_epoll_wait(int epfd, struct epoll_event *evs, int max, int ms)
{
	atomic_store(&epoll_ms, ms);
	if (is_call_due(FAULT_epoll_wait)) {
		errno = atomic_load(&calls[FAULT_epoll_wait].err);
		return -1;
	}
	return __real_epoll_wait(epfd, evs, max, ms);
}

/* Linux closes the descriptor, whatever close() says then. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int r = __real_close(fd);

	if (!is_call_due(FAULT_close))
		return r;
	errno = atomic_load(&calls[FAULT_close].err);
	return -1;
}

/* Those that return the error's number. */
#define WRAP_ERR(name, params, args) WRAP(int, name, params, args, atomic_load(&calls[FAULT_##name].err))

WRAP(int, epoll_create1, (int flags), (flags), -1)
WRAP(int, epoll_ctl, (int epfd, int op, int fd, struct epoll_event *ev), (epfd, op, fd, ev), -1)

WRAP(int, epoll_pwait2,
     (int epfd, struct epoll_event *evs, int max, const struct timespec *ts, const sigset_t *set),
     (epfd, evs, max, ts, set), -1)
WRAP(int, eventfd, (unsigned start, int flags), (start, flags), -1)
WRAP(int, poll, (struct pollfd * fds, nfds_t num, int ms), (fds, num, ms), -1)
WRAP(int, ppoll, (struct pollfd * fds, nfds_t num, const struct timespec *ts, const sigset_t *set),
     (fds, num, ts, set), -1)
WRAP(int, pselect,
     (int num, fd_set *in, fd_set *out, fd_set *ex, const struct timespec *ts, const sigset_t *set),
     (num, in, out, ex, ts, set), -1)
WRAP(ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len), -1)
WRAP(ssize_t, recvfrom, (int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len),
     (fd, buf, len, flags, from, from_len), -1)
WRAP(ssize_t, sendto,
     (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len),
     (fd, buf, len, flags, to, to_len), -1)
WRAP(int, sigaction, (int sig, const struct sigaction *sa, struct sigaction *old), (sig, sa, old), -1)
WRAP(int, socket, (int domain, int type, int protocol), (domain, type, protocol), -1)
WRAP(int, bind, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len), -1)
WRAP(int, connect, (int fd, const struct sockaddr *addr, socklen_t len), (fd, addr, len), -1)
WRAP(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *len), (fd, level, name, value, len), -1)
WRAP(int, listen, (int fd, int backlog), (fd, backlog), -1)
WRAP(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t len),
     (fd, level, name, value, len), -1)
WRAP(ssize_t, write, (int fd, const void *buf, size_t len), (fd, buf, len), -1)
/* What goes by a wrapper of the C library counts as that. It takes as many words as any call has. */
long __wrap_syscall(long number, ...);
long __real_syscall(long number, ...);

long __wrap_syscall(long number, ...)
{
	long word[6];
	va_list args;
	int i;

	va_start(args, number);
	for (i = 0; i < 6; i++)
		word[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_read)
		return __wrap_read((int)word[0], (void *)(uintptr_t)word[1], (size_t)word[2]);
	if (number == SYS_write)
		return __wrap_write((int)word[0], (const void *)(uintptr_t)word[1], (size_t)word[2]);
	if (number == SYS_epoll_ctl)
		return __wrap_epoll_ctl((int)word[0], (int)word[1], (int)word[2],
					(struct epoll_event *)(uintptr_t)word[3]);
	if (number == SYS_tgkill && is_call_due(FAULT_tgkill)) {
		errno = atomic_load(&calls[FAULT_tgkill].err);
		return -1;
	}
	return __real_syscall(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}

WRAP_ERR(pthread_atfork, (void (*before)(void), void (*parent)(void), void (*child)(void)), (before, parent, child))
WRAP_ERR(pthread_create, (pthread_t * t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
	 (t, attr, fn, arg))
WRAP_ERR(pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), (how, set, old))

WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), -1)
WRAP(int, madvise, (void *at, size_t len, int advice), (at, len, advice), -1)
WRAP(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1)
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)

/* With large files, as Meson builds everything, these have such names. */
#define WRAP_LARGE(type, name, params, args, failure) \
	type __real_##name##64 params; \
	type __wrap_##name##64 params; \
	type __wrap_##name##64 params \
	{ \
		if (is_call_due(FAULT_##name)) { \
			errno = atomic_load(&calls[FAULT_##name].err); \
			return failure; \
		} \
		return __real_##name##64 args; \
	}

WRAP_LARGE(int, ftruncate, (int fd, int64_t len), (fd, len), -1)
WRAP_LARGE(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, int64_t offset),
	   (at, len, prot, flags, fd, offset), (void *)-1)
WRAP_LARGE(int, posix_fallocate, (int fd, int64_t at, int64_t len), (fd, at, len), errno)

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	unsigned mode;

	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(args, unsigned) : 0;
	va_end(args);
	if (is_call_due(FAULT_open)) {
		errno = atomic_load(&calls[FAULT_open].err);
		return -1;
	}
	return __real_open64(path, flags, mode);
}

int __real_fcntl64(int fd, int cmd, ...);
int __wrap_fcntl64(int fd, int cmd, ...);
int __wrap_fcntl64(int fd, int cmd, ...)
{
	va_list args;
	long arg;

	va_start(args, cmd);
	arg = va_arg(args, long);
	va_end(args);
	if (is_call_due(FAULT_fcntl)) {
		errno = atomic_load(&calls[FAULT_fcntl].err);
		return -1;
	}
	return __real_fcntl64(fd, cmd, arg);
}

/* ---------------------------------------------------------------- another machine */

static char system_folder[256];
static unsigned cpus_first, cpus_num;

void fault_system_at(const char *folder)
{
	(void)snprintf(system_folder, sizeof(system_folder), "%s", folder == NULL ? "" : folder);
}

void fault_cpus(unsigned first, unsigned num)
{
	cpus_first = first;
	cpus_num = num;
}

/* With large files, as Meson builds everything, fopen and fcntl have these names. */
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	bool is_system = strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
	char moved[1024];

	if (is_call_due(FAULT_fopen)) {
		errno = atomic_load(&calls[FAULT_fopen].err);
		return NULL;
	}
	if (!is_system || system_folder[0] == '\0')
		return __real_fopen64(path, mode);
	assert_in_range(snprintf(moved, sizeof(moved), "%s%s", system_folder, path), 1, sizeof(moved) - 1);
	return __real_fopen64(moved, mode);
}

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	unsigned cpu;

	if (is_call_due(FAULT_sched_getaffinity)) {
		errno = atomic_load(&calls[FAULT_sched_getaffinity].err);
		return -1;
	}
	if (cpus_num == 0)
		return __real_sched_getaffinity(pid, size, set);
	CPU_ZERO_S(size, set);
	for (cpu = cpus_first; cpu < cpus_first + cpus_num; cpu++)
		CPU_SET_S(cpu, size, set);
	return 0;
}

/* ---------------------------------------------------------------- what tests say */

static void counter_set(struct counter *c, unsigned fail_at, bool always, int err)
{
	atomic_store(&c->err, err);
	atomic_store(&c->seen, 0);
	atomic_store(&c->always, always);
	atomic_store(&c->fail_at, fail_at);
}

void fault_alloc_always(void)
{
	atomic_store(&has_come, false);
	counter_set(&alloc, 0, true, 0);
}

void fault_alloc_at(unsigned nth)
{
	atomic_store(&has_come, false);
	counter_set(&alloc, nth, false, 0);
}

static void calls_forget(void)
{
	int i;

	for (i = 0; i < FAULT_CALLS_NUM; i++)
		counter_set(&calls[i], 0, false, 0);
}

void fault_call_at(enum fault_call call, unsigned nth, int err)
{
	atomic_store(&has_come, false);
	calls_forget();
	counter_set(&calls[call], nth, false, err != 0 ? err : usual[call]);
}

void fault_call_always(enum fault_call call, int err)
{
	atomic_store(&has_come, false);
	counter_set(&calls[call], 0, true, err != 0 ? err : usual[call]);
}

bool fault_end(void)
{
	int i;

	atomic_store(&alloc.fail_at, 0);
	atomic_store(&alloc.always, false);
	for (i = 0; i < FAULT_CALLS_NUM; i++) {
		atomic_store(&calls[i].fail_at, 0);
		atomic_store(&calls[i].always, false);
	}
	return atomic_load(&has_come);
}

unsigned fault_allocs(void)
{
	return atomic_load(&alloc.seen);
}

unsigned fault_calls(enum fault_call call)
{
	return atomic_load(&calls[call].seen);
}

long fault_alive(void)
{
	return atomic_load(&alive);
}

int fault_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int num = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		num++;
	closedir(dir);
	return num - 3; /* . and .. and the folder's own */
}

int fault_epoll_ms(void)
{
	return atomic_load(&epoll_ms);
}

const char *fault_name(enum fault_call call)
{
	return names[call];
}

/* One try, with the fault armed. False: there was no such allocation or call any more. */
static bool try(const char *what, unsigned nth, int (*fn)(void *arg), void *arg, int want)
{
	long alive_before = fault_alive();
	int fds_before = fault_fds(), r;
	bool came;

	r = fn(arg);
	came = fault_end();
	if (r != 0 && (!came || r != want))
		fail_msg("%s %u%s: it returned %d, not %d", what, nth, came ? " failed" : "", r, want);
	if (fault_alive() != alive_before)
		fail_msg("%s %u: %ld allocations are left", what, nth, fault_alive() - alive_before);
	if (fault_fds() != fds_before)
		fail_msg("%s %u: %d descriptors are left", what, nth, fault_fds() - fds_before);
	return came;
}

unsigned fault_each_alloc(int (*fn)(void *arg), void *arg, int want)
{
	unsigned nth;

	for (nth = 1; nth < TRIES_MAX; nth++) {
		fault_alloc_at(nth);
		if (!try("allocation", nth, fn, arg, want))
			return nth - 1;
	}
	fail_msg("%d allocations failed, and there are more", TRIES_MAX);
	return 0;
}

unsigned fault_each_call_as(enum fault_call call, int err, int (*fn)(void *arg), void *arg, int want)
{
	unsigned nth;

	for (nth = 1; nth < TRIES_MAX; nth++) {
		fault_call_at(call, nth, err);
		if (!try(fault_name(call), nth, fn, arg, want))
			return nth - 1;
	}
	fail_msg("%d calls of %s failed, and there are more", TRIES_MAX, fault_name(call));
	return 0;
}

unsigned fault_each_call(enum fault_call call, int err, int (*fn)(void *arg), void *arg)
{
	return fault_each_call_as(call, err, fn, arg, -(err != 0 ? err : usual[call]));
}
