/*
 * What cannot be watched, and what is told about it: descriptors that are closed, negative
 * or of a file, and missing arguments.
 */
#include "trace.h"

static struct event_base *base;

static void try_add(const char *name, int fd, int events)
{
	struct event *ev = ev_new(base, fd, events, say_cb, name);
	int r;

	errno = 0;
	r = event_add(ev, NULL);
	say("%s: add %d, errno %s, pending %s", name, r, r < 0 ? strerror(errno) : "-", pending_str(ev));
	if (!uses_changelist())
		say("%s: turn %d", name, turn(base));
	say("%s: del %d", name, event_del(ev));
	event_free(ev);
}

static void negative(void)
{
	section("negative");
	try_add("-1", -1, EV_READ);
	try_add("-1, persistent", -1, EV_READ | EV_WRITE | EV_PERSIST);
	try_add("-2", -2, EV_READ);
	try_add("INT32_MIN", INT32_MIN, EV_READ);
}

/* No process has a descriptor of this number: refused, without a table of that many. */
static void implausible(void)
{
	struct event *ev = ev_new(base, INT32_MAX / 2, EV_READ, say_cb, "implausible");

	section("implausible");
	say("INT32_MAX / 2: add %d, pending %s", event_add(ev, NULL), pending_str(ev));
	event_free(ev);
}

static void closed(void)
{
	int fd = dup(0);

	section("closed");
	must(fd >= 0, "dup");
	close(fd);
	/* poll and select learn of it only in the turn; that is told by the kernel, not by the face. */
	if (strcmp(event_base_get_method(base), "epoll") != 0)
		return;
	try_add("closed", fd, EV_READ);
	try_add("closed, write", fd, EV_WRITE | EV_PERSIST);
}

static void file(void)
{
	FILE *f = tmpfile();
	struct event *ev;

	section("a regular file");
	must(f != NULL, "make a file");
	/* With a changelist stock refuses it in the turn, too late to say so. */
	if (uses_changelist()) {
		fclose(f);
		return;
	}
	if (strcmp(event_base_get_method(base), "epoll") == 0) {
		try_add("file", fileno(f), EV_READ);
		try_add("file, write", fileno(f), EV_WRITE);
	} else {
		ev = ev_new(base, fileno(f), EV_READ | EV_WRITE, say_cb, "file");
		say("add: %d", event_add(ev, NULL));
		say_step("turn", turn(base), ev);
		event_free(ev);
	}
	fclose(f);
}

/* After a failure the descriptor's number can be used for something else. */
static void recovers(void)
{
	FILE *f = tmpfile();
	struct event *ev;
	int fd[2], num;

	section("recovers");
	must(f != NULL, "make a file");
	num = fileno(f);
	if (!uses_changelist())
		try_add("file", num, EV_READ | EV_WRITE);
	pipe_new(fd);
	must(dup2(fd[0], num) == num, "dup2");
	ev = ev_new(base, num, EV_READ, read_cb, "pipe in its place");
	say_step("add", event_add(ev, NULL), ev);
	put(fd[1]);
	say_step("turn", turn(base), ev);
	event_free(ev);
	fclose(f);
	pair_close(fd);
}

/* A timeout is set even though the descriptor is refused? */
static void refused_with_timeout(void)
{
	FILE *f = tmpfile();
	struct event *ev;

	section("refused, with a timeout");
	must(f != NULL, "make a file");
	if (strcmp(event_base_get_method(base), "epoll") == 0 && !uses_changelist()) {
		ev = ev_new(base, fileno(f), EV_READ, say_cb, "refused");
		say_step("add", event_add(ev, &zero_tv), ev);
		say_step("turn", turn(base), ev);
		say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
		event_free(ev);
	}
	fclose(f);
}

/* Both ends of trouble: EOF, and writing where nobody reads. */
static void hangups(void)
{
	struct event *r, *w;
	int fd[2];

	section("hang-up");
	pipe_new(fd);
	close(fd[1]);
	r = ev_new(base, fd[0], EV_READ, read_cb, "eof");
	say("add: %d", event_add(r, NULL));
	say("turn: %d", turn(base));
	event_free(r);
	close(fd[0]);
	pipe_new(fd);
	close(fd[0]);
	w = ev_new(base, fd[1], EV_WRITE, say_cb, "no reader");
	say("add: %d", event_add(w, NULL));
	say("turn: %d", turn(base));
	event_free(w);
	close(fd[1]);
	pair_new(fd);
	close(fd[1]);
	r = ev_new(base, fd[0], EV_READ | EV_WRITE, say_cb, "closed peer");
	say("add: %d", event_add(r, NULL));
	say("turn: %d", turn(base));
	event_free(r);
	close(fd[0]);
}

/* Hang-up where only the other direction is asked for. */
static void other_direction(void)
{
	struct event *ev;
	int fd[2];

	section("hang-up, only writing is asked for");
	pair_new(fd);
	ev = ev_new(base, fd[0], EV_WRITE, say_cb, "write");
	close(fd[1]);
	event_add(ev, NULL);
	say_step("turn", turn(base), ev);
	event_free(ev);
	ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "read");
	event_add(ev, NULL);
	say_step("turn", turn(base), ev);
	event_free(ev);
	close(fd[0]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	base = base_new();
	event_set_log_callback(say_log);
	negative();
	implausible();
	closed();
	file();
	recovers();
	refused_with_timeout();
	hangups();
	other_direction();
	event_base_free(base);
	return 0;
}
