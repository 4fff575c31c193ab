/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Events: made, activated, asked, finalized. */
#include "sweep.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <event2/event_struct.h>
#include <event2/thread.h>

enum { BATCH_MAX = 1000 };

static void new_free(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s)) {
		struct event *ev = event_new(base, -1, EV_PERSIST, sweep_nop, NULL);

		event_free(ev);
	}
	event_base_free(base);
}

static void assign(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event ev;

	while (sweep_next(s)) {
		event_assign(&ev, base, 3, EV_READ | EV_PERSIST, sweep_nop, NULL);
		event_debug_unassign(&ev);
	}
	event_base_free(base);
}

static void base_set(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, -1, 0, sweep_nop, NULL);

	while (sweep_next(s))
		event_base_set(base, ev);
	event_free(ev);
	event_base_free(base);
}

static void getters(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, 0, EV_READ, sweep_nop, s), *copy = malloc(event_get_struct_event_size());
	struct event_base *ret_base;
	event_callback_fn fn;
	evutil_socket_t fd;
	short events;
	void *arg;

	sweep_check(copy != NULL);
	while (sweep_next(s)) {
		event_get_assignment(ev, &ret_base, &fd, &events, &fn, &arg);
		s->calls += event_get_fd(ev) + (event_get_base(ev) == base);
		s->calls += event_get_events(ev) + event_get_priority(ev);
		s->calls += (event_get_callback(ev) == sweep_nop) + (event_get_callback_arg(ev) == s);
		s->calls += event_initialized(ev) + (int)event_get_struct_event_size();
	}
	free(copy);
	event_free(ev);
	event_base_free(base);
}

static void pending_not(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, -1, 0, sweep_nop, NULL);

	while (sweep_next(s))
		sweep_check(!event_pending(ev, EV_READ | EV_WRITE | EV_SIGNAL | EV_TIMEOUT, NULL));
	event_free(ev);
	event_base_free(base);
}

static void priority_set(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, -1, 0, sweep_nop, NULL);

	sweep_check(event_base_priority_init(base, 4) == 0);
	while (sweep_next(s))
		event_priority_set(ev, 2);
	event_free(ev);
	event_base_free(base);
}

/* Asked from a callback: what runs. */
static void on_running(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	while (sweep_next(s))
		s->calls += event_base_get_running_event(s->base) == s->ev;
}

static void running_event(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	s->ev = event_new(base, -1, 0, on_running, s);
	event_active(s->ev, EV_TIMEOUT, 0);
	sweep_poll(base);
	sweep_check(s->calls != 0);
	event_free(s->ev);
	event_base_free(base);
}

static void self_cbarg(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s)) {
		struct event *ev = event_new(base, -1, 0, sweep_nop, event_self_cbarg());

		event_free(ev);
	}
	event_base_free(base);
}

/* `num` events become active, and one turn of the loop runs them. */
static void active(struct sweep *s)
{
	static struct event *evs[BATCH_MAX];
	struct event_base *base = sweep_base(s);
	unsigned i;

	for (i = 0; i < s->num; i++) {
		evs[i] = event_new(base, -1, EV_PERSIST, sweep_nop, NULL);
		sweep_color(s, evs[i]);
	}
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			event_active(evs[i], EV_READ, 1);
		sweep_poll(base);
	}
	for (i = 0; i < s->num; i++)
		event_free(evs[i]);
	event_base_free(base);
}

static void active_pending(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_nop, NULL);
	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		event_active(ev, EV_READ, 0);
		sweep_poll(base);
	}
	event_free(ev);
	sweep_end(s);
}

/* Active twice, and deleted before it runs. */
static void active_del(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, -1, 0, sweep_nop, NULL);

	sweep_color(s, ev);
	while (sweep_next(s)) {
		event_active(ev, EV_READ, 0);
		event_active(ev, EV_WRITE, 0);
		event_del(ev);
	}
	event_free(ev);
	event_base_free(base);
}

/* A callback activates its own event: one operation is a callback. */
static void on_chain(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	(void)fd;
	(void)what;
	if (sweep_next(s))
		event_active(s->ev, EV_READ, 0);
}

static void active_chain(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	s->ev = event_new(base, -1, EV_PERSIST, on_chain, s);
	sweep_color(s, s->ev);
	event_active(s->ev, EV_READ, 0);
	event_base_dispatch(base);
	event_free(s->ev);
	event_base_free(base);
}

static void priorities(struct sweep *s)
{
	static struct event *evs[BATCH_MAX];
	struct event_base *base = sweep_base(s);
	unsigned i;

	sweep_check(event_base_priority_init(base, (int)s->num) == 0);
	for (i = 0; i < s->num; i++) {
		evs[i] = event_new(base, -1, 0, sweep_nop, NULL);
		event_priority_set(evs[i], (int)i);
		sweep_color(s, evs[i]);
	}
	while (sweep_next(s)) {
		for (i = 0; i < s->num; i++)
			event_active(evs[i], EV_READ, 0);
		event_base_loop(base, EVLOOP_NONBLOCK);
		while (event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) != 0)
			event_base_loop(base, EVLOOP_NONBLOCK);
	}
	for (i = 0; i < s->num; i++)
		event_free(evs[i]);
	event_base_free(base);
}

