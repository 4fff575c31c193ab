/*
 * event_base_init_common_timeout: queues of timers with one duration. Their order, what
 * event_pending says, mixing with others, and how many durations there may be. Timeouts of
 * descriptors that input moves away, common or not.
 */
#include "trace.h"

#define EVENTS_NUM 10

static struct event_base *base;
static struct event *evs[EVENTS_NUM];

static void left(const char *name, const struct event *ev)
{
	struct timeval at, now, rest;

	if (!event_pending(ev, EV_TIMEOUT, &at)) {
		say("  %s: none", name);
		return;
	}
	event_base_gettimeofday_cached(base, &now);
	evutil_timersub(&at, &now, &rest);
	say("  %s: %ld.%06ld s", name, (long)rest.tv_sec, (long)rest.tv_usec);
}

/* Of one duration: run in the order they were added; those deleted or added again move. */
static const struct timeval *common;

static void add_all_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	for (int i = 0; i < EVENTS_NUM; i++)
		event_add(evs[(i * 3) % EVENTS_NUM], common);
	event_del(evs[3]);
	event_del(evs[6]);
	event_add(evs[6], common);
	event_add(evs[0], common);
}

static void numbered_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  timer %d: %s", (int)(intptr_t)arg, what_str(what));
}

static void order(long usec)
{
	struct timeval tv = { 0, usec };

	section("order");
	common = event_base_init_common_timeout(base, &tv);
	say("common: %d, again the same: %d", common != NULL, event_base_init_common_timeout(base, &tv) == common);
	say("of a common one: %d", event_base_init_common_timeout(base, common) == common);
	for (int i = 0; i < EVENTS_NUM; i++)
		evs[i] = ev_new(base, -1, 0, numbered_cb, (void *)(intptr_t)i);
	event_base_once(base, -1, EV_TIMEOUT, add_all_cb, NULL, NULL);
	say("dispatch: %d", event_base_dispatch(base));
	for (int i = 0; i < EVENTS_NUM; i++)
		event_free(evs[i]);
}

/* Those of a common duration among others, at one cached time. */
static void mixed_cb(evutil_socket_t fd, short what, void *arg)
{
	struct timeval before = { 0, 2000 };

	(void)fd;
	(void)what;
	(void)arg;
	event_add(evs[1], common);
	event_add(evs[2], &before);
	event_add(evs[3], common);
	left("common", evs[1]);
	event_add(evs[3], &hour_tv);
	left("made an hour", evs[3]);
	event_add(evs[3], common);
	left("made common again", evs[3]);
	event_remove_timer(evs[3]);
	left("removed", evs[3]);
	event_add(evs[3], common);
	event_add(evs[3], NULL);
	left("added without", evs[3]);
}

static void mixed(void)
{
	struct timeval tv = { 0, 3000 };

	section("mixed");
	common = event_base_init_common_timeout(base, &tv);
	for (int i = 1; i < 4; i++)
		evs[i] = ev_new(base, -1, 0, numbered_cb, (void *)(intptr_t)i);
	event_base_once(base, -1, EV_TIMEOUT, mixed_cb, NULL, NULL);
	say("dispatch: %d", event_base_dispatch(base));
	for (int i = 1; i < 4; i++)
		event_free(evs[i]);
}

static int persist_left = 3;

static void persist_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  persistent: %s", what_str(what));
	say("  pending %s", pending_str(arg));
	if (--persist_left == 0)
		event_del(arg);
}

static void persistent(void)
{
	struct timeval tv = { 0, 1500 };
	struct event *ev = ev_new(base, -1, EV_PERSIST, persist_cb, event_self_cbarg());

	section("persistent");
	common = event_base_init_common_timeout(base, &tv);
	event_add(ev, common);
	say("dispatch: %d", event_base_dispatch(base));
	event_free(ev);
}

/* Input before the timeout moves it away: it comes after the last input, and in its place among timers. */
struct moves {
	struct event *ev;
	const struct timeval *shorter;	/* the interval after the first input; or NULL */
	int fd[2];
};

