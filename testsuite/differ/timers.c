/*
 * Timeouts: what event_pending reports of them, their order, persistent ones, those that
 * a read starts anew, and those that are changed while they wait or run.
 */
#include "trace.h"

static void say_left(struct event_base *base, const char *step, const struct event *ev)
{
	struct timeval at = { -1, -1 }, now, left;

	if (!event_pending(ev, EV_TIMEOUT, &at)) {
		say("  %s: no timeout, output %s", step, at.tv_sec == -1 ? "untouched" : "written");
		return;
	}
	event_base_gettimeofday_cached(base, &now);
	evutil_timersub(&at, &now, &left);
	say("  %s: %ld.%06ld s left", step, (long)left.tv_sec, (long)left.tv_usec);
}

static void say_seconds_left(struct event_base *base, const struct event *ev)
{
	struct timeval at, now, rest;

	if (!event_pending(ev, EV_TIMEOUT, &at)) {
		say("  no timeout");
		return;
	}
	event_base_gettimeofday_cached(base, &now);
	evutil_timersub(&at, &now, &rest);
	/* A loaded machine may have spent a while between two turns. */
	say("  about %ld s left", (long)(rest.tv_sec + 20) / 100 * 100);
}

/* In a callback the time stands still: what is left is what was asked for, exactly. */
static void left_cb(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval tvs[] = {
		{ 0, 0 }, { 0, 1 }, { 0, 999999 }, { 1, 0 }, { 10, 500000 }, { 86400, 7 },
	};
	struct event_base *base = arg;
	struct event *ev = ev_new(base, -1, 0, say_cb, "left");
	struct event *persist = ev_new(base, -1, EV_PERSIST, say_cb, "left, persistent");

	(void)fd;
	(void)what;
	say_left(base, "not added", ev);
	for (size_t i = 0; i < sizeof(tvs) / sizeof(tvs[0]); i++) {
		event_add(ev, &tvs[i]);
		say_left(base, "added", ev);
		event_add(persist, &tvs[i]);
		say_left(base, "added persistent", persist);
	}
	event_add(ev, NULL);
	say_left(base, "added without", ev);
	event_active(ev, EV_TIMEOUT, 1);
	say_left(base, "active", ev);
	event_remove_timer(ev);
	say_left(base, "removed", ev);
	event_free(ev);
	event_free(persist);
}

static void left(struct event_base *base)
{
	section("time left");
	event_base_once(base, -1, EV_TIMEOUT, left_cb, base, NULL);
	say("loop: %d", event_base_dispatch(base));
}

/* Deadlines that differ, added out of order at one cached time, run in order of deadline. */
#define TIMERS_NUM 40

static struct event *timers[TIMERS_NUM];
static int fired_num;

static void order_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  timer %d: %s", (int)(intptr_t)arg, what_str(what));
	fired_num++;
	/* One not yet fired is deleted, another is put off behind all. */
	if (fired_num == 5)
		event_del(timers[(3 * 17) % TIMERS_NUM]);
	if (fired_num == 7) {
		struct timeval tv = { 0, 20000 };

		event_add(timers[25], &tv);
	}
}

static void order_start_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event_base *base = arg;

	(void)fd;
	(void)what;
	for (int i = 0; i < TIMERS_NUM; i++) {
		int ms = (i * 17) % TIMERS_NUM;
		struct timeval tv = { 0, 100 * (ms + 1) };

		timers[ms] = ev_new(base, -1, 0, order_cb, (void *)(intptr_t)ms);
		event_add(timers[ms], &tv);
	}
}

static void order(struct event_base *base)
{
	section("order");
	event_base_once(base, -1, EV_TIMEOUT, order_start_cb, base, NULL);
	say("loop: %d, fired %d", event_base_dispatch(base), fired_num);
	for (int i = 0; i < TIMERS_NUM; i++)
		event_free(timers[i]);
}

struct tick {
	struct event *ev;
	int left;
	int readd;		/* what the callback does: see tick_cb */
};

enum { TICK_NOTHING, TICK_READD_SAME, TICK_READD_NULL, TICK_REMOVE_TIMER, TICK_ADD_HOUR, TICK_DEL_ADD };

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
	struct tick *tick = arg;
	struct timeval tv = { 0, 1 };
	int r = 0;

	(void)fd;
	tick->left--;
	say("  tick: %s, pending %s", what_str(what), pending_str(tick->ev));
	if (tick->left == 0) {
		say_step("  del", event_del(tick->ev), tick->ev);
		return;
	}
	switch (tick->readd) {
	case TICK_READD_SAME:
		r = event_add(tick->ev, &tv);
		break;
	case TICK_READD_NULL:
		r = event_add(tick->ev, NULL);
		break;
	case TICK_REMOVE_TIMER:
		r = event_remove_timer(tick->ev);
		break;
	case TICK_ADD_HOUR:
		r = event_add(tick->ev, &hour_tv);
		break;
	case TICK_DEL_ADD:
		event_del(tick->ev);
		r = event_add(tick->ev, &tv);
		break;
	default:
		break;
	}
	say("  did %d: %d, pending %s", tick->readd, r, pending_str(tick->ev));
}

