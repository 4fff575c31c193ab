/*
 * Children of fork that use the loop: what they add and remove is theirs, and the parent's callbacks stay as they are.
 */
#include "async.h"
#include "amisc.h"

#include <csignal>
#include <sys/socket.h>

#include "turns.h"
#include "../../emulated.h"

#include "test.h"

namespace
{

int calls;

void count_call()
{
	calls++;
}

/* Parent and child take turns: each waits for a byte of the other. */
struct two_processes {
	int to_child[2], to_parent[2];
	pid_t pid;

	two_processes()
	{
		assert_int_equal(pipe(to_child), 0);
		assert_int_equal(pipe(to_parent), 0);
	}

	static void tell(const int *p) { assert_int_equal(write(p[1], "x", 1), 1); }
	static void hear(const int *p)
	{
		char c;

		assert_int_equal(read(p[0], &c, 1), 1);
	}

	/* f() in the child, to its end. The child stays until finish(). */
	template <class F> void in_child(F f)
	{
		pid = fork();
		if (pid == 0) {
			f();
			tell(to_parent);
			hear(to_child);
			_exit(0);
		}
		hear(to_parent);
	}

	void finish()
	{
		int status = -1;

		tell(to_child);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		for (int i = 0; i < 2; i++) {
			close(to_child[i]);
			close(to_parent[i]);
		}
	}
};

/* A pipe with a byte in it. */
struct full_pipe {
	int fds[2];

