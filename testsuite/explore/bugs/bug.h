/*
 * What the programs with a bug share. Each works in the order in which things usually happen, and fails in another one
 * that colors allow: it exits with 1 and a line that says what went wrong, or crashes.
 */
#ifndef EXPLORE_BUG_H
#define EXPLORE_BUG_H

#include <event2/event.h>
#include <event2/smp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct event_base *base;

/* Colors of programs are below. */
enum { NOISY = 100, NOISY_NUM = 3, NOISY_STEPS = 8 };

static inline void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static inline void must(int is_true)
{
	if (!is_true)
		fail("a call of the system or of the library fails");
}

static inline void post(uint32_t color, void (*fn)(void *), void *arg)
{
	must(event_base_post(base, color, fn, arg) == 0);
}

/* In `ms` milliseconds, in a color. The events stay until the end. */
static inline void after(long ms, uint32_t color, event_callback_fn fn, void *arg)
{
	static struct event *kept[64];
	static unsigned num;
	struct event *ev = event_new(base, -1, 0, fn, arg);
	const struct timeval in = { ms / 1000, ms % 1000 * 1000 };

	must(num < 64);
	kept[num] = ev;
	must(kept[num++] != NULL && event_set_color(ev, color) == 0 && event_add(ev, &in) == 0);
}

/* When `fd` is readable, again and again, in a color. */
static inline struct event *on_read(int fd, uint32_t color, event_callback_fn fn, void *arg)
{
	struct event *ev = event_new(base, fd, EV_READ | EV_PERSIST, fn, arg);

	must(ev != NULL && event_set_color(ev, color) == 0 && event_add(ev, NULL) == 0);
	return ev;
}

static inline void noise(void *arg)
{
	uint32_t n = (uint32_t)(uintptr_t)arg;

	if (n / NOISY_NUM < NOISY_STEPS)
		post(NOISY + n % NOISY_NUM, noise, (void *)(uintptr_t)(n + NOISY_NUM));
}

/* A base with four workers, and other colors that have work. */
static inline void begin(void)
{
	struct event_config *cfg = event_config_new();
	uint32_t i;

	must(cfg != NULL && event_config_set_workers(cfg, 4, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	must(base != NULL);
	event_config_free(cfg);
	for (i = 0; i < NOISY_NUM; i++)
		post(NOISY + i, noise, (void *)(uintptr_t)i);
}

static inline void run(void)
{
	must(event_base_dispatch(base) >= 0);
}

#endif
