/*
 * event_set_mem_functions: what libevent allocates comes from them and goes back to them,
 * and when they have nothing to give, the calls say so.
 */
#include "trace.h"

static long blocks;		/* taken and not given back */
static long calls;
static int fail_from = -1;	/* the first call that gets nothing; -1: none */

static int is_failing(void)
{
	calls++;
	return fail_from >= 0 && calls > fail_from;
}

static void *take(size_t size)
{
	void *p = is_failing() ? NULL : malloc(size);

	if (p != NULL)
		blocks++;
	return p;
}

static void *resize(void *old, size_t size)
{
	void *p = is_failing() ? NULL : realloc(old, size);

	if (p != NULL && old == NULL)
		blocks++;
	return p;
}

static void give(void *p)
{
	if (p != NULL)
		blocks--;
	free(p);
}

static void fail_all(void)
{
	calls = 0;
	fail_from = 0;
}

static void all_there(void)
{
	fail_from = -1;
}

/* What fails is said more or less often; here only what comes of it counts. */
static void log_nothing(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static void used_and_given_back(void)
{
	struct event_base *base;
	struct event *ev;
	int fd[2];

	section("used and given back");
	base = base_new();
	say("a base uses them: %d", blocks > 0);
	pipe_new(fd);
	ev = ev_new(base, fd[0], EV_READ | EV_PERSIST, read_cb, "read");
	event_add(ev, &hour_tv);
	event_base_once(base, -1, EV_TIMEOUT, say_cb, (void *)(uintptr_t)"once", NULL);
	event_base_once(base, fd[0], EV_READ, say_cb, (void *)(uintptr_t)"left behind", &hour_tv);
	event_base_init_common_timeout(base, &hour_tv);
	event_base_priority_init(base, 7);
	put(fd[1]);
	say("turn: %d", turn(base));
	event_free(ev);
	event_base_free(base);
	pair_close(fd);
	libevent_global_shutdown();
	say("left %ld", blocks);
}

/* The Nth call fails and all after it: making a base succeeds or leaves nothing. */
static void no_base(void)
{
	struct event_base *base = NULL;
	long before;
	int failed = 0;

	section("no memory for a base");
	for (int i = 0; base == NULL; i++) {
		before = blocks;
		calls = 0;
		fail_from = i;
		base = event_base_new();
		all_there();
		if (base != NULL)
			break;
		failed++;
		if (i == 0)
			say("the first: none, left %ld", blocks - before);
	}
	say("failed at least once: %d, then made", failed > 0);
	event_base_free(base);
	libevent_global_shutdown();
	say("left %ld", blocks);
}

static void no_event(void)
{
	struct event_base *base = base_new();
	struct event *ev;
	int fd[2];

	section("no memory for an event");
	pipe_new(fd);
	fail_all();
	say("new: %d", event_new(base, fd[0], EV_READ, say_cb, NULL) == NULL);
	say("once: %d", event_base_once(base, -1, EV_TIMEOUT, say_cb, NULL, NULL));
	say("config: %d", event_config_new() == NULL);
	all_there();
	ev = ev_new(base, fd[0], EV_READ, read_cb, "afterwards");
	event_add(ev, NULL);
	put(fd[1]);
	say("turn: %d", turn(base));
	event_free(ev);
	event_base_free(base);
	pair_close(fd);
}

int main(void)
{
	event_set_log_callback(log_nothing);
	event_set_mem_functions(take, resize, give);
	used_and_given_back();
	no_base();
	no_event();
	libevent_global_shutdown();
	say("left %ld", blocks);
	return 0;
}
