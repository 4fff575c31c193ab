/*
 * Signals: several events of one signal, several signals, how often a callback runs,
 * what happens to those deleted, added or raised while one runs, and the handler that
 * was there before.
 */
#include "trace.h"

/*
 * Raised between two turns; the library's handler has run when raise() returns, so the next turn
 * sees the signal. Of several signals pending at once the order is the library's own.
 */
static void turns(struct event_base *base, int num)
{
	for (int i = 0; i < num; i++)
		say("turn: %d", turn(base));
}

static void one(struct event_base *base, const char *name, int events)
{
	struct event *ev = ev_new(base, SIGUSR1, events, say_cb, name);

	section(name);
	say_step("add", event_add(ev, NULL), ev);
	turns(base, 1);
	raise(SIGUSR1);
	turns(base, 1);
	say("pending %s", pending_str(ev));
	event_add(ev, NULL);
	raise(SIGUSR1);
	raise(SIGUSR1);
	raise(SIGUSR1);
	turns(base, 2);
	event_free(ev);
}

/* Whoever handled the signal before handles it again when the last event is gone. */
static volatile sig_atomic_t old_handler_ran;

static void old_handler(int sig)
{
	(void)sig;
	old_handler_ran++;
}

static void handler_restored(struct event_base *base)
{
	struct event *a = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, say_cb, "a");
	struct event *b = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, say_cb, "b");

	section("the handler before");
	old_handler_ran = 0;
	raise(SIGUSR1);
	say("ran %d", (int)old_handler_ran);
	event_add(a, NULL);
	event_add(b, NULL);
	raise(SIGUSR1);
	say("ran %d", (int)old_handler_ran);
	turns(base, 1);
	event_del(a);
	raise(SIGUSR1);
	say("ran %d", (int)old_handler_ran);
	turns(base, 1);
	event_del(b);
	raise(SIGUSR1);
	say("ran %d", (int)old_handler_ran);
	turns(base, 1);
	signal(SIGUSR1, SIG_IGN);
	event_add(a, NULL);
	event_del(a);
	raise(SIGUSR1);
	say("ignored again");
	signal(SIGUSR1, old_handler);
	event_free(a);
	event_free(b);
}

static void two_signals(struct event_base *base)
{
	struct event *a = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, say_cb, "usr1");
	struct event *b = ev_new(base, SIGUSR2, EV_SIGNAL | EV_PERSIST, say_cb, "usr2");

	section("two signals");
	event_add(a, NULL);
	event_add(b, NULL);
	raise(SIGUSR2);
	turns(base, 2);
	raise(SIGUSR1);
	turns(base, 2);
	event_del(a);
	raise(SIGUSR2);
	turns(base, 1);
	event_free(a);
	event_free(b);
}

struct act {
	const char *name;
	struct event *ev;
	void (*fn)(struct act *act, struct act *other);
	struct act *other;
	int left;
};

static void act_cb(evutil_socket_t fd, short what, void *arg)
{
	struct act *act = arg;

	(void)fd;
	say("  %s: %s", act->name, what_str(what));
	if (act->left-- > 0)
		act->fn(act, act->other);
	say("  pending %s", pending_str(act->ev));
}

static void del_self(struct act *act, struct act *other)
{
	(void)other;
	say("  del self: %d", event_del(act->ev));
}

static void del_other(struct act *act, struct act *other)
{
	(void)act;
	say("  del other: %d", event_del(other->ev));
}

static void raise_again(struct act *act, struct act *other)
{
	(void)act;
	(void)other;
	raise(SIGUSR1);
	say("  raised");
}

static void del_and_add(struct act *act, struct act *other)
{
	int r = event_del(act->ev);

	(void)other;
	say("  del %d, add %d", r, event_add(act->ev, NULL));
}

static void stop(struct act *act, struct act *other)
{
	(void)other;
	say("  break: %d", event_base_loopbreak(event_get_base(act->ev)));
}

static void in_callback(struct event_base *base, const char *name, int events, int raises,
			void (*fn)(struct act *, struct act *))
{
	struct act first = { .name = "first", .fn = fn, .left = 2 };
	struct act second = { .name = "second", .fn = fn, .left = 2, .other = &first };

	section(name);
	first.other = &second;
	first.ev = ev_new(base, SIGUSR1, events, act_cb, &first);
	second.ev = ev_new(base, SIGUSR1, events, act_cb, &second);
	event_add(first.ev, NULL);
	event_add(second.ev, NULL);
	for (int i = 0; i < raises; i++)
		raise(SIGUSR1);
	turns(base, 3);
	say("not for the library: %d", (int)old_handler_ran);
	old_handler_ran = 0;
	event_free(first.ev);
	event_free(second.ev);
}

