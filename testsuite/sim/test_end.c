/*
 * A loop ends when nothing is left, and no sooner: not while the callback of the only event is about
 * to add it again, wherever it runs.
 */
#include <stddef.h>

#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { COLOR = 100, HOPS = 6 };

static struct {
	struct ec_base *base;
	struct ec_event ev;
	unsigned runs;
} t;

static const struct timeval soon = { .tv_sec = 0 };

/* Idle while it runs, the event is given the next color, and added. */
static void hop(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	t.runs++;
	if (t.runs == HOPS)
		return;
	sim_check(ec_event_set_color(&t.ev, COLOR + t.runs) == 0);
	sim_check(ec_event_add(&t.ev, &soon) == 0);
}

static void body(const void *arg)
{
	const unsigned *workers = arg;

	t.runs = 0;
	t.base = sim_base_new(*workers, "epoll");
	sim_check(ec_event_init(&t.ev, t.base, -1, 0, hop, NULL) == 0);
	sim_check(ec_event_set_color(&t.ev, COLOR) == 0);
	sim_check(ec_event_add(&t.ev, &soon) == 0);
	sim_check(ec_base_loop(t.base, 0) == 1);
	sim_check(t.runs == HOPS);
	sim_check(ec_event_del(&t.ev, EC_DEL_BLOCK) == 0);
	sim_check(sim_warnings() == 0);
	sim_base_free(t.base);
}

int main(int argc, char **argv)
{
	static const unsigned two = 2, four = 4;
	const struct sim_case cases[] = {
		{ .name = "hops", .body = body, .arg = &two },
		{ .name = "hops-of-four", .body = body, .arg = &four },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
