/*
 * Child processes that run another program.
 *
 * Without a callback for the child, posix_spawn does all: it copies no memory, and reports why a program could not be
 * executed. A callback needs a copy of this process, so there it is fork; a close-on-exec pipe then tells the parent
 * why the execution failed, or, by its end, that it did not.
 *
 * The descriptors in, out and err may be any of 0, 1 and 2, crosswise. So the parent copies those out of the way that
 * the child would overwrite before it uses them.
 */
#include "amisc.h"

#include <spawn.h>

#include "loop/loop.h"

namespace
{

/* The child's 0, 1 and 2: descriptors of the parent, above 2 or in their place; -1: /dev/null. */
struct places {
	int fds[3];
	bool is_copy[3];
};

void places_close(places *p)
{
	int err = errno;

	for (int i = 0; i < 3; i++) {
		if (p->is_copy[i])
			close(p->fds[i]);
	}
	errno = err;
}

int places_open(places *p, int in, int out, int err)
{
	*p = { { in, out, err }, { false, false, false } };
	for (int i = 0; i < 3; i++) {
		if (p->fds[i] < 0 || p->fds[i] > 2 || p->fds[i] == i)
			continue;
		p->fds[i] = fcntl(p->fds[i], F_DUPFD_CLOEXEC, 3);
		if (p->fds[i] < 0) {
			places_close(p);
			return -1;
		}
		p->is_copy[i] = true;
	}
	return 0;
}

int add_places(posix_spawn_file_actions_t *actions, const places &p)
{
	for (int i = 0; i < 3; i++) {
		/* dup2 of a descriptor to itself clears its close-on-exec flag here. */
		int r = p.fds[i] < 0 ? posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0) :
				       posix_spawn_file_actions_adddup2(actions, p.fds[i], i);

		if (r != 0)
			return r;
	}
	return 0;
}

/* Errors are error numbers, as those of the functions used. */
int spawn_at_once(const char *path, char *const *av, const places &p, char *const *env, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, pipes;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r != 0)
		return r;
	r = posix_spawnattr_init(&attr);
	if (r != 0)
		goto destroy_actions;
	sigemptyset(&none);
	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &pipes);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	r = add_places(&actions, p);
	if (r == 0)
		r = posix_spawnp(ret, path, &actions, &attr, av, env != nullptr ? env : environ);
	posix_spawnattr_destroy(&attr);
destroy_actions:
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int take_places(const places &p)
{
	for (int i = 0; i < 3; i++) {
		int fd = p.fds[i] < 0 ? open("/dev/null", O_RDWR) : p.fds[i];

		if (fd < 0)
			return -1;
		if (fd == i) {
			if (fcntl(fd, F_SETFD, 0) < 0)
				return -1;
			continue;
		}
		if (dup2(fd, i) < 0)
			return -1;
		if (p.fds[i] < 0)
			close(fd);
	}
	return 0;
}

/* In the child: run the program, or tell the parent why not. */
[[noreturn]] void run_program(const char *path, char *const *av, const places &p, const cbv::ptr &postforkcb,
			      char *const *env, int report)
{
	sigset_t none;
	int err;

	sigemptyset(&none);
	signal(SIGPIPE, SIG_DFL);
	if (take_places(p) == 0) {
		if (postforkcb != NULL)
			(*postforkcb)();
		sigprocmask(SIG_SETMASK, &none, nullptr);
		execvpe(path, av, env != nullptr ? env : environ);
	}
	err = errno;
	while (write(report, &err, sizeof(err)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* The descriptor that the child reports to must not be one that it is about to take. */
int report_pipe(int *fds)
{
	int high;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	high = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
	if (high < 0) {
		int err = errno;

		close(fds[0]);
		close(fds[1]);
		errno = err;
		return -1;
	}
	close(fds[1]);
	fds[1] = high;
	return 0;
}

int spawn_after(const char *path, char *const *av, const places &p, const cbv::ptr &postforkcb, char *const *env,
		pid_t *ret)
{
	int fds[2], err = 0;
	ssize_t n;
	pid_t pid;

	if (report_pipe(fds) < 0)
		return errno;
	pid = afork();
	if (pid < 0) {
		err = errno;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (pid == 0)
		run_program(path, av, p, postforkcb, env, fds[1]);
	close(fds[1]);
	do {
		n = read(fds[0], &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close(fds[0]);
	if (n == static_cast<ssize_t>(sizeof(err))) {
		libasync::drop_child(pid);
		return err;
	}
	*ret = pid;
	return 0;
}

} // namespace

pid_t spawn(const char *path, char *const *av, int in, int out, int err, cbv::ptr postforkcb, char *const *env)
{
	places p;
	pid_t pid = -1;
	int r;

	if (places_open(&p, in, out, err) < 0)
		return -1;
	if (postforkcb == NULL)
		r = spawn_at_once(path, av, p, env, &pid);
	else
		r = spawn_after(path, av, p, postforkcb, env, &pid);
	places_close(&p);
	if (r != 0) {
		errno = r;
		return -1;
	}
	return pid;
}

/* Messages of a child are never delayed here: afork sees to that in both. */
pid_t aspawn(const char *path, char *const *av, int in, int out, int err, cbv::ptr postforkcb, char *const *env)
{
	return spawn(path, av, in, out, err, postforkcb, env);
}
