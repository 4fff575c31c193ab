/*
 * A bufferevent with BEV_OPT_THREADSAFE whose callback runs in the loop's thread, while another thread uses it:
 * each call of that thread waits for the end of the callback. The callback gives it plenty of turns to come
 * back too early.
 */
#include "trace.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/thread.h>

enum { TURNS = 50 };

static struct event_base *base;
static struct bufferevent *below, *bev, *other;
static int peer;
static int called[2];			/* a pipe: a byte for each callback that has begun */
static atomic_bool is_back;

static void *loop_main(void *arg)
{
	(void)arg;
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	return NULL;
}

/* What another thread does now must not be done before the end. */
static void linger(const char *name)
{
	put(called[1]);
	for (int i = 0; i < TURNS && !is_back; i++)
		sched_yield();
	say("  %s ends, the other thread %s", name, is_back ? "is back" : "waits");
}

static void data_cb(struct bufferevent *b, void *arg)
{
	evbuffer_drain(bufferevent_get_input(b), 100);
	linger(arg);
}

static void two_writes_cb(struct bufferevent *b, void *arg)
{
	evbuffer_drain(bufferevent_get_input(b), 100);
	bufferevent_write(b, "head", 4);
	linger(arg);
	bufferevent_write(b, "body", 4);
}

static void event_cb(struct bufferevent *b, short what, void *arg)
{
	(void)b;
	(void)what;
	linger(arg);
}

static void trigger_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	bufferevent_trigger(arg, EV_READ, BEV_TRIG_IGNORE_WATERMARKS);
}

/* ---------------------------------------------------------------- kinds */

static void plain_new(void)
{
	int fd[2];

	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0, "make a socketpair");
	peer = fd[1];
	bev = bufferevent_socket_new(base, fd[0], BEV_OPT_CLOSE_ON_FREE | BEV_OPT_THREADSAFE);
}

/* Stock may hang if another thread frees it. */
static void above_new(void)
{
	plain_new();
	below = bev;
	bev = bufferevent_filter_new(below, NULL, NULL, BEV_OPT_THREADSAFE, NULL, NULL);
}

static void two_new(void)
{
	struct bufferevent *pair[2];

	must(bufferevent_pair_new(base, BEV_OPT_THREADSAFE, pair) == 0, "make a pair");
	bev = pair[0];
	other = pair[1];
	bufferevent_enable(other, EV_READ | EV_WRITE);
}

/* ---------------------------------------------------------------- what the other thread does */

static void do_setcb(void)
{
	bufferevent_setcb(bev, NULL, NULL, NULL, NULL);
}

static void do_disable(void)
{
	bufferevent_disable(bev, EV_READ);
}

static void do_setfd(void)
{
	bufferevent_setfd(bev, -1);
}

static void do_lock(void)
{
	bufferevent_lock(bev);
	bufferevent_unlock(bev);
}

static void do_lock_of_buffer(void)
{
	evbuffer_lock(bufferevent_get_output(bev));
	bufferevent_lock(bev);
	bufferevent_unlock(bev);
	evbuffer_unlock(bufferevent_get_output(bev));
}

static void do_lock_of_other(void)
{
	bufferevent_lock(other);
	bufferevent_unlock(other);
}

static void do_write(void)
{
	bufferevent_write(bev, "OTHER", 5);
}

static void do_free(void)
{
	bufferevent_free(bev);
	bev = NULL;
}

static void do_free_locked(void)
{
	bufferevent_incref(bev);
	evbuffer_lock(bufferevent_get_output(bev));
	bufferevent_free(bev);
	evbuffer_unlock(bufferevent_get_output(bev));
	bufferevent_decref(bev);
	bev = NULL;
}

/* ---------------------------------------------------------------- scenes */

static void begin_input(void)
{
	put(peer);
}

static void begin_pair(void)
{
	bufferevent_write(other, "x", 1);
}

static void begin_trigger(void)
{
	static const struct timeval now = { 0, 0 };

	event_base_once(base, -1, EV_TIMEOUT, trigger_cb, bev, &now);
}

static void begin_end(void)
{
	shutdown(peer, SHUT_WR);
}

static const struct scene {
	const char *name;
	void (*make)(void);
	void (*begin)(void);
	void (*act)(void);
	bufferevent_data_cb fn;
} scenes[] = {
	{ "setcb", plain_new, begin_input, do_setcb, data_cb },
	{ "disable", plain_new, begin_input, do_disable, data_cb },
	{ "setfd", plain_new, begin_input, do_setfd, data_cb },
	{ "lock", plain_new, begin_input, do_lock, data_cb },
	{ "lock, with the lock of the output", plain_new, begin_input, do_lock_of_buffer, data_cb },
	{ "write", plain_new, begin_input, do_write, two_writes_cb },
	{ "free", plain_new, begin_input, do_free, data_cb },
	{ "free in the event callback", plain_new, begin_end, do_free, data_cb },
	{ "free in a callback that a timer triggers", plain_new, begin_trigger, do_free, data_cb },
	{ "free, with the lock of the output", plain_new, begin_input, do_free_locked, data_cb },
	{ "setcb of a filter", above_new, begin_input, do_setcb, data_cb },
	{ "free of one of a pair", two_new, begin_pair, do_free, data_cb },
	{ "lock of the other one of a pair", two_new, begin_pair, do_lock_of_other, data_cb },
};

static void show_sent(void)
{
	char text[64] = "";
	ssize_t len = 0, r;

	while (len < 13 && (r = recv(peer, text + len, sizeof(text) - 1 - (size_t)len, 0)) != 0) {
		if (r > 0)
			len += r;
		else
			sched_yield();
	}
	say("  sent: %s", text);
}

static void run(const struct scene *s)
{
	pthread_t loop;
	char c;

	section(s->name);
	base = event_base_new();
	peer = -1;
	below = bev = other = NULL;
	is_back = false;
	s->make();
	bufferevent_setcb(bev, s->fn, NULL, event_cb, "the callback");
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	must(pthread_create(&loop, NULL, loop_main, NULL) == 0, "make a thread");
	s->begin();
	must(read(called[0], &c, 1) == 1, "wait for the callback");
	s->act();
	is_back = true;
	say("  the other thread is back");
	if (s->act == do_write)
		show_sent();
	event_base_loopbreak(base);
	pthread_join(loop, NULL);
	if (bev != NULL)
		bufferevent_free(bev);
	if (below != NULL)
		bufferevent_free(below);
	if (other != NULL)
		bufferevent_free(other);
	if (peer >= 0)
		close(peer);
	event_base_free(base);
}

int main(void)
{
	must(evthread_use_pthreads() == 0, "use threads");
	must(pipe(called) == 0, "make a pipe");
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		run(&scenes[i]);
	return 0;
}
