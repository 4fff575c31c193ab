/*
 * trace: records what the workers of a process do, and writes a page that shows it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "command.h"
#include "pages.h"
#include "recording.h"

enum { EVERY_MS = 10, SECONDS_MAX = 86400, PID_SECONDS = 5 };

/* ---------------------------------------------------------------- options */

struct form {
	const char *name;		/* of --format */
	const char *suffixes[3];	/* of -o; the first one is for a file that got no name */
	void (*put)(FILE *out, const struct timeline *t);
	const char *open_with;
};

static const struct form forms[] = {
	{ "html", { ".html", ".htm" }, page_html, "a browser" },
	{ "json", { ".json" }, page_json, "https://ui.perfetto.dev, or chrome://tracing" },
	{ "perfetto", { ".pftrace", ".perfetto-trace", ".pb" }, page_proto, "https://ui.perfetto.dev" },
	{ "svg", { ".svg" }, page_svg, "a browser" },
};

struct options {
	double seconds;			/* 0: until it ends */
	const char *out;		/* NULL: none was given */
	const struct form *form;	/* NULL: the name of the file tells */
	const char *read;		/* a trace file; NULL: a process */
	const char *workers;
	bool is_latency;
};

static const struct form *form_named(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	}
	die(EVSMP_USAGE, "--format is html, json, perfetto or svg, not \"%s\".", name);
}

static const struct form *form_of_file(const char *path)
{
	size_t i, j;

	for (i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		for (j = 0; j < 3 && forms[i].suffixes[j] != NULL; j++) {
			if (ends_with(path, forms[i].suffixes[j]))
				return &forms[i];
		}
	}
	die(EVSMP_USAGE, "the end of %s does not tell a format. Use .html, .json, .pftrace or .svg, or --format.",
	    path);
}

static double seconds_of(const char *s)
{
	char *end;
	double seconds = strtod(s, &end);

	if (end == s || *end != '\0' || !(seconds > 0) || seconds > SECONDS_MAX)
		die(EVSMP_USAGE, "--seconds needs a number above 0, up to %d, not \"%s\".", SECONDS_MAX, s);
	return seconds;
}

/* The value of `--name VALUE` or `--name=VALUE`; NULL: it is another option. */
static const char *value_of(const char *name, int argc, char **argv, int *i)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) != 0)
		return NULL;
	if (argv[*i][len] == '=' && name[1] == '-')
		return argv[*i] + len + 1;
	if (argv[*i][len] != '\0')
		return NULL;
	if (*i + 1 == argc)
		die(EVSMP_USAGE, "trace: %s needs a value (man evsmp-trace tells).", name);
	return argv[++*i];
}

static bool take_option(struct options *o, int argc, char **argv, int *i)
{
	const char *value;

	if (strcmp(argv[*i], "--latency") == 0)
		o->is_latency = true;
	else if (strcmp(argv[*i], "--html") == 0 || strcmp(argv[*i], "--svg") == 0)
		o->form = form_named(argv[*i] + 2);
	else if ((value = value_of("--format", argc, argv, i)) != NULL)
		o->form = form_named(value);
	else if ((value = value_of("--seconds", argc, argv, i)) != NULL)
		o->seconds = seconds_of(value);
	else if ((value = value_of("-o", argc, argv, i)) != NULL)
		o->out = value;
	else if ((value = value_of("--read", argc, argv, i)) != NULL)
		o->read = value;
	else if ((value = value_of("--workers", argc, argv, i)) != NULL)
		o->workers = command_workers(value);
	else
		return false;
	return true;
}

/* Returns the number of words that were options. */
static int read_options(int argc, char **argv, struct options *ret)
{
	struct options o = { 0 };
	int i;

	for (i = 0; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (!take_option(&o, argc, argv, &i))
			die(EVSMP_USAGE, "trace has no option %s (man evsmp-trace lists them).", argv[i]);
	}
	if (o.form == NULL && o.out != NULL)
		o.form = form_of_file(o.out);
	if (o.form == NULL)
		o.form = &forms[0];
	*ret = o;
	return i;
}

