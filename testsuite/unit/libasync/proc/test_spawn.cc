/*
 * proc/: children, their output, programs' paths, lock files, daemons.
 */
#include "amisc.h"
#include "async.h"

#include <pthread.h>

#include <string>

#include "dies.h"
#include "turns.h"
#include "../../emulated.h"

#include "test.h"

namespace
{

const char *const true_av[] = { "true", NULL };

std::string folder()
{
	static char name[] = "/tmp/libasync-spawn-XXXXXX";
	static bool is_made;

	if (!is_made)
		assert_non_null(mkdtemp(name));
	is_made = true;
	return name;
}

struct child_end {
	int status = -1, calls = 0;

	void take(int s)
	{
		status = s;
		calls++;
	}
	int await(pid_t pid)
	{
		chldcb(pid, wrap(this, &child_end::take));
		turn_until([this]() { return calls > 0; });
		return status;
	}
};

struct output {
	str text;
	int calls = 0, err = -1;

	void take(str s)
	{
		err = errno;
		text = s;
		calls++;
	}
	const char *await()
	{
		turn_until([this]() { return calls > 0; });
		return text.cstr();
	}
};

/* What a shell command prints, with these descriptors for its 0, 1 and 2. */
void spawn_runs_a_program(void **)
{
	const char *av[] = { "sh", "-c", "read x; echo got $x; echo oops >&2; exit 3", NULL };
	int in[2], out[2];
	output o;
	child_end e;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC) + pipe2(out, O_CLOEXEC), 0);
	pid = spawn("/bin/sh", av, in[0], out[1], out[1]);
	assert_true(pid > 0);
	close(in[0]);
	close(out[1]);
	v_write(in[1], "word\n", 5);
	close(in[1]);
	pipe2str(out[0], wrap(&o, &output::take));
	assert_string_equal(o.await(), "got word\noops\n");
	assert_int_equal(WEXITSTATUS(e.await(pid)), 3);
}

void spawn_of_no_program_has_errno(void **)
{
	int was_called = 0;

	if (!has_spawn_errors())
		skip();
	assert_int_equal(spawn("/nonexistent/program", true_av), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(spawn("/etc/passwd", true_av), -1);
	assert_int_equal(errno, EACCES);
	assert_int_equal(aspawn("/nonexistent/program", true_av, 0, 1, 2, wrap([&was_called]() { was_called++; })), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(was_called, 0);
	assert_int_equal(spawn("/bin/true", true_av, 999), -1);
	assert_int_equal(errno, EBADF);
}

void spawn_searches_the_path(void **)
{
	child_end e;
	pid_t pid = spawn("true", true_av);

	assert_true(pid > 0);
	assert_int_equal(e.await(pid), 0);
}

void spawn_crosses_descriptors(void **)
{
	const char *av[] = { "sh", "-c", "echo to one; echo to two >&2", NULL };
	int one[2], two[2], saved[3] = { dup(0), dup(1), dup(2) };
	output first, second;
	child_end e;
	pid_t pid;

	assert_int_equal(pipe2(one, O_CLOEXEC) + pipe2(two, O_CLOEXEC), 0);
	dup2(one[1], 1);
	dup2(two[1], 2);
	pid = spawn("/bin/sh", av, -1, 2, 1);
	for (int i = 0; i < 3; i++) {
		dup2(saved[i], i);
		close(saved[i]);
	}
	close(one[1]);
	close(two[1]);
	assert_true(pid > 0);
	pipe2str(one[0], wrap(&first, &output::take));
	pipe2str(two[0], wrap(&second, &output::take));
	assert_string_equal(first.await(), "to two\n");
	assert_string_equal(second.await(), "to one\n");
	assert_int_equal(e.await(pid), 0);
}

void spawn_calls_back_in_the_child_first(void **)
{
	const char *av[] = { "sh", "-c", "echo $MARK; trap - PIPE; kill -PIPE $$; echo alive", NULL };
	char mark[] = "MARK=here", path[] = "PATH=/bin:/usr/bin";
	char *env[] = { mark, path, NULL };
	int out[2];
	output o;
	child_end e;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = aspawn("/bin/sh", av, 0, out[1], 2, wrap([]() { v_write(1, "child\n", 6); }), env);
	close(out[1]);
	pipe2str(out[0], wrap(&o, &output::take));
	assert_string_equal(o.await(), "child\nhere\n");
	assert_int_equal(WTERMSIG(e.await(pid)), SIGPIPE);
}

void spawn_without_descriptors_has_errno(void **)
{
	struct rlimit before, none;

	if (!CAN_LACK_DESCRIPTORS)
		skip();
	getrlimit(RLIMIT_NOFILE, &before);
	none = { 3, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	assert_int_equal(spawn("/bin/true", true_av, 0, 2, 2), -1);
	assert_int_equal(errno == EMFILE || errno == EINVAL, 1);
	assert_int_equal(aspawn("/bin/true", true_av, 0, 1, 2, wrap([]() {})), -1);
	assert_int_equal(errno, EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
}

void spawn_and_a_killed_child(void **)
{
	const char *av[] = { "cat", NULL };
	int in[2];
	child_end e;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = spawn("/bin/cat", av, in[0]);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(WTERMSIG(e.await(pid)), SIGKILL);
	close(in[0]);
	close(in[1]);
}

void spawn_chldrun_gives_what_the_child_wrote(void **)
{
	output o;

	chldrun(wrap([](int fd) { v_write(fd, "from the child", 14); }), wrap(&o, &output::take));
	assert_int_equal(o.calls, 0);
	assert_string_equal(o.await(), "from the child");
}

void spawn_chldrun_without_descriptors_has_errno(void **)
{
	output none;
	struct rlimit before, limit;

	if (!CAN_LACK_DESCRIPTORS)
		skip();
	getrlimit(RLIMIT_NOFILE, &before);
	limit = { 0, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &limit);
	chldrun(wrap([](int) {}), wrap(&none, &output::take));
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(none.calls, 0);
	turn_until([&none]() { return none.calls > 0; });
	assert_true(none.text == NULL);
	assert_int_equal(none.err, EMFILE);
}

/* Only a socket may carry a descriptor. */
void spawn_pipe2str_of_a_pipe_has_no_descriptor(void **)
{
	output o;
	int fds[2], got = 5;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "text", 4), 4);
	close(fds[1]);
	pipe2str(fds[0], wrap(&o, &output::take), &got);
	turn_until([&o]() { return o.calls > 0; });
	assert_true(o.text == "text");
	assert_int_equal(got, -1);
}

void spawn_pipe2str_tells_errors_and_descriptors(void **)
{
	int pair[2], got = -2;
	strbuf before("before ");
	output o, bad;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pipe2str(pair[0], wrap(&o, &output::take), &got, &before);
	assert_int_equal(got, -1);
	v_write(pair[1], "after", 5);
	close(pair[1]);
	assert_string_equal(o.await(), "before after");
	/* A reset: read fails. */
	int l = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK), client = socket(AF_INET, SOCK_STREAM, 0), server;
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);

	listen(l, 1);
	getsockname(l, reinterpret_cast<sockaddr *>(&sin), &len);
	assert_int_equal(connect(client, reinterpret_cast<sockaddr *>(&sin), len), 0);
	assert_int_equal(fdwait(l, selread), 1);
	server = accept(l, nullptr, nullptr);
	tcp_abort(client);
	pipe2str(server, wrap(&bad, &output::take));
	turn_until([&bad]() { return bad.calls > 0; });
	assert_true(bad.text == NULL);
	assert_int_equal(bad.err, ECONNRESET);
	close(l);
}

