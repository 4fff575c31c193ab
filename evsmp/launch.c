#include "launch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach.h"
#include "command.h"
#include "maps.h"
#include "scratch.h"

enum { TRIES_MAX = 100 };

/* A process that has a file in the directory. */
struct traced {
	struct attached attached;
	size_t at;			/* its place in the recording */
	unsigned tries;			/* to take it over */
	const char *why_not;		/* the last one has failed, so it keeps its trace on; or NULL */
	bool is_attached, is_over;
};

struct launch {
	const struct record_options *o;
	struct recording *recording;
	pid_t pid;
	const char *dir;		/* removed at the end */
	const char *trace;		/* EVENT_SMP_TRACE */
	size_t seen_num;		/* of the recording */
	struct traced *traced;
	size_t traced_num;
};

/* ---------------------------------------------------------------- the directory */

static const char *random_name(void)
{
	uint64_t word[2];

	if (getrandom(word, sizeof(word), 0) != (ssize_t)sizeof(word))
		die(EVSMP_SYSTEM, "the kernel gives no random numbers: %s. Try again later.", strerror(errno));
	return text("%016" PRIx64 "%016" PRIx64, word[0], word[1]);
}

/*
 * The program may give up root before it makes its event_base, so root's directory is open to all users. But nobody can
 * list the one above it, and only what the program starts is told the name.
 */
static void make_directory(struct launch *l)
{
	const char *inner;

	l->dir = scratch_make("trace");
	inner = text("%s/%s", l->dir, random_name());
	if (mkdir(inner, 0700) < 0 || (geteuid() == 0 && (chmod(inner, 01733) < 0 || chmod(l->dir, 0711) < 0)))
		die(EVSMP_SYSTEM, "the directory %s cannot be made: %s. Set TMPDIR to one where it can.", inner,
		    strerror(errno));
	l->trace = text("%s/trace", inner);
}

/* ---------------------------------------------------------------- whose files are taken */

static bool comes_from(pid_t pid, pid_t ancestor)
{
	enum { GENERATIONS = 1000 };
	unsigned i;

	for (i = 0; i < GENERATIONS && pid > 1; i++) {
		if (pid == ancestor)
			return true;
		pid = process_parent(pid);
	}
	return false;
}

/* A daemon has no parent among them any more, but has their environment. */
static bool has_variable(pid_t pid, const char *variable)
{
	size_t len = 0, size = strlen(variable) + 1;
	char *data = file_read(maps_file_of(pid, "environ"), &len), *at;
	bool is_there = false;

	for (at = data; at != NULL && !is_there && at < data + len; at += strlen(at) + 1)
		is_there = (size_t)(data + len - at) >= size && memcmp(at, variable, size) == 0;
	free(data);
	return is_there;
}

/* Root takes files of other users, if they belong to a process of that user that comes from the program. */
static bool is_ours(const struct rings *rings, uid_t owner, void *arg)
{
	const struct launch *l = arg;
	pid_t pid = (pid_t)rings->head.pid;

	if (owner == geteuid())
		return true;
	return geteuid() == 0 && process_has_user(pid, owner) &&
	       (comes_from(pid, l->pid) || has_variable(pid, text("EVENT_SMP_TRACE=%s", l->trace)));
}

/* ---------------------------------------------------------------- taking over */

/* A file of the recording is a process's own if its control word lists it. */
static bool lists(const struct attached *a, const struct recorded *file)
{
	unsigned i;

	for (i = 0; i < EC_CONTROL_FILES; i++) {
		if (a->control.files[i].kind == EC_OBSERVE_TRACE && a->control.files[i].device == file->dev &&
		    a->control.files[i].inode == file->ino)
			return true;
	}
	return false;
}

/* The file comes before the entry of the control word, so the next try may find it. */
static void take_over(const struct launch *l, struct traced *t)
{
	const struct recorded *file = &l->recording->at[t->at];
	enum status status;

	t->tries++;
	t->why_not = attach_try((pid_t)file->rings.head.pid, &t->attached, &status);
	if (t->why_not != NULL) {
		t->is_over = errno == ESRCH || errno == ENOENT;
		return;
	}
	t->attached.has_objects = l->o->has_objects;
	t->is_attached = lists(&t->attached, file) && attach_take_over(&t->attached, EC_OBSERVE_TRACE);
	if (!t->is_attached) {
		t->why_not = "it has another number where it runs";
		attach_close(&t->attached);
	}
}

