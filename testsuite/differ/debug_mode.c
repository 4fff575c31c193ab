/*
 * event_enable_debug_mode: each misuse that it catches ends the program through the fatal
 * callback. Each is tried in a child of its own, which prints the message and how it ended.
 */
#include "trace.h"

#include <sys/resource.h>

static struct event_base *base;

static void fatal(int err)
{
	say("  fatal: %d", err);
	_exit(3);
}

/* The words of these messages name the inside of stock: that there is one is what counts. */
static void log_severity(int severity, const char *msg)
{
	say("  [%d] %s", severity, msg[0] != '\0' ? "a message" : "nothing");
}

static void add_unassigned(void)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	event_add(&ev, &hour_tv);
}

static void del_unassigned(void)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	event_del(&ev);
}

static void pending_unassigned(void)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	event_pending(&ev, EV_READ, NULL);
}

static void active_unassigned(void)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	event_active(&ev, EV_READ, 1);
}

static void assign_added(void)
{
	struct event ev;

	event_assign(&ev, base, -1, 0, say_cb, NULL);
	event_add(&ev, &hour_tv);
	event_assign(&ev, base, -1, EV_PERSIST, say_cb, NULL);
}

static void unassign_added(void)
{
	struct event ev;

	event_assign(&ev, base, -1, 0, say_cb, NULL);
	event_add(&ev, &hour_tv);
	event_debug_unassign(&ev);
}

static void add_after_unassign(void)
{
	struct event ev;

	event_assign(&ev, base, -1, 0, say_cb, NULL);
	event_debug_unassign(&ev);
	event_add(&ev, &hour_tv);
}

static void edge_blocking(void)
{
	struct event ev;
	int fd[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "make a pair");
	event_assign(&ev, base, fd[0], EV_READ | EV_ET, say_cb, NULL);
	say("  assigned");
	event_add(&ev, NULL);
}

static void level_blocking(void)
{
	struct event ev;
	int fd[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "make a pair");
	event_assign(&ev, base, fd[0], EV_READ, say_cb, NULL);
	say("  assigned");
	event_add(&ev, NULL);
}

static void proper_use(void)
{
	struct event ev, *made;
	int fd[2];

	pipe_new(fd);
	event_assign(&ev, base, fd[0], EV_READ | EV_PERSIST, read_cb, (void *)(uintptr_t)"proper");
	event_add(&ev, NULL);
	put(fd[1]);
	say("  turn: %d", turn(base));
	event_del(&ev);
	event_assign(&ev, base, -1, 0, say_cb, (void *)(uintptr_t)"assigned again");
	event_add(&ev, &zero_tv);
	say("  turn: %d", turn(base));
	event_debug_unassign(&ev);
	for (int i = 0; i < 1000; i++) {
		made = ev_new(base, -1, 0, say_cb, "made");
		event_add(made, &hour_tv);
		event_free(made);
	}
	event_base_once(base, -1, EV_TIMEOUT, say_cb, (void *)(uintptr_t)"once", NULL);
	say("  turn: %d", turn(base));
}

static void enable_twice(void)
{
	event_enable_debug_mode();
}

static struct event finalized;

static void finalizer(struct event *ev, void *arg)
{
	(void)arg;
	say("  finalizer, del %d", event_del(ev));
}

/* Until its finalizer has run the event is known; add refuses it, del does nothing. */
static void finalize_use(void)
{
	event_assign(&finalized, base, -1, 0, say_cb, NULL);
	event_add(&finalized, &hour_tv);
	say("  finalize %d", event_finalize(0, &finalized, finalizer));
	say("  add %d", event_add(&finalized, &hour_tv));
	say("  del %d", event_del(&finalized));
	say("  pending %s", pending_str(&finalized));
	say("  turn: %d", turn(base));
	say("  del %d", event_del(&finalized));
}

static void add_after_finalize(void)
{
	finalize_use();
	event_add(&finalized, &hour_tv);
}

static void assign_after_finalize(void)
{
	finalize_use();
	event_assign(&finalized, base, -1, 0, say_cb, NULL);
	say("  add %d", event_add(&finalized, &hour_tv));
}

static void finalize_unassigned(void)
{
	event_assign(&finalized, base, -1, 0, say_cb, NULL);
	event_debug_unassign(&finalized);
	event_finalize(0, &finalized, finalizer);
}

static void once_blocking(void)
{
	int fd[2];

	must(pipe(fd) == 0, "pipe");
	say("  once %d", event_base_once(base, fd[0], EV_READ, say_cb, NULL, NULL));
}

static void once_without_a_descriptor(void)
{
	say("  once %d", event_base_once(base, -1, EV_TIMEOUT, say_cb, NULL, &hour_tv));
}

static int say_event(const struct event_base *b, const struct event *ev, void *arg)
{
	struct event_base *its = event_get_base(ev);

	(void)arg;
	say("  fd %d, events 0x%x, priority %d, %s", (int)event_get_fd(ev), (unsigned)event_get_events(ev),
	    event_get_priority(ev), its == b ? "of the base" : "of another base");
	return 0;
}

/* They have no event that the program assigned. */
static void look_at_once(void)
{
	event_base_once(base, -1, EV_TIMEOUT, say_cb, NULL, &hour_tv);
	event_base_loopexit(base, &hour_tv);
	say("  foreach %d", event_base_foreach_event(base, say_event, NULL));
}

static void base_set_unassigned(void)
{
	struct event ev;

	memset(&ev, 0, sizeof(ev));
	say("  base_set %d", event_base_set(base, &ev));
}

static void method_of_nothing(void)
{
	say("  %s", event_base_get_method(NULL));
}

static void try(const char *name, void (*fn)(void))
{
	int status;
	pid_t pid;

	section(name);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		struct rlimit none = { 0, 0 };

		/* One that aborts leaves no core file behind. */
		setrlimit(RLIMIT_CORE, &none);
		event_reinit(base);
		fn();
		say("  went on");
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "wait");
	if (WIFSIGNALED(status))
		say("ended by a signal");
	else
		say("ended with %d", WEXITSTATUS(status));
}

int main(void)
{
	event_enable_debug_mode();
	event_set_log_callback(log_severity);
	event_set_fatal_callback(fatal);
	base = base_new();
	try("proper use", proper_use);
	try("add of an event not assigned", add_unassigned);
	try("del of an event not assigned", del_unassigned);
	try("pending of an event not assigned", pending_unassigned);
	try("active of an event not assigned", active_unassigned);
	try("assign of an event that is added", assign_added);
	try("unassign of an event that is added", unassign_added);
	try("add after unassign", add_after_unassign);
	try("add after the finalizer", add_after_finalize);
	try("assign after the finalizer", assign_after_finalize);
	try("finalize of an event not assigned", finalize_unassigned);
	try("edge-triggered on a blocking socket", edge_blocking);
	try("level-triggered on a blocking socket", level_blocking);
	try("once on a blocking socket", once_blocking);
	try("once without a descriptor", once_without_a_descriptor);
	try("a look at what event_base_once adds", look_at_once);
	try("another base for an event not assigned", base_set_unassigned);
	try("the method of no base", method_of_nothing);
	try("enabled too late", enable_twice);
	event_base_free(base);
	libevent_global_shutdown();
	return 0;
}
