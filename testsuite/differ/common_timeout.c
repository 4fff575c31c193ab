/*
 * event_base_init_common_timeout: queues of timers with one duration. Their order, what
 * event_pending says, mixing with others, and how many durations there may be.
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
	values();
	too_many();
	left_behind();
	event_base_free(base);
	return 0;
}
