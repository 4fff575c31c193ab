/*
 * start_logger without a program of its own: lines go to syslog, by the priority that the program chose.
 *
 * openlog and syslog are the test's: they write to a file.
 */
#include "amisc.h"
#include "err.h"

#include <cstdarg>
#include <string>
#include <syslog.h>

#include "dies.h"
#include "proc/priority.h"
#include "test.h"

namespace
{

std::string log_path;
int log_facility;

void log_message(int level, const char *format, va_list args)
{
	char text[200];
	FILE *f = fopen(log_path.c_str(), "a");

	if (f == nullptr)
		_exit(3);
	vsnprintf(text, sizeof(text), format, args);
	fprintf(f, "%d.%d %s\n", LOG_FAC(log_facility), level, text);
	fclose(f);
}

} // namespace

extern "C" {

void openlog(const char *, int, int facility)
{
	log_facility = facility;
}

void syslog(int level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_message(level, format, args);
	va_end(args);
}

/* What syslog is where _FORTIFY_SOURCE is defined. */
void __syslog_chk(int level, int, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_message(level, format, args);
	va_end(args);
}
}

namespace
{

/* A process logs one line by this priority. What syslog got; what the process said before goes to *ret. */
std::string logged(const str &priority, ended *ret)
{
	char path[] = "/tmp/libasync-syslog.XXXXXX", text[300] = "";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	log_path = path;
	*ret = run_in_child([&] {
		syslog_priority = priority;
		start_logger();
		warnx << "one line\n";
		err_flush();
		/* The logger reads to the end, and is the only child. */
		close(STDERR_FILENO);
		_exit(wait(NULL) > 0 ? 0 : 1);
	});
	assert_true(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	close(fd);
	unlink(path);
	assert_true(ret->has_exited(0));
	return text;
}

std::string line_of(int facility, int level)
{
	return std::to_string(LOG_FAC(facility)) + "." + std::to_string(level) + " one line\n";
}

void lines_have_the_priority(void **)
{
	ended e;

	if (LIBASYNC_IS_TSAN)
		skip();
	assert_string_equal(syslog_priority.cstr(), "daemon.notice");
	assert_true(logged(syslog_priority, &e) == line_of(LOG_DAEMON, LOG_NOTICE));
	assert_true(logged("local3.info", &e) == line_of(LOG_LOCAL3, LOG_INFO));
	assert_true(logged("USER.Err", &e) == line_of(LOG_USER, LOG_ERR));
	assert_string_equal(e.text, "");
}

void unknown_priority_is_the_default(void **)
{
	ended e;

	if (LIBASYNC_IS_TSAN)
		skip();
	assert_true(logged("local9.info", &e) == line_of(LOG_DAEMON, LOG_NOTICE));
	assert_true(e.says("syslog_priority: local9.info is not FACILITY.LEVEL"));
	assert_true(logged(NULL, &e) == line_of(LOG_DAEMON, LOG_NOTICE));
	assert_string_equal(e.text, "");
}

void numbers(void **)
{
	assert_int_equal(libasync::syslog_number("local7.debug"), LOG_LOCAL7 | LOG_DEBUG);
	assert_int_equal(libasync::syslog_number("kern.emerg"), LOG_KERN | LOG_EMERG);
	for (const char *wrong : { "", ".", "daemon", "daemon.", ".info", "daemon.inf", "daemon.info.", "daemo.info" })
		assert_int_equal(libasync::syslog_number(wrong), -1);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_the_priority),
		cmocka_unit_test(unknown_priority_is_the_default),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
