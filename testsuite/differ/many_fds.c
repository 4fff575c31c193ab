/*
 * Some hundreds of descriptors at once: who is told, when some are ready, when all are,
 * after every other one is deleted, and after all are closed and made anew.
 */
#include "trace.h"

/* Both ends of them, and some more, fit in select's set. */
#define PIPES_NUM 400

static struct event_base *base;
static struct event *evs[PIPES_NUM];
static int pipes[PIPES_NUM][2];
static int hits[PIPES_NUM];

static void hit_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	drain(fd);
	hits[i] += what == EV_READ ? 1 : 1000;
}

static unsigned long sum(void)
{
	unsigned long digest = 5381;
	int total = 0;

	for (int i = 0; i < PIPES_NUM; i++) {
		digest = digest * 33 + (unsigned long)hits[i];
		total += hits[i];
		hits[i] = 0;
	}
	say("  %d callbacks, digest %lx", total, digest);
	return digest;
}

static void write_each(int step, int from)
{
	for (int i = from; i < PIPES_NUM; i += step)
		put(pipes[i][1]);
	while (turn(base) == 0 && event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) > 0)
		;
	/* A poller may tell of them in several portions. */
	for (int i = 0; i < 20; i++)
		turn(base);
	say("every %d from %d", step, from);
	sum();
}

static void make_all(int events)
{
	for (int i = 0; i < PIPES_NUM; i++) {
		pipe_new(pipes[i]);
		evs[i] = ev_new(base, pipes[i][0], events, hit_cb, (void *)(intptr_t)i);
		must(event_add(evs[i], NULL) == 0, "add");
	}
}

static void free_all(void)
{
	for (int i = 0; i < PIPES_NUM; i++) {
		event_free(evs[i]);
		pair_close(pipes[i]);
	}
}

/* A ring: each callback writes to the next pipe. */
static int ring_left;

static void ring_cb(evutil_socket_t fd, short what, void *arg)
{
	int i = (int)(intptr_t)arg;

	(void)what;
	drain(fd);
	hits[i]++;
	if (--ring_left > 0)
		put(pipes[(i + 7) % PIPES_NUM][1]);
}

static void ring(void)
{
	section("ring");
	for (int i = 0; i < PIPES_NUM; i++) {
		pipe_new(pipes[i]);
		evs[i] = ev_new(base, pipes[i][0], EV_READ | EV_PERSIST, ring_cb, (void *)(intptr_t)i);
		event_add(evs[i], NULL);
	}
	ring_left = 3000;
	put(pipes[0][1]);
	while (ring_left > 0)
		event_base_loop(base, EVLOOP_ONCE);
	sum();
	free_all();
}

int main(void)
{
	base = base_new();
	for (int round = 0; round < 2; round++) {
		section("persistent");
		make_all(EV_READ | EV_PERSIST);
		say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
		write_each(1, 0);
		write_each(2, 1);
		write_each(13, 5);
		for (int i = 0; i < PIPES_NUM; i += 2)
			event_del(evs[i]);
		say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
		write_each(1, 0);
		for (int i = 0; i < PIPES_NUM; i += 2)
			event_add(evs[i], NULL);
		write_each(3, 0);
		free_all();

		section("once");
		make_all(EV_READ);
		write_each(2, 0);
		write_each(1, 0);
		say("added %d", event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED));
		free_all();
	}
	ring();
	event_base_free(base);
	return 0;
}
