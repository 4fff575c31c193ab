#include "failing_call.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libasync_block.h"
#include "test.h"

namespace
{

/* In memory that children share: what fails in a child is known in the parent. */
struct counter {
	std::atomic<unsigned> seen, fail_at;
	std::atomic<int> err, fd;
	std::atomic<bool> is_armed, is_held, has_failed;
};

std::atomic<counter *> counters;
std::atomic<long> blocks_alive;

const char *const names[] = {
#define FAILING_NAME(name, linker_name) #name,
	FAILING_CALLS(FAILING_NAME)
#undef FAILING_NAME
};

bool is_due(failing_call call, int fd)
{
	counter *c = counters.load();
	unsigned at;

	if (c == nullptr || !c[call].is_armed || (c[call].fd >= 0 && c[call].fd != fd))
		return false;
	at = ++c[call].seen;
	while (c[call].is_held)
		(void)sched_yield();
	if (c[call].fd == -2 || (c[call].fail_at != 0 && c[call].fail_at != at))
		return false;
	c[call].has_failed = true;
	return true;
}

int error_of(failing_call call)
{
	return counters.load()[call].err;
}

int fds_num()
{
	DIR *d = opendir("/proc/self/fd");
	int num = 0;

	while (readdir(d) != nullptr)
		num++;
	closedir(d);
	return num;
}

} // namespace

/* ---------------------------------------------------------------- the calls */