/* ---------------------------------------------------------------- recording */

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int sig)
{
	(void)sig;
	is_interrupted = 1;
}

/* The first interrupt ends the recording, the second one this process. */
static void catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND }, before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)	/* as under nohup */
		sigaction(SIGHUP, &action, NULL);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_a_moment(void)
{
	const struct timespec moment = { .tv_nsec = EVERY_MS * 1000000 };

	nanosleep(&moment, NULL);
}

static bool is_over(const struct options *o, int64_t start_ns)
{
	return is_interrupted || (o->seconds > 0 && (double)(now_ns() - start_ns) >= o->seconds * 1e9);
}

static void record_file(const struct options *o, struct recording *r)
{
	int fd = open(o->read, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why;

	if (fd < 0)
		die(EVSMP_SYSTEM, "%s cannot be opened: %s.", o->read, strerror(errno));
	why = recording_add(r, fd, 0);
	if (why != NULL)
		die(EVSMP_USAGE, "%s cannot be shown: %s. EVENT_SMP_TRACE=FILE makes such files.", o->read, why);
	recording_read(r);
}

/* ---------------------------------------------------------------- a program */

/* The program may give up root before it makes its event_base; the name of the directory is known to it alone. */
static char *make_directory(void)
{
	const char *parent = getenv("TMPDIR");
	char *dir = text("%s/evsmp-trace-XXXXXX", parent != NULL && *parent == '/' ? parent : "/tmp");

	if (mkdtemp(dir) == NULL || (geteuid() == 0 && chmod(dir, 01733) < 0))
		die(EVSMP_SYSTEM, "a directory for the trace cannot be made: %s: %s. Set TMPDIR.", dir,
		    strerror(errno));
	return dir;
}

static void remove_directory(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(d), entry->d_name, 0);
	}
	if (d != NULL)
		closedir(d);
	rmdir(dir);
}

static pid_t start(const struct options *o, const char *dir, char **argv)
{
	pid_t pid;

	if (setenv("EVENT_SMP_TRACE", text("%s/trace", dir), 1) < 0)
		die(EVSMP_SYSTEM, "out of memory");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_program(o->workers, argv);
	if (pid < 0)
		die(EVSMP_SYSTEM, "no process can be started: %s.", strerror(errno));
	return pid;
}

/* What evsmp exits with, when the program has ended. */
static enum status status_of(int status)
{
	return (enum status)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* The program goes on when the time is up: it is not evsmp's to end. */
static enum status record_program(const struct options *o, char **argv, struct recording *r)
{
	char *dir = make_directory();
	pid_t pid = start(o, dir, argv);
	int64_t start_ns = now_ns();
	enum status status = EVSMP_OK;
	bool has_ended = false;
	int how;

