/*
 * System calls that fail on purpose: the Nth call of one name from now on, in this process and in its children. The
 * linker puts ours before the C library's (failing_call.cc, meson.build).
 *
 * And what is left of an attempt, which must be nothing: descriptors, children, memory of operator new.
 */
#ifndef LIBASYNC_FAILING_CALL_H
#define LIBASYNC_FAILING_CALL_H

/* X(name, the linker's name for it with large files) */
/* clang-format off: a name each */
#define FAILING_CALLS(X) \
	X(access, access) X(close, close) X(dup2, dup2) X(eventfd, eventfd) X(execvpe, execvpe) X(fcntl, fcntl64) \
	X(flock, flock) X(fopen, fopen64) X(fork, fork) X(fstat, fstat64) X(fstatat, fstatat64) X(fsync, fsync) \
	X(ftruncate, ftruncate64) X(io_uring_get_probe_ring, io_uring_get_probe_ring) \
	X(io_uring_queue_init, io_uring_queue_init) X(io_uring_submit, io_uring_submit) X(link, link) \
	X(mkdir, mkdir) X(mmap, mmap64) X(open, open64) X(pipe2, pipe2) \
	X(posix_spawn_file_actions_adddup2, posix_spawn_file_actions_adddup2) \
	X(posix_spawn_file_actions_addopen, posix_spawn_file_actions_addopen) \
	X(posix_spawn_file_actions_init, posix_spawn_file_actions_init) X(posix_spawnattr_init, posix_spawnattr_init) \
	X(posix_spawnp, posix_spawnp) X(pread, pread64) X(pthread_create, pthread_create) X(pwrite, pwrite64) \
	X(read, read) X(readlink, readlink) X(readv, readv) X(realpath, realpath) X(recvmsg, recvmsg) \
	X(rename, rename) X(rmdir, rmdir) X(sendmsg, sendmsg) X(setsid, setsid) X(stat, stat64) \
	X(statvfs, statvfs64) X(symlink, symlink) X(syscall, syscall) X(unlink, unlink) X(waitpid, waitpid) \
	X(write, write) X(writev, writev)
/* clang-format on */

#define FAILING_ENUM(name, linker_name) CALL_##name,
enum failing_call { FAILING_CALLS(FAILING_ENUM) FAILING_CALLS_NUM };
#undef FAILING_ENUM

/* The nth call from now on fails with `err`, once; nth 0: each. */
void fail_call(failing_call call, unsigned nth, int err);

/*
 * Only those on this descriptor count: of dup2, those that make it; of syscall, those of that number. -2: all count,
 * and none fails.
 */
void fail_call_of_fd(failing_call call, int fd, unsigned nth, int err);

/* Each call waits until it is released, and counts as soon as it waits. It fails as fail_call... says. */
void hold_call(failing_call call);
void release_call(failing_call call);

/* No call fails any more. True: one did. */
bool fail_none();

/* How many there were since then, of those that count. */
unsigned calls_of(failing_call call);

struct leftovers {
	int fds;
	long blocks;

	leftovers();		/* as it is now */
	void assert_none() const;	/* no more of them than then, and no child */
};

/*
 * try_once() returns 0 or an error number. It runs with the first, the second, … call failing, until none did. Each
 * failure must come back as `want`: the error itself, or 0 if it does no harm.
 */
template <class F> void fail_each(failing_call call, int err, int want, F try_once);
void assert_failed_as(failing_call call, unsigned nth, int want, int got);
void assert_called(failing_call call, unsigned tries);

template <class F> void fail_each(failing_call call, int err, int want, F try_once)
{
	unsigned nth;

	(void)try_once();	/* tables have their size */
	for (nth = 1;; nth++) {
		leftovers before;
		int got;
		bool has_failed;

		fail_call(call, nth, err);
		got = try_once();
		has_failed = fail_none();
		assert_failed_as(call, nth, has_failed ? want : 0, got);
		before.assert_none();
		if (!has_failed)
			break;
	}
	assert_called(call, nth - 1);
}

#endif