/* event_active on a signal event: ncalls times, and a callback that deletes its event ends it. */
static void activated(struct event_base *base)
{
	struct act act = { .name = "active", .fn = del_self, .left = 0 };

	section("event_active");
	act.ev = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, act_cb, &act);
	act.other = &act;
	event_active(act.ev, EV_SIGNAL, 3);
	turns(base, 1);
	event_add(act.ev, NULL);
	event_active(act.ev, EV_SIGNAL, 2);
	turns(base, 1);
	event_active(act.ev, EV_SIGNAL, 0);
	turns(base, 1);
	act.left = 1;
	event_active(act.ev, EV_SIGNAL, 5);
	turns(base, 1);
	event_add(act.ev, NULL);
	act.fn = stop;
	act.left = 2;
	event_active(act.ev, EV_SIGNAL, 5);
	turns(base, 2);
	event_add(act.ev, NULL);
	event_base_active_by_signal(base, SIGUSR1);
	turns(base, 1);
	event_base_active_by_signal(base, SIGUSR2);
	event_base_active_by_signal(base, SIGTERM);
	turns(base, 1);
	event_free(act.ev);
}

static void with_timeout(struct event_base *base)
{
	struct event *ev = ev_new(base, SIGUSR1, EV_SIGNAL, say_cb, "once");

	section("a signal or a timeout");
	event_add(ev, &zero_tv);
	say_step("turn", turn(base), ev);
	event_add(ev, &hour_tv);
	raise(SIGUSR1);
	say_step("turn", turn(base), ev);
	event_free(ev);
	ev = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, say_cb, "persistent");
	event_add(ev, &hour_tv);
	raise(SIGUSR1);
	say_step("turn", turn(base), ev);
	event_free(ev);
}

static void errors(struct event_base *base)
{
	struct event ev;

	section("errors");
	say("signal and read: %d", event_assign(&ev, base, SIGUSR1, EV_SIGNAL | EV_READ, say_cb, "x"));
	say("signal and write: %d", event_assign(&ev, base, SIGUSR1, EV_SIGNAL | EV_WRITE, say_cb, "x"));
	say("signal and closed: %d", event_assign(&ev, base, SIGUSR1, EV_SIGNAL | EV_CLOSED, say_cb, "x"));
	say("SIGKILL: %d", event_assign(&ev, base, SIGKILL, EV_SIGNAL, say_cb, "x"));
	say_step("add", event_add(&ev, NULL), &ev);
	say("negative: %d", event_assign(&ev, base, -3, EV_SIGNAL, say_cb, "x"));
	say_step("add", event_add(&ev, NULL), &ev);
	say("too large: %d", event_assign(&ev, base, 5000, EV_SIGNAL, say_cb, "x"));
	say_step("add", event_add(&ev, NULL), &ev);
}

/* A blocking loop is woken; the signal comes from the loop itself, so there is nothing to wait for. */
static void self_raise_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	say("  raise in a timer");
	raise(SIGUSR1);
}

static void blocking(struct event_base *base)
{
	struct event *ev = ev_new(base, SIGUSR1, EV_SIGNAL, say_cb, "blocking");

	section("a blocking loop");
	event_add(ev, NULL);
	event_base_once(base, -1, EV_TIMEOUT, self_raise_cb, NULL, NULL);
	say("dispatch: %d", event_base_dispatch(base));
	event_free(ev);
}

/* Signals come while their event is active already. How many calls that makes depends on its priority. */
struct both {
	struct event_base *base;
	struct event *ev;
	int calls;
	bool raises_first;
};

static void count_call(evutil_socket_t fd, short what, void *arg)
{
	struct both *both = arg;

	(void)fd;
	(void)what;
	both->calls++;
}

static void both_in_callback(evutil_socket_t fd, short what, void *arg)
{
	struct both *both = arg;

	(void)fd;
	(void)what;
	if (both->raises_first)
		raise(SIGUSR1);
	event_active(both->ev, EV_SIGNAL, 2);
	if (!both->raises_first)
		raise(SIGUSR1);
}

static void say_calls(struct both *both, const char *what)
{
	int i;

	for (i = 0; i < 4; i++)
		event_base_loop(both->base, EVLOOP_NONBLOCK);
	say("  %s: %d", what, both->calls);
	both->calls = 0;
}

