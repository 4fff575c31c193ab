/*
 * check-colors: runs a program that was compiled with -fsanitize=thread, with each color as a fiber of ThreadSanitizer
 * (core/observe/fibers.h). The runtime writes its reports to files of a directory, one for each process, and this
 * process tells them as they come.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "judge.h"
#include "report.h"
#include "scratch.h"
#include "signals.h"

enum { TICK_NS = 100000000, FILES_MAX = 256 };

/* As the engine's own (core/observe/check.h). */
struct counts {
	uint64_t callbacks, colors;
};

/* The file of one process. */
struct source {
	char *name;
	off_t read;
	struct report report;
};

struct check {
	const char *mode, *by;		/* for the engine; for people, or NULL */
	const char *program;		/* the name of its file */
	bool counts_libraries;
	const char *dir;
	const struct counts *counts;
	struct races kinds;
	struct source sources[FILES_MAX];
	size_t sources_num;
};

static volatile sig_atomic_t child;

/* ---------------------------------------------------------------- the command line */

static const char *by_read(const char *by)
{
	static const char *const known[] = { "descriptor", "connection", "callback" };
	size_t i;

	for (i = 0; by != NULL && i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(by, known[i]) == 0)
			return known[i];
	}
	die(EVSMP_USAGE, "--color-by needs descriptor, connection or callback, not \"%s\".", by == NULL ? "" : by);
}

/* Two of its own; the other options are those of all commands. Returns the number of words. */
static int options_read(int argc, char **argv, struct check *c, const char **workers)
{
	int i = 0, num;

	while (i < argc) {
		if (strcmp(argv[i], "--libraries") == 0) {
			c->counts_libraries = true;
			i++;
		} else if (starts_with(argv[i], "--color-by=")) {
			c->by = by_read(argv[i] + strlen("--color-by="));
			i++;
		} else if (strcmp(argv[i], "--color-by") == 0) {
			c->by = by_read(argv[i + 1]);
			i += 2;
		} else if (starts_with(argv[i], "--workers")) {
			num = strchr(argv[i], '=') != NULL || i + 1 == argc ? 1 : 2;
			(void)command_options("check-colors", num, argv + i, workers, NULL, NULL);
			i += num;
		} else {
			return i + command_options("check-colors", argc - i, argv + i, NULL, NULL, NULL);
		}
	}
	return i;
}

/* ---------------------------------------------------------------- the program */

static bool is_instrumented(const struct program *p)
{
	struct elf_symbol symbol;
	size_t i;

	for (i = 0; i < p->elf.needed.num; i++) {
		if (strstr(p->elf.needed.at[i], "tsan") != NULL)
			return true;
	}
	return elf_symbol(&p->elf, "__tsan_init", &symbol);
}

static struct verdict program_judge(char **argv)
{
	struct verdict v = judge_arguments(argv);

	if (v.status != EVSMP_OK && v.status != EVSMP_UNKNOWN)
		die(v.status, "%s", v.reason);
	if (!is_instrumented(&v.program))
		die(EVSMP_NO_SANITIZER,
		    "%s is not compiled with -fsanitize=thread, so nobody sees what memory it uses. Compile and link "
		    "it with that option, and with -g.",
		    v.program.path);
	return v;
}

static void env_set(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0)
		die(EVSMP_SYSTEM, "out of memory");
}

/* The user's own options come in between: where reports go is ours. */
static void env_make(const struct check *c, const struct verdict *v, const char *workers)
{
	const char *options = getenv("TSAN_OPTIONS");

	env_set("LD_LIBRARY_PATH", libdir_before_others(v->library_path));
	env_set("EVENT_CHECK_COLORS", c->mode);
	env_set("EVENT_CHECK_COLORS_COUNTS", text("%s/counts", c->dir));
	env_set("TSAN_OPTIONS", text("history_size=7:atexit_sleep_ms=0:%s:log_path=%s/report:exitcode=0",
				     options == NULL ? "" : options, c->dir));
	if (workers != NULL)
		env_set("EVENT_WORKERS", workers);
}

/* Older runtimes do not start where the kernel lays out memory at random. */
static _Noreturn void program_start(const struct check *c, const struct verdict *v, const char *workers, char **argv)
{
	(void)personality(ADDR_NO_RANDOMIZE | PER_LINUX);
	env_make(c, v, workers);
	signals_give_back();
	execv(v->path, argv);
	die(errno == ENOENT ? EVSMP_NOT_FOUND : EVSMP_NOT_EXECUTABLE, "%s cannot be started: %s.", v->path,
	    strerror(errno));
}

/* ---------------------------------------------------------------- the directory */

static void file_make(const char *path, off_t len, mode_t mode)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	if (fd < 0 || ftruncate(fd, len) < 0 || fchmod(fd, mode) < 0)
		die(EVSMP_SYSTEM, "%s cannot be made: %s. Free some room, or set TMPDIR.", path, strerror(errno));
	close(fd);
}

static void counts_map(struct check *c)
{
	char *path = text("%s/counts", c->dir);
	int fd;
	void *p;

	file_make(path, sizeof(struct counts), 0600);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, sizeof(struct counts), PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die(EVSMP_SYSTEM, "%s cannot be read: %s. Set TMPDIR to another directory.", path, strerror(errno));
	close(fd);
	c->counts = p;
}

static void dir_make(struct check *c)
{
	c->dir = scratch_make("check");
	counts_map(c);
}

/* A server that root starts writes its reports as another user. */
static void dir_open_for_others(const struct check *c, pid_t pid)
{
	if (geteuid() != 0)
		return;
	(void)chmod(c->dir, 0711);
	file_make(text("%s/report.%d", c->dir, (int)pid), 0, 0666);
}