static void ticks(struct event_base *base, const char *name, int events, int readd)
{
	struct tick tick = { .left = 3, .readd = readd };
	struct timeval tv = { 0, 1 };
	int loops = 0;

	section(name);
	tick.ev = ev_new(base, -1, events, tick_cb, &tick);
	event_add(tick.ev, &tv);
	/* Until it waits for an hour, or for nothing. */
	while (tick.left == 3 || (event_pending(tick.ev, EV_TIMEOUT, NULL) && tick.left > 0)) {
		event_base_loop(base, EVLOOP_ONCE);
		if (readd == TICK_ADD_HOUR || ++loops == 10)
			break;
	}
	say("left %d, pending %s", tick.left, pending_str(tick.ev));
	say("turn: %d", turn(base));
	event_free(tick.ev);
}

/*
 * A persistent event with a timeout that becomes readable: the timeout starts anew. After a
 * timeout it goes on from the deadline that was, so the clock's moves show: whole seconds.
 */
static void reset_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event *ev = arg;

	drain(fd);
	say("  reset: %s, pending %s", what_str(what), pending_str(ev));
	say_seconds_left(event_get_base(ev), ev);
}

static void read_resets(struct event_base *base, const char *name, int events)
{
	struct timeval tv = { 100, 0 };
	struct event *ev;
	int fd[2];

	section(name);
	pipe_new(fd);
	ev = ev_new(base, fd[0], events, reset_cb, event_self_cbarg());
	event_add(ev, &tv);
	put(fd[1]);
	say("turn: %d", turn(base));
	event_add(ev, NULL);
	put(fd[1]);
	say("turn: %d", turn(base));
	event_active(ev, EV_READ, 1);
	say("turn after event_active: %d", turn(base));
	event_active(ev, EV_TIMEOUT, 1);
	say("turn after event_active with EV_TIMEOUT: %d", turn(base));
	/* The interval is forgotten with the timer. */
	say("remove_timer: %d", event_remove_timer(ev));
	event_add(ev, NULL);
	put(fd[1]);
	say("turn: %d", turn(base));
	event_free(ev);
	pair_close(fd);
}

/* Both at once: one callback that says both. */
static void both(struct event_base *base)
{
	struct event *ev;
	int fd[2];

	section("readable and timed out in one turn");
	pipe_new(fd);
	ev = ev_new(base, fd[0], EV_READ, read_cb, "both");
	event_add(ev, &zero_tv);
	put(fd[1]);
	say_step("turn", turn(base), ev);
	event_add(ev, &zero_tv);
	say_step("timed out only", turn(base), ev);
	say("turn: %d", turn(base));
	event_free(ev);
	ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, read_cb, "both, persistent");
	event_add(ev, &zero_tv);
	put(fd[1]);
	say_step("turn", turn(base), ev);
	say_step("turn", turn(base), ev);
	event_free(ev);
	pair_close(fd);
}

/* A zero timeout runs in the next turn, not in this one, also when added by a callback. */
static int again_left = 3;

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  again: %s", what_str(what));
	if (--again_left > 0)
		event_add(arg, &zero_tv);
}

static void again(struct event_base *base)
{
	struct event *ev = ev_new(base, -1, 0, again_cb, event_self_cbarg());

	section("zero timeout added by its callback");
	event_add(ev, &zero_tv);
	for (int i = 0; i < 4; i++)
		say_step("turn", turn(base), ev);
	event_free(ev);
}

static void odd_values(struct event_base *base)
{
	/* With a time_t of 32 bits, libevent's sum of now and 68 years is in the past. */
	const time_t years = sizeof(time_t) == 8 ? 0x7fffffff : 0x3fffffff;
	const struct timeval tvs[] = { { -1, 0 }, { -5, 999999 }, { 0, -1 }, { years, 0 } };
	struct event *ev = ev_new(base, -1, 0, say_cb, "odd");

	section("odd values");
	for (size_t i = 0; i < sizeof(tvs) / sizeof(tvs[0]); i++) {
		say_step("add", event_add(ev, &tvs[i]), ev);
		say_step("turn", turn(base), ev);
		event_del(ev);
	}
	event_free(ev);
}

int main(void)
{
	struct event_base *base = base_new();

	left(base);
	order(base);
	ticks(base, "once", 0, TICK_NOTHING);
	ticks(base, "once, added again", 0, TICK_READD_SAME);
	ticks(base, "once, added again without", 0, TICK_READD_NULL);
	ticks(base, "once, removed", 0, TICK_REMOVE_TIMER);
	ticks(base, "persistent", EV_PERSIST, TICK_NOTHING);
	ticks(base, "persistent, added again", EV_PERSIST, TICK_READD_SAME);
	ticks(base, "persistent, added again without", EV_PERSIST, TICK_READD_NULL);
	ticks(base, "persistent, removed", EV_PERSIST, TICK_REMOVE_TIMER);
	ticks(base, "persistent, made long", EV_PERSIST, TICK_ADD_HOUR);
	ticks(base, "persistent, deleted and added", EV_PERSIST, TICK_DEL_ADD);
	read_resets(base, "a read starts the timeout anew", EV_READ | EV_PERSIST);
	read_resets(base, "a read ends the timeout", EV_READ);
	both(base);
	again(base);
	odd_values(base);
	event_base_free(base);
	return 0;
}
