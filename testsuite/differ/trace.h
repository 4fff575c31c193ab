/*
 * What the programs of this folder share. A program prints what libevent did, one line for
 * each thing that a caller can see, and nothing that may differ between two runs: no
 * address, no time, no descriptor number. `run` compares the lines of two libraries.
 *
 * What makes a line repeatable:
 *  - readiness is made by the program (a pipe it wrote to), never waited for;
 *  - poll and select report ready descriptors in an order of their own, so callbacks of
 *    different descriptors that are ready in one turn are collected and then printed sorted;
 *  - timers that are compared have deadlines that differ and are added at one cached time;
 *  - what depends on how long things take runs on a clock of its own (clock.c; meson.build says which).
 */
#ifndef TRACE_H
#define TRACE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

static inline void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static inline void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	/* At once: a program that dies shows how far it came, and a child inherits nothing. */
	fflush(stdout);
}

static inline void section(const char *name)
{
	say("== %s", name);
}

/* The program itself failed: not a difference, so not a line of the trace. */
static inline void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
	exit(99);
}

/* EV_… by name. A few buffers in turn, so that one call can print two. */
static inline const char *what_str(int what)
{
	static const struct {
		int bit;
		const char *name;
	} names[] = {
		{ EV_TIMEOUT, "TIMEOUT" }, { EV_READ, "READ" },		{ EV_WRITE, "WRITE" },
		{ EV_SIGNAL, "SIGNAL" },   { EV_PERSIST, "PERSIST" },	{ EV_ET, "ET" },
		{ EV_CLOSED, "CLOSED" },   { EV_FINALIZE, "FINALIZE" },
	};
	static char bufs[4][96];
	static unsigned turn;
	char *buf = bufs[turn++ % 4];
	int rest = what;

	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(what & names[i].bit))
			continue;
		if (buf[0] != '\0')
			strcat(buf, "|");
		strcat(buf, names[i].name);
		rest &= ~names[i].bit;
	}
	if (buf[0] == '\0' || rest != 0)
		sprintf(buf + strlen(buf), "%s%#x", buf[0] != '\0' ? "|" : "", (unsigned)rest);
	return buf;
}

#define EV_ALL (EV_TIMEOUT | EV_READ | EV_WRITE | EV_SIGNAL | EV_CLOSED)

static inline const char *pending_str(const struct event *ev)
{
	return what_str(event_pending(ev, EV_ALL, NULL));
}

/* A call's result, then what is pending: one after the other, as arguments of say() are not. */
#define say_step(step, call, ev)                                                                   \
	do {                                                                                       \
		int ret_ = (call);                                                                 \
		say("%s: %d, pending %s", step, ret_, pending_str(ev));                            \
	} while (0)

/* arg: the event's name. */
static inline void say_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	say("  %s: %s", (const char *)arg, what_str(what));
}

/* As say_cb, and takes one byte, so that a level-triggered descriptor falls silent. */
static inline void read_cb(evutil_socket_t fd, short what, void *arg)
{
	char c;
	ssize_t n = (what & EV_READ) ? read(fd, &c, 1) : -1;

	say("  %s: %s, read %zd", (const char *)arg, what_str(what), n);
}

static inline struct event_base *base_new(void)
{
	struct event_base *base = event_base_new();

	must(base != NULL, "make a base");
	return base;
}

static inline struct event *ev_new(struct event_base *base, int fd, int events,
				   event_callback_fn fn, const void *arg)
{
	struct event *ev = event_new(base, fd, (short)events, fn, (void *)(uintptr_t)arg);

	must(ev != NULL, "make an event");
	return ev;
}

static inline void nonblock(int fd)
{
	must(fcntl(fd, F_SETFL, O_NONBLOCK) == 0, "set O_NONBLOCK");
}

/* A pipe: fd[0] reads, fd[1] writes. */
static inline void pipe_new(int fd[2])
{
	must(pipe(fd) == 0, "make a pipe");
	nonblock(fd[0]);
	nonblock(fd[1]);
}

static inline void pair_new(int fd[2])
{
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0, "make a socket pair");
	nonblock(fd[0]);
	nonblock(fd[1]);
}

static inline void pair_close(int fd[2])
{
	close(fd[0]);
	close(fd[1]);
}

static inline void put(int fd)
{
	must(write(fd, "x", 1) == 1, "write a byte");
}

static inline void drain(int fd)
{
	char buf[256];

	while (read(fd, buf, sizeof(buf)) > 0)
		;
}

/* One look at what is ready, and its callbacks. EVLOOP_NONBLOCK alone goes on while there are any. */
static inline int turn(struct event_base *base)
{
	return event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
}

/*
 * Spends so much of the coarse clock's time, at least, and so of every clock's. The others go ahead of that
 * one, by more than its tick where a host takes the machine's CPUs away.
 */
static inline void let_time_pass(int ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &start);
	do
		clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

static inline bool uses_changelist(void)
{
	return getenv("EVENT_EPOLL_USE_CHANGELIST") != NULL;
}

static const struct timeval zero_tv = { 0, 0 };
static const struct timeval hour_tv = { 3600, 0 };

/*
 * Log messages as lines of the trace, without descriptors' numbers. Of a message that a
 * poller's call failed, its beginning and the reason: what lies between is stock's inside.
 */
static inline void say_log(int severity, const char *msg)
{
	static const char *const names[] = { "debug", "msg", "warn", "err" };
	const char *fd = strstr(msg, "fd "), *failed = strstr(msg, " failed. "), *reason = strrchr(msg, ':');
	const char *rest;

	if (fd == NULL) {
		say("  [%s] %s", names[severity & 3], msg);
		return;
	}
	fd += strlen("fd ");
	rest = fd + strspn(fd, "-0123456789");
	if (failed == rest && reason != NULL)
		say("  [%s] %.*sN failed%s", names[severity & 3], (int)(fd - msg), msg, reason);
	else
		say("  [%s] %.*sN%s", names[severity & 3], (int)(fd - msg), msg, rest);
}

#endif
