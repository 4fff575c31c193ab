/*
 * proc/: each system call that can fail, failing.
 */
#include "amisc.h"
#include "async.h"
#include "rwfd.h"

#include <string>

#include "dies.h"
#include "failing_call.h"
#include "turns.h"
#include "../../emulated.h"

#include "test.h"

namespace
{

char *const true_av[] = { const_cast<char *>("true"), NULL };

std::string folder()
{
	static char name[] = "/tmp/libasync-failures-XXXXXX";
	static bool is_made;

	if (!is_made)
		assert_non_null(mkdtemp(name));
	is_made = true;
	return name;
}

/* ---------------------------------------------------------------- spawn */

void await_child(pid_t pid)
{
	bool is_over = false;

	chldcb(pid, wrap([&is_over](int) { is_over = true; }));
	turn_until([&is_over]() { return is_over; });
}

int outcome_of_spawn(pid_t pid)
{
	int err = errno;

	if (pid < 0)
		return err;
	await_child(pid);
	return 0;
}

/* Each kind of descriptor: crosswise, its own, none. */
int spawn_one()
{
	return outcome_of_spawn(spawn("true", true_av, 1, 0, -1));
}

int spawn_after_callback()
{
	return outcome_of_spawn(aspawn("true", true_av, 1, -1, 2, wrap([]() {})));
}

/* Its program does not exist, which must be the error whatever else fails. */
int spawn_nothing()
{
	pid_t pid = aspawn("/nonexistent/program", true_av, 0, 1, 2, wrap([]() {}));

	assert_int_equal(pid, -1);
	return errno == ENOENT ? 0 : errno;
}

void spawn_each_call_fails(void **)
{
	fail_each(CALL_fcntl, EMFILE, EMFILE, spawn_one);
	fail_each(CALL_posix_spawn_file_actions_init, ENOMEM, ENOMEM, spawn_one);
	fail_each(CALL_posix_spawnattr_init, ENOMEM, ENOMEM, spawn_one);
	fail_each(CALL_posix_spawn_file_actions_adddup2, ENOMEM, ENOMEM, spawn_one);
	fail_each(CALL_posix_spawn_file_actions_addopen, ENOMEM, ENOMEM, spawn_one);
	fail_each(CALL_posix_spawnp, EAGAIN, EAGAIN, spawn_one);
}

void spawn_each_call_fails_with_a_callback(void **)
{
	if (HAS_TSAN)
		skip();
	fail_each(CALL_pipe2, ENFILE, ENFILE, spawn_after_callback);
	fail_each(CALL_fcntl, EMFILE, EMFILE, spawn_after_callback);
	fail_each(CALL_fork, EAGAIN, EAGAIN, spawn_after_callback);
	fail_each(CALL_open, EMFILE, EMFILE, spawn_after_callback);
	fail_each(CALL_dup2, EBADF, EBADF, spawn_after_callback);
	fail_each(CALL_execvpe, ENOEXEC, ENOEXEC, spawn_after_callback);
	fail_each(CALL_waitpid, EINTR, 0, spawn_nothing);
	fail_each(CALL_write, EINTR, 0, spawn_nothing);
	fail_each(CALL_read, EINTR, 0, spawn_nothing);
}

/* ---------------------------------------------------------------- output */

struct output {
	str text;
	int calls = 0, err = -1;

