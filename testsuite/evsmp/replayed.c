/*
 * usage: replayed FILE
 *
 * The engine runs some shapes of colored posts on one worker, and writes a trace, FILE. evsmp/replay.c does them again
 * on one to four workers. What the engine promises in any order must hold there, too:
 *
 *  - Each callback runs once, and begins after the one that posted it.
 *  - Callbacks of a color do not overlap.
 *  - What one color posts to another runs in this order, which is the engine's.
 *
 * It does not compare times: testsuite/bench/advise does.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>

#include "evsmp/recording.h"
#include "evsmp/replay.h"

enum { COLORS = 8, CHAIN = 50, HUB = 100, CALLS_MAX = 100000, WORKERS = 4 };

static struct event_base *base;
static unsigned ran, left[COLORS];

static void must_be(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "replayed: not so: %s\n", what);
	exit(1);
}

static void post(uint32_t color, void (*fn)(void *), uintptr_t number)
{
	must_be(event_base_post(base, color, fn, (void *)number) == 0, "a post is taken");
}

/* ---------------------------------------------------------------- shapes */

static void leaf(void *arg)
{
	(void)arg;
	ran++;
}

static void chain(void *arg)
{
	uintptr_t number = (uintptr_t)arg;

	ran++;
	if (left[number]-- > 0)
		post((uint32_t)number + 1, chain, number);
}

/* The hub posts to each color in turn, which the replay may run in parallel. */
static void hub(void *arg)
{
	uint32_t i, n;

	(void)arg;
	ran++;
	for (n = 0; n < CHAIN; n++) {
		for (i = 0; i < COLORS; i++)
			post(i + 1, leaf, i);
	}
}

static void begin_chains(void)
{
	uint32_t i;

	for (i = 0; i < COLORS; i++) {
		left[i] = CHAIN;
		post(i + 1, chain, i);
	}
}

static void begin_hub(void)
{
	post(HUB, hub, 0);
}

/* All are ready at the beginning: idle workers steal what may be stolen. */
static void begin_color_0(void)
{
	uint32_t i, n;

	for (n = 0; n < CHAIN; n++) {
		for (i = 0; i <= COLORS; i++)
			post(i, leaf, i);
	}
}

/* ---------------------------------------------------------------- the replay */

struct seen {
	const struct workload *w;
	const struct coloring *c;
	int64_t at[CALLS_MAX], free_at[CALLS_MAX];	/* of a call; of a color */
	uint32_t last[CALLS_MAX];			/* of a color: the call that ran last, and 1 */
	size_t num, known_num;				/* calls; those whose wait is known */
};

static struct seen seen;

static void watch(void *arg, uint32_t call, unsigned worker, int64_t at, int64_t len)
{
	const struct work_call *c = &seen.w->calls[call];
	uint32_t color = seen.c->colors[call];

	(void)arg;
	must_be(seen.at[call] < 0, "a callback runs once");
	must_be(c->cause == WORK_NONE || seen.at[c->cause] >= 0, "a callback begins after its cause");
	must_be(at >= seen.free_at[color], "callbacks of a color do not overlap");
	must_be(color != seen.c->pinned || worker == 0, "color 0 stays on the first worker");
	seen.at[call] = at;
	seen.free_at[color] = at + len;
	seen.num++;
	/* Two tasks may share the place for the time at which they were queued: then one has none (observe/probe.h). */
	if (c->wait < 0 && seen.known_num != 0)
		return;
	must_be(call + 1 > seen.last[color], "the order within a color is the engine's");
	seen.last[color] = call + 1;
}

static void replay_once(const struct workload *w, const struct coloring *c, unsigned workers,
			const struct replay_costs *costs)
{
	struct replay_result result;
	size_t i;

	seen = (struct seen){ .w = w, .c = c };
	for (i = 0; i < w->calls_num; i++)
		seen.known_num += w->calls[i].wait >= 0;
	/* Nearly all; those of begin_color_0 were queued before the base was observed. */
	must_be(seen.known_num == 0 || seen.known_num >= w->calls_num / 10 * 9, "times are known");
	memset(seen.at, -1, sizeof(seen.at));
	replay_watched(w, c, workers, costs, &result, watch, NULL);
	must_be(seen.num == w->calls_num, "all callbacks run");
}

static void compare(const struct workload *w, const char *name)
{
	static const struct replay_costs steals_all = { .poll_every_ns = 200000, .rescue_ns = 1000000 };
	struct coloring c;
	unsigned workers;

	coloring_make(w, RULE_OWN, &c);
	for (workers = 1; workers <= WORKERS; workers++) {
		replay_once(w, &c, workers, &replay_costs_usual);
		replay_once(w, &c, workers, &steals_all);
	}
	printf("%s: %zu callbacks of %u colors\n", name, w->calls_num, c.num);
	coloring_free(&c);
}

/* ---------------------------------------------------------------- the engine */

static void replay_file(const char *path, const char *name)
{
	struct recording r = { 0 };
	struct timeline t;
	struct workload w;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must_be(fd >= 0, "there is a trace");
	must_be(recording_add(&r, fd, 0) == NULL, "it can be read");
	recording_read(&r);
	recording_finish(&r, &t);
	must_be(t.bands_num == 1 && workload_make(&t.bands[0], &w) == NULL, "it has work");
	must_be(w.calls_num == ran && ran <= CALLS_MAX, "it has all callbacks");
	compare(&w, name);
	workload_free(&w);
}

static void run(const char *path, const char *name, void (*begin)(void))
{
	(void)unlink(path);
	ran = 0;
	base = event_base_new();
	must_be(base != NULL, "there is a base");
	begin();
	event_base_dispatch(base);
	event_base_free(base);
	replay_file(path, name);
	(void)unlink(path);
}

int main(int argc, char **argv)
{
	must_be(argc == 2, "there is an argument");
	setenv("EVENT_SMP_TRACE", argv[1], 1);
	setenv("EVENT_SMP_TRACE_OBJECTS", "1", 1);
	setenv("EVENT_WORKERS", "1", 1);
	run(argv[1], "chains", begin_chains);
	run(argv[1], "hub", begin_hub);
	run(argv[1], "color 0", begin_color_0);
	return 0;
}
