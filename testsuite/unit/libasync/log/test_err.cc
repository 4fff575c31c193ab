/*
 * err.h, litetime.h and init.h: what is printed, and what ends the program how.
 */
#include "async.h"

#include <cstring>
#include <fcntl.h>
#include <string>

#include "test.h"

INIT(early_init);

namespace
{

int began;

} // namespace

int early_init::count;

void early_init::start()
{
	began++;
}

void early_init::stop()
{
	began--;
}

namespace
{

int fds[2];
char self[] = "/usr/bin/lt-tester";

int begin(void **)
{
	setprogname(self);
	if (pipe2(fds, O_NONBLOCK) < 0)
		return -1;
	errfd = fds[1];
	return 0;
}

int end(void **)
{
	errfd = 2;
	return close(fds[0]) | close(fds[1]);
}

std::string printed()
{
	char buf[4096];
	ssize_t n = read(fds[0], buf, sizeof(buf));

	return n <= 0 ? "" : std::string(buf, size_t(n));
}

#define assert_printed(text) assert_string_equal(printed().c_str(), text)

void warn_begins_with_the_name(void **)
{
	str s = "path";

	warn << s << ": " << 5 << "\n";
	assert_printed("tester: path: 5\n");
	warn("%d %s\n", 7, "x");
	assert_printed("tester: 7 x\n");
	warnx << "bare\n";
	assert_printed("bare\n");
	warnx("%d\n", 8) << "more\n";
	assert_printed("8\nmore\n");
	setprogpid(12);
	warn << "p\n";
	setprogpid(0);
	assert_printed("tester[12]: p\n");
	warnobj(warnobj::xflag | warnobj::timeflag) << "t\n";
	assert_non_null(strstr(printed().c_str(), " t\n"));
}

void warn_knows_and_keeps_errno(void **)
{
	errno = ENOENT;
	warn("%m\n");
	assert_int_equal(errno, ENOENT);
	warn << strerror(errno) << "\n";
	assert_int_equal(errno, ENOENT);
	assert_printed("tester: No such file or directory\ntester: No such file or directory\n");
}

/* A full pipe: the loop writes the rest, in order. */
void warn_does_not_block(void **)
{
	std::string fill(1 << 20, 'f'), all;

	warnx << fill.c_str() << "\n";
	warnx << "last\n";
	while (all.size() < fill.size() + 6) {
		std::string some = printed();

		all += some;
		if (some.empty())
			acheck();
	}
	assert_true(all == fill + "\nlast\n");
}

/* How a process ends that prints to its standard error, and what it prints. */
template <class F> int ends(F f)
{
	int status = status_of([&] { f(); });

	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void hook()
{
	warnx << "hook\n";
}

void fatal_exits_with_1_after_fatalhook(void **)
{
	assert_int_equal(ends([] { fatal << "end\n"; }), 1);
	assert_printed("tester: fatal: end\n");
	assert_int_equal(ends([] {
				 fatalhook = hook;
				 fatal("%s\n", "end");
			 }),
			 1);
	assert_printed("tester: fatal: end\nhook\n");
}

int never_returns()
{
	panic << "no value\n";
}

void panic_aborts(void **)
{
	assert_int_equal(ends([] { never_returns(); }), -SIGABRT);
	assert_printed("tester: PANIC: no value\n");
	assert_int_equal(ends([] { panic("%d\n", 5); }), -SIGABRT);
	assert_printed("tester: PANIC: 5\n");
}

#ifndef NDEBUG
void assert_panics_with_file_and_line(void **)
{
	int zero = 0;

	assert(zero == 0);
	assert_int_equal(ends([&] { assert(zero == 1); }), -SIGABRT);
	std::string text = printed();
	assert_non_null(strstr(text.c_str(), "test_err.cc:"));
	assert_non_null(strstr(text.c_str(), "zero == 1"));
}
#endif

void traceobj_prints_up_to_its_level(void **)
{
	int other[2];
	char buf[100] = {};

	traceobj(2, "net: ")(2) << "two\n";
	traceobj(2, "net: ")(3) << "three\n";
	traceobj(2, "net: ")(1, "%d\n", 1) << "more\n";
	traceobj(2) << "no threshold\n";
	assert_printed("tester: net: two\ntester: net: 1\nmore\n");
	assert_int_equal(pipe(other), 0);
	traceobj(1, "x: ", false, other[1])() << "o\n";
	assert_true(read(other[0], buf, sizeof(buf)) > 0);
	assert_string_equal(buf, "tester: x: o\n");
	close(other[0]);
	close(other[1]);
}

void setprogname_takes_the_last_part(void **)
{
	char plain[] = "plain";

	assert_string_equal(progname.cstr(), "tester");
	assert_string_equal(progdir.cstr(), "/usr/bin/");
	setprogname(plain);
	assert_string_equal(progname.cstr(), "plain");
	assert_true(!progdir);
}

void time_is_that_of_the_clock(void **)
{
	time_t before = time(nullptr) - 1, by_variable = timenow;
	timespec ts = tsnow, other;

	sfs_set_clock(SFS_CLOCK_GETTIME);
	sfs_get_tsnow(&other, true);
	assert_true(before <= by_variable && by_variable <= sfs_get_timenow(true));
	assert_true(before <= ts.tv_sec && ts.tv_sec <= other.tv_sec && tsnow.tv_sec >= ts.tv_sec);
	assert_true(tsnow.tv_nsec < 1000000000);

	/* Programs set them to be up to date. */
	timenow = 5;
	assert_int_equal(timenow, 5);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &tsnow), 0);
	assert_true(tsnow.tv_sec >= before);
}

void init_starts_once(void **)
{
	assert_int_equal(began, 1);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(warn_begins_with_the_name, begin, end),
		cmocka_unit_test_setup_teardown(warn_knows_and_keeps_errno, begin, end),
		cmocka_unit_test_setup_teardown(warn_does_not_block, begin, end),
		cmocka_unit_test_setup_teardown(fatal_exits_with_1_after_fatalhook, begin, end),
		cmocka_unit_test_setup_teardown(panic_aborts, begin, end),
#ifndef NDEBUG
		cmocka_unit_test_setup_teardown(assert_panics_with_file_and_line, begin, end),
#endif
		cmocka_unit_test_setup_teardown(traceobj_prints_up_to_its_level, begin, end),
		cmocka_unit_test_setup_teardown(setprogname_takes_the_last_part, begin, end),
		cmocka_unit_test(time_is_that_of_the_clock),
		cmocka_unit_test(init_starts_once),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