extern "C" {

#define WRAP(type, name, linker_name, params, args, fd, failure) \
	type __real_##linker_name params; \
	type __wrap_##linker_name params; \
	type __wrap_##linker_name params \
	{ \
		if (is_due(CALL_##name, fd)) { \
			errno = error_of(CALL_##name); \
			return failure; \
		} \
		return __real_##linker_name args; \
	}
#define WRAP_INT(name, params, args) WRAP(int, name, name, params, args, -1, -1)
#define WRAP_ERR(name, params, args) WRAP(int, name, name, params, args, -1, error_of(CALL_##name))
#define WRAP_FD(type, name, linker_name, params, args) WRAP(type, name, linker_name, params, args, fd, -1)

WRAP_INT(access, (const char *path, int mode), (path, mode))
/* The descriptor that it makes counts. */
WRAP(int, dup2, dup2, (int from, int fd), (from, fd), fd, -1)
WRAP_INT(eventfd, (unsigned count, int flags), (count, flags))
WRAP_INT(execvpe, (const char *file, char *const *av, char *const *env), (file, av, env))
WRAP(int, fcntl, fcntl64, (int fd, int op, long arg), (fd, op, arg), fd, -1)
WRAP_INT(flock, (int fd, int op), (fd, op))
WRAP(FILE *, fopen, fopen64, (const char *path, const char *mode), (path, mode), -1, nullptr)
WRAP_INT(fork, (void), ())
WRAP_FD(int, fstat, fstat64, (int fd, struct stat64 *sb), (fd, sb))
WRAP_FD(int, fstatat, fstatat64, (int fd, const char *path, struct stat64 *sb, int flags), (fd, path, sb, flags))
WRAP_INT(fsync, (int fd), (fd))
WRAP_FD(int, ftruncate, ftruncate64, (int fd, off64_t len), (fd, len))
/* Weak: built without liburing, they are nowhere, and nobody calls them. */
struct io_uring_probe *__real_io_uring_get_probe_ring(struct io_uring *u) __attribute__((weak));
int __real_io_uring_queue_init(unsigned num, struct io_uring *u, unsigned flags) __attribute__((weak));
int __real_io_uring_submit(struct io_uring *u) __attribute__((weak));
WRAP(struct io_uring_probe *, io_uring_get_probe_ring, io_uring_get_probe_ring, (struct io_uring * u), (u), -1, nullptr)
WRAP(int, io_uring_queue_init, io_uring_queue_init, (unsigned num, struct io_uring *u, unsigned flags), (num, u, flags),
     -1, -error_of(CALL_io_uring_queue_init))
WRAP(int, io_uring_submit, io_uring_submit, (struct io_uring * u), (u), -1, -error_of(CALL_io_uring_submit))
WRAP_INT(link, (const char *from, const char *to), (from, to))
WRAP_INT(mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(void *, mmap, mmap64, (void *at, size_t len, int prot, int flags, int fd, off64_t pos),
     (at, len, prot, flags, fd, pos), -1, MAP_FAILED)
WRAP(int, open, open64, (const char *path, int flags, mode_t mode), (path, flags, mode), -1, -1)
WRAP_INT(pipe2, (int *fds, int flags), (fds, flags))
WRAP_ERR(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * a, int fd, int to), (a, fd, to))
WRAP_ERR(posix_spawn_file_actions_addopen,
	 (posix_spawn_file_actions_t * a, int fd, const char *path, int flags, mode_t mode),
	 (a, fd, path, flags, mode))
WRAP_ERR(posix_spawn_file_actions_init, (posix_spawn_file_actions_t * a), (a))
WRAP_ERR(posix_spawnattr_init, (posix_spawnattr_t * attr), (attr))
WRAP_ERR(posix_spawnp,
	 (pid_t * pid, const char *file, const posix_spawn_file_actions_t *a, const posix_spawnattr_t *attr,
	  char *const *av, char *const *env),
	 (pid, file, a, attr, av, env))
WRAP_FD(ssize_t, pread, pread64, (int fd, void *buf, size_t len, off64_t pos), (fd, buf, len, pos))
WRAP_ERR(pthread_create, (pthread_t * t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg),
	 (t, attr, fn, arg))
WRAP_FD(ssize_t, pwrite, pwrite64, (int fd, const void *buf, size_t len, off64_t pos), (fd, buf, len, pos))
WRAP_FD(ssize_t, read, read, (int fd, void *buf, size_t len), (fd, buf, len))
WRAP(ssize_t, readlink, readlink, (const char *path, char *buf, size_t len), (path, buf, len), -1, -1)
WRAP_FD(ssize_t, readv, readv, (int fd, const struct iovec *iov, int num), (fd, iov, num))
WRAP(char *, realpath, realpath, (const char *path, char *to), (path, to), -1, nullptr)
WRAP_FD(ssize_t, recvmsg, recvmsg, (int fd, struct msghdr *msg, int flags), (fd, msg, flags))
WRAP_INT(rename, (const char *from, const char *to), (from, to))
WRAP_INT(rmdir, (const char *path), (path))
WRAP_FD(ssize_t, sendmsg, sendmsg, (int fd, const struct msghdr *msg, int flags), (fd, msg, flags))
WRAP_INT(setsid, (void), ())
WRAP(int, stat, stat64, (const char *path, struct stat64 *sb), (path, sb), -1, -1)
WRAP(int, statvfs, statvfs64, (const char *path, struct statvfs64 *sb), (path, sb), -1, -1)
WRAP_INT(symlink, (const char *from, const char *to), (from, to))
WRAP(long, syscall, syscall, (long number, long a, long b, long c, long d, long e, long f),
     (number, a, b, c, d, e, f), static_cast<int>(number), -1)
WRAP_INT(unlink, (const char *path), (path))
WRAP_INT(waitpid, (pid_t pid, int *status, int options), (pid, status, options))
WRAP_FD(ssize_t, write, write, (int fd, const void *buf, size_t len), (fd, buf, len))
WRAP_FD(ssize_t, writev, writev, (int fd, const struct iovec *iov, int num), (fd, iov, num))

/* Linux closes the descriptor, whatever close says then. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int r = __real_close(fd);

	if (!is_due(CALL_close, fd))
		return r;
	errno = error_of(CALL_close);
	return -1;
}

} // extern "C"

/* ---------------------------------------------------------------- memory */

void *operator new(size_t size)
{
	void *p = malloc(size);

	if (p == nullptr)
		throw std::bad_alloc();
	blocks_alive++;
	return p;
}

void operator delete(void *p) noexcept
{
	blocks_alive -= p != nullptr;
	free(p);
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

/* ---------------------------------------------------------------- for the tests */

void fail_call_of_fd(failing_call call, int fd, unsigned nth, int err)
{
	if (counters.load() == nullptr)
		counters = static_cast<counter *>(mmap(nullptr, sizeof(counter) * FAILING_CALLS_NUM,
						       PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
	counter &c = counters.load()[call];
	c.seen = 0;
	c.fail_at = nth;
	c.err = err;
	c.fd = fd;
	c.has_failed = false;
	c.is_armed = true;
}

void fail_call(failing_call call, unsigned nth, int err)
{
	fail_call_of_fd(call, -1, nth, err);
}

void hold_call(failing_call call)
{
	counters.load()[call].is_held = true;
}

void release_call(failing_call call)
{
	counters.load()[call].is_held = false;
}

bool fail_none()
{
	bool has_failed = false;

	for (int i = 0; i < FAILING_CALLS_NUM; i++) {
		counter &c = counters.load()[i];

		if (c.is_armed)
			has_failed |= c.has_failed;
		c.is_armed = false;
	}
	return has_failed;
}

unsigned calls_of(failing_call call)
{
	return counters.load()[call].seen;
}

/* The library keeps some blocks for its next objects, as many as were once in use together. */
static long blocks_in_use()
{
	long kept = 0;

	for (const libasync::free_blocks &of : libasync::own_blocks) {
		for (const libasync::free_block *b = of.first; b != nullptr; b = b->next)
			kept++;
	}
	return blocks_alive - kept;
}

leftovers::leftovers() : fds(fds_num()), blocks(blocks_in_use()) {}

void leftovers::assert_none() const
{
	siginfo_t info;

	assert_int_equal(fds_num(), fds);
	assert_int_equal(blocks_in_use(), blocks);
	assert_int_equal(waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1);
	assert_int_equal(errno, ECHILD);
}

void assert_failed_as(failing_call call, unsigned nth, int want, int got)
{
	if (got != want)
		fail_msg("%s, call %u failed: %s, wanted %s", names[call], nth, strerror(got), strerror(want));
}

void assert_called(failing_call call, unsigned tries)
{
	if (tries == 0)
		fail_msg("%s is never called", names[call]);
}