struct other {
	struct event *ev;
	sem_t go;
	bool is_over;
};

static void *other_main(void *arg)
{
	struct other *other = arg;

	for (;;) {
		while (sem_wait(&other->go) != 0)
			;
		if (other->is_over)
			return NULL;
		event_active(other->ev, EV_READ, 0);
	}
}

static void active_other_thread(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct other other = { .is_over = false };
	struct event *idle;
	pthread_t thread;

	sweep_pipe(s->fd);
	idle = event_new(base, s->fd[0], EV_READ, sweep_nop, NULL); /* keeps the loop waiting */
	event_add(idle, NULL);
	other.ev = event_new(base, -1, 0, sweep_nop, NULL);
	sem_init(&other.go, 0, 0);
	sweep_check(pthread_create(&thread, NULL, other_main, &other) == 0);
	while (sweep_next(s)) {
		sem_post(&other.go);
		event_base_loop(base, EVLOOP_ONCE);
	}
	other.is_over = true;
	sem_post(&other.go);
	pthread_join(thread, NULL);
	event_free(other.ev);
	event_free(idle);
	sweep_end(s);
}

static void once_timeout(struct sweep *s)
{
	static const struct timeval now;
	struct event_base *base = sweep_base(s);

	while (sweep_next(s)) {
		event_base_once(base, -1, EV_TIMEOUT, sweep_count, s, &now);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_base_free(base);
}

static void once_read(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	sweep_pipe(s->fd);
	sweep_check(write(s->fd[1], "x", 1) == 1);
	while (sweep_next(s)) {
		event_base_once(base, s->fd[0], EV_READ, sweep_count, s, NULL);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	sweep_end(s);
}

static void signal_add_del(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = evsignal_new(base, SIGUSR1, sweep_nop, NULL);

	while (sweep_next(s)) {
		event_add(ev, NULL);
		event_del(ev);
	}
	event_free(ev);
	event_base_free(base);
}

static void signal_raise(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = evsignal_new(base, SIGUSR1, sweep_count, s);

	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		raise(SIGUSR1);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_free(ev);
	event_base_free(base);
}

static void active_by_signal(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = evsignal_new(base, SIGUSR1, sweep_count, s);

	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		event_base_active_by_signal(base, SIGUSR1);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_free(ev);
	event_base_free(base);
}

static void active_by_fd(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev;

	sweep_pipe(s->fd);
	ev = event_new(base, s->fd[0], EV_READ | EV_PERSIST, sweep_count, s);
	sweep_color(s, ev);
	event_add(ev, NULL);
	while (sweep_next(s)) {
		event_base_active_by_fd(base, s->fd[0], EV_READ);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_free(ev);
	sweep_end(s);
}

static void on_final(struct event *ev, void *arg)
{
	struct sweep *s = arg;

	(void)ev;
	s->calls++;
}

static void free_finalize(struct sweep *s)
{
	struct event_base *base = sweep_base(s);

	while (sweep_next(s)) {
		struct event *ev = event_new(base, -1, EV_FINALIZE, sweep_nop, s);

		sweep_color(s, ev);
		event_free_finalize(0, ev, on_final);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_base_free(base);
}

static void finalize(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event ev;

	while (sweep_next(s)) {
		event_assign(&ev, base, -1, EV_FINALIZE, sweep_nop, s);
		event_finalize(0, &ev, on_final);
		sweep_poll(base);
	}
	sweep_check(s->calls > 0);
	event_base_free(base);
}

static int on_each(const struct event_base *base, const struct event *ev, void *arg)
{
	struct sweep *s = arg;

	(void)base;
	s->calls += event_get_priority(ev);
	return 0;
}

static void foreach(struct sweep *s)
{
	static struct event *evs[BATCH_MAX];
	static const struct timeval late = { 1000, 0 };
	struct event_base *base = sweep_base(s);
	unsigned i;

	for (i = 0; i < s->num; i++) {
		evs[i] = evtimer_new(base, sweep_nop, NULL);
		event_add(evs[i], &late);
	}
	while (sweep_next(s))
		event_base_foreach_event(base, on_each, s);
	for (i = 0; i < s->num; i++)
		event_free(evs[i]);
	event_base_free(base);
}

static void dump(struct sweep *s)
{
	static const struct timeval late = { 1000, 0 };
	struct event_base *base = sweep_base(s);
	struct event *evs[10];
	FILE *null = fopen("/dev/null", "w");
	unsigned i;

	sweep_check(null != NULL);
	for (i = 0; i < 10; i++) {
		evs[i] = evtimer_new(base, sweep_nop, NULL);
		event_add(evs[i], &late);
	}
	while (sweep_next(s))
		event_base_dump_events(base, null);
	for (i = 0; i < 10; i++)
		event_free(evs[i]);
	event_base_free(base);
	fclose(null);
}

static void debug_mode(struct sweep *s)
{
	static const struct timeval late = { 1000, 0 };
	struct event_base *base;

	event_enable_debug_mode();
	base = sweep_base(s);
	while (sweep_next(s)) {
		struct event *ev = evtimer_new(base, sweep_nop, NULL);

		event_add(ev, &late);
		event_del(ev);
		event_free(ev);
	}
	event_base_free(base);
}

static void lock_debugging(struct sweep *s)
{
	static const struct timeval late = { 1000, 0 };
	struct event_base *base;
	struct event *ev;

	evthread_enable_lock_debugging();
	base = sweep_base(s);
	ev = evtimer_new(base, sweep_nop, NULL);
	while (sweep_next(s)) {
		event_add(ev, &late);
		event_del(ev);
	}
	event_free(ev);
	event_base_free(base);
}

static void mem_functions(struct sweep *s)
{
	struct event_base *base;

	event_set_mem_functions(malloc, realloc, free);
	base = sweep_base(s);
	while (sweep_next(s)) {
		struct event *ev = evtimer_new(base, sweep_nop, NULL);

		event_free(ev);
	}
	event_base_free(base);
}

static void del_variants(struct sweep *s)
{
	struct event_base *base = sweep_base(s);
	struct event *ev = event_new(base, -1, 0, sweep_nop, NULL);

	while (sweep_next(s)) {
		event_del(ev);
		event_del_block(ev);
		event_del_noblock(ev);
	}
	event_free(ev);
	event_base_free(base);
}

static void nothing(struct sweep *s)
{
	while (sweep_next(s))
		;
}

const struct sweep_pattern sweep_event[] = {
	{ "nothing", nothing, .ops = 1000 },
	{ "event/new-free", new_free, .ops = 1000 },
	{ "event/assign", assign, .ops = 1000 },
	{ "event/base-set", base_set, .ops = 1000 },
	{ "event/getters", getters, .ops = 1000 },
	{ "event/pending-not", pending_not, .ops = 1000 },
	{ "event/priority-set", priority_set, .ops = 1000 },
	{ "event/running-event", running_event, .ops = 1000 },
	{ "event/self-cbarg", self_cbarg, .ops = 1000 },
	{ "event/del-idle", del_variants, .ops = 1000 },
	{ "event/free-finalize", free_finalize, .ops = 200, .flags = SWEEP_COLORS },
	{ "event/finalize", finalize, .ops = 200 },
	{ "event/foreach-100", foreach, .ops = 50, .num = 100 },
	{ "event/dump-10", dump, .ops = 20 },
	{ "event/debug-mode", debug_mode, .ops = 200 },
	{ "event/lock-debugging", lock_debugging, .ops = 200, .flags = SWEEP_LOCKS },
	{ "event/mem-functions", mem_functions, .ops = 500 },
	{ "active/1", active, .ops = 300, .flags = SWEEP_COLORS, .num = 1 },
	{ "active/10", active, .ops = 100, .flags = SWEEP_COLORS, .num = 10 },
	{ "active/100", active, .ops = 30, .flags = SWEEP_COLORS, .num = 100 },
	{ "active/1000", active, .ops = 10, .flags = SWEEP_COLORS, .num = 1000 },
	{ "active/pending", active_pending, .ops = 300, .flags = SWEEP_COLORS },
	{ "active/del", active_del, .ops = 500, .flags = SWEEP_COLORS },
	{ "active/chain", active_chain, .ops = 500, .flags = SWEEP_COLORS },
	{ "active/by-fd", active_by_fd, .ops = 300, .flags = SWEEP_COLORS },
	{ "active/by-signal", active_by_signal, .ops = 300, .flags = SWEEP_COLORS },
	{ "active/other-thread", active_other_thread, .ops = 300, .flags = SWEEP_LOCKS | SWEEP_UNEVEN },
	{ "active/priorities-2", priorities, .ops = 200, .flags = SWEEP_COLORS, .num = 2 },
	{ "active/priorities-8", priorities, .ops = 100, .flags = SWEEP_COLORS, .num = 8 },
	{ "once/timeout", once_timeout, .ops = 200 },
	{ "once/read", once_read, .ops = 200 },
	{ "signal/add-del", signal_add_del, .ops = 200 },
	{ "signal/raise", signal_raise, .ops = 200, .flags = SWEEP_COLORS },
	{ NULL, NULL, 0, 0, 0, NULL },
};
