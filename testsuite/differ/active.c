/*
 * event_active: on events that are pending or not, active already, their own, with every
 * kind of result and number of calls, and through a descriptor's number.
 */
#include "trace.h"

static struct event_base *base;

static void results(void)
{
	static const int res[] = { EV_READ, EV_WRITE, EV_TIMEOUT, EV_SIGNAL, EV_CLOSED, EV_READ | EV_WRITE,
				   EV_ET, EV_PERSIST, 0, 0x4000, EV_READ | 0x100 };
	struct event *ev = ev_new(base, -1, EV_READ, say_cb, "result");

	section("results");
	for (size_t i = 0; i < sizeof(res) / sizeof(res[0]); i++) {
		event_active(ev, res[i], 1);
		say("pending %s", pending_str(ev));
		say("turn: %d", turn(base));
	}
	event_free(ev);
}

/* Once more while active: results are joined, it runs once, in its first place. */
static void twice(void)
{
	struct event *a = ev_new(base, -1, 0, say_cb, "a");
	struct event *b = ev_new(base, -1, 0, say_cb, "b");

	section("active twice");
	event_active(a, EV_READ, 1);
	event_active(b, EV_READ, 1);
	event_active(a, EV_WRITE, 1);
	event_active(a, EV_TIMEOUT, 7);
	say("active %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	event_free(a);
	event_free(b);
}

/* An active event that is added is watched only after its callback, and if persistent and timed. */
static void watched_after(const char *name, int events, const struct timeval *tv)
{
	struct event *ev;
	int fd[2];

	section(name);
	pipe_new(fd);
	ev = ev_new(base, fd[0], events, read_cb, name);
	event_active(ev, EV_WRITE, 1);
	say_step("add", event_add(ev, tv), ev);
	say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
	say_step("turn", turn(base), ev);
	put(fd[1]);
	say_step("turn", turn(base), ev);
	event_free(ev);
	pair_close(fd);
}

/* A persistent event that was deleted, and is made active, is added again if it had a timeout. */
static void deleted_before(const char *name, int events, bool has_fd, const struct timeval *tv, int res)
{
	int fd[2] = { -1, -1 };
	struct event *ev;

	section(name);
	if (has_fd)
		pipe_new(fd);
	ev = ev_new(base, fd[0], events, read_cb, name);
	event_add(ev, tv);
	event_del(ev);
	event_active(ev, res, 1);
	say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
	say_step("turn", turn(base), ev);
	say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
	if (has_fd)
		put(fd[1]);
	say_step("turn", turn(base), ev);
	event_del(ev);
	say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
	event_free(ev);
	if (has_fd)
		pair_close(fd);
}

static void ncalls(void)
{
	struct event *ev = ev_new(base, -1, 0, say_cb, "not a signal");

	section("ncalls");
	event_active(ev, EV_READ, 3);
	say("turn: %d", turn(base));
	event_active(ev, EV_READ, 0);
	say("turn: %d", turn(base));
	event_active(ev, EV_READ, -1);
	say("turn: %d", turn(base));
	event_free(ev);
}

static void pending(const char *name, int events)
{
	struct event *ev;
	int fd[2];

	section(name);
	pipe_new(fd);
	ev = ev_new(base, fd[0], events, read_cb, name);
	event_add(ev, &hour_tv);
	event_active(ev, EV_WRITE, 1);
	say_step("turn", turn(base), ev);
	event_add(ev, NULL);
	put(fd[1]);
	event_active(ev, EV_WRITE, 1);
	say_step("readable too", turn(base), ev);
	say_step("turn", turn(base), ev);
	drain(fd[0]);
	event_add(ev, &zero_tv);
	event_active(ev, EV_WRITE, 1);
	say_step("timed out too", turn(base), ev);
	say_step("turn", turn(base), ev);
	event_free(ev);
	pair_close(fd);
}

/* Activation of itself and of others from callbacks: in this turn or the next? */
struct node {
	const char *name;
	struct event *ev;
	struct node *next;
	int left;
};

static void node_cb(evutil_socket_t fd, short what, void *arg)
{
	struct node *node = arg;

	(void)fd;
	say("  %s: %s", node->name, what_str(what));
	if (node->left-- > 0) {
		event_active(node->next->ev, EV_READ, 1);
		say("  %s pending %s", node->next->name, pending_str(node->next->ev));
	}
}

static void chains(void)
{
	struct node nodes[3] = { { .name = "a", .left = 2 }, { .name = "b", .left = 2 }, { .name = "c", .left = 2 } };

	section("a ring");
	for (int i = 0; i < 3; i++) {
		nodes[i].ev = ev_new(base, -1, 0, node_cb, &nodes[i]);
		nodes[i].next = &nodes[(i + 1) % 3];
	}
	event_active(nodes[0].ev, EV_WRITE, 1);
	for (int i = 0; i < 8; i++)
		say("turn: %d", turn(base));

	section("itself");
	nodes[0].next = &nodes[0];
	nodes[0].left = 3;
	event_active(nodes[0].ev, EV_WRITE, 1);
	event_active(nodes[1].ev, EV_WRITE, 1);
	say("loop: %d", event_base_loop(base, EVLOOP_NONBLOCK));

	section("one that waits behind");
	nodes[0].next = &nodes[2];
	nodes[0].left = 1;
	nodes[1].left = nodes[2].left = 0;
	event_active(nodes[0].ev, EV_WRITE, 1);
	event_active(nodes[1].ev, EV_WRITE, 1);
	event_active(nodes[2].ev, EV_WRITE, 1);
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	for (int i = 0; i < 3; i++)
		event_free(nodes[i].ev);
}

static void by_fd(void)
{
	struct event *r, *w, *rw, *t;
	int fd[2];

	section("by descriptor");
	pair_new(fd);
	r = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "r");
	w = ev_new(base, fd[1], EV_WRITE | EV_PERSIST, say_cb, "w of the other end");
	rw = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "second r");
	t = ev_new(base, fd[0], EV_READ | EV_PERSIST, say_cb, "r with timeout");
	event_base_active_by_fd(base, fd[0], EV_READ);
	say("none added, turn: %d", turn(base));
	event_add(r, NULL);
	event_add(rw, NULL);
	event_add(t, &hour_tv);
	event_base_active_by_fd(base, fd[0], EV_READ);
	say("read, turn: %d", turn(base));
	event_base_active_by_fd(base, fd[0], EV_WRITE);
	say("write, turn: %d", turn(base));
	event_base_active_by_fd(base, fd[0], EV_TIMEOUT);
	say("timeout, turn: %d", turn(base));
	event_base_active_by_fd(base, fd[1], EV_WRITE);
	say("the other end, turn: %d", turn(base));
	event_base_active_by_fd(base, -1, EV_READ);
	event_base_active_by_fd(base, 100000, EV_READ);
	say("no such descriptor, turn: %d", turn(base));
	event_free(r);
	event_free(w);
	event_free(rw);
	event_free(t);
	pair_close(fd);
}

