/*
 * event_reinit in the child after fork: what was pending stays pending, in both processes,
 * and what one does with its events does not touch the other. The child prints first; the
 * parent waits for its end.
 */
#include "trace.h"

static struct event_base *base;

/* Runs fn in a child that has reinitialized its base; the lines of the child come first. */
static void in_child(const char *name, void (*fn)(void))
{
	int status;
	pid_t pid;

	section(name);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		say("child: reinit %d", event_reinit(base));
		fn();
		_exit(7);
	}
	must(waitpid(pid, &status, 0) == pid, "wait for the child");
	say("parent: child ended %d, status %d", WIFEXITED(status), WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static int data[2];
static struct event *reader, *timer, *sig, *active;

static void child_reads(void)
{
	say("child: pending %s, %s", pending_str(reader), pending_str(timer));
	say("child: turn %d", turn(base));
	put(data[1]);
	say("child: turn %d", turn(base));
}

static void pending(void)
{
	reader = ev_new(base, data[0], EV_READ | EV_PERSIST, read_cb, "reader");
	timer = ev_new(base, -1, 0, say_cb, "timer");
	event_add(reader, NULL);
	event_add(timer, &hour_tv);
	in_child("pending events", child_reads);
	put(data[1]);
	say("parent: turn %d", turn(base));
	say("parent: pending %s, %s", pending_str(reader), pending_str(timer));
}

/* Deleted in the child: the parent still hears of it. */
static void child_deletes(void)
{
	say("child: del %d", event_del(reader));
	event_del(timer);
	say("child: dispatch %d", event_base_dispatch(base));
	event_base_free(base);
}

static void deleted(void)
{
	in_child("deleted and freed in the child", child_deletes);
	put(data[1]);
	say("parent: turn %d", turn(base));
}

static void child_signals(void)
{
	raise(SIGUSR1);
	say("child: turn %d", turn(base));
	say("child: turn %d", turn(base));
}

static void signals(void)
{
	sig = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, say_cb, "signal");
	event_add(sig, NULL);
	in_child("a signal in the child", child_signals);
	say("parent: turn %d", turn(base));
	raise(SIGUSR1);
	say("parent: turn %d", turn(base));
	event_free(sig);
}

static void child_active(void)
{
	say("child: pending %s", pending_str(active));
	say("child: turn %d", turn(base));
}

static void actives(void)
{
	active = ev_new(base, -1, 0, say_cb, "active");
	event_active(active, EV_READ, 1);
	in_child("an active event", child_active);
	say("parent: turn %d", turn(base));
	event_free(active);
}

static void child_timers(void)
{
	struct event *zero = ev_new(base, -1, 0, say_cb, "zero");

	event_add(zero, &zero_tv);
	say("child: turn %d", turn(base));
	event_base_once(base, -1, EV_TIMEOUT, say_cb, (void *)(uintptr_t)"once", NULL);
	say("child: turn %d", turn(base));
}

/* A fork inside a callback, both processes go on with the loop. */
static void fork_cb(evutil_socket_t fd, short what, void *arg)
{
	pid_t *pid = arg;
	int status;

	(void)fd;
	(void)what;
	*pid = fork();
	must(*pid >= 0, "fork");
	if (*pid == 0) {
		say("child: reinit %d", event_reinit(base));
		return;
	}
	must(waitpid(*pid, &status, 0) == *pid, "wait for the child");
	say("parent: child's status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void in_callback(void)
{
	struct event *after = ev_new(base, -1, 0, say_cb, "after");
	pid_t pid = -1;

	section("fork in a callback");
	event_base_once(base, -1, EV_TIMEOUT, fork_cb, &pid, NULL);
	event_add(reader, NULL);
	say("turn: %d", turn(base));
	event_active(after, EV_READ, 1);
	put(data[1]);
	say("turn: %d", turn(base));
	if (pid == 0)
		_exit(8);
	event_free(after);
}

/* Both read of one pipe through events of their own, also those on one descriptor. */
static void child_several(void)
{
	struct event *second = ev_new(base, data[0], EV_READ, read_cb, "second");

	event_add(second, NULL);
	put(data[1]);
	put(data[1]);
	say("child: turn %d", turn(base));
	event_del(second);
	say("child: turn %d", turn(base));
}

static void twice(void)
{
	section("reinit without a fork, twice");
	say("reinit: %d", event_reinit(base));
	say("reinit: %d", event_reinit(base));
	put(data[1]);
	say("turn: %d", turn(base));
	say("pending %s, %s", pending_str(reader), pending_str(timer));
}

int main(void)
{
	base = base_new();
	pipe_new(data);
	pending();
	deleted();
	signals();
	actives();
	in_child("new events in the child", child_timers);
	in_child("several on one descriptor", child_several);
	in_callback();
	twice();
	event_free(reader);
	event_free(timer);
	event_base_free(base);
	pair_close(data);
	return 0;
}
