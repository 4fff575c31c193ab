/*
 * The order of virtual workers without a seed's choices (core/loop/virtual.c), as the race checker uses it: whatever is
 * ready has its turn, whenever it comes.
 */
#include "virtual.h"

enum { CROWD = 1100, WAITS = 600 };

static unsigned since_post, posts_left, ready_runs;

static void rare_post(void *arg)
{
	(void)arg;
	since_post = 0;
	if (--posts_left == 0)
		event_base_loopbreak(base);
}

/* Its pipe stays ready. */
static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (since_post++ == 0)
		post(3, rare_post, 0);
	check(since_post < WAITS);
}

/* Two colors always have a ready descriptor, so nothing but the turn's end lets the post run, whenever it comes. */
static void posts_beside_descriptors(void)
{
	struct event *ev[2];
	int fds[2], i;

	base_make(4);
	check(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
	for (i = 0; i < 2; i++) {
		ev[i] = event_make(fds[0], EV_READ | EV_PERSIST, (unsigned)i + 1, ready_cb, NULL);
		check(event_add(ev[i], NULL) == 0);
	}
	posts_left = 300;
	check(event_base_dispatch(base) == 0 && posts_left == 0);
	event_free(ev[0]);
	event_free(ev[1]);
	event_base_free(base);
}

/* To a color that has nothing to do. */
static void crowd_fn(void *arg)
{
	unsigned color = (unsigned)(uintptr_t)arg;

	check(ready_runs == 10 || ++since_post < 10 * CROWD);
	color = color < CROWD ? color + CROWD : color - CROWD;
	if (ready_runs < 10)
		post(color + 2, crowd_fn, color);
}

static void beside_crowd_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	since_post = 0;
	if (++ready_runs == 10)
		event_base_loopbreak(base);
}

/* More colors have posts than the worker chooses from. */
static void descriptor_beside_crowd(void)
{
	struct event *ev;
	int fds[2], i;

	base_make(4);
	check(pipe(fds) == 0 && write(fds[1], "x", 1) == 1);
	ev = event_make(fds[0], EV_READ | EV_PERSIST, 1, beside_crowd_cb, NULL);
	check(event_add(ev, NULL) == 0);
	for (i = 0; i < CROWD; i++)
		post((unsigned)i + 2, crowd_fn, (uintptr_t)i);
	check(event_base_dispatch(base) == 0 && ready_runs == 10);
	event_free(ev);
	event_base_free(base);
}

static void passes(void (*fn)(void))
{
	struct child child;

	unsetenv("EVENT_SMP_TIME");
	set("1", "order");
	child_passes(&child, fn);
}

static void posts_do_not_starve(void **state)
{
	(void)state;
	passes(posts_beside_descriptors);
}

static void descriptors_do_not_starve(void **state)
{
	(void)state;
	passes(descriptor_beside_crowd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_do_not_starve),
		cmocka_unit_test(descriptors_do_not_starve),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
