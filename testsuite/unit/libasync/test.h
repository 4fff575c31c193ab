/*
 * CMocka for tests in C++, and pieces of a test in a process of their own. Include it after the headers under test: it
 * defines macros with short names.
 */
#ifndef LIBASYNC_TEST_H
#define LIBASYNC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../sanitizers.h"

extern "C" {
#include <cmocka.h>
}

/*
 * UBSan of clang asks through a pipe whether an object of a type it has not met is one. Without descriptors it takes
 * each for none.
 */
#define CAN_LACK_DESCRIPTORS (!HAS_FEATURE(undefined_behavior_sanitizer))

/* How a child process ends that runs f(); its exit status is 0 if f returns. What it prints to stderr is lost. */
template <class F> inline int status_of(F f)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		(void)close(2);
		f();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

template <class F> inline void assert_aborts(F f)
{
	int status = status_of(f);

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == 6);
}

#endif