	full_pipe()
	{
		assert_int_equal(pipe(fds), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
	}
	~full_pipe()
	{
		close(fds[0]);
		close(fds[1]);
	}
};

void make_base()
{
	(void)libasync::base();
	calls = 0;
}

void watch_a_pipe_of_its_own()
{
	static full_pipe *own;

	own = new full_pipe;
	fdcb(own->fds[0], selread, wrap(count_call));
}

/* ---------------------------------------------------------------- before amain */

/* The parent has a descriptor of the same number, on which nothing comes. */
void fork_child_adds_a_descriptor_of_its_own(void **)
{
	two_processes two;
	int fds[2];

	make_base();
	two.in_child(watch_a_pipe_of_its_own);
	assert_int_equal(pipe(fds), 0);
	fdcb(fds[0], selread, wrap(count_call));
	turn_all();
	assert_int_equal(calls, 0);
	fdcb(fds[0], selread, NULL);
	close(fds[0]);
	close(fds[1]);
	two.finish();
}

void remove_reader(int fd)
{
	fdcb(fd, selread, NULL);
}

void fork_child_removes_what_it_got(void **)
{
	two_processes two;
	full_pipe p;

	make_base();
	fdcb(p.fds[0], selread, wrap(count_call));
	two.in_child([&] { remove_reader(p.fds[0]); });
	turn_all();
	assert_true(calls > 0);
	remove_reader(p.fds[0]);
	two.finish();
}

void fork_grandchild_removes_what_it_got(void **)
{
	two_processes two;
	full_pipe p;

	make_base();
	fdcb(p.fds[0], selread, wrap(count_call));
	two.in_child([&] {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			remove_reader(p.fds[0]);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
	});
	turn_all();
	assert_true(calls > 0);
	remove_reader(p.fds[0]);
	two.finish();
}

/* Both have the callbacks from before, and each its own. */
void fork_child_runs_the_loop(void **)
{
	two_processes two;
	full_pipe p;

	make_base();
	fdcb(p.fds[0], selread, wrap(count_call));
	two.in_child([&] {
		watch_a_pipe_of_its_own();
		turn_all();
		remove_reader(p.fds[0]);
		assert_true(calls > 1);
		calls = 0;
		turn_all();
		assert_true(calls > 0);
	});
	assert_int_equal(calls, 0);
	turn_all();
	assert_true(calls > 0);
	remove_reader(p.fds[0]);
	two.finish();
}

void fork_child_makes_the_base(void **)
{
	assert_int_equal(status_of([] {
				 watch_a_pipe_of_its_own();
				 turn_all();
				 assert_true(calls > 0);
			 }),
			 0);
}

void note_status(int *ret, int status)
{
	*ret = WEXITSTATUS(status);
}

/* Signals come by a pipe of the loop. */
void fork_child_has_children(void **)
{
	two_processes two;
	pid_t pid;
	int status = -1;

	make_base();
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	chldcb(pid, wrap(note_status, &status));
	two.in_child([&] {
		pid_t own = fork();

		if (own == 0)
			_exit(5);
		chldcb(pid, NULL);
		chldcb(own, wrap(note_status, &status));
		turn_until([&] { return status == 5; });
	});
	sigcb(SIGUSR1, wrap(count_call));
	raise(SIGUSR1);
	turn_until([] { return calls == 1; });
	sigcb(SIGUSR1, NULL);
	kill(pid, SIGKILL);
	turn_until([&] { return status == 0; });
	two.finish();
}

/* ---------------------------------------------------------------- signals */

int status_at_end_of(pid_t pid)
{
	int status = -1;

	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* In the child, which uses the loop for the first time after the signal. */
void signal_itself()
{
	raise(SIGUSR1);
	turn_all();
	_exit(calls == 1 ? 0 : 1);
}

/* A signal that comes to the child right away is the child's. */
void fork_child_gets_signals_at_once(void **)
{
	pid_t pid;

	make_base();
	sigcb(SIGUSR1, wrap(count_call));
	pid = fork();
	if (pid == 0)
		signal_itself();
	assert_int_equal(status_at_end_of(pid), 0);
	pid = afork();
	if (pid == 0)
		signal_itself();
	assert_int_equal(status_at_end_of(pid), 0);
	turn_all();
	assert_int_equal(calls, 0);
	sigcb(SIGUSR1, NULL);
}

void fork_grandchild_gets_signals_at_once(void **)
{
	pid_t pid;

	make_base();
	sigcb(SIGUSR1, wrap(count_call));
	pid = fork();
	if (pid == 0) {
		raise(SIGUSR1);
		pid = fork();
		if (pid == 0)
			signal_itself();
		_exit(status_at_end_of(pid) != 0);
	}
	assert_int_equal(status_at_end_of(pid), 0);
	sigcb(SIGUSR1, NULL);
}

/* One that came to the parent before is not. */
void fork_child_gets_no_signal_of_the_parent(void **)
{
	pid_t pid;

	make_base();
	sigcb(SIGUSR1, wrap(count_call));
	raise(SIGUSR1);
	pid = fork();
	if (pid == 0) {
		turn_all();
		_exit(calls);
	}
	assert_int_equal(status_at_end_of(pid), 0);
	turn_all();
	assert_int_equal(calls, 1);
	sigcb(SIGUSR1, NULL);
}

/* A daemon tells its parent how it ended. ThreadSanitizer's own thread is one too many for daemonize. */
void fork_daemon_gets_signals_at_once(void **)
{
	int p[2];
	char c = 0;
	pid_t pid;

	if (HAS_TSAN || !has_told_threads())
		skip();
	make_base();
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	sigcb(SIGUSR1, wrap(count_call));
	pid = fork();
	if (pid == 0) {
		setenv("PIDDIR", "/nowhere", 1);
		daemonize();
		raise(SIGUSR1);
		turn_all();
		c = calls == 1 ? 'x' : '?';
		_exit(write(p[1], &c, 1) != 1);
	}
	close(p[1]);
	assert_int_equal(status_at_end_of(pid), 0);
	assert_int_equal(read(p[0], &c, 1), 1);
	assert_int_equal(c, 'x');
	close(p[0]);
	sigcb(SIGUSR1, NULL);
}

/* ---------------------------------------------------------------- in the loop */

void fork_in_a_callback(two_processes *two, bool *is_done)
{
	two->in_child([] {
		watch_a_pipe_of_its_own();
		turn_until([] { return calls > 0; });
	});
	*is_done = true;
}

/* The parent has a descriptor of the same number, on which nothing comes. */
void fork_child_of_a_callback_adds_a_descriptor_of_its_own(void **)
{
	two_processes two;
	bool is_done = false;
	int fds[2];

	make_base();
	delaycb(0, wrap(fork_in_a_callback, &two, &is_done));
	turn_until([&] { return is_done; });
	assert_int_equal(pipe(fds), 0);
	fdcb(fds[0], selread, wrap(count_call));
	turn_all();
	assert_int_equal(calls, 0);
	remove_reader(fds[0]);
	close(fds[0]);
	close(fds[1]);
	two.finish();
}

void remove_in_a_callback(two_processes *two, int fd, bool *is_done)
{
	two->in_child([=] {
		remove_reader(fd);
		turn_all();
	});
	*is_done = true;
}

void fork_child_of_a_callback_removes_what_it_got(void **)
{
	two_processes two;
	bool is_done = false;
	full_pipe p;

	make_base();
	fdcb(p.fds[0], selread, wrap(count_call));
	delaycb(0, wrap(remove_in_a_callback, &two, p.fds[0], &is_done));
	turn_until([&] { return is_done; });
	calls = 0;
	turn_all();
	assert_true(calls > 0);
	remove_reader(p.fds[0]);
	two.finish();
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fork_child_makes_the_base),
		cmocka_unit_test(fork_child_adds_a_descriptor_of_its_own),
		cmocka_unit_test(fork_child_removes_what_it_got),
		cmocka_unit_test(fork_grandchild_removes_what_it_got),
		cmocka_unit_test(fork_child_runs_the_loop),
		cmocka_unit_test(fork_child_has_children),
		cmocka_unit_test(fork_child_gets_no_signal_of_the_parent),
		cmocka_unit_test(fork_daemon_gets_signals_at_once),
		cmocka_unit_test(fork_child_gets_signals_at_once),
		cmocka_unit_test(fork_grandchild_gets_signals_at_once),
		cmocka_unit_test(fork_child_of_a_callback_adds_a_descriptor_of_its_own),
		cmocka_unit_test(fork_child_of_a_callback_removes_what_it_got),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
