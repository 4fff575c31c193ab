/*
 * A piece of a test in a process of its own: for what can be set once only, and for what ends
 * the process. Its standard error is caught, so that a test can ask what was said.
 */
#ifndef CHILD_H
#define CHILD_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHILD_CHECK_FAILED = 99 };

/* Of a build that counts lines: a process that ends by _exit() would forget its counts. */
extern void __gcov_dump(void) __attribute__((weak));

static inline _Noreturn void child_end(int code)
{
	if (__gcov_dump != NULL)
		__gcov_dump();
	_exit(code);
}

struct child {
	int status; /* as waitpid tells it */
	char text[8192]; /* standard error */
};

/* In a child, where cmocka's assertions have no test to fail. */
#define check(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			child_end(CHILD_CHECK_FAILED); \
		} \
	} while (0)

static inline void child_run(struct child *child, void (*fn)(void))
{
	size_t len = 0;
	int fds[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	fflush(stdout);
	fflush(stderr);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (dup2(fds[1], STDERR_FILENO) < 0)
			_exit(CHILD_CHECK_FAILED);
		close(fds[0]);
		close(fds[1]);
		fn();
		fflush(stderr);
		child_end(0);
	}
	close(fds[1]);
	while ((n = read(fds[0], child->text + len, sizeof(child->text) - 1 - len)) > 0)
		len += (size_t)n;
	child->text[len] = '\0';
	close(fds[0]);
	assert_true(waitpid(pid, &child->status, 0) == pid);
}

/* It ends well; the text is what it said. */
static inline void child_passes(struct child *child, void (*fn)(void))
{
	child_run(child, fn);
	if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0)
		fail_msg("status %#x: %s", (unsigned)child->status, child->text);
}

static inline void child_exits(struct child *child, void (*fn)(void), int code, const char *said)
{
	child_run(child, fn);
	if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != code ||
	    strstr(child->text, said) == NULL)
		fail_msg("status %#x: %s", (unsigned)child->status, child->text);
}

static inline void child_aborts(struct child *child, void (*fn)(void), const char *said)
{
	child_run(child, fn);
	if (!WIFSIGNALED(child->status) || WTERMSIG(child->status) != SIGABRT ||
	    strstr(child->text, said) == NULL)
		fail_msg("status %#x: %s", (unsigned)child->status, child->text);
}

#endif
