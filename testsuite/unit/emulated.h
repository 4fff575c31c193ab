/*
 * Where a program of another architecture runs under an emulator of user programs, the system claims to do some things
 * that it does not do, and dies of others (QEMU 7.2). A test of these asks here, and is skipped. Each answer is a probe
 * of what is missing. So on a system that has it all, no test is skipped.
 */
#ifndef EMULATED_H
#define EMULATED_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---------------------------------------------------------------- processes */

/* Does madvise(advice) on a page that holds "a" do in a child what `is_done` looks for there? */
static inline bool emulated_advice_works(int advice, bool (*is_done)(const char *page))
{
	char *page = (char *)mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_accepted;
	int status = -1;
	pid_t pid;

	if (page == MAP_FAILED)
		return false;
	page[0] = 'a';
	is_accepted = madvise(page, 1, advice) == 0;
	pid = fork();
	if (pid == 0)
		_exit(is_done(page) ? 0 : 1);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	(void)munmap(page, 1);
	return is_accepted && status == 0;
}

static inline bool emulated_is_cleared(const char *page)
{
	return page[0] == '\0';
}

static inline bool emulated_is_gone(const char *page)
{
	return access(page, F_OK) != 0 && errno == EFAULT;
}

/* QEMU accepts the advice, and does nothing: a child of clone does not know that it is one, and keeps what it has. */
static inline bool has_wipe_on_fork(void)
{
	return emulated_advice_works(MADV_WIPEONFORK, emulated_is_cleared);
}

/* The same. */
static inline bool has_dont_fork(void)
{
	return emulated_advice_works(MADV_DONTFORK, emulated_is_gone);
}

/* QEMU has a thread of its own in each process, and /proc shows it. */
static inline bool has_told_threads(void)
{
	int status = -1;
	struct stat st;
	pid_t pid = fork();

	if (pid == 0)		/* a child has one thread */
		_exit(stat("/proc/self/task", &st) == 0 && st.st_nlink == 3 ? 0 : 1);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	return status == 0;
}

/* ---------------------------------------------------------------- signals */

/* False: QEMU, which needs some signals itself. The last ones cannot be sent, though they can have a handler. */
static inline bool can_be_sent(int sig)
{
	struct sigaction before;
	bool is_sent;

	if (sigaction(sig, NULL, &before) != 0 || signal(sig, SIG_IGN) == SIG_ERR)
		return false;
	is_sent = raise(sig) == 0;
	(void)sigaction(sig, &before, NULL);
	return is_sent;
}

/* The engine takes the last signal that nobody handles: it shall be one that can be sent. */
static inline void lost_signals_hide(void)
{
	int sig;

	for (sig = SIGRTMIN; sig <= SIGRTMAX; sig++) {
		if (!can_be_sent(sig))
			(void)signal(sig, SIG_IGN);
	}
}

/* ---------------------------------------------------------------- calls */

/* QEMU's own calls are in /proc/self/task/TID/syscall, and its own memory. */
static inline bool has_told_calls(void)
{
	char text[20] = "";
	int fd = open("/proc/self/syscall", O_RDONLY | O_CLOEXEC);
	bool is_read = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0;

	if (fd >= 0)
		close(fd);
	return is_read && strtol(text, NULL, 10) == SYS_read;
}

/* QEMU loses the error: the child that could not start anything is there for a while. */
static inline bool has_spawn_errors(void)
{
	static char path[] = "/nonexistent/program";
	char *argv[] = { path, NULL }, *envp[] = { NULL };
	pid_t pid;

	if (posix_spawn(&pid, path, NULL, NULL, argv, envp) != 0)
		return true;
	(void)waitpid(pid, NULL, 0);
	return false;
}

/* QEMU gives a socket of a type that exists. */
static inline bool has_socket_type_errors(int type)
{
	int fds[2];

	if (socketpair(AF_UNIX, type, 0, fds) != 0)
		return true;
	close(fds[0]);
	close(fds[1]);
	return false;
}

/* With descriptors beyond FD_SETSIZE, QEMU ends itself. */
static inline bool has_wide_select(int descriptors_num)
{
	struct timeval now = { 0, 0 };
	fd_set sets[8];
	int status = -1;
	pid_t pid;

	if (descriptors_num > (int)(8 * sizeof(sets)))
		return false;
	memset(sets, 0, sizeof(sets));
	pid = fork();
	if (pid == 0) {
		close(STDERR_FILENO);
		(void)select(descriptors_num, sets, NULL, NULL, &now);
		_exit(0);
	}
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	return status == 0;
}

#endif
