/*
 * Colors that hand work to each other, and share memory only so. Small, because valgrind is slow.
 *
 *   handed [none]		none: only a loop
 */
#include "../abi/tsan/program.h"

enum { COLORS = 4, ROUNDS = 25 };

static struct event_base *base;
static unsigned long sums[COLORS + 1], total;
static unsigned ended;

static void end(void *arg)
{
	total += *(unsigned long *)arg;
	free(arg);
	ended++;
}

/* A message goes from color to color; each adds to its own sum. */
static void pass_on(void *arg)
{
	unsigned long *m = arg;
	uint32_t color = (uint32_t)(*m % COLORS) + 1;

	sums[color]++;
	if (++*m == ROUNDS)
		post(base, 0, end, m);
	else
		post(base, (uint32_t)(*m % COLORS) + 1, pass_on, m);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct event *ev = *(struct event **)arg;

	(void)fd;
	(void)what;
	if (++sums[COLORS] % 5 != 0)
		CHECK(event_add(ev, &(struct timeval){ 0, 1000 }) == 0);
}

int main(int argc, char **argv)
{
	struct event *ev;
	unsigned long *m;
	unsigned i;

	(void)argv;
	base = base_new(2);
	ev = must(event_new(base, -1, 0, on_timer, &ev));
	CHECK(event_set_color(ev, COLORS) == 0);
	for (i = 0; argc == 1 && i < COLORS; i++) {
		m = must(calloc(1, sizeof(*m)));
		*m = i;
		post(base, i + 1, pass_on, m);
	}
	CHECK(argc != 1 || event_add(ev, &(struct timeval){ 0, 1000 }) == 0);
	CHECK(event_base_loop(base, 0) == 1);
	CHECK(argc != 1 || (ended == COLORS && total == COLORS * ROUNDS));
	event_free(ev);
	event_base_free(base);
	return 0;
}