	void take(str s)
	{
		err = s == NULL ? errno : 0;
		text = s;
		calls++;
	}
	int await()
	{
		turn_until([this]() { return calls > 0; });
		return err;
	}
};

/* A message with a descriptor, and the end, read by pipe2str while the nth `call` fails. */
int collect(failing_call call, unsigned nth, int err, bool takes_descriptors)
{
	int pair[2], got = -1, r;
	output o;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(writefd(pair[1], "text", 4, STDERR_FILENO), 4);
	close(pair[1]);
	fail_call_of_fd(call, pair[0], nth, err);
	pipe2str(pair[0], wrap(&o, &output::take), takes_descriptors ? &got : nullptr);
	r = o.await();
	assert_true(fail_none());
	if (got >= 0)
		close(got);
	if (r == 0)
		assert_string_equal(o.text.cstr(), "text");
	return r;
}

void pipe2str_each_read_fails(void **)
{
	for (failing_call call : { CALL_read, CALL_recvmsg }) {
		bool takes = call == CALL_recvmsg;

		collect(call, 1, EINTR, takes);	/* the tables have their size */
		for (unsigned nth : { 1, 2 }) {
			for (int err : { EINTR, EAGAIN, EIO, ENOMEM }) {
				leftovers before;

				assert_int_equal(collect(call, nth, err, takes),
						 err == EINTR || err == EAGAIN ? 0 : err);
				before.assert_none();
			}
		}
	}
}

int run_child()
{
	output o;
	int r;

	chldrun(wrap([](int fd) { v_write(fd, "child", 5); }), wrap(&o, &output::take));
	r = o.await();
	if (r == 0)
		assert_string_equal(o.text.cstr(), "child");
	/* Nobody else waits for it. */
	while (waitid(P_ALL, 0, nullptr, WEXITED | WNOWAIT) == 0)
		acheck();
	acheck();		/* its callback may have been posted only now */
	return r;
}

void chldrun_each_call_fails(void **)
{
	if (HAS_TSAN)
		skip();
	fail_each(CALL_pipe2, EMFILE, EMFILE, run_child);
	fail_each(CALL_fork, EAGAIN, EAGAIN, run_child);
}

/* A server that runs children for ever, and asks for none of them, keeps nothing of them. */
void chldrun_leaves_nothing(void **)
{
	if (HAS_TSAN)
		skip();
	run_child();
	leftovers before;
	for (int i = 0; i < 5; i++)
		run_child();
	before.assert_none();
}

/* ---------------------------------------------------------------- lock files */

int lock_once(bool wait)
{
	std::string path = folder() + "/lock";
	ptr<lockfile> lock = lockfile::alloc(path.c_str(), wait);
	int err = errno;

	if (lock == NULL)
		return err;
	assert_true(lock->locked() && lock->getfd() >= 0);
	return 0;
}

void lockfile_each_call_fails(void **)
{
	for (bool wait : { false, true }) {
		auto lock = [wait]() { return lock_once(wait); };

		fail_each(CALL_open, EMFILE, EMFILE, lock);
		fail_each(CALL_flock, ENOLCK, ENOLCK, lock);
		fail_each(CALL_flock, EINTR, 0, lock);
		fail_each(CALL_unlink, EROFS, 0, lock);
		fail_each(CALL_close, EINTR, 0, lock);
	}
	unlink((folder() + "/lock").c_str());
}

/* Whether the file is the one of that name must be known: without an answer there is no lock, and no endless loop. */
void lockfile_without_an_answer_of_stat(void **)
{
	for (failing_call call : { CALL_fstat, CALL_stat }) {
		leftovers before;

		fail_call(call, 0, EIO);
		assert_int_equal(lock_once(false), EIO);
		assert_true(fail_none());
		before.assert_none();
	}
	/* Another process removed the name first: the next file is locked. */
	fail_call(CALL_stat, 1, ENOENT);
	assert_int_equal(lock_once(false), 0);
	assert_true(fail_none());
	unlink((folder() + "/lock").c_str());
}

/* ---------------------------------------------------------------- daemons */

/* The daemon's own end is seen by the pipe's; what it logged is in the file then. */
std::string log_of_daemon(failing_call call, unsigned nth, int err)
{
	std::string path = folder() + "/log", command = "cat > " + path, text;
	char buf[4000];
	int fds[2], fd;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		vec<str> words;

		close(fds[0]);
		/* The logger keeps this one open until it has written all. */
		dup2(fds[1], STDOUT_FILENO);
		words.push_back("/bin/sh");
		words.push_back("-c");
		words.push_back(str(command.c_str()));
		setenv("PIDDIR", folder().c_str(), 1);
		set_syslog_logger(words);
		fail_call(call, nth, err);
		daemonize("test");
		fail_none();
		dprintf(STDERR_FILENO, "goes on\n");
		_exit(0);
	}
	assert_int_equal(waitpid(pid, nullptr, 0), pid);
	close(fds[1]);
	while (read(fds[0], buf, sizeof(buf)) > 0)
		;
	close(fds[0]);
	fd = open(path.c_str(), O_RDONLY);
	n = read(fd, buf, sizeof(buf));
	close(fd);
	unlink(path.c_str());
	return std::string(buf, n > 0 ? static_cast<size_t>(n) : 0);
}

