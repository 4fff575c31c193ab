/*
 * Programs with one race each, for ThreadSanitizer: two colors use one plain variable. They meet first, so that they
 * run in two threads.
 *
 *   races posts|timers|bystander
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "program.h"

enum { ROUNDS = 200 };

static unsigned long racy;
static struct event_base *base;

/* Relaxed: orders nothing. */
static void meet(void)
{
	static atomic_uint met;

	if (atomic_load_explicit(&met, memory_order_relaxed) >= 2)
		return;
	atomic_fetch_add_explicit(&met, 1, memory_order_relaxed);
	while (atomic_load_explicit(&met, memory_order_relaxed) < 2)
		sched_yield();
}

static void spoil(void *arg)
{
	uintptr_t left = (uintptr_t)arg;
	ev_uint32_t color;
	unsigned i;

	meet();
	for (i = 0; i < 2000; i++)
		racy = racy * 3 + 1;
	CHECK(event_base_get_running_color(base, &color) == 0);
	if (left != 0)
		CHECK(event_base_post(base, color, spoil, (void *)(left - 1)) == 0);
}

static void posts(void)
{
	post(base, 1, spoil, (void *)ROUNDS);
	post(base, 2, spoil, (void *)ROUNDS);
	CHECK(event_base_loop(base, 0) == 1);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	unsigned *runs = arg, i;

	(void)fd;
	(void)what;
	meet();
	for (i = 0; i < 2000; i++)
		racy = racy * 3 + 1;
	if (++*runs == ROUNDS)
		event_base_loopbreak(base);
}

static void timers(void)
{
	unsigned runs[2] = { 0 }, i;
	struct event *ev[2];

	for (i = 0; i < 2; i++) {
		ev[i] = must(event_new(base, -1, EV_PERSIST, on_timer, &runs[i]));
		CHECK(event_set_color(ev[i], i + 1) == 0);
		CHECK(event_add(ev[i], &(struct timeval){ 0, 100 }) == 0);
	}
	CHECK(event_base_loop(base, 0) == 0);
	event_free(ev[0]);
	event_free(ev[1]);
}

/* The racing colors also post to a third one, which orders neither before the other. */
static unsigned long seen;

static void see(void *arg)
{
	(void)arg;
	seen++;
}

static void spoil_and_tell(void *arg)
{
	uintptr_t left = (uintptr_t)arg;
	ev_uint32_t color;
	unsigned i;

	meet();
	for (i = 0; i < 2000; i++)
		racy = racy * 3 + 1;
	post(base, 3, see, NULL);
	CHECK(event_base_get_running_color(base, &color) == 0);
	if (left != 0)
		post(base, color, spoil_and_tell, (void *)(left - 1));
}

static void bystander(void)
{
	post(base, 1, spoil_and_tell, (void *)ROUNDS);
	post(base, 2, spoil_and_tell, (void *)ROUNDS);
	CHECK(event_base_loop(base, 0) == 1);
	CHECK(seen == 2 * (ROUNDS + 1));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	base = base_new(3);
	if (strcmp(argv[1], "posts") == 0)
		posts();
	else if (strcmp(argv[1], "timers") == 0)
		timers();
	else
		bystander();
	event_base_free(base);
	return 0;
}