/* Bases that it makes from now on have files without names. */
static void go_on(struct launch *l, struct traced *t, bool is_renewal)
{
	struct attached *a = &t->attached;

	if (is_renewal ? attach_take_over(a, EC_OBSERVE_TRACE) : attach_read(a)) {
		record_add_files(a, l->recording);
	} else {
		t->is_over = true;
		attach_close(a);
	}
}

static bool is_known(const struct launch *l, pid_t pid)
{
	size_t i;

	for (i = 0; i < l->traced_num; i++) {
		if (l->traced[i].attached.process.pid == pid && l->traced[i].is_attached && !l->traced[i].is_over)
			return true;
	}
	return false;
}

static void note_new(struct launch *l)
{
	const struct recorded *file;

	for (; l->seen_num < l->recording->num; l->seen_num++) {
		file = &l->recording->at[l->seen_num];
		if (file->pid != 0 || is_known(l, (pid_t)file->rings.head.pid))
			continue;
		l->traced = must(realloc(l->traced, (l->traced_num + 1) * sizeof(*l->traced)));
		l->traced[l->traced_num++] = (struct traced){ .at = l->seen_num };
	}
}

static void hold(struct launch *l, bool is_renewal)
{
	struct traced *t;
	size_t i;

	note_new(l);
	for (i = 0; i < l->traced_num; i++) {
		t = &l->traced[i];
		if (t->is_over)
			continue;
		if (t->is_attached)
			go_on(l, t, is_renewal);
		else if (t->tries < TRIES_MAX)
			take_over(l, t);
	}
}

/* The time is up, and processes go on. */
static void tell_untaken(const struct launch *l)
{
	const struct traced *t;
	size_t i;

	for (i = 0; i < l->traced_num; i++) {
		t = &l->traced[i];
		if (!t->is_attached && !t->is_over && t->why_not != NULL)
			say_note("process %u keeps its trace on until it ends: %s",
				 l->recording->at[t->at].rings.head.pid, t->why_not);
	}
}

/* ---------------------------------------------------------------- the program */

static pid_t start(const struct launch *l, char **argv)
{
	pid_t pid;

	if (setenv("EVENT_SMP_TRACE", l->trace, 1) < 0 ||
	    (l->o->has_objects && setenv("EVENT_SMP_TRACE_OBJECTS", "1", 1) < 0))
		die(EVSMP_SYSTEM, "out of memory");
	fflush(stdout);
	pid = fork();
	if (pid == 0 && l->o->owns_stdout)
		(void)dup2(STDERR_FILENO, STDOUT_FILENO);
	if (pid == 0)
		run_program(l->o->workers, argv);
	if (pid < 0)
		die(EVSMP_SYSTEM, "no process can be started: %s.", strerror(errno));
	return pid;
}

/* It is not reaped yet: root asks whose files these are. */
static bool has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno == ECHILD : info.si_pid == pid;
}

/* What evsmp exits with, when the program has ended. */
static enum status status_of(pid_t pid)
{
	int how;

	if (waitpid(pid, &how, 0) != pid)
		return EVSMP_OK;
	return (enum status)(WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how));
}

static void take(struct launch *l)
{
	recording_add_directory(l->recording, dir_name(l->trace), is_ours, l);
	recording_read(l->recording);
}

/* The program goes on when the time is up: it is not evsmp's to end. */
enum status launch_record(const struct record_options *o, char **argv, struct recording *r)
{
	struct launch l = { .o = o, .recording = r };
	enum status status = EVSMP_OK;
	bool is_over = false;
	int64_t start_ns;
	unsigned i;

	make_directory(&l);
	l.pid = start(&l, argv);
	start_ns = record_now_ns();
	record_catch_interrupts();
	for (i = 1; !is_over && !record_is_over(o, start_ns); i++) {
		record_wait_a_moment();
		is_over = has_ended(l.pid);
		take(&l);
		hold(&l, i % RECORD_ASK_EVERY == 0);
	}
	if (is_over) {
		status = status_of(l.pid);
	} else {
		take(&l);		/* what came since the last moment, up to the interrupt */
		tell_untaken(&l);
		say_note("%s (process %d) goes on; kill %d ends it.", argv[0], (int)l.pid, (int)l.pid);
	}
	scratch_remove(l.dir);
	return status;
}
