/*
 * Messages and deaths: where they go by default, to callbacks, and with which exit status.
 */
#include "trace.h"

#include <event2/util.h>

enum { CLOSED_FD = 900 };

/* A warning that both libraries give, word for word. */
static void warn(void)
{
	(void)evutil_make_socket_nonblocking(CLOSED_FD);
}

static void log_line(int severity, const char *msg)
{
	say("  callback %d <%s>", severity, msg);
}

static void other_line(int severity, const char *msg)
{
	say("  other callback %d <%s>", severity, msg);
}

static void fatal(int err)
{
	say("  fatal %d", err);
}

static void fatal_leaves(int err)
{
	say("  fatal %d, and leaves", err);
	_exit(44);
}

static void die_with_1(void)
{
	event_enable_debug_mode();
	event_enable_debug_mode();
	say("  went on");
}

/* A broken promise, other than a wrong order of calls. Its message names an address. */
static void die_with_abort(void)
{
	struct event_base *base;
	struct event ev;

	event_enable_debug_mode();
	base = base_new();
	memset(&ev, 0, sizeof(ev));
	ev.ev_base = base;
	(void)event_add(&ev, NULL);
	say("  went on");
}

static void severity_only(int severity, const char *msg)
{
	say("  callback %d, %s", severity, strlen(msg) > 10 ? "some words" : msg);
}

static void by_default(void)
{
	warn();
}

static void by_callback(void)
{
	event_set_log_callback(log_line);
	warn();
	event_set_log_callback(other_line);
	warn();
	event_set_log_callback(NULL);
	warn();
}

static void errno_after(void)
{
	int r;

	event_set_log_callback(log_line);
	errno = 0;
	r = evutil_make_socket_nonblocking(CLOSED_FD);
	say("  %d", r);
}

static void dies_by_default(void)
{
	die_with_1();
}

static void dies_by_callback(void)
{
	event_set_log_callback(log_line);
	event_set_fatal_callback(fatal);
	die_with_1();
}

static void dies_by_leaving(void)
{
	event_set_fatal_callback(fatal_leaves);
	die_with_1();
}

static void dies_by_no_callback(void)
{
	event_set_fatal_callback(fatal);
	event_set_fatal_callback(NULL);
	die_with_1();
}

static void aborts_by_default(void)
{
	event_set_log_callback(severity_only);
	die_with_abort();
}

static void aborts_by_callback(void)
{
	event_set_log_callback(severity_only);
	event_set_fatal_callback(fatal);
	die_with_abort();
}

static void aborts_by_leaving(void)
{
	event_set_log_callback(severity_only);
	event_set_fatal_callback(fatal_leaves);
	die_with_abort();
}

static void debug_off_again(void)
{
	struct event_base *base;

	event_set_log_callback(severity_only);
	event_enable_debug_logging(EVENT_DBG_ALL);
	event_enable_debug_logging(EVENT_DBG_NONE);
	base = base_new();
	event_free(ev_new(base, -1, 0, say_cb, ""));
	event_base_free(base);
}

static void run_case(const char *name, void (*fn)(void))
{
	int status;
	pid_t pid;

	section(name);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		fn();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "wait");
	say("exit %d, signal %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

#define RUN(name) run_case(#name, name)

int main(void)
{
	RUN(by_default);
	RUN(by_callback);
	RUN(errno_after);
	RUN(dies_by_default);
	RUN(dies_by_callback);
	RUN(dies_by_leaving);
	RUN(dies_by_no_callback);
	RUN(aborts_by_default);
	RUN(aborts_by_callback);
	RUN(aborts_by_leaving);
	RUN(debug_off_again);
	return 0;
}