	catch_interrupts();
	while (!has_ended && !is_over(o, start_ns)) {
		wait_a_moment();
		if (waitpid(pid, &how, WNOHANG) == pid) {
			has_ended = true;
			status = status_of(how);
		}
		recording_add_directory(r, dir);
		recording_read(r);
	}
	remove_directory(dir);
	return status;
}

/* ---------------------------------------------------------------- a process that runs */

static void add_files(struct attached *a, struct recording *r)
{
	unsigned i;
	int fd;

	for (i = 0; i < EC_CONTROL_FILES; i++) {
		if (a->control.files[i].kind != EC_OBSERVE_TRACE)
			continue;
		fd = attach_open(a, &a->control.files[i]);
		if (fd >= 0)
			(void)recording_add(r, fd, a->process.pid);
	}
}

/* Until the time is up, or the process has ended. */
static void record_attached(const struct options *o, struct attached *a, struct recording *r)
{
	enum { ASK_EVERY = 50 };	/* half a second */
	int64_t start_ns = now_ns();
	unsigned i;

	for (i = 1; !is_over(o, start_ns); i++) {
		wait_a_moment();
		if (!(i % ASK_EVERY == 0 ? attach_want(a, EC_OBSERVE_TRACE) : attach_read(a)))
			break;
		add_files(a, r);
		recording_read(r);
	}
}

static void record_process(struct options *o, const char *word, struct recording *r)
{
	enum { WAIT_MS = 3000 };
	struct attached a;

	if (o->seconds == 0)
		o->seconds = PID_SECONDS;
	attach_process(attach_pid("trace", word), &a);
	catch_interrupts();
	r->from_ns = now_ns();
	if (!attach_want(&a, EC_OBSERVE_TRACE))
		die(EVSMP_SYSTEM, "process %d cannot be traced: %s.", (int)a.process.pid, attach_why(errno));
	if (!attach_wait(&a, EC_OBSERVE_TRACE, WAIT_MS))
		say_note("no loop of process %d has turned for %d seconds: it waits. Give it work.",
			 (int)a.process.pid, WAIT_MS / 1000);
	record_attached(o, &a, r);
	attach_release(&a, EC_OBSERVE_TRACE);
	recording_read(r);
}

/* ---------------------------------------------------------------- the result */

static void put_page(const struct options *o, const struct timeline *t)
{
	const char *path = o->out != NULL ? o->out : text("evsmp-trace%s", o->form->suffixes[0]);
	bool is_stdout = strcmp(path, "-") == 0;
	FILE *out = is_stdout ? stdout : fopen(path, "we");
	bool is_written;

	if (out == NULL)
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Choose another file with -o.", path, strerror(errno));
	o->form->put(out, t);
	if (is_stdout)
		return;
	is_written = !ferror(out);
	if (fclose(out) != 0 || !is_written)
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Free some room, or choose another file with -o.", path,
		    strerror(errno));
	say_note("%s is written. Open it with %s.", path, o->form->open_with);
}

static void say_summary(const struct options *o, const struct recording *r, const struct timeline *t)
{
	unsigned workers = 0;
	struct latency l;
	char *advice;
	size_t i;

	for (i = 0; i < t->bands_num; i++)
		workers += t->bands[i].rows_num;
	latency_find(t, &l);
	advice = latency_advice(&l);
	say_note("%llu callbacks of %zu color%s in %s, on %u worker%s of %zu base%s.", (unsigned long long)l.calls,
		 l.colors_num, l.colors_num == 1 ? "" : "s", duration(t->end), workers, workers == 1 ? "" : "s",
		 t->bands_num, t->bands_num == 1 ? "" : "s");
	if (!o->is_latency)		/* which says it, too */
		say_note("%s", advice);
	if (recording_lost(r) != 0)
		say_note("%llu older records are lost: trace for a shorter time.",
			 (unsigned long long)recording_lost(r));
	if (recording_damaged(r) != 0)
		say_note("%llu records were damaged, and are left out.", (unsigned long long)recording_damaged(r));
	free(advice);
	latency_free(&l);
}

static bool is_number(const char *word)
{
	return *word != '\0' && word[strspn(word, "0123456789")] == '\0';
}

enum status command_trace(int argc, char **argv)
{
	struct recording r = { 0 };
	struct options o;
	struct timeline t;
	enum status status = EVSMP_OK;
	int first = read_options(argc, argv, &o);

	if ((argc == first) != (o.read != NULL))
		die(EVSMP_USAGE, "trace: which process, program or file? (man evsmp-trace tells)");
	if (o.read != NULL)
		record_file(&o, &r);
	else if (is_number(argv[first]))
		record_process(&o, argv[first], &r);
	else
		status = record_program(&o, argv + first, &r);
	recording_finish(&r, &t);
	if (r.num == 0 && status != EVSMP_OK)
		return status;
	if (r.num == 0)
		die(EVSMP_SYSTEM, "there was no event_base that could be traced. Does the program use libevent, and "
				  "did it have work?");
	say_summary(&o, &r, &t);
	if (o.is_latency)
		page_latency(stdout, &t);
	if (!o.is_latency || o.out != NULL)
		put_page(&o, &t);
	return status;
}
