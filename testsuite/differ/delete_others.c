/*
 * A callback that deletes or frees others that are active in the same turn, or itself.
 */
#include "trace.h"

#define EVENTS_NUM 6

static struct event_base *base;
static struct event *evs[EVENTS_NUM];
static int pipes[EVENTS_NUM][2];
static unsigned ran, deleted;

static void kill_all_cb(evutil_socket_t fd, short what, void *arg)
{
	int self = (int)(intptr_t)arg;

	(void)fd;
	(void)what;
	ran |= 1U << self;
	for (int i = 0; i < EVENTS_NUM; i++) {
		if (i == self || evs[i] == NULL)
			continue;
		event_free(evs[i]);
		evs[i] = NULL;
		deleted |= 1U << i;
	}
}

/* All descriptors are ready; whichever runs first frees the others, which then must not run. */
static void descriptors(void)
{
	section("the first frees all others");
	for (int i = 0; i < EVENTS_NUM; i++) {
		pipe_new(pipes[i]);
		evs[i] = ev_new(base, pipes[i][0], EV_READ | EV_PERSIST, kill_all_cb, (void *)(intptr_t)i);
		event_add(evs[i], NULL);
		put(pipes[i][1]);
	}
	say("turn: %d", turn(base));
	say("ran %d, freed %d, none both %d", __builtin_popcount(ran), __builtin_popcount(deleted),
	    (ran & deleted) == 0);
	for (int i = 0; i < EVENTS_NUM; i++) {
		if (evs[i] != NULL)
			event_free(evs[i]);
		pair_close(pipes[i]);
	}
}

/* In an order that is known: each step names whom the callback deletes. */
static int victims[EVENTS_NUM];

static void victim_cb(evutil_socket_t fd, short what, void *arg)
{
	int self = (int)(intptr_t)arg, victim = victims[self];

	(void)fd;
	say("  %d: %s", self, what_str(what));
	if (victim >= 0)
		say("  %d deletes %d: %d", self, victim, event_del(evs[victim]));
}

static void actives(const char *name, const int plan[EVENTS_NUM], int events)
{
	section(name);
	memcpy(victims, plan, sizeof(victims));
	for (int i = 0; i < EVENTS_NUM; i++) {
		evs[i] = ev_new(base, -1, events, victim_cb, (void *)(intptr_t)i);
		event_priority_set(evs[i], i < 4 ? 1 : 2);
		event_active(evs[i], EV_READ, 1);
	}
	say("loop: %d", event_base_loop(base, EVLOOP_NONBLOCK));
	say("active %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
	for (int i = 0; i < EVENTS_NUM; i++)
		event_free(evs[i]);
}

/* Timers due at once: the first deletes the second, adds the third anew, frees itself. */
static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)arg;
	say("  timer: %s", what_str(what));
	event_del(evs[1]);
	event_add(evs[2], &zero_tv);
	event_free(evs[0]);
	evs[0] = NULL;
}

static void timers_start_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	for (int i = 0; i < 4; i++) {
		struct timeval tv = { 0, 10 + i };

		event_add(evs[i], &tv);
	}
}

static void timers(void)
{
	section("timers");
	evs[0] = ev_new(base, -1, 0, timer_cb, NULL);
	for (int i = 1; i < 4; i++) {
		static const char *const names[] = { "", "second", "third", "fourth" };

		evs[i] = ev_new(base, -1, 0, say_cb, names[i]);
	}
	event_base_once(base, -1, EV_TIMEOUT, timers_start_cb, NULL, NULL);
	turn(base);
	let_time_pass(20);	/* all four are due */
	say("turn: %d", turn(base));
	say("turn: %d", turn(base));
	for (int i = 1; i < 4; i++)
		event_free(evs[i]);
}

/* Freed inside its own callback, in each kind. */
static void own_cb(evutil_socket_t fd, short what, void *arg)
{
	drain(fd);
	say("  own: %s", what_str(what));
	event_free(arg);
}

static void own_assign_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event *ev = arg;

	(void)fd;
	say("  own: %s", what_str(what));
	event_del(ev);
	event_assign(ev, base, -1, 0, say_cb, (void *)(uintptr_t)"assigned in its callback");
	event_active(ev, EV_READ, 1);
}

static void own(void)
{
	struct event *ev, embedded;
	int fd[2];

	section("its own");
	pipe_new(fd);
	for (int persist = 0; persist < 2; persist++) {
		int flag = persist ? EV_PERSIST : 0;

		ev = ev_new(base, fd[0], EV_READ | flag, own_cb, event_self_cbarg());
		event_add(ev, &hour_tv);
		put(fd[1]);
		say("read: %d", turn(base));
		ev = ev_new(base, -1, flag, own_cb, event_self_cbarg());
		event_add(ev, &zero_tv);
		say("timer: %d", turn(base));
		ev = ev_new(base, -1, flag, own_cb, event_self_cbarg());
		event_active(ev, EV_WRITE, 1);
		say("active: %d", turn(base));
		ev = ev_new(base, SIGUSR1, EV_SIGNAL | flag, own_cb, event_self_cbarg());
		event_add(ev, NULL);
		raise(SIGUSR1);
		say("signal: %d", turn(base));
		event_assign(&embedded, base, -1, (short)flag, own_assign_cb, event_self_cbarg());
		event_add(&embedded, &zero_tv);
		say("assigned: %d", turn(base));
		say("assigned: %d", turn(base));
	}
	pair_close(fd);
}

int main(void)
{
	static const int next[] = { 1, 2, 3, 4, 5, -1 }, self[] = { 0, 1, 2, 3, 4, 5 };
	static const int last[] = { 5, 5, 5, 5, 5, 5 }, before[] = { -1, 0, 1, 2, 3, 4 };

	base = base_new();
	event_base_priority_init(base, 4);
	descriptors();
	actives("each deletes the next", next, 0);
	actives("each deletes itself", self, EV_PERSIST);
	actives("each deletes the last", last, 0);
	actives("each deletes the one before", before, 0);
	timers();
	own();
	event_base_free(base);
	return 0;
}
