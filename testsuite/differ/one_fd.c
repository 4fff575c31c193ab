/*
 * One descriptor and everything that can happen to it: several events of one or of
 * different interest, added and deleted in every order, while active, from callbacks,
 * its number closed and opened again, and duplicates of it.
 */
#include "trace.h"

static struct event_base *base;

/* Read, write, both, in every order of adding and deleting: what is told each time. */
static void interest(void)
{
	static const int kinds[3] = { EV_READ | EV_PERSIST, EV_WRITE | EV_PERSIST, EV_READ | EV_WRITE | EV_PERSIST };
	static const char *const names[3] = { "r", "w", "rw" };
	static const int orders[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct event *evs[3];
	int fd[2];

	section("interest");
	pair_new(fd);
	for (int i = 0; i < 3; i++)
		evs[i] = ev_new(base, fd[0], kinds[i], say_cb, names[i]);
	put(fd[1]);
	for (int add = 0; add < 6; add++) {
		for (int del = 0; del < 6; del++) {
			say("add order %d, del order %d", add, del);
			for (int i = 0; i < 3; i++) {
				event_add(evs[orders[add][i]], NULL);
				turn(base);
			}
			for (int i = 0; i < 3; i++) {
				event_del(evs[orders[del][i]]);
				turn(base);
			}
		}
	}
	for (int i = 0; i < 3; i++)
		event_free(evs[i]);
	pair_close(fd);
}

/* Added and deleted between two turns: only the result counts. */
static void between_turns(void)
{
	struct event *r, *w;
	int fd[2];

	section("between turns");
	pair_new(fd);
	r = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "r");
	w = ev_new(base, fd[0], EV_WRITE | EV_PERSIST, say_cb, "w");
	put(fd[1]);
	for (int i = 0; i < 16; i++) {
		if (i & 1)
			event_add(r, NULL);
		if (i & 2)
			event_add(w, NULL);
		if (i & 4)
			event_del(r);
		if (i & 8)
			event_del(w);
		turn(base);
		say("%d: pending %s, %s", i, pending_str(r), pending_str(w));
		event_del(w);
		event_add(w, NULL);
		event_del(r);
		event_del(w);
	}
	event_free(r);
	event_free(w);
	pair_close(fd);
}

/* Many equal events on one descriptor: order of running, and after some are added again. */
static void many(void)
{
	static const char *const names[6] = { "0", "1", "2", "3", "4", "5" };
	struct event *evs[6];
	int fd[2];

	section("many");
	pair_new(fd);
	for (int i = 0; i < 6; i++) {
		evs[i] = ev_new(base, fd[0], EV_READ | (i % 2 ? EV_PERSIST : 0), say_cb, names[i]);
		event_add(evs[i], NULL);
	}
	put(fd[1]);
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	for (int i = 0; i < 6; i++)
		event_add(evs[i], NULL);
	say("turn: %d", turn(base));
	event_del(evs[3]);
	event_add(evs[3], NULL);
	say("turn: %d", turn(base));
	for (int i = 0; i < 6; i++)
		event_free(evs[i]);
	pair_close(fd);
}

/* The first callback acts on the second, which is active in the same turn. */
static struct event *second;
static int second_fd;

enum act { DEL, DEL_ADD, ADD, ACTIVE, READ_IT, FREE_AND_NEW, REMOVE_TIMER };

static enum act act;

static void first_cb(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)arg;
	say("  first: %s, second pending %s", what_str(what), pending_str(second));
	switch (act) {
	case DEL:
		event_del(second);
		break;
	case DEL_ADD:
		event_del(second);
		event_add(second, NULL);
		break;
	case ADD:
		event_add(second, &hour_tv);
		break;
	case ACTIVE:
		event_active(second, EV_WRITE, 1);
		break;
	case READ_IT:
		must(read(fd, &c, 1) == 1, "read");
		break;
	case FREE_AND_NEW:
		event_free(second);
		second = ev_new(base, second_fd, EV_READ | EV_PERSIST, say_cb, "new second");
		event_add(second, NULL);
		break;
	case REMOVE_TIMER:
		event_remove_timer(second);
		break;
	}
	say("  second pending %s", pending_str(second));
}

static void on_active(void)
{
	static const char *const names[] = {
		"del", "del and add", "add", "active", "read it", "free and new", "remove timer",
	};
	struct event *first;
	int fd[2];

	for (int i = DEL; i <= REMOVE_TIMER; i++) {
		for (int persist = 0; persist < 2; persist++) {
			section(names[i]);
			pair_new(fd);
			act = (enum act)i;
			second_fd = fd[0];
			second = ev_new(base, fd[0], EV_READ | (persist ? EV_PERSIST : 0), say_cb, "second");
			first = ev_new(base, fd[0], EV_READ, first_cb, NULL);
			event_add(second, &hour_tv);
			event_add(first, NULL);
			put(fd[1]);
			say("turn: %d", turn(base));
			say_step("turn", turn(base), second);
			event_free(first);
			event_free(second);
			pair_close(fd);
		}
	}
}

/* The number is closed after its event is deleted, and opened again for something else. */
static void reopened(void)
{
	struct event *ev;
	int fd[2], again[2];

	section("closed and opened again");
	for (int i = 0; i < 3; i++) {
		pipe_new(fd);
		ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, read_cb, "old");
		event_add(ev, NULL);
		if (i == 1)
			turn(base);
		event_del(ev);
		if (i == 2)
			turn(base);
		close(fd[0]);
		pipe_new(again);
		if (again[0] != fd[0]) {
			must(dup2(again[0], fd[0]) == fd[0], "dup2");
			close(again[0]);
		}
		say("write to the old one: %zd", write(fd[1], "x", 1));
		event_free(ev);
		ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, read_cb, "new");
		say_step("add", event_add(ev, NULL), ev);
		say_step("turn", turn(base), ev);
		put(again[1]);
		say_step("turn", turn(base), ev);
		event_free(ev);
		close(fd[0]);
		close(fd[1]);
		close(again[1]);
	}
}

/* Closed in the callback that is told of it, as servers do. */
static void close_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event **ev = arg;

	say("  close: %s", what_str(what));
	event_free(*ev);
	close(fd);
	*ev = NULL;
}

static void closed_in_callback(void)
{
	struct event *ev;
	int fd[2];

	section("closed in the callback");
	for (int i = 0; i < 4; i++) {
		pipe_new(fd);
		ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, close_cb, &ev);
		event_add(ev, NULL);
		put(fd[1]);
		say("turn: %d", turn(base));
		say("gone %d", ev == NULL);
		say("turn: %d", turn(base));
		close(fd[1]);
	}
}

/* Two numbers of one open file; the header warns of the changelist with them. */
static void duplicates(void)
{
	struct event *a, *b;
	int fd[2], copy;

	section("duplicates");
	if (uses_changelist())
		return;
	pipe_new(fd);
	copy = dup(fd[0]);
	must(copy >= 0, "dup");
	a = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "a");
	b = ev_new(base, copy, EV_READ | EV_PERSIST, say_cb, "b");
	event_add(a, NULL);
	put(fd[1]);
	say("turn: %d", turn(base));
	event_del(a);
	event_add(b, NULL);
	say("turn: %d", turn(base));
	event_del(b);
	say("turn: %d", turn(base));
	event_add(a, NULL);
	say("turn: %d", turn(base));
	event_free(a);
	event_free(b);
	close(copy);
	pair_close(fd);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	base = base_new();
	event_set_log_callback(say_log);
	interest();
	between_turns();
	many();
	on_active();
	reopened();
	closed_in_callback();
	duplicates();
	event_base_free(base);
	return 0;
}
