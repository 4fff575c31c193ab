/*
 * What an event was made of and what the getters say of it; events that cannot be made.
 */
#include "trace.h"

static struct event_base *base;

static void getters(const char *name, const struct event *ev, const void *arg)
{
	struct event_base *got_base = NULL;
	evutil_socket_t fd = -77;
	short events = -77;
	event_callback_fn fn = NULL;
	void *got_arg = NULL;

	section(name);
	say("fd %d, events %s, priority %d, initialized %d", (int)event_get_fd(ev), what_str(event_get_events(ev)),
	    event_get_priority(ev), !!event_initialized(ev));
	say("base %d, callback %d, argument %d", event_get_base(ev) == base, event_get_callback(ev) == say_cb,
	    event_get_callback_arg(ev) == arg);
	event_get_assignment(ev, &got_base, &fd, &events, &fn, &got_arg);
	say("assignment: base %d, fd %d, events %s, callback %d, argument %d", got_base == base, (int)fd,
	    what_str(events), fn == say_cb, got_arg == arg);
	event_get_assignment(ev, NULL, NULL, NULL, NULL, NULL);
	fd = -77;
	event_get_assignment(ev, NULL, &fd, NULL, NULL, NULL);
	say("only fd: %d", (int)fd);
}

static void made(void)
{
	static const struct {
		int fd;
		short events;
	} kinds[] = {
		{ -1, 0 },	 { -1, EV_TIMEOUT },		     { -1, EV_PERSIST },
		{ 0, EV_READ },	 { 1, EV_WRITE | EV_PERSIST | EV_ET }, { SIGUSR1, EV_SIGNAL },
		{ -7, EV_READ }, { 3, EV_READ | EV_CLOSED | EV_FINALIZE }, { 4, 0x7f00 },
	};
	static char arg;
	char name[64];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct event *ev = ev_new(base, kinds[i].fd, kinds[i].events, say_cb, &arg);

		sprintf(name, "%d, %s", kinds[i].fd, what_str(kinds[i].events));
		getters(name, ev, &arg);
		event_free(ev);
	}
}

static void self(void)
{
	struct event *ev = ev_new(base, -1, 0, say_cb, event_self_cbarg());
	struct event embedded;

	getters("itself", ev, ev);
	event_free(ev);
	event_assign(&embedded, base, 5, EV_READ, say_cb, event_self_cbarg());
	getters("itself, assigned", &embedded, &embedded);
}

static void impossible(void)
{
	struct event ev;

	section("impossible");
	say("signal and read: %d", event_new(base, 1, EV_SIGNAL | EV_READ, say_cb, NULL) == NULL);
	say("signal and write: %d", event_new(base, 1, EV_SIGNAL | EV_WRITE, say_cb, NULL) == NULL);
	say("signal and closed: %d", event_new(base, 1, EV_SIGNAL | EV_CLOSED, say_cb, NULL) == NULL);
	say("assign: %d", event_assign(&ev, base, 1, EV_SIGNAL | EV_READ | EV_PERSIST, say_cb, NULL));
	say("no callback: %d", event_assign(&ev, base, -1, 0, NULL, NULL));
}

static void assigned_again(void)
{
	struct event ev;

	section("assigned again");
	memset(&ev, 0, sizeof(ev));
	say("zeroed: initialized %d", !!event_initialized(&ev));
	for (int i = 0; i < 3; i++) {
		short what = i == 1 ? EV_PERSIST : 0;

		say("assign: %d", event_assign(&ev, base, -1, what, say_cb, (void *)(uintptr_t)"ev"));
		event_add(&ev, &hour_tv);
		event_active(&ev, EV_READ, 1);
		say_step("turn", turn(base), &ev);
		event_del(&ev);
		event_debug_unassign(&ev);
	}
	/* Memory of any content will do. */
	memset(&ev, 0xff, sizeof(ev));
	say("assign: %d", event_assign(&ev, base, -1, 0, say_cb, (void *)(uintptr_t)"of garbage"));
	event_active(&ev, EV_READ, 1);
	say_step("turn", turn(base), &ev);
}

static void versions(void)
{
	section("versions");
	say("size %zu", event_get_struct_event_size());
	say("number is 2.1.12 or later of 2.1: %d",
	    event_get_version_number() >= 0x02010c00 && event_get_version_number() < 0x02020000);
	say("text is 2.1: %d", strncmp(event_get_version(), "2.1.", 4) == 0);
}

int main(void)
{
	base = base_new();
	event_set_log_callback(say_log);
	made();
	self();
	impossible();
	assigned_again();
	versions();
	event_base_free(base);
	return 0;
}