static void moves_cb(evutil_socket_t fd, short what, void *arg)
{
	struct moves *moves = arg;

	say("  moves: %s", what_str(what));
	if ((what & EV_TIMEOUT) != 0) {
		event_del(moves->ev);
		return;
	}
	drain(fd);
	if (moves->shorter != NULL)
		event_add(moves->ev, moves->shorter);
	moves->shorter = NULL;
}

static void moves_put_cb(evutil_socket_t fd, short what, void *arg)
{
	struct moves *moves = arg;

	(void)fd;
	(void)what;
	say("  input");
	put(moves->fd[1]);
}

static void moves_away(const char *name, const struct timeval *tv, const struct timeval *shorter)
{
	static const struct timeval input_at[] = { { 60, 0 }, { 120, 0 } };
	static const struct timeval marks[] = { { 130, 0 }, { 170, 0 }, { 210, 0 }, { 230, 0 } };
	struct moves moves = { .shorter = shorter };

	section(name);
	pipe_new(moves.fd);
	moves.ev = ev_new(base, moves.fd[0], EV_READ | EV_PERSIST, moves_cb, &moves);
	event_add(moves.ev, tv);
	for (size_t i = 0; i < sizeof(input_at) / sizeof(input_at[0]); i++)
		event_base_once(base, -1, EV_TIMEOUT, moves_put_cb, &moves, &input_at[i]);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		event_base_once(base, -1, EV_TIMEOUT, say_cb, (void *)(uintptr_t)"mark", &marks[i]);
	say("loop: %d", event_base_dispatch(base));
	event_free(moves.ev);
	pair_close(moves.fd);
}

static void all_moves_away(void)
{
	static const struct timeval tv = { 100, 0 }, shorter = { 70, 0 };

	moves_away("input moves the timeout away", &tv, NULL);
	moves_away("and makes it shorter", &tv, &shorter);
	moves_away("the same with a common timeout", event_base_init_common_timeout(base, &tv), NULL);
	moves_away("a common timeout that becomes a shorter one of its own", event_base_init_common_timeout(base, &tv),
		   &shorter);
	moves_away("a timeout that becomes a shorter common one", &tv, event_base_init_common_timeout(base, &shorter));
}

/* Values that differ by a microsecond or by whole seconds are not the same. */
static void values(void)
{
	static const struct timeval tvs[] = {
		{ 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 }, { 0, 999999 }, { 100000, 0 },
	};
	const struct timeval *got[sizeof(tvs) / sizeof(tvs[0])];

	section("values");
	for (size_t i = 0; i < sizeof(tvs) / sizeof(tvs[0]); i++) {
		got[i] = event_base_init_common_timeout(base, &tvs[i]);
		say("%ld.%06ld: %d, seconds %ld", (long)tvs[i].tv_sec, (long)tvs[i].tv_usec, got[i] != NULL,
		    got[i] != NULL ? (long)got[i]->tv_sec : -1);
		for (size_t j = 0; j < i; j++)
			if (got[i] != NULL && got[i] == got[j])
				say("  the same as %zu", j);
	}
}

static void too_many(void)
{
	struct event_base *many = base_new();
	int num = 0;

	section("too many");
	event_set_log_callback(say_log);
	for (int i = 0; i < 300; i++) {
		struct timeval tv = { 1000 + i, 0 };

		if (event_base_init_common_timeout(many, &tv) == NULL)
			break;
		num++;
	}
	say("got %d", num);
	event_base_free(many);
}

/* Pending when the base is freed. */
static void left_behind(void)
{
	struct event_base *other = base_new();
	const struct timeval *tv = event_base_init_common_timeout(other, &hour_tv);
	struct event *ev = ev_new(other, -1, 0, say_cb, "left behind");

	section("left behind");
	say("add: %d", event_add(ev, tv));
	say("turn: %d", turn(other));
	say("added %d", event_base_get_num_events(other, EVENT_BASE_COUNT_ADDED));
	say("del: %d", event_del(ev));
	say("turn: %d", turn(other));
	event_add(ev, tv);
	event_free(ev);
	event_base_free(other);
}

int main(void)
{
	base = base_new();
	order(2000);
	order(7000);
	mixed();
	persistent();
	all_moves_away();
	values();
	too_many();
	left_behind();
	event_base_free(base);
	return 0;
}
