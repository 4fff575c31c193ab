/*
 * A program for the tools that observe: plain libevent, nothing in it knows of them.
 *
 * usage: observed COLORS [HOT_US]
 *
 * COLORS timers, in colors 1, 2, … (0: no colors), are due each millisecond; color 1 computes HOT_US microseconds each
 * time. A byte on standard output says that the loop is about to begin. Standard input closed: the program ends.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

typedef int (*set_color_fn)(struct event *ev, uint32_t color);

static long hot_us;

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Not static: tools show the name. */
void hot_callback(evutil_socket_t fd, short what, void *arg);
void cold_callback(evutil_socket_t fd, short what, void *arg);

void hot_callback(evutil_socket_t fd, short what, void *arg)
{
	int64_t end = now_us() + hot_us;

	(void)fd;
	(void)what;
	(void)arg;
	while (now_us() < end)
		;
}

void cold_callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void end(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what;
	if (read(fd, &c, 1) <= 0)
		event_base_loopbreak(arg);
}

int main(int argc, char **argv)
{
	const struct timeval tick = { 0, 1000 };
	struct event_base *base = event_base_new();
	set_color_fn set_color = (set_color_fn)dlsym(RTLD_DEFAULT, "event_set_color");
	int colors = argc > 1 ? atoi(argv[1]) : 0, i;
	struct event *ev;

	hot_us = argc > 2 ? atol(argv[2]) : 0;
	for (i = 0; i == 0 || i < colors; i++) {
		ev = event_new(base, -1, EV_PERSIST, i == 0 ? hot_callback : cold_callback, NULL);
		if (colors > 0 && (set_color == NULL || set_color(ev, (uint32_t)i + 1) < 0))
			return 1;
		event_add(ev, &tick);
	}
	event_add(event_new(base, 0, EV_READ | EV_PERSIST, end, base), NULL);
	if (write(1, "\n", 1) != 1)
		return 1;
	event_base_dispatch(base);
	event_base_free(base);
	return 0;
}