void find_program_looks_beside_and_in_the_path(void **)
{
	std::string dir = folder(), program = dir + "/only-here", plain = dir + "/no-program";

	close(open(program.c_str(), O_CREAT | O_WRONLY, 0755));
	close(open(plain.c_str(), O_CREAT | O_WRONLY, 0644));
	assert_string_equal(find_program(program.c_str()).cstr(), program.c_str());
	assert_true(find_program(plain.c_str()) == NULL);
	assert_true(find_program("only-here") == NULL);
	assert_true(find_program("sh") != NULL);
	setenv("SFS_LIBDIR", ("/nonexistent:" + dir).c_str(), 1);
	assert_string_equal(find_program_plus_libsfs("only-here").cstr(), program.c_str());
	assert_true(find_program_plus_libsfs("no-program") == NULL);
	unsetenv("SFS_LIBDIR");
	assert_string_equal(fix_exec_path("a/b").cstr(), "a/b");
	assert_string_equal(fix_exec_path("x", str(dir.c_str())).cstr(), (dir + "/x").c_str());
	assert_string_equal(fix_exec_path("sh").cstr(), find_program("sh").cstr());
	unlink(program.c_str());
	unlink(plain.c_str());
}

void stat_unchanged_sees_a_change(void **)
{
	std::string path = folder() + "/file";
	struct stat a, b;
	int fd = open(path.c_str(), O_CREAT | O_RDWR, 0600);

	fstat(fd, &a);
	fstat(fd, &b);
	assert_true(stat_unchanged(&a, &b));
	v_write(fd, "x", 1);
	fstat(fd, &b);
	assert_false(stat_unchanged(&a, &b));
	close(fd);
	unlink(path.c_str());
}

void daemonize_lockfile_is_exclusive(void **)
{
	std::string path = folder() + "/lock";
	ptr<lockfile> a = lockfile::alloc(path.c_str()), b;

	assert_true(a != NULL);
	assert_true(a->locked() && a->ok() && a->getfd() >= 0);
	errno = 0;
	b = lockfile::alloc(path.c_str());
	assert_true(b == NULL);
	assert_int_equal(errno, EWOULDBLOCK);
	assert_true(a->acquire());
	unlink(path.c_str());
	assert_false(a->ok());
	b = lockfile::alloc(path.c_str());
	assert_true(b != NULL && b->ok());
	a->release();
	assert_false(a->locked());
	assert_int_equal(access(path.c_str(), F_OK), 0);
	b = NULL;
	assert_int_equal(access(path.c_str(), F_OK), -1);
	assert_true(lockfile::alloc((path + "/no/such").c_str()) == NULL);
	assert_int_equal(errno, ENOENT);
}

