/*
 * loopbreak, loopexit and loopcontinue: called before, in and after the loop, alone and
 * together, at the first, a middle and the last callback, and what got_break and
 * got_exit say when.
 */
#include "trace.h"

#define EVENTS_NUM 4

static struct event_base *base;
static struct event *evs[EVENTS_NUM];
static struct event *late;
static int act_at;
static int (*act_fn)(void);

static int do_break(void)
{
	return event_base_loopbreak(base);
}

static int do_exit(void)
{
	return event_base_loopexit(base, NULL);
}

static int do_exit_zero(void)
{
	return event_base_loopexit(base, &zero_tv);
}

static int do_exit_hour(void)
{
	return event_base_loopexit(base, &hour_tv);
}

static int do_continue(void)
{
	return event_base_loopcontinue(base);
}

static int do_break_exit(void)
{
	return do_break() + do_exit();
}

static int do_exit_break(void)
{
	return do_exit() + do_break();
}

static int do_continue_break(void)
{
	return do_continue() + do_break();
}

static int do_exit_continue(void)
{
	return do_exit() + do_continue();
}

static int do_active_continue(void)
{
	event_active(late, EV_WRITE, 1);
	return do_continue();
}

static int do_active_exit(void)
{
	event_active(late, EV_WRITE, 1);
	return do_exit();
}

static int do_active_break(void)
{
	event_active(late, EV_WRITE, 1);
	return do_break();
}

static int do_nothing(void)
{
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(void);
} acts[] = {
	{ "break", do_break },
	{ "exit", do_exit },
	{ "exit, zero", do_exit_zero },
	{ "exit, an hour", do_exit_hour },
	{ "continue", do_continue },
	{ "break and exit", do_break_exit },
	{ "exit and break", do_exit_break },
	{ "continue and break", do_continue_break },
	{ "exit and continue", do_exit_continue },
	{ "active and continue", do_active_continue },
	{ "active and exit", do_active_exit },
	{ "active and break", do_active_break },
};

#define ACTS_NUM (sizeof(acts) / sizeof(acts[0]))

static void got(const char *when)
{
	say("%s: break %d, exit %d", when, !!event_base_got_break(base), !!event_base_got_exit(base));
}

static void ev_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	(void)fd;
	say("  event %d: %s", i, what_str(what));
	if (i == act_at) {
		act_at = -1;
		say("  act: %d", act_fn());
		got("  in the callback");
	}
}

static void start(int (*fn)(void), int at)
{
	act_fn = fn;
	act_at = at;
	for (int i = 0; i < EVENTS_NUM; i++)
		event_active(evs[i], EV_READ, 1);
}

static void clear(void)
{
	/* A long loopexit is a pending event of the library's own: only a new base is rid of it. */
	for (int i = 0; i < EVENTS_NUM; i++)
		event_free(evs[i]);
	event_free(late);
	event_base_free(base);
}

static void fresh(void)
{
	base = base_new();
	event_base_priority_init(base, 2);
	for (int i = 0; i < EVENTS_NUM; i++) {
		evs[i] = ev_new(base, -1, 0, ev_cb, (void *)(intptr_t)i);
		/* Two urgent ones, then two of less urgency. */
		event_priority_set(evs[i], i / 2);
	}
	late = ev_new(base, -1, 0, say_cb, "late");
	event_priority_set(late, 0);
}

static void loops(int flags, const char *name)
{
	for (int i = 0; i < 3; i++) {
		int r = event_base_loop(base, flags | EVLOOP_NONBLOCK);

		say("%s: %d", name, r);
		got("after");
	}
}

static void in_the_loop(size_t act)
{
	for (int at = 0; at < EVENTS_NUM; at++) {
		section(acts[act].name);
		fresh();
		start(acts[act].fn, at);
		loops(0, "loop");
		clear();

		section(acts[act].name);
		fresh();
		start(acts[act].fn, at);
		loops(EVLOOP_ONCE, "once");
		clear();
	}
}

static void before_the_loop(size_t act)
{
	section(acts[act].name);
	fresh();
	start(do_nothing, -1);
	say("before: %d", acts[act].fn());
	got("before");
	loops(0, "loop");
	clear();

	section(acts[act].name);
	fresh();
	say("before, nothing to do: %d", acts[act].fn());
	loops(EVLOOP_NO_EXIT_ON_EMPTY, "loop");
	clear();
}

/* While a descriptor stays ready and a timer waits, each way out leaves the rest as it is. */
static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
	static int runs;

	(void)fd;
	(void)arg;
	say("  ready: %s", what_str(what));
	if (++runs % 3 == 0)
		say("  act: %d", act_fn());
}

static void leaves_the_rest(int (*fn)(void), const char *name)
{
	struct event *ready, *timer;
	int fd[2];

	section(name);
	fresh();
	act_fn = fn;
	pipe_new(fd);
	ready = ev_new(base, fd[1], EV_WRITE | EV_PERSIST, ready_cb, NULL);
	timer = ev_new(base, -1, 0, say_cb, "timer");
	event_add(ready, NULL);
	event_add(timer, &hour_tv);
	for (int i = 0; i < 2; i++) {
		say("dispatch: %d", event_base_dispatch(base));
		got("after");
		say("pending %s, %s", pending_str(ready), pending_str(timer));
	}
	event_free(ready);
	event_free(timer);
	pair_close(fd);
	clear();
}

int main(void)
{
	for (size_t i = 0; i < ACTS_NUM; i++)
		in_the_loop(i);
	for (size_t i = 0; i < ACTS_NUM; i++)
		before_the_loop(i);
	leaves_the_rest(do_break, "break leaves the rest");
	leaves_the_rest(do_exit, "exit leaves the rest");
	leaves_the_rest(do_exit_zero, "exit with a time leaves the rest");

	section("no base");
	event_set_log_callback(say_log);
	say("break: %d", event_base_loopbreak(NULL));
	say("continue: %d", event_base_loopcontinue(NULL));
	return 0;
}
