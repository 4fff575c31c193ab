/*
 * Priorities: their number, the order they give, what runs first when a more urgent
 * event becomes active meanwhile, and when they can no longer be changed.
 */
#include "trace.h"

static struct event_base *base;
static struct event *evs[8];

static void inits(void)
{
	static const int nums[] = { 1, 2, 0, -1, 255, 256, 3, 257, 8, 8 };

	section("priority_init");
	say("at first %d", event_base_get_npriorities(base));
	for (size_t i = 0; i < sizeof(nums) / sizeof(nums[0]); i++) {
		int r = event_base_priority_init(base, nums[i]);

		say("%d: %d, now %d", nums[i], r, event_base_get_npriorities(base));
	}
	event_active(evs[0], EV_READ, 1);
	say("while active: %d", event_base_priority_init(base, 5));
	event_del(evs[0]);
	event_add(evs[0], &hour_tv);
	say("while pending: %d", event_base_priority_init(base, 5));
	event_del(evs[0]);
	say("now %d", event_base_get_npriorities(base));
	say("back: %d", event_base_priority_init(base, 8));
}

static void sets(void)
{
	static const int pris[] = { 0, 7, 8, -1, 255, 256, 3 };
	struct event *ev;

	section("priority_set");
	for (int num = 1; num <= 8; num++) {
		event_base_priority_init(base, num);
		ev = ev_new(base, -1, 0, say_cb, "middle");
		say("of %d the middle is %d", num, event_get_priority(ev));
		event_free(ev);
	}
	ev = ev_new(base, -1, 0, say_cb, "set");
	for (size_t i = 0; i < sizeof(pris) / sizeof(pris[0]); i++) {
		int r = event_priority_set(ev, pris[i]);

		say("%d: %d, is %d", pris[i], r, event_get_priority(ev));
	}
	event_add(ev, &hour_tv);
	say("while pending: %d", event_priority_set(ev, 2));
	event_active(ev, EV_READ, 1);
	say("while active: %d", event_priority_set(ev, 1));
	say("is %d", event_get_priority(ev));
	event_free(ev);
}

static void order_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  %s, priority %d: %s", (const char *)arg,
	    event_get_priority(event_base_get_running_event(base)), what_str(what));
}

static void all_active(const char *name, event_callback_fn fn)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	static const int pris[] = { 5, 0, 7, 3, 3, 0, 6, 5 };

	section(name);
	for (int i = 0; i < 8; i++) {
		event_assign(evs[i], base, -1, 0, fn, (void *)(uintptr_t)names[i]);
		event_priority_set(evs[i], pris[i]);
		event_active(evs[i], EV_READ, 1);
	}
}

static void order(void)
{
	all_active("order", order_cb);
	say("active %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
	for (int i = 0; i < 2; i++) {
		int r = turn(base);

		say("turn: %d, active %d", r, event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
	}
	all_active("order, one loop", order_cb);
	say("nonblock: %d", event_base_loop(base, EVLOOP_NONBLOCK));
	all_active("order, EVLOOP_ONCE", order_cb);
	say("once: %d", event_base_loop(base, EVLOOP_ONCE));
	say("active %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE));
	say("dispatch: %d", event_base_dispatch(base));
}

/* Each less urgent one makes a more urgent one active, which goes first. */
static int urgent_left;

static void urgent_cb(evutil_socket_t fd, short what, void *arg)
{
	order_cb(fd, what, arg);
	if (urgent_left-- > 0)
		event_active(evs[1], EV_WRITE, 1);
}

static void urgent_meanwhile(void)
{
	urgent_left = 6;
	all_active("a more urgent one meanwhile", urgent_cb);
	say("dispatch: %d", event_base_dispatch(base));
}

/* An event that makes itself active again and again starves the less urgent ones. */
static int starve_left;

static void starve_cb(evutil_socket_t fd, short what, void *arg)
{
	order_cb(fd, what, arg);
	if (starve_left-- > 0)
		event_active(event_base_get_running_event(base), EV_WRITE, 1);
}

static void starvation(void)
{
	section("starvation");
	starve_left = 5;
	event_assign(evs[0], base, -1, 0, starve_cb, (void *)(uintptr_t)"urgent");
	event_assign(evs[1], base, -1, 0, order_cb, (void *)(uintptr_t)"same");
	event_assign(evs[2], base, -1, 0, order_cb, (void *)(uintptr_t)"less urgent");
	event_priority_set(evs[0], 1);
	event_priority_set(evs[1], 1);
	event_priority_set(evs[2], 2);
	event_active(evs[2], EV_READ, 1);
	event_active(evs[0], EV_READ, 1);
	event_active(evs[1], EV_READ, 1);
	say("dispatch: %d", event_base_dispatch(base));
}

/* The same with descriptors: the urgent one is always readable. */
static int reads_left = 4;

static void urgent_read_cb(evutil_socket_t fd, short what, void *arg)
{
	order_cb(fd, what, arg);
	if (--reads_left == 0)
		drain(fd);
}

static void descriptors(void)
{
	struct event *urgent, *less;
	int a[2], b[2];

	section("descriptors");
	pipe_new(a);
	pipe_new(b);
	urgent = ev_new(base, a[0], EV_READ | EV_PERSIST, urgent_read_cb, "urgent");
	less = ev_new(base, b[0], EV_READ, order_cb, "less urgent");
	event_priority_set(urgent, 0);
	event_priority_set(less, 7);
	event_add(less, NULL);
	event_add(urgent, NULL);
	put(b[1]);
	put(a[1]);
	for (int i = 0; i < 6; i++)
		say("turn: %d", turn(base));
	event_free(urgent);
	event_free(less);
	pair_close(a);
	pair_close(b);
}

int main(void)
{
	base = base_new();
	for (int i = 0; i < 8; i++)
		evs[i] = ev_new(base, -1, 0, say_cb, "ev");
	inits();
	sets();
	order();
	urgent_meanwhile();
	starvation();
	descriptors();
	for (int i = 0; i < 8; i++)
		event_free(evs[i]);
	event_base_free(base);
	return 0;
}
