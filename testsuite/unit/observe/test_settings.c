/*
 * core/observe/settings.c: what the environment may say, and which files are written.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/ec.h"
#include "core/observe/settings.h"
#include "fault.h"

static char said[2000], folder[64];
static int said_num;
static struct ec_stall_settings settings;

static void keep(int severity, const char *msg)
{
	assert_int_equal(severity, EC_LOG_WARN);
	snprintf(said, sizeof(said), "%s", msg);
	said_num++;
}

static void set(const char *name, const char *value)
{
	assert_int_equal(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
}

/* Reads what these say. The number of messages. */
static int take(const char *ms, const char *format, const char *file)
{
	set("EVENT_SMP_STALL_MS", ms);
	set("EVENT_SMP_STALL_FORMAT", format);
	set("EVENT_SMP_STALL_FILE", file);
	said_num = 0;
	said[0] = '\0';
	ec_stall_settings_read(&settings);
	return said_num;
}

static int setup(void **state)
{
	(void)state;
	ec_log_set_fn(keep);
	strcpy(folder, "/tmp/settings.XXXXXX");
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)fault_end();
	ec_log_set_fn(NULL);
	(void)take(NULL, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void limits_are_numbers(void **state)
{
	static const struct {
		const char *value;
		unsigned limit_ms;
		int said_num;
	} rows[] = {
		{ NULL, 0, 0 },
		{ "0", 0, 0 },
		{ "1", 1, 0 },
		{ "250", 250, 0 },
		{ "3600000", 3600000, 0 },
		{ "3600001", 0, 1 },
		{ "", 0, 1 },
		{ "-1", 0, 1 },
		{ " 1", 0, 1 },
		{ "+1", 0, 1 },
		{ "1 ", 0, 1 },
		{ "1ms", 0, 1 },
		{ "0x10", 0, 1 },
		{ "99999999999999999999999999", 0, 1 },
		{ "%n%s%s%s", 0, 1 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		assert_row(take(rows[i].value, NULL, NULL) == rows[i].said_num, rows[i].value);
		assert_row(settings.limit_ms == rows[i].limit_ms, rows[i].value);
		assert_row(!settings.is_json && settings.path[0] == '\0', rows[i].value);
	}
}

/* Who sets the file has forgotten the limit; 0 is off. */
static void the_others_need_a_limit(void **state)
{
	(void)state;
	assert_int_equal(take(NULL, "json", NULL), 1);
	assert_string_equal(said, "EVENT_SMP_STALL_FORMAT has no effect without EVENT_SMP_STALL_MS: stalls are not "
				  "reported");
	assert_int_equal(take(NULL, NULL, in_folder("file")), 1);
	assert_non_null(strstr(said, "EVENT_SMP_STALL_FILE has no effect"));
	assert_int_equal(take("0", "json", in_folder("file")), 0);
}

static void a_long_value_is_shown_in_part(void **state)
{
	char value[1500];

	(void)state;
	memset(value, 'x', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	assert_int_equal(take(value, NULL, NULL), 1);
	assert_true(strlen(said) < 200);
	assert_non_null(strstr(said, "EVENT_SMP_STALL_MS=xxx"));
	assert_non_null(strstr(said, "from 1 to 3600000"));
}

static void formats_are_two(void **state)
{
	(void)state;
	assert_int_equal(take("5", "text", NULL), 0);
	assert_true(settings.limit_ms == 5 && !settings.is_json);
	assert_int_equal(take("5", "json", NULL), 0);
	assert_true(settings.limit_ms == 5 && settings.is_json);
	assert_int_equal(take("5", "JSON", NULL), 1);
	assert_int_equal(settings.limit_ms, 0);
	assert_int_equal(take("0", "xml", in_folder("none")), 0);	/* it is off: nothing is read */
	assert_int_equal(access(in_folder("none"), F_OK), -1);
}

static void a_new_file_is_the_users_alone(void **state)
{
	struct stat st;
	int fd;

	(void)state;
	umask(0);
	assert_int_equal(take("5", NULL, in_folder("new")), 0);
	assert_string_equal(settings.path, in_folder("new"));
	assert_int_equal(stat(in_folder("new"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Later runs append to it. */
	fd = ec_stall_settings_open(&settings);
	assert_int_equal(write(fd, "a\n", 2), 2);
	close(fd);
	fd = ec_stall_settings_open(&settings);
	assert_int_equal(write(fd, "b\n", 2), 2);
	close(fd);
	assert_int_equal(stat(in_folder("new"), &st), 0);
	assert_int_equal(st.st_size, 4);
}

static void a_relative_path_is_that_of_the_start(void **state)
{
	(void)state;
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(take("5", NULL, "here"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_string_equal(settings.path, in_folder("here"));
}

enum kind { SYMLINK, HARDLINK, FIFO, FOLDER, WRITABLE, MISSING };

static void make(enum kind kind, const char *path)
{
	char other[160];
	int fd;

	snprintf(other, sizeof(other), "%s.other", path);
	fd = open(kind == WRITABLE ? path : other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	if (kind == SYMLINK)
		assert_int_equal(symlink(other, path), 0);
	if (kind == HARDLINK)
		assert_int_equal(link(other, path), 0);
	if (kind == FIFO)
		assert_int_equal(mkfifo(path, 0600), 0);
	if (kind == FOLDER)
		assert_int_equal(mkdir(path, 0700), 0);
	if (kind == WRITABLE)
		assert_int_equal(fchmod(fd, 0622), 0);
	close(fd);
}

static void files_that_others_may_have_made_are_refused(void **state)
{
	static const struct {
		const char *name;
		enum kind kind;
	} rows[] = {
		{ "symlink", SYMLINK }, { "hardlink", HARDLINK }, { "fifo", FIFO },
		{ "folder", FOLDER }, { "writable", WRITABLE }, { "no/such/folder", MISSING },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		if (rows[i].kind != MISSING)
			make(rows[i].kind, in_folder(rows[i].name));
		assert_row(take("5", NULL, in_folder(rows[i].name)) == 1, rows[i].name);
		assert_row(strstr(said, "stalls are not reported") != NULL, rows[i].name);
		assert_row(settings.limit_ms == 0, rows[i].name);
	}
	assert_int_equal(take("5", NULL, ""), 1);
	assert_int_equal(take("5", NULL, "/dev/null"), 1);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	char path[PATH_MAX + 10];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(take("5", NULL, path), 1);
	assert_non_null(strstr(said, strerror(ENAMETOOLONG)));
	path[0] = '/';
	assert_int_equal(take("5", NULL, path), 1);
	assert_non_null(strstr(said, strerror(ENAMETOOLONG)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(limits_are_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(the_others_need_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(a_long_value_is_shown_in_part, setup, teardown),
		cmocka_unit_test_setup_teardown(formats_are_two, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_file_is_the_users_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_relative_path_is_that_of_the_start, setup, teardown),
		cmocka_unit_test_setup_teardown(files_that_others_may_have_made_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_path_that_is_too_long_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