void daemonize_lockfile_waits(void **)
{
	std::string path = folder() + "/lock";
	ptr<lockfile> a = lockfile::alloc(path.c_str());
	int fds[2], status;
	char c;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		ptr<lockfile> mine;

		close(a->getfd());
		v_write(fds[1], "r", 1);
		mine = lockfile::alloc(path.c_str(), true);
		_exit(mine != NULL && mine->ok() ? 0 : 1);
	}
	assert_int_equal(read(fds[0], &c, 1), 1);
	a->release();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fds[0]);
	close(fds[1]);
	unlink(path.c_str());
}

std::string content(const std::string &path)
{
	char buf[200];
	int fd = open(path.c_str(), O_RDONLY);
	ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf)) : 0;

	if (fd >= 0)
		close(fd);
	return std::string(buf, n > 0 ? static_cast<size_t>(n) : 0);
}

void daemonize_set_syslog_logger(void **)
{
	vec<str> words;

	assert_true(check_syslog_logger("  sh -c\tx ", &words));
	assert_int_equal(words.size(), 3);
	assert_string_equal(words[1].cstr(), "-c");
	assert_false(check_syslog_logger("", &words));
	assert_false(check_syslog_logger("/nonexistent/logger -t x", &words));
	assert_false(set_syslog_logger("/nonexistent/logger"));
}

/* The child of this test becomes a daemon, says what it is, and ends; the pipe's end says that all have ended. */
void daemonize_goes_on_in_the_background(void **)
{
	if (HAS_TSAN || !has_told_threads())
		skip();
	std::string log = folder() + "/log", command = "cat > " + log;
	vec<str> words;
	int fds[2], status;
	char buf[100];
	ssize_t n;
	pid_t pid;

	words.push_back("/bin/sh");
	words.push_back("-c");
	words.push_back(str(command.c_str()));
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		setenv("PIDDIR", folder().c_str(), 1);
		set_syslog_logger(words);
		daemonize("test");
		dprintf(STDERR_FILENO, "logged\n");
		dprintf(fds[1], "%d %d", static_cast<int>(getpid()), getsid(0) == getpid());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fds[1]);
	n = read(fds[0], buf, sizeof(buf) - 1);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_int_equal(read(fds[0], buf + n, 1), 0);
	close(fds[0]);
	assert_string_equal(strchr(buf, ' '), " 1");
	assert_int_equal(atoi(buf), atoi(content(folder() + "/test.pid").c_str()));
	assert_int_not_equal(atoi(buf), pid);
	unlink((folder() + "/test.pid").c_str());
}

void *thread_main(void *fd)
{
	char c;

	rc_ignore(read(*static_cast<int *>(fd), &c, 1));
	return nullptr;
}

void daemonize_after_threads_is_an_error(void **)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	ended e = run_in_child([&] {
		pthread_t thread;

		pthread_create(&thread, nullptr, thread_main, &fds[0]);
		daemonize("test");
	});
	assert_true(e.is_aborted());
	assert_true(e.says("daemonize: the program has threads already"));
	close(fds[0]);
	close(fds[1]);
}

int remove_folder(void **)
{
	unlink((folder() + "/log").c_str());
	return rmdir(folder().c_str());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spawn_runs_a_program),
		cmocka_unit_test(spawn_of_no_program_has_errno),
		cmocka_unit_test(spawn_searches_the_path),
		cmocka_unit_test(spawn_crosses_descriptors),
		cmocka_unit_test(spawn_calls_back_in_the_child_first),
		cmocka_unit_test(spawn_without_descriptors_has_errno),
		cmocka_unit_test(spawn_and_a_killed_child),
		cmocka_unit_test(spawn_chldrun_gives_what_the_child_wrote),
		cmocka_unit_test(spawn_chldrun_without_descriptors_has_errno),
		cmocka_unit_test(spawn_pipe2str_of_a_pipe_has_no_descriptor),
		cmocka_unit_test(spawn_pipe2str_tells_errors_and_descriptors),
		cmocka_unit_test(find_program_looks_beside_and_in_the_path),
		cmocka_unit_test(stat_unchanged_sees_a_change),
		cmocka_unit_test(daemonize_lockfile_is_exclusive),
		cmocka_unit_test(daemonize_lockfile_waits),
		cmocka_unit_test(daemonize_set_syslog_logger),
		cmocka_unit_test(daemonize_goes_on_in_the_background),
		cmocka_unit_test(daemonize_after_threads_is_an_error),
	};

	return cmocka_run_group_tests(tests, nullptr, remove_folder);
}