/* ---------------------------------------------------------------- reports */

static struct source *source_find(struct check *c, const char *name)
{
	size_t i;

	for (i = 0; i < c->sources_num; i++) {
		if (strcmp(c->sources[i].name, name) == 0)
			return &c->sources[i];
	}
	if (c->sources_num == FILES_MAX)
		return NULL;
	c->sources[i].name = text("%s", name);
	c->sources[i].report = (struct report){
		.by = c->by,
		.program = c->program,
		.counts_libraries = c->counts_libraries,
		.out = stderr,
		.kinds = &c->kinds,
	};
	c->sources_num++;
	return &c->sources[i];
}

static void source_read(const struct check *c, struct source *s)
{
	int fd = open(text("%s/%s", c->dir, s->name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char buf[16384];
	ssize_t len;

	if (fd < 0)
		return;
	while ((len = pread(fd, buf, sizeof(buf), s->read)) > 0) {
		s->read += len;
		report_read(&s->report, buf, (size_t)len);
	}
	close(fd);
}

static void reports_tell(struct check *c)
{
	DIR *dir = opendir(c->dir);
	struct dirent *e;
	struct source *s;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		s = starts_with(e->d_name, "report.") ? source_find(c, e->d_name) : NULL;
		if (s != NULL)
			source_read(c, s);
	}
	if (dir != NULL)
		closedir(dir);
}

/* ---------------------------------------------------------------- this process, meanwhile */

static void pass_on(int sig)
{
	if (child > 0)
		kill((pid_t)child, sig);
}

/* Nobody reads the reports any more. What is written to a pipe now fails. */
static void end_program(int sig)
{
	signal(sig, SIG_IGN);
	pass_on(SIGTERM);
}

/* The terminal sends its signals to the program, too; those of other processes are passed on. */
static void signals_take(void)
{
	signal(SIGPIPE, end_program);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTERM, pass_on);
	signal(SIGHUP, pass_on);
}

/* Until the program may have ended, or for a tick. */
static void wait_a_tick(void)
{
	const struct timespec tick = { 0, TICK_NS };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigtimedwait(&set, NULL, &tick);
}

static void child_note(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	(void)sigprocmask(how, &set, NULL);
}

static int wait_and_tell(struct check *c)
{
	int status = 0;

	while (waitpid((pid_t)child, &status, WNOHANG) == 0) {
		reports_tell(c);
		wait_a_tick();
	}
	reports_tell(c);
	return status;
}

static pid_t program_fork(struct check *c, const struct verdict *v, const char *workers, char **argv)
{
	int gate[2];
	char byte;
	pid_t pid;

	child_note(SIG_BLOCK);
	if (pipe2(gate, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		die(EVSMP_SYSTEM, "no process can be started: %s. Try again later.", strerror(errno));
	if (pid == 0) {
		child_note(SIG_UNBLOCK);
		close(gate[1]);
		(void)!read(gate[0], &byte, 1);	/* until the file of its reports is there */
		program_start(c, v, workers, argv);
	}
	close(gate[0]);
	dir_open_for_others(c, pid);
	close(gate[1]);
	return pid;
}

/* ---------------------------------------------------------------- the end */

static enum status sum_up(struct check *c, int status)
{
	unsigned long races = 0, others = 0;
	size_t i;

	for (i = 0; i < c->sources_num; i++) {
		report_end(&c->sources[i].report);
		races += c->sources[i].report.races;
		others += c->sources[i].report.others;
	}
	fprintf(stderr, "evsmp: %lu race%s in %llu callbacks of %llu %s%s.\n", races, races == 1 ? "" : "s",
		(unsigned long long)c->counts->callbacks, (unsigned long long)c->counts->colors,
		c->by != NULL ? c->by : "color", c->counts->colors == 1 ? "" : "s");
	races_sum_up(&c->kinds, stderr);
	if (others != 0)
		fprintf(stderr, "evsmp: %lu other report%s above.\n", others, others == 1 ? "" : "s");
	if (races == 0 && c->counts->callbacks == 0)
		say_note("No callback ran, so nothing was checked. Does the program reach its loop?");
	else if (races == 0 && c->counts->colors == 0)
		say_note("%s, so nothing could race.%s",
			 c->by != NULL ? "The plan colors nothing that ran" : "Nothing that ran had a color",
			 c->by != NULL ? "" : " --color-by plans colors.");
	if (races != 0 || others != 0)
		return EVSMP_RACES;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && c->counts->callbacks == 0)
		return EVSMP_UNKNOWN;	/* also the runtime ends so, if it does not understand its options */
	return WIFEXITED(status) ? (enum status)WEXITSTATUS(status) : (enum status)(128 + WTERMSIG(status));
}

enum status command_check_colors(int argc, char **argv)
{
	const char *workers = NULL;
	static struct check c;
	struct verdict v;
	int first, status;
	enum status end;

	first = options_read(argc, argv, &c, &workers);
	argc -= first;
	argv += first;
	if (argc == 0)
		die(EVSMP_USAGE, "check-colors: which program? (evsmp check-colors --help tells)");
	c.mode = c.by != NULL ? c.by : "1";
	v = program_judge(argv);
	c.program = base_name(v.program.binary);
	dir_make(&c);
	child = program_fork(&c, &v, workers, argv);
	signals_take();
	status = wait_and_tell(&c);
	end = sum_up(&c, status);
	scratch_remove(c.dir);
	return end;
}
