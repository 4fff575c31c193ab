/*
 * event_finalize and event_free_finalize: when the finalizer runs, that nothing else does
 * afterwards, events of every state, and what freeing the base does with those that wait.
 */
#include "trace.h"

static struct event_base *base;

static void fin_cb(struct event *ev, void *arg)
{
	(void)ev;
	say("  finalized %s", (const char *)arg);
}

/* Every state an event can be in when it is finalized. */
enum state { FRESH, PENDING, TIMED, READY, ACTIVE, ACTIVE_PENDING, STATES_NUM };

static const char *const state_names[] = { "fresh", "pending", "timed", "ready", "active", "active and pending" };

static struct event *event_in(enum state state, int fd, int events)
{
	struct event *ev = ev_new(base, fd, events, say_cb, state_names[state]);

	if (state == PENDING || state == READY || state == ACTIVE_PENDING)
		event_add(ev, NULL);
	if (state == TIMED)
		event_add(ev, &zero_tv);
	if (state == ACTIVE || state == ACTIVE_PENDING)
		event_active(ev, EV_WRITE, 1);
	return ev;
}

static void finalize(enum state state, int events)
{
	struct event *ev;
	int fd[2];

	section(state_names[state]);
	pipe_new(fd);
	if (state == READY)
		put(fd[1]);
	ev = event_in(state, fd[0], events);
	say("finalize: %d", event_finalize(0, ev, fin_cb));
	say("pending %s", pending_str(ev));
	say("add: %d", event_add(ev, &zero_tv));
	event_active(ev, EV_READ, 1);
	say("del: %d", event_del(ev));
	say("finalize again: %d", event_finalize(0, ev, fin_cb));
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	/* The memory is the program's again, as if never assigned. */
	event_assign(ev, base, -1, 0, say_cb, (void *)(uintptr_t)"assigned again");
	event_active(ev, EV_READ, 1);
	say("turn: %d", turn(base));
	event_free(ev);

	ev = event_in(state, fd[0], events);
	say("free_finalize: %d", event_free_finalize(0, ev, fin_cb));
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	pair_close(fd);
}

/* From a callback that runs before the event's own. */
static struct event *victim;

static void other_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)arg;
	say("  other: %s", what_str(what));
	say("  finalize: %d", event_finalize(0, victim, fin_cb));
}

static void from_another(void)
{
	struct event *other = ev_new(base, -1, 0, other_cb, NULL);
	struct event *behind = ev_new(base, -1, 0, say_cb, "behind");

	section("from another callback");
	victim = ev_new(base, -1, 0, say_cb, "victim");
	event_active(other, EV_READ, 1);
	event_active(victim, EV_READ, 1);
	event_active(behind, EV_READ, 1);
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	event_free(victim);
	event_free(other);
	event_free(behind);
}

static void named_fin_cb(struct event *ev, void *arg)
{
	say("  finalized, argument is the event: %d", arg == (void *)ev);
}

static void own_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  own: %s", what_str(what));
	say("  free_finalize: %d", event_free_finalize(0, arg, named_fin_cb));
}

static void from_its_own(void)
{
	struct event *ev = ev_new(base, -1, EV_PERSIST, own_cb, event_self_cbarg());

	section("from its own callback");
	event_add(ev, &zero_tv);
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
}

/* By priority, like a callback of the event. */
static void priorities(void)
{
	struct event *urgent = ev_new(base, -1, 0, say_cb, "urgent");
	struct event *middle = ev_new(base, -1, 0, say_cb, "middle");
	struct event *late = ev_new(base, -1, 0, say_cb, "late");

	section("priorities");
	event_priority_set(urgent, 0);
	event_priority_set(late, 2);
	event_active(middle, EV_READ, 1);
	event_free_finalize(0, late, fin_cb);
	event_free_finalize(0, urgent, fin_cb);
	say("active %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
	say("loop: %d", event_base_loop(base, EVLOOP_NONBLOCK));
	event_free(middle);
}

/* Freed with the base: finalizers run, or do not, as the base is freed. */
static void with_the_base(void)
{
	struct event_base *other;
	struct event *a, *b;

	section("event_base_free");
	other = base_new();
	a = ev_new(other, -1, 0, say_cb, "a");
	b = ev_new(other, -1, 0, say_cb, "b");
	event_add(a, &hour_tv);
	event_free_finalize(0, a, fin_cb);
	event_free_finalize(0, b, fin_cb);
	event_base_free(other);

	section("event_base_free_nofinalize");
	other = base_new();
	a = ev_new(other, -1, 0, say_cb, "a");
	event_finalize(0, a, fin_cb);
	event_base_free_nofinalize(other);
	free(a);
}

int main(void)
{
	base = base_new();
	event_base_priority_init(base, 3);
	for (int state = 0; state < STATES_NUM; state++)
		finalize((enum state)state, EV_READ);
	for (int state = 0; state < STATES_NUM; state++)
		finalize((enum state)state, EV_READ | EV_PERSIST | EV_FINALIZE);
	from_another();
	from_its_own();
	priorities();
	with_the_base();
	event_base_free(base);
	return 0;
}
