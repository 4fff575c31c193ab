/*
 * EV_ET, which tells of a change once, and EV_CLOSED, which tells that the peer is gone.
 * Where the method cannot do the one or the other, what happens is compared all the same.
 */
#include <stdlib.h>

#include "trace.h"

static void quiet_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  %s: %s", (const char *)arg, what_str(what));
}

static void turns(struct event_base *base, int num, const char *why)
{
	for (int i = 0; i < num; i++)
		say("%s, turn %d: %d", why, i, turn(base));
}

static void add_anew(struct event *ev)
{
	event_del(ev);
	event_add(ev, NULL);
}

static void edge_read(struct event_base *base)
{
	struct event *ev;
	int fd[2];

	section("read, edge-triggered");
	pair_new(fd);
	ev = ev_new(base, fd[0], EV_READ | EV_ET | EV_PERSIST, quiet_cb, "et");
	say_step("add", event_add(ev, NULL), ev);
	say("asked for ET too: %s", what_str(event_pending(ev, EV_ALL | EV_ET, NULL)));
	turns(base, 1, "nothing");
	put(fd[1]);
	turns(base, 2, "one byte");
	put(fd[1]);
	turns(base, 2, "another byte");
	drain(fd[0]);
	turns(base, 1, "drained");
	put(fd[1]);
	turns(base, 2, "a byte after that");
	/* Adding anew looks anew. */
	add_anew(ev);
	turns(base, 2, "deleted and added");
	close(fd[1]);
	turns(base, 2, "closed");
	event_free(ev);
	close(fd[0]);
}

static void edge_write(struct event_base *base)
{
	char buf[4096] = { 0 };
	struct event *ev;
	int fd[2];

	section("write, edge-triggered");
	pair_new(fd);
	ev = ev_new(base, fd[0], EV_WRITE | EV_ET | EV_PERSIST, quiet_cb, "et");
	event_add(ev, NULL);
	turns(base, 2, "empty");
	while (write(fd[0], buf, sizeof(buf)) > 0)
		;
	turns(base, 1, "full");
	drain(fd[1]);
	turns(base, 2, "drained by the peer");
	event_free(ev);
	pair_close(fd);
}

static void edge_once(struct event_base *base)
{
	struct event *ev;
	int fd[2];

	section("read, edge-triggered, once");
	pair_new(fd);
	ev = ev_new(base, fd[0], EV_READ | EV_ET, quiet_cb, "et once");
	put(fd[1]);
	event_add(ev, NULL);
	turns(base, 1, "added");
	say("pending %s", pending_str(ev));
	event_add(ev, NULL);
	turns(base, 2, "added again");
	event_free(ev);
	pair_close(fd);
}

/* A timeout looks anew, as an add does: what was not read is told once more. */
static void edge_timeout(struct event_base *base)
{
	const struct timeval tick = { 0, 1000 };
	struct event *ev;
	int fd[2], i;

	section("read, edge-triggered, with a timeout");
	pair_new(fd);
	ev = ev_new(base, fd[0], EV_READ | EV_ET | EV_PERSIST, quiet_cb, "et timed");
	event_add(ev, &tick);
	event_base_loop(base, EVLOOP_ONCE);
	put(fd[1]);
	for (i = 0; i < 4; i++) {
		event_base_loop(base, EVLOOP_ONCE);
		say("pending %s", pending_str(ev));
	}
	event_free(ev);
	pair_close(fd);
}

static void add_again_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event **ev = arg;

	(void)fd;
	say("  writer: %s", what_str(what));
	add_anew(*ev);
}

/* An event beside another one of the same descriptor is added anew: that looks anew, too. */
static void edge_beside(struct event_base *base, int events)
{
	struct event *reader, *writer;
	int fd[2];

	section("two events of one descriptor, edge-triggered");
	pair_new(fd);
	reader = ev_new(base, fd[0], EV_READ | EV_ET | EV_PERSIST, quiet_cb, "reader");
	writer = ev_new(base, fd[0], events, quiet_cb, "writer");
	event_add(reader, NULL);
	event_add(writer, NULL);
	turns(base, 2, "both");
	add_anew(writer);
	turns(base, 2, "the writer deleted and added");
	put(fd[1]);
	turns(base, 2, "one byte");
	add_anew(reader);
	turns(base, 2, "the reader deleted and added");
	event_free(writer);
	writer = ev_new(base, fd[0], events, add_again_cb, &writer);
	event_add(writer, NULL);
	turns(base, 3, "in its callback");
	event_free(writer);
	event_free(reader);
	pair_close(fd);
}

