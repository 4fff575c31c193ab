/*
 * Functions that end the process, run in a child.
 */
#ifndef LIBASYNC_DIES_H
#define LIBASYNC_DIES_H

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a child ended, and what it wrote to stderr. */
struct ended {
	int status;
	char text[2000];

	bool is_aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
	bool has_exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
	bool says(const char *what) const { return strstr(text, what) != nullptr; }
};

/* Run `fn` in a child, which exits with 77 if it returns. */
template <class F> static ended run_in_child(F fn)
{
	ended e{};
	int p[2];

	if (pipe(p) < 0)
		return e;
	pid_t pid = fork();
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		dup2(p[1], 2);
		close(p[0]);
		close(p[1]);
		fn();
		_exit(77);
	}
	close(p[1]);
	for (size_t len = 0; len < sizeof(e.text) - 1;) {
		ssize_t n = read(p[0], e.text + len, sizeof(e.text) - 1 - len);

		if (n <= 0)
			break;
		len += size_t(n);
	}
	close(p[0]);
	waitpid(pid, &e.status, 0);
	return e;
}

#endif
