#include "trials.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "signals.h"

static struct trials *the_trials;	/* whose directory and processes go at the end */
static sigset_t blocked;		/* the signals that trial_wait takes */
static sigset_t before;			/* the mask that programs get */

int64_t trials_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---------------------------------------------------------------- the directory */

static void clean_up(void)
{
	trials_drop(the_trials, 0);
	scratch_remove(the_trials->directory);
}

void trials_begin(struct trials *t)
{
	t->directory = scratch_make("explore");
	the_trials = t;
	if (atexit(clean_up) != 0)
		die(EVSMP_SYSTEM, "out of memory");
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGPIPE);
	sigprocmask(SIG_BLOCK, &blocked, &before);
}

/* ---------------------------------------------------------------- starting */

static void set_or_unset(const char *name, const char *value)
{
	if (value == NULL)
		unsetenv(name);
	else if (setenv(name, value, 1) < 0)
		_exit(EVSMP_SYSTEM);
}

static void limits_set(void)
{
	const struct rlimit no_core = { 0, 0 };
	int flags = personality(0xffffffff);

	(void)setrlimit(RLIMIT_CORE, &no_core);
	/* The same addresses each time: what depends on them is then no matter of luck. */
	if (flags != -1)
		(void)personality((unsigned long)flags | ADDR_NO_RANDOMIZE);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static int files_open(const struct trial *trial)
{
	int in = open("/dev/null", O_RDONLY), out = open(trial->output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);

	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		return -1;
	if (in > 2)
		close(in);
	if (out > 2)
		close(out);
	return 0;
}

/* In the child. `report`: to the parent, errno if the program cannot be started; closed if it is. */
_Noreturn static void program_start(const struct trials *t, const struct plan *plan, const struct trial *trial,
				    int report)
{
	int err;

	setpgid(0, 0);
	set_or_unset("EVENT_SMP_SEED", plan->seed);
	set_or_unset("EVENT_SMP_POLICY", plan->policy);
	set_or_unset("EVENT_SMP_SCHEDULE", plan->file);
	set_or_unset("EVENT_SMP_SCHEDULE_OUT", trial->switches);
	set_or_unset("EVENT_SMP_TIME", t->time);
	limits_set();
	if (files_open(trial) == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		signals_give_back();
		execv(t->path, t->argv);
	}
	err = errno;
	if (write(report, &err, sizeof(err)) < 0)
		_exit(EVSMP_NOT_FOUND);
	_exit(EVSMP_NOT_EXECUTABLE);
}

/* 0, or the errno with which it could not be started. */
static int start_report(int fd)
{
	ssize_t n;
	int err = 0;

	do {
		n = read(fd, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close(fd);
	return n == (ssize_t)sizeof(err) ? err : 0;
}

static struct trial **place_free(struct trials *t)
{
	size_t i;

	for (i = 0; t->running[i] != NULL; i++)
		;
	return &t->running[i];
}

void trial_start(struct trials *t, const struct plan *plan, uint64_t tag)
{
	struct trial *trial = must(calloc(1, sizeof(*trial)));
	int report[2], err;

	trial->tag = tag;
	trial->output = text("%s/%" PRIu64 ".output", t->directory, t->num);
	trial->switches = text("%s/%" PRIu64 ".schedule", t->directory, t->num);
	t->num++;
	if (pipe2(report, O_CLOEXEC) < 0 || (trial->pid = fork()) < 0)
		die(EVSMP_SYSTEM, "no process can be started: %s. Try fewer --jobs.", strerror(errno));
	if (trial->pid == 0)
		program_start(t, plan, trial, report[1]);
	setpgid(trial->pid, trial->pid);	/* in both: whichever comes first */
	close(report[1]);
	trial->deadline_ns = trials_now_ns() + (int64_t)t->timeout_s * 1000000000;
	*place_free(t) = trial;
	err = start_report(report[0]);
	if (err != 0)
		die(err == ENOENT ? EVSMP_NOT_FOUND : EVSMP_NOT_EXECUTABLE, "%s cannot be started: %s.", t->path,
		    strerror(err));
}

/* ---------------------------------------------------------------- ending */

/* The process has ended or is to end, and all that it started. Once it is reaped, its number may be another one's. */
static void group_end(struct trial *trial)
{
	siginfo_t info;

	if (waitid(P_PID, (id_t)trial->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return;
	(void)kill(-trial->pid, SIGKILL);
	while (waitpid(trial->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void note_end(struct trial *trial, const siginfo_t *info)
{
	trial->number = info->si_status;
	if (info->si_code != CLD_EXITED)
		trial->ending = TRIAL_SIGNAL;
	else
		trial->ending = info->si_status == 0 ? TRIAL_PASSED : TRIAL_STATUS;
}

/* Has it ended, or is it late? */
static bool is_over(struct trial *trial)
{
	siginfo_t info = { .si_pid = 0 };

	/* It is not reaped yet, so its group's number is not another one's. */
	if (waitid(P_PID, (id_t)trial->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		die(EVSMP_SYSTEM, "nobody knows how process %d ended: %s. Start evsmp from another program.",
		    (int)trial->pid, strerror(errno));
	if (info.si_pid == trial->pid) {
		note_end(trial, &info);
		return true;
	}
	if (trials_now_ns() < trial->deadline_ns)
		return false;
	trial->ending = TRIAL_TIMEOUT;
	return true;
}

/* Until a trial ends or is late. */
static void sleep_until(int64_t deadline_ns)
{
	int64_t left = deadline_ns - trials_now_ns();
	struct timespec ts;
	int sig;

	if (left < 0)
		left = 0;
	ts = (struct timespec){ .tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000) };
	sig = sigtimedwait(&blocked, NULL, &ts);
	if (sig > 0 && sig != SIGCHLD) {
		clean_up();
		signal(sig, SIG_DFL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		raise(sig);
		_exit(128 + sig);
	}
}

struct trial *trial_wait(struct trials *t)
{
	struct trial *trial;
	int64_t first_ns;
	size_t i;

	for (;;) {
		first_ns = INT64_MAX;
		for (i = 0; i < TRIALS_MAX; i++) {
			trial = t->running[i];
			if (trial == NULL)
				continue;
			if (is_over(trial)) {
				t->running[i] = NULL;
				group_end(trial);
				return trial;
			}
			if (trial->deadline_ns < first_ns)
				first_ns = trial->deadline_ns;
		}
		if (first_ns == INT64_MAX)
			return NULL;
		sleep_until(first_ns);
	}
}

struct trial *trial_run(struct trials *t, const struct plan *plan)
{
	trial_start(t, plan, 0);
	return trial_wait(t);
}

void trials_drop(struct trials *t, uint64_t tag)
{
	size_t i;

	for (i = 0; i < TRIALS_MAX; i++) {
		if (t->running[i] == NULL || (tag != 0 && t->running[i]->tag <= tag))
			continue;
		group_end(t->running[i]);
		trial_free(t->running[i]);
		t->running[i] = NULL;
	}
}

void trial_free(struct trial *trial)
{
	if (trial == NULL)
		return;
	(void)unlink(trial->output);
	(void)unlink(trial->switches);
	free(trial);
}

/* ---------------------------------------------------------------- how it ended */

bool trial_is_alike(const struct trial *a, const struct trial *b)
{
	return a->ending == b->ending && a->number == b->number;
}

const char *trial_ending(const struct trials *t, const struct trial *trial)
{
	switch (trial->ending) {
	case TRIAL_PASSED:
		return "it passes";
	case TRIAL_STATUS:
		return text("it exits with status %d", trial->number);
	case TRIAL_SIGNAL:
		return text("signal %d ends it (%s)", trial->number, strsignal(trial->number));
	case TRIAL_TIMEOUT:
		return text("it does not end in %u seconds", t->timeout_s);
	}
	return "";
}
