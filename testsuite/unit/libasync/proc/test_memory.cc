/*
 * proc/memory.cc and proc/env.cc: memory that is never NULL, the record of what was not freed, the environment.
 */
#include "sysconf.h"

#include <string>

#include "test.h"

namespace
{

/* What standard error gets while `fn` runs. */
template <class F>
std::string printed(F fn)
{
	char buf[1000];
	ssize_t n;
	int fds[2], old = dup(STDERR_FILENO);

	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	fn();
	dup2(old, STDERR_FILENO);
	close(old);
	close(fds[1]);
	n = read(fds[0], buf, sizeof(buf));
	close(fds[0]);
	assert_true(n >= 0);
	return std::string(buf, static_cast<size_t>(n));
}

void xmalloc_of_nothing_is_a_block(void **)
{
	void *p = xmalloc(0);

	assert_non_null(p);
	xfree(p);
	xfree(nullptr);
}

void xrealloc_keeps_the_bytes(void **)
{
	char *p = static_cast<char *>(xrealloc(nullptr, 4));

	memcpy(p, "abc", 4);
	p = static_cast<char *>(xrealloc(p, 100000));
	assert_string_equal(p, "abc");
	xfree(p);
}

void without_memory_the_program_aborts(void **)
{
	volatile size_t too_much = SIZE_MAX - 100000;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit no_core = { 0, 0 };

		close(STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		xmalloc(too_much);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

void leak_checker_reports_what_was_not_freed(void **)
{
	void *before = xmalloc(1), *kept;

	simple_leak_checker_enable();
	xfree(before);
	xfree(xstrdup("freed"));
	kept = xrealloc(xmalloc(10), 1234);
	assert_non_null(strstr(printed(simple_leak_checker_report).c_str(), "not freed: 1 blocks, 1234 bytes"));
	simple_leak_checker_disable();
	free(xmalloc(77));
	assert_null(strstr(printed(simple_leak_checker_report).c_str(), " 77 bytes"));	/* addresses have digits, too */
	simple_leak_checker_reset();
	assert_string_equal(printed(simple_leak_checker_report).c_str(), "");
	xfree(kept);
}

void xputenv_keeps_a_copy(void **)
{
	char text[] = "LIBASYNC_TEST=one=two";

	assert_int_equal(xputenv(text), 0);
	memset(text, 'x', sizeof(text) - 1);
	assert_string_equal(safegetenv("LIBASYNC_TEST"), "one=two");
	assert_int_equal(xputenv("no equals sign"), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(xputenv("=x"), -1);
	assert_null(safegetenv("LIBASYNC_TEST_NOT_SET"));
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xmalloc_of_nothing_is_a_block),
		cmocka_unit_test(xrealloc_keeps_the_bytes),
		cmocka_unit_test(without_memory_the_program_aborts),
		cmocka_unit_test(leak_checker_reports_what_was_not_freed),
		cmocka_unit_test(xputenv_keeps_a_copy),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
