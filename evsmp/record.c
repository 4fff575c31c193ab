#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach.h"
#include "launch.h"

enum { EVERY_MS = 10, SECONDS_MAX = 86400, PID_SECONDS = 5 };

/* ---------------------------------------------------------------- options */

double record_seconds(const char *s)
{
	char *end;
	double seconds = strtod(s, &end);

	if (end == s || *end != '\0' || !(seconds > 0) || seconds > SECONDS_MAX)
		die(EVSMP_USAGE, "--seconds needs a number above 0, up to %d, not \"%s\".", SECONDS_MAX, s);
	return seconds;
}

const char *record_value(const char *command, const char *name, int argc, char **argv, int *i)
{
	size_t len = strlen(name);

	if (strncmp(argv[*i], name, len) != 0)
		return NULL;
	if (argv[*i][len] == '=' && name[1] == '-')
		return argv[*i] + len + 1;
	if (argv[*i][len] != '\0')
		return NULL;
	if (*i + 1 == argc)
		die(EVSMP_USAGE, "%s: %s needs a value (man evsmp-%s tells).", command, name, command);
	return argv[++*i];
}

/* ---------------------------------------------------------------- until the time is up */

static volatile sig_atomic_t is_interrupted;

static void note_interrupt(int sig)
{
	(void)sig;
	is_interrupted = 1;
}

/* The first interrupt ends the recording, the second one this process. */
void record_catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND }, before;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)	/* as under nohup */
		sigaction(SIGHUP, &action, NULL);
}

int64_t record_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void record_wait_a_moment(void)
{
	const struct timespec moment = { .tv_nsec = EVERY_MS * 1000000 };

	nanosleep(&moment, NULL);
}

bool record_is_over(const struct record_options *o, int64_t start_ns)
{
	return is_interrupted || (o->seconds > 0 && (double)(record_now_ns() - start_ns) >= o->seconds * 1e9);
}

static void record_file(const struct record_options *o, struct recording *r)
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

/* ---------------------------------------------------------------- a process that runs */

void record_add_files(const struct attached *a, struct recording *r)
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
static void record_attached(const struct record_options *o, struct attached *a, struct recording *r)
{
	int64_t start_ns = record_now_ns();
	unsigned i;

	for (i = 1; !record_is_over(o, start_ns); i++) {
		record_wait_a_moment();
		if (!(i % RECORD_ASK_EVERY == 0 ? attach_want(a, EC_OBSERVE_TRACE) : attach_read(a)))
			break;
		record_add_files(a, r);
		recording_read(r);
	}
}

static void record_process(struct record_options *o, const char *word, struct recording *r)
{
	enum { WAIT_MS = 3000 };
	struct attached a;

	if (o->seconds == 0)
		o->seconds = PID_SECONDS;
	attach_process(attach_pid(o->command, word), &a);
	record_catch_interrupts();
	r->from_ns = record_now_ns();
	a.has_objects = o->has_objects;
	if (!attach_want(&a, EC_OBSERVE_TRACE))
		die(EVSMP_SYSTEM, "process %d cannot be traced: %s.", (int)a.process.pid, attach_why(errno));
	if (!attach_wait(&a, EC_OBSERVE_TRACE, WAIT_MS))
		say_note("%s", attach_why_not_yet(&a));
	record_attached(o, &a, r);
	attach_close(&a);
	recording_read(r);
}

/* ---------------------------------------------------------------- any of them */

static bool is_number(const char *word)
{
	return *word != '\0' && word[strspn(word, "0123456789")] == '\0';
}

enum status record_any(struct record_options *o, int argc, char **argv, struct recording *ret)
{
	if ((argc == 0) != (o->read != NULL))
		die(EVSMP_USAGE, "%s: which process, program or file? (man evsmp-%s tells)", o->command, o->command);
	if (o->read != NULL)
		record_file(o, ret);
	else if (is_number(argv[0]) && argc > 1)
		die(EVSMP_USAGE, "%s: %s is one word too many behind the number of a process. Options come before it.",
		    o->command, argv[1]);
	else if (is_number(argv[0]) && o->workers_asked != NULL)
		die(EVSMP_USAGE, "%s: --workers is for a program that is started. Process %s has its own already.",
		    o->command, argv[0]);
	else if (is_number(argv[0]))
		record_process(o, argv[0], ret);
	else
		return launch_record(o, argv, ret);
	return EVSMP_OK;
}

bool record_timeline(struct record_options *o, int argc, char **argv, struct recording *r, struct timeline *t,
		     enum status *ret)
{
	*ret = record_any(o, argc, argv, r);
	recording_finish(r, t);
	if (r->num == 0 && *ret == EVSMP_OK)
		die(EVSMP_SYSTEM, "there was no event_base that could be traced. Does the program use libevent, did it "
				  "have work, and enough time? If it wrote a warning that it cannot keep a trace: its "
				  "files go to TMPDIR, or to /tmp.");
	return r->num != 0;
}

/* ---------------------------------------------------------------- what is shown */

void record_new_file_test(const char *path, const char *option)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);

	if (fd < 0 && errno == EEXIST)
		die(EVSMP_SYSTEM, "%s is there already. Remove it, or name another file with %s.", path, option);
	if (fd < 0)
		die(EVSMP_SYSTEM, "%s cannot be made: %s. Name another file with %s.", path, strerror(errno), option);
	close(fd);
	(void)unlink(path);
}

/* It leaves a file that is there as it is, and no new one. */
void record_page_test(const char *path, int flags, const char *how)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);

	if (fd >= 0)
		(void)unlink(path);
	else if (errno == EEXIST)
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
	if (fd < 0 && errno != ENXIO)	/* a FIFO that nobody reads yet */
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Choose another file%s.", path, strerror(errno), how);
	if (fd >= 0)
		close(fd);
}

FILE *record_page_open(const char *path, int flags, const char *how)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | flags, 0666);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out == NULL)
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Choose another file%s.", path, strerror(errno), how);
	return out;
}

void record_page_close(FILE *out, const char *path, const char *how)
{
	bool is_written = !ferror(out);

	if (fclose(out) != 0 || !is_written)
		die(EVSMP_SYSTEM, "%s cannot be written: %s. Free some room, or choose another file%s.", path,
		    strerror(errno), how);
}