static void both_from_callbacks(struct both *both, int priorities)
{
	struct event *ev;
	int pri;

	for (pri = 0; pri < 2 * priorities; pri++) {
		both->raises_first = pri % 2 == 0;
		ev = event_new(both->base, -1, 0, both_in_callback, both);
		event_priority_set(ev, pri / 2);
		event_active(ev, EV_TIMEOUT, 1);
		say_calls(both, both->raises_first ? "raise, active 2 in a callback" : "active 2, raise in a callback");
		event_free(ev);
	}
}

static void raised_while_active(int priorities, int pri)
{
	struct both both = { .base = base_new() };

	section("raised while active");
	say("priority %d of %d", pri, priorities);
	event_base_priority_init(both.base, priorities);
	both.ev = event_new(both.base, SIGUSR1, EV_SIGNAL | EV_PERSIST, count_call, &both);
	event_priority_set(both.ev, pri);
	event_add(both.ev, NULL);
	raise(SIGUSR1);
	event_base_active_by_signal(both.base, SIGUSR1);
	say_calls(&both, "raise, active_by_signal");
	event_active(both.ev, EV_SIGNAL, 3);
	raise(SIGUSR1);
	say_calls(&both, "active 3, raise");
	raise(SIGUSR1);
	raise(SIGUSR1);
	event_active(both.ev, EV_SIGNAL, 3);
	say_calls(&both, "raise, raise, active 3");
	both_from_callbacks(&both, priorities);
	event_free(both.ev);
	event_base_free(both.base);
}

/* A warning if the other base has signals now; its text has addresses. */
static int warnings;

static void count_warnings(int severity, const char *msg)
{
	(void)msg;
	warnings += severity == EVENT_LOG_WARN;
}

static void signal_in(struct event_base *base, struct event **ev, int sig, const char *name)
{
	int r;

	*ev = evsignal_new(base, sig, say_cb, (void *)(uintptr_t)name);
	warnings = 0;
	r = event_add(*ev, NULL);
	say("%s: add %d, warnings %d", name, r, warnings);
}

static void several_bases(void)
{
	struct event_base *a = base_new(), *b = base_new();
	struct event *ev[6];
	int i;

	section("several bases");
	event_set_log_callback(count_warnings);
	signal_in(a, &ev[0], SIGUSR1, "the first");
	event_del(ev[0]);
	signal_in(b, &ev[1], SIGUSR1, "while the other base has none");
	signal_in(a, &ev[2], SIGUSR2, "while it has one");
	signal_in(a, &ev[3], SIGUSR1, "one more");
	event_del(ev[2]);
	signal_in(b, &ev[4], SIGUSR2, "while it has one of two");
	event_del(ev[1]);
	event_del(ev[4]);
	signal_in(a, &ev[5], SIGUSR2, "while it has none any more");
	event_set_log_callback(say_log);
	for (i = 0; i < 6; i++)
		event_free(ev[i]);
	event_base_free(a);
	event_base_free(b);
}

int main(void)
{
	struct event_base *base = base_new();

	event_set_log_callback(say_log);
	/* So that a signal raised while no event wants it does not end the program. */
	signal(SIGUSR1, old_handler);
	one(base, "once", EV_SIGNAL);
	one(base, "persistent", EV_SIGNAL | EV_PERSIST);
	handler_restored(base);
	two_signals(base);
	in_callback(base, "delete self", EV_SIGNAL | EV_PERSIST, 1, del_self);
	in_callback(base, "delete self, raised three times", EV_SIGNAL | EV_PERSIST, 3, del_self);
	in_callback(base, "delete the other", EV_SIGNAL | EV_PERSIST, 1, del_other);
	in_callback(base, "delete the other, raised three times", EV_SIGNAL | EV_PERSIST, 3, del_other);
	in_callback(base, "raise inside", EV_SIGNAL | EV_PERSIST, 1, raise_again);
	in_callback(base, "raise inside, once", EV_SIGNAL, 1, raise_again);
	in_callback(base, "delete and add", EV_SIGNAL | EV_PERSIST, 2, del_and_add);
	in_callback(base, "break", EV_SIGNAL | EV_PERSIST, 3, stop);
	activated(base);
	with_timeout(base);
	blocking(base);
	errors(base);
	event_base_free(base);
	several_bases();
	raised_while_active(1, 0);
	raised_while_active(3, 0);
	raised_while_active(3, 1);
	raised_while_active(3, 2);
	return 0;
}
