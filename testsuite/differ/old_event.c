/* A program of libevent 1.4's time: <event.h> alone, one current base. */
#include <event.h>

#include "trace.h"

static struct event timer, again, input, sigs, moved;
static int rounds;

static void timer_cb(int fd, short what, void *arg)
{
	say("  timer %d: %s, %s", fd, what_str(what), (const char *)arg);
}

static void again_cb(int fd, short what, void *arg)
{
	struct timeval tv = { 0, 1000 };

	(void)arg;
	say("  again %d: %s", fd, what_str(what));
	if (++rounds < 3)
		say("  add %d", timeout_add(&again, &tv));
	else
		say("  exit %d", event_loopexit(NULL));
}

static void input_cb(int fd, short what, void *arg)
{
	struct event *ev = arg;
	char c[8];
	ssize_t n = read(fd, c, sizeof(c));

	say("  input: %s, read %zd, fd %s, signal %d", what_str(what), n, EVENT_FD(ev) == fd ? "same" : "other",
	    EVENT_SIGNAL(ev) == fd);
	if (n == 0)
		say("  del %d", event_del(ev));
}

static void signal_cb(int sig, short what, void *arg)
{
	say("  signal %d: %s", sig == SIGUSR1, what_str(what));
	say("  del %d, pending %d", signal_del(arg), signal_pending((struct event *)arg, NULL));
}

static void once_cb(int fd, short what, void *arg)
{
	say("  once: %s, %s", what_str(what), (const char *)arg);
	(void)fd;
}

static void timers(void)
{
	struct timeval tv = { 0, 2000 }, when;

	section("timers");
	evtimer_set(&timer, timer_cb, (void *)(uintptr_t)"arg");
	say("initialized %d, pending %d", evtimer_initialized(&timer) != 0, evtimer_pending(&timer, NULL));
	say("add %d, pending %s", evtimer_add(&timer, &tv), what_str(evtimer_pending(&timer, &when)));
	say("del %d, pending %d", evtimer_del(&timer), evtimer_pending(&timer, NULL));
	evtimer_add(&timer, &tv);
	say("dispatch %d", event_dispatch());
	timeout_set(&again, again_cb, NULL);
	timeout_add(&again, &tv);
	say("initialized %d, pending %d", timeout_initialized(&again) != 0, timeout_pending(&again, NULL) != 0);
	say("dispatch %d", event_dispatch());
	say("del %d", timeout_del(&again));
	say("once %d", event_once(-1, EV_TIMEOUT, once_cb, (void *)(uintptr_t)"once", &tv));
	say("loop %d", event_loop(EVLOOP_ONCE));
	say("loop %d", event_loop(EVLOOP_NONBLOCK));
}

static void descriptors(void)
{
	int fd[2];

	section("descriptors");
	pair_new(fd);
	event_set(&input, fd[0], EV_READ | EV_PERSIST, input_cb, &input);
	say("add %d, pending %s", event_add(&input, NULL), what_str(event_pending(&input, EV_READ, NULL)));
	put(fd[1]);
	say("loop %d", event_loop(EVLOOP_ONCE));
	put(fd[1]);
	put(fd[1]);
	close(fd[1]);
	say("dispatch %d", event_dispatch());
	event_active(&input, EV_WRITE, 1);
	say("loop %d", event_loop(EVLOOP_ONCE | EVLOOP_NONBLOCK));
	close(fd[0]);
}

static void signals(void)
{
	section("signals");
	signal_set(&sigs, SIGUSR1, signal_cb, &sigs);
	say("initialized %d", signal_initialized(&sigs) != 0);
	say("add %d, pending %d", signal_add(&sigs, NULL), signal_pending(&sigs, NULL) != 0);
	raise(SIGUSR1);
	say("dispatch %d", event_dispatch());
	evsignal_set(&sigs, SIGUSR1, signal_cb, &sigs);
	say("add %d", evsignal_add(&sigs, NULL));
	say("del %d", evsignal_del(&sigs));
}

static void priorities(void)
{
	static const char *const names[] = { "first", "second", "third" };
	struct event evs[3];
	int i;

	section("priorities");
	say("init %d", event_priority_init(3));
	for (i = 2; i >= 0; i--) {
		event_set(&evs[i], -1, 0, say_cb, (void *)(uintptr_t)names[i]);
		say("set %d", event_priority_set(&evs[i], i));
		event_active(&evs[i], EV_READ, 1);
	}
	say("loop %d", event_loop(EVLOOP_NONBLOCK));
}

static void bases(void)
{
	struct event_base *other = event_base_new();
	struct timeval tv = { 0, 1000 };

	section("another base");
	evtimer_set(&moved, timer_cb, (void *)(uintptr_t)"moved");
	say("set %d", event_base_set(other, &moved));
	evtimer_add(&moved, &tv);
	say("current dispatch %d", event_dispatch());
	say("other dispatch %d", event_base_dispatch(other));
	say("loopexit %d, loop %d", event_base_loopexit(other, NULL), event_base_loop(other, 0));
	event_base_free(other);
}

int main(void)
{
	struct event_base *base = event_init();

	say("method %s, version %s", event_get_method() != NULL ? "some" : "none",
	    strncmp(event_get_version(), "2.1", 3) == 0 ? "2.1" : "other");
	timers();
	descriptors();
	signals();
	priorities();
	bases();
	event_base_free(base);
	return 0;
}
