/*
 * event_config_set_max_dispatch_interval: after how many callbacks, or how long, the loop
 * looks for new events, and from which priority on.
 */
#include "trace.h"

/*
 * The events of one run are active at once. The first writes to a pipe that an urgent event
 * reads: the place where that one's line appears shows when the loop looked.
 */
#define EVENTS_NUM 12

struct run {
	struct event_base *base;
	struct event *evs[EVENTS_NUM];
	int fd[2];
	int spin;		/* callbacks take longer than the interval */
};

static void urgent_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)arg;
	drain(fd);
	say("  urgent: %s", what_str(what));
}

static struct run *current;

static void work_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	(void)fd;
	(void)what;
	say("  work %d", i);
	if (i == 0)
		put(current->fd[1]);
	if (current->spin)
		let_time_pass(12);
}

static void run(const char *name, const struct timeval *interval, int callbacks, int min_priority,
		int priority, int spin)
{
	struct event_config *cfg = event_config_new();
	struct event *urgent;
	struct run r = { .spin = spin };

	section(name);
	must(cfg != NULL, "make a config");
	say("set: %d", event_config_set_max_dispatch_interval(cfg, interval, callbacks, min_priority));
	r.base = event_base_new_with_config(cfg);
	must(r.base != NULL, "make a base");
	event_config_free(cfg);
	event_base_priority_init(r.base, 4);
	pipe_new(r.fd);
	urgent = ev_new(r.base, r.fd[0], EV_READ | EV_PERSIST, urgent_cb, NULL);
	event_priority_set(urgent, 0);
	event_add(urgent, NULL);
	current = &r;
	for (int i = 0; i < EVENTS_NUM; i++) {
		r.evs[i] = ev_new(r.base, -1, 0, work_cb, (void *)(intptr_t)i);
		event_priority_set(r.evs[i], priority);
		event_active(r.evs[i], EV_READ, 1);
	}
	for (int i = 0; i < 5; i++) {
		int ret = turn(r.base);

		say("turn: %d, active %d", ret, event_base_get_num_events(r.base, EVENT_BASE_COUNT_ACTIVE));
	}
	for (int i = 0; i < EVENTS_NUM; i++)
		event_free(r.evs[i]);
	event_free(urgent);
	pair_close(r.fd);
	event_base_free(r.base);
}

int main(void)
{
	static const struct timeval ms5 = { 0, 5000 };

	run("no limit", NULL, -1, 0, 2, 0);
	run("three callbacks", NULL, 3, 0, 2, 0);
	run("one callback", NULL, 1, 0, 2, 0);
	run("no callbacks", NULL, 0, 0, 2, 0);
	run("three, from priority 1, at 2", NULL, 3, 1, 2, 0);
	run("three, from priority 2, at 2", NULL, 3, 2, 2, 0);
	run("three, from priority 3, at 2", NULL, 3, 3, 2, 0);
	run("three, at priority 0", NULL, 3, 1, 0, 0);
	run("three, negative priority", NULL, 3, -1, 2, 0);
	run("an hour", &hour_tv, -1, 0, 2, 0);
	run("a short interval, slow callbacks", &ms5, -1, 0, 2, 1);
	run("a short interval, from priority 3", &ms5, -1, 3, 2, 1);
	run("a zero interval", &zero_tv, -1, 0, 2, 1);
	run("an hour and five callbacks", &hour_tv, 5, 0, 2, 0);
	return 0;
}