static void without_base(void)
{
	struct event ev;

	section("event without a base");
	memset(&ev, 0, sizeof(ev));
	event_assign(&ev, NULL, -1, 0, say_cb, "no base");
	say("base is NULL: %d", event_get_base(&ev) == NULL);
	event_active(&ev, EV_READ, 1);
	say("pending %s", pending_str(&ev));
	say("add: %d", event_add(&ev, &hour_tv));
	say("del: %d", event_del(&ev));
	say("remove_timer: %d", event_remove_timer(&ev));
}

/* An event for a descriptor that has none: its timeout is set anew while it is active. */
static void timed_without_fd(void)
{
	struct event *other, *ev = ev_new(base, -1, EV_READ, say_cb, "without a descriptor");
	int fd[2];

	section("a timeout anew while active, without a descriptor");
	pipe_new(fd);
	other = ev_new(base, fd[0], EV_READ, say_cb, "other");
	event_add(other, NULL);
	event_free(other);
	say_step("add", event_add(ev, &hour_tv), ev);
	event_active(ev, EV_TIMEOUT, 1);
	say_step("add", event_add(ev, &hour_tv), ev);
	say_step("turn", turn(base), ev);
	event_free(ev);
	pair_close(fd);
}

int main(void)
{
	base = base_new();
	event_set_log_callback(say_log);
	results();
	twice();
	watched_after("added while active", EV_READ, &hour_tv);
	watched_after("added while active, persistent", EV_READ | EV_PERSIST, &hour_tv);
	watched_after("added while active, persistent without a timeout", EV_READ | EV_PERSIST, NULL);
	ncalls();
	pending("once, pending", EV_READ);
	pending("persistent, pending", EV_READ | EV_PERSIST);
	watched_after("added while active", EV_READ, NULL);
	watched_after("added while active, timeout", EV_READ, &hour_tv);
	watched_after("added while active, persistent", EV_READ | EV_PERSIST, NULL);
	watched_after("added while active, persistent, timeout", EV_READ | EV_PERSIST, &hour_tv);
	deleted_before("deleted, then active", EV_READ, true, &hour_tv, EV_READ);
	deleted_before("deleted, then active, persistent", EV_READ | EV_PERSIST, true, &hour_tv, EV_READ);
	deleted_before("deleted, then active, persistent, late", EV_READ | EV_PERSIST, true, &hour_tv, EV_TIMEOUT);
	deleted_before("deleted, then active, persistent, without one", EV_READ | EV_PERSIST, true, NULL, EV_READ);
	deleted_before("deleted, then active, timer", EV_PERSIST, false, &hour_tv, EV_TIMEOUT);
	deleted_before("deleted, then active, timer, as if to read", EV_PERSIST, false, &hour_tv, EV_READ);
	timed_without_fd();
	chains();
	by_fd();
	without_base();
	event_base_free(base);
	return 0;
}