/* Edge and level on one descriptor do not go together: it is watched as the first one wants. */
static void mixed(struct event_base *base, bool is_level_first, bool is_level_left)
{
	struct event *level, *edge, *ev[2];
	int fd[2];

	section("edge and level on one descriptor");
	pair_new(fd);
	level = ev_new(base, fd[0], EV_READ | EV_PERSIST, quiet_cb, "level");
	edge = ev_new(base, fd[0], EV_READ | EV_ET | EV_PERSIST, quiet_cb, "edge");
	ev[0] = is_level_first ? level : edge;
	ev[1] = is_level_first ? edge : level;
	say("first: %d", event_add(ev[0], NULL));
	say("then: %d", event_add(ev[1], NULL));
	say("pending %s, %s", pending_str(level), pending_str(edge));
	put(fd[1]);
	turns(base, 2, "both");
	event_del(is_level_left ? edge : level);
	turns(base, 2, "one is left");
	event_del(is_level_left ? level : edge);
	event_add(level, NULL);
	turns(base, 2, "the level alone");
	event_free(level);
	event_free(edge);
	pair_close(fd);
}

static void closed(struct event_base *base, const char *name, int events, bool shutdown_only)
{
	struct event *ev;
	int fd[2];

	section(name);
	pair_new(fd);
	ev = ev_new(base, fd[0], events, quiet_cb, "closed");
	say_step("add", event_add(ev, NULL), ev);
	turns(base, 1, "open");
	put(fd[1]);
	turns(base, 1, "with a byte to read");
	if (shutdown_only)
		shutdown(fd[1], SHUT_WR);
	else
		close(fd[1]);
	turns(base, 2, "closed with a byte to read");
	drain(fd[0]);
	turns(base, 1, "closed and drained");
	event_free(ev);
	close(fd[0]);
	if (shutdown_only)
		close(fd[1]);
}

static void closed_beside_read(struct event_base *base)
{
	struct event *reader, *closer;
	int fd[2];

	section("one event for reading, one for closing");
	pair_new(fd);
	reader = ev_new(base, fd[0], EV_READ | EV_PERSIST, quiet_cb, "reader");
	closer = ev_new(base, fd[0], EV_CLOSED | EV_PERSIST, quiet_cb, "closer");
	say_step("add reader", event_add(reader, NULL), reader);
	say_step("add closer", event_add(closer, NULL), closer);
	put(fd[1]);
	turns(base, 1, "a byte");
	close(fd[1]);
	turns(base, 1, "closed");
	event_del(reader);
	turns(base, 1, "without the reader");
	event_del(closer);
	event_add(reader, NULL);
	turns(base, 1, "without the closer");
	event_free(reader);
	event_free(closer);
	close(fd[0]);
}

int main(void)
{
	struct event_base *base = base_new();
	int features = event_base_get_features(base);

	event_set_log_callback(say_log);
	say("edge %d, early close %d", !!(features & EV_FEATURE_ET), !!(features & EV_FEATURE_EARLY_CLOSE));
	edge_read(base);
	edge_write(base);
	edge_once(base);
	edge_timeout(base);
	edge_beside(base, EV_WRITE | EV_ET | EV_PERSIST);
	edge_beside(base, EV_WRITE | EV_ET);
	for (int i = 0; i < 4; i++)
		mixed(base, (i & 1) != 0, (i & 2) != 0);
	/* With a changelist libevent tells of it only once, and of level-triggered readiness as often as it lasts. */
	if (getenv("EVENT_EPOLL_USE_CHANGELIST") == NULL)
		closed(base, "closed, persistent", EV_CLOSED | EV_PERSIST, false);
	closed(base, "closed, once", EV_CLOSED, false);
	closed(base, "read or closed", EV_READ | EV_CLOSED | EV_PERSIST, false);
	closed(base, "write or closed", EV_WRITE | EV_CLOSED | EV_PERSIST, false);
	closed(base, "closed by shutdown", EV_CLOSED | EV_PERSIST, true);
	closed(base, "read, closed without asking", EV_READ | EV_PERSIST, false);
	closed(base, "closed, edge-triggered", EV_CLOSED | EV_ET | EV_PERSIST, false);
	closed(base, "read or closed, edge-triggered", EV_READ | EV_CLOSED | EV_ET | EV_PERSIST, false);
	closed_beside_read(base);
	event_base_free(base);
	return 0;
}
