/*
 * which and doctor: what is installed, and what else matters when something does not work. `doctor` prints no names of
 * people, machines or services, no values of variables that could hold them, and a home directory as ~.
 */
#include <glob.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "command.h"
#include "judge.h"
#include "mac.h"
#include "process.h"
#include "unit.h"

#include "core/os/version.h"

static size_t show_libdirs(void)
{
	struct libdir *dirs;
	size_t num = libdir_list(&dirs), i;

	for (i = 0; i < num; i++)
		printf("%s %s %s\n", shown(dirs[i].path), dirs[i].version == NULL ? "?" : dirs[i].version,
		       elf_machine_name(&dirs[i].engine));
	return num;
}

enum status command_which(int argc, char **argv)
{
	if (argc > 0)
		die(EVSMP_USAGE, "which takes no arguments, such as %s.", argv[0]);
	if (show_libdirs() == 0)
		(void)libdir_for(NULL, NULL);	/* says what is wrong */
	return EVSMP_OK;
}

/* ---------------------------------------------------------------- doctor */

static void show_libraries(void)
{
	struct libdir *dirs;
	size_t num = libdir_list(&dirs), i, j;
	glob_t found;

	if (num == 0)
		puts("libraries: none");
	for (i = 0; i < num; i++) {
		printf("libraries: %s, version %s, for %s:", shown(dirs[i].path),
		       dirs[i].version == NULL ? "unknown" : dirs[i].version, elf_machine_name(&dirs[i].engine));
		if (glob(text("%s/libevent*.so.*", text_for_glob(dirs[i].path)), 0, NULL, &found) == 0) {
			for (j = 0; j < found.gl_pathc; j++)
				printf(" %s", base_name(found.gl_pathv[j]));
			globfree(&found);
		}
		putchar('\n');
	}
}

static void show_stock(void)
{
	static const char *const places[] = { "/usr/lib/*/libevent*-2.1.so.7.*", "/usr/lib64/libevent*-2.1.so.7.*",
					      "/usr/lib/libevent*-2.1.so.7.*", "/usr/local/lib/libevent*-2.1.so.7.*" };
	glob_t found;
	size_t i, j;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (glob(text("%s%s", text_for_glob(rooted("")), places[i]), 0, NULL, &found) != 0)
			continue;
		for (j = 0; j < found.gl_pathc; j++)
			printf("system's libevent: %s\n", shown(found.gl_pathv[j]));
		globfree(&found);
	}
}

/* The first line of a file, or the value behind `key`, without quotes; NULL: none. */
static const char *line_of(const char *path, const char *key)
{
	const char *data = file_read(rooted(path), NULL);
	struct list lines = { 0 };
	size_t i;

	if (data == NULL)
		return NULL;
	list_split(&lines, data, "\n");
	for (i = 0; i < lines.num; i++) {
		if (starts_with(lines.at[i], key)) {
			char *value = lines.at[i] + strlen(key);

			value += *value == '"';
			value[strcspn(value, "\"")] = '\0';
			return value;
		}
	}
	return NULL;
}

static const char *or_unknown(const char *s)
{
	return s == NULL ? "unknown" : s;
}

static void show_system(void)
{
	cpu_set_t usable;
	struct utsname u;

	if (uname(&u) == 0)
		printf("kernel: %s %s %s\n", u.sysname, u.release, u.machine);
	printf("system: %s\n", or_unknown(line_of("/etc/os-release", "PRETTY_NAME=")));
#ifdef __GLIBC__
	printf("C library: glibc %s\n", gnu_get_libc_version());
#else
	puts("C library: not glibc");
#endif
	CPU_ZERO(&usable);
	printf("CPUs: %ld", sysconf(_SC_NPROCESSORS_ONLN));
	if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
		printf(", %d of them for this process", CPU_COUNT(&usable));
	printf("; quota: %s\n", or_unknown(line_of("/sys/fs/cgroup/cpu.max", "")));
	printf("io_uring_disabled: %s\n", or_unknown(line_of("/proc/sys/kernel/io_uring_disabled", "")));
	printf("access control: %s\n", mac_name());
	printf("container: %s\n", access(rooted("/run/systemd/container"), F_OK) == 0 ||
						  access(rooted("/.dockerenv"), F_OK) == 0 ||
						  access(rooted("/run/.containerenv"), F_OK) == 0 ?
					  "yes" :
					  "none seen");
	printf("systemd: %s\n", access(rooted("/run/systemd/system"), F_OK) == 0 ? "runs" : "does not run");
}

/* Numbers and switches are shown; of what holds paths, only whether it is set. */
static void show_environment(void)
{
	extern char **environ;
	char **at;

	for (at = environ; *at != NULL; at++) {
		int len = (int)strcspn(*at, "=");

		if (starts_with(*at, "EVENT_") && (*at)[len] == '=' && strchr(*at, '/') == NULL)
			printf("environment: %s\n", *at);
		else if (starts_with(*at, "EVENT_") || starts_with(*at, "EVSMP_") || starts_with(*at, "LD_"))
			printf("environment: %.*s is set\n", len, *at);
	}
	if (access(rooted("/etc/ld.so.preload"), F_OK) == 0)
		puts("environment: /etc/ld.so.preload is there");
}

static void count_process(pid_t pid, void *arg)
{
	unsigned *num = arg;
	struct process p;

	if (process_read(pid, &p) && p.engine != NULL) {
		num[0]++;
		num[1] += p.is_replaced;
	}
}

enum status command_doctor(int argc, char **argv)
{
	unsigned num[2] = { 0, 0 };

	if (argc > 1)
		die(EVSMP_USAGE, "doctor: one program at most, please (evsmp --help tells).");
	say_hide_homes();
	puts("evsmp: version " EC_VERSION);
	show_libraries();
	show_stock();
	show_system();
	show_environment();
	process_each(count_process, num);
	printf("processes on libevent-smp: %u, with replaced libraries: %u\n", num[0], num[1]);
	printf("services enabled: %zu\n", unit_enabled_list().num);
	return argc == 0 ? EVSMP_OK : command_check(argc, argv);
}