void assert_says(const std::string &text, const char *what)
{
	if (text.find(what) == std::string::npos)
		fail_msg("\"%s\" does not say: %s", text.c_str(), what);
}

bool has_pid_file()
{
	return access((folder() + "/test.pid").c_str(), F_OK) == 0;
}

/* What only makes it less of a daemon is a warning in its log. */
void daemonize_warns(void **)
{
	std::string log;

	if (HAS_TSAN || !has_told_threads())
		skip();
	log = log_of_daemon(CALL_open, 1, EMFILE);
	assert_says(log, "/dev/null: Too many open files");
	assert_says(log, "goes on");
	assert_true(has_pid_file());
	log = log_of_daemon(CALL_open, 2, EACCES);
	assert_says(log, "test.pid: Permission denied");
	assert_says(log, "goes on");
	log = log_of_daemon(CALL_write, 1, ENOSPC);
	assert_says(log, "test.pid: No space left on device");
	assert_says(log, "goes on");
	/* Nobody takes an empty one for a process. */
	assert_false(has_pid_file());
}

void daemonize_ends_where_it_cannot_be_one(void **)
{
	static const struct {
		failing_call call;
		int fd, err;
		const char *text;
	} cases[] = {
		{ CALL_fopen, -1, EMFILE, "/proc/self/status: Too many open files" },
		{ CALL_pipe2, -1, EMFILE, "start_logger: pipe: Too many open files" },
		{ CALL_fork, -1, EAGAIN, "start_logger: fork: Resource temporarily unavailable" },
		{ CALL_dup2, STDERR_FILENO, EBUSY, "start_logger: dup2: Device or resource busy" },
	};

	if (HAS_TSAN || !has_told_threads())
		skip();
	for (const auto &c : cases) {
		ended e = run_in_child([&c]() {
			fail_call_of_fd(c.call, c.fd, 1, c.err);
			daemonize("test");
		});

		if (!e.is_aborted() || !e.says(c.text))
			fail_msg("status %#x: %s", static_cast<unsigned>(e.status), e.text);
	}
}

/* Without a /proc there is nothing to read. */
void daemonize_without_proc(void **)
{
	std::string log;

	if (HAS_TSAN || !has_told_threads())
		skip();
	log = log_of_daemon(CALL_fopen, 1, ENOENT);
	assert_says(log, "goes on");
}

/* It must not read the standard input of the program for messages. */
void start_logger_whose_input_fails(void **)
{
	int status = -1;
	pid_t pid;

	if (HAS_TSAN)
		skip();
	pid = fork();
	if (pid == 0) {
		fail_call_of_fd(CALL_dup2, STDIN_FILENO, 1, EBUSY);
		start_logger();
		rc_ignore(waitpid(-1, &status, 0));
		_exit(WEXITSTATUS(status) == 127 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int remove_all(void **)
{
	for (const char *name : { "/lock", "/log", "/test.pid" })
		unlink((folder() + name).c_str());
	return rmdir(folder().c_str());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spawn_each_call_fails),
		cmocka_unit_test(spawn_each_call_fails_with_a_callback),
		cmocka_unit_test(pipe2str_each_read_fails),
		cmocka_unit_test(chldrun_each_call_fails),
		cmocka_unit_test(chldrun_leaves_nothing),
		cmocka_unit_test(lockfile_each_call_fails),
		cmocka_unit_test(lockfile_without_an_answer_of_stat),
		cmocka_unit_test(daemonize_warns),
		cmocka_unit_test(daemonize_ends_where_it_cannot_be_one),
		cmocka_unit_test(daemonize_without_proc),
		cmocka_unit_test(start_logger_whose_input_fails),
	};

	return cmocka_run_group_tests(tests, nullptr, remove_all);
}
