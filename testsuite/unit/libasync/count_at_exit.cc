/*
 * For a build that counts lines: a process that ends by _exit() or abort() keeps its counts too. Most tests of what
 * ends a program run it in a child, which ends so.
 */
#include <csignal>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" void __gcov_dump();

/* A test may have limited the size of files: half of the counts would do harm to all. */
static void write_counts()
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_FSIZE, &limit);
	}
	__gcov_dump();
}

extern "C" void _exit(int status)
{
	write_counts();
	for (;;)
		(void)syscall(SYS_exit_group, status);
}

extern "C" void abort() noexcept
{
	sigset_t set;

	write_counts();
	(void)signal(SIGABRT, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGABRT);
	(void)sigprocmask(SIG_UNBLOCK, &set, nullptr);
	(void)raise(SIGABRT);
	_exit(127);
}
