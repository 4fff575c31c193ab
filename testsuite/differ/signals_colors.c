/*
 * How often signals are told of: those that come while a callback runs, by another thread, so that each is a
 * delivery of its own. On libevent all events have one color; ours give the same counts with others.
 */
#include <pthread.h>

#include <event2/thread.h>

#include "trace.h"

int event_set_color(struct event *ev, uint32_t color) __attribute__((weak));

enum { EARS = 3 };

struct ear {
	struct event *ev;
	void (*act)(struct ear *ear);
	unsigned raises;		/* in its first call */
	unsigned heard;
	bool is_freed;
};

static struct event_base *base;
static struct ear ears[EARS];

static void *raise_some(void *arg)
{
	const struct ear *ear = arg;
	sigset_t mask;

	/* A worker of ours blocks signals, and so would a thread that it starts. */
	sigemptyset(&mask);
	must(pthread_sigmask(SIG_SETMASK, &mask, NULL) == 0, "unblock signals");
	for (unsigned i = 0; i < ear->raises; i++)
		raise(SIGUSR1);
	return NULL;
}

static void raise_elsewhere(struct ear *ear)
{
	pthread_t thread;

	must(pthread_create(&thread, NULL, raise_some, ear) == 0, "start a thread");
	must(pthread_join(thread, NULL) == 0, "join a thread");
}

static void ear_cb(evutil_socket_t fd, short what, void *arg)
{
	struct ear *ear = arg;

	must(fd == SIGUSR1 && what == EV_SIGNAL && !ear->is_freed, "be called for a signal");
	if (ear->heard++ == 0 && ear->raises != 0)
		raise_elsewhere(ear);
	if (ear->act != NULL)
		ear->act(ear);
}

static void add_again(struct ear *ear)
{
	event_add(ear->ev, NULL);
}

static void del(struct ear *ear)
{
	event_del(ear->ev);
}

static void del_in_second(struct ear *ear)
{
	if (ear->heard == 2)
		event_del(ear->ev);
}

static void del_and_add(struct ear *ear)
{
	if (ear->heard == 1) {
		event_del(ear->ev);
		event_add(ear->ev, NULL);
	}
}

static void free_own(struct ear *ear)
{
	event_free(ear->ev);
	ear->is_freed = true;
}

static void stop(struct ear *ear)
{
	if (ear->heard == 1)
		event_base_loopbreak(base);
}

struct plan {
	const char *name;
	int events;
	unsigned before, inside;
	void (*act)(struct ear *ear);
	unsigned num;
};

static const struct plan plans[] = {
	{ "one", EV_SIGNAL | EV_PERSIST, 1, 0, NULL, 1 },
	{ "three", EV_SIGNAL | EV_PERSIST, 3, 0, NULL, 1 },
	{ "three in a callback", EV_SIGNAL | EV_PERSIST, 1, 3, NULL, 1 },
	{ "three, and three in the first callback", EV_SIGNAL | EV_PERSIST, 3, 3, NULL, 1 },
	{ "a storm in a callback", EV_SIGNAL | EV_PERSIST, 2, 200, NULL, 1 },
	{ "three hear it", EV_SIGNAL | EV_PERSIST, 2, 3, NULL, 3 },
	{ "once", EV_SIGNAL, 3, 0, NULL, 1 },
	{ "once, added again", EV_SIGNAL, 3, 0, add_again, 1 },
	{ "deletes itself", EV_SIGNAL | EV_PERSIST, 3, 3, del, 1 },
	{ "deletes itself in the second call", EV_SIGNAL | EV_PERSIST, 3, 3, del_in_second, 1 },
	{ "deletes and adds itself", EV_SIGNAL | EV_PERSIST, 3, 0, del_and_add, 1 },
	{ "frees itself", EV_SIGNAL | EV_PERSIST, 3, 3, free_own, 1 },
	{ "frees itself, once", EV_SIGNAL, 3, 0, free_own, 1 },
	{ "three free themselves", EV_SIGNAL | EV_PERSIST, 3, 1, free_own, 3 },
	{ "breaks", EV_SIGNAL | EV_PERSIST, 3, 0, stop, 1 },
};

static void play(const struct plan *p, uint32_t color, uint32_t step)
{
	section(p->name);
	base = base_new();
	for (unsigned i = 0; i < p->num; i++) {
		ears[i] = (struct ear){ .act = p->act, .raises = p->inside };
		ears[i].ev = ev_new(base, SIGUSR1, p->events, ear_cb, &ears[i]);
		if (event_set_color != NULL)
			must(event_set_color(ears[i].ev, color + i * step) == 0, "set a color");
		event_add(ears[i].ev, NULL);
	}
	for (unsigned i = 0; i < p->before; i++)
		raise(SIGUSR1);
	event_base_loop(base, EVLOOP_NONBLOCK);
	if (p->act == stop)
		event_base_loop(base, EVLOOP_NONBLOCK);
	for (unsigned i = 0; i < p->num; i++) {
		say("heard %u, %s", ears[i].heard, ears[i].is_freed ? "freed" : pending_str(ears[i].ev));
		if (!ears[i].is_freed)
			event_free(ears[i].ev);
	}
	event_base_free(base);
}

static void play_all(uint32_t color, uint32_t step)
{
	say("-- color %u, %u", color, step);
	for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
		play(&plans[i], color, step);
}

/* What came for one base is not told to another that takes the signals over. */
static void two_bases(void)
{
	struct event_base *second = base_new();
	struct ear other = { 0 };

	section("two bases");
	base = base_new();
	ears[0] = (struct ear){ 0 };
	ears[0].ev = ev_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, ear_cb, &ears[0]);
	other.ev = ev_new(second, SIGUSR1, EV_SIGNAL | EV_PERSIST, ear_cb, &other);
	event_add(ears[0].ev, NULL);
	raise(SIGUSR1);
	raise(SIGUSR1);
	event_add(other.ev, NULL);
	raise(SIGUSR1);
	event_base_loop(second, EVLOOP_NONBLOCK);
	say("heard %u, %u", ears[0].heard, other.heard);
	event_base_loop(base, EVLOOP_NONBLOCK);
	say("heard %u, %u", ears[0].heard, other.heard);
	event_free(ears[0].ev);
	event_free(other.ev);
	event_base_free(base);
	event_base_free(second);
}

static void no_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

int main(void)
{
	event_set_log_callback(no_log);
	signal(SIGUSR1, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		play_all(0, 0);
		play_all(5, 0);
		play_all(5, 1);
		play_all(0, 5);
		two_bases();
		/* And as well with locks from the start. */
		must(evthread_use_pthreads() == 0, "use threads");
	}
	return 0;
}
