/*
 * Level-triggered descriptors whose colors are stolen and whose homes move: no byte is left
 * lying, callbacks of a color never overlap, a descriptor is given to one callback at a
 * time, and no poller spins on one whose callback waits or runs elsewhere.
 */
#include <stddef.h>

#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { PIPES_MAX = 4, BYTES = 4, REPORTS_MAX = 8 };

struct shape {
	unsigned workers, pipes, colors;
	bool is_persist;		/* else each callback adds its event again */
	bool is_long;			/* callbacks take long enough to be stuck behind */
	bool is_shared;
	bool recolors;			/* a callback gives its event the next color, and goes on */
	bool has_timeout;
	short edge;			/* EC_ET or 0 */
	bool is_poll;			/* the poller that keeps no set in the kernel */
};

struct pipe {
	struct ec_event ev;
	int fd;
	unsigned color;
	unsigned read;			/* bytes */
	bool is_in;
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct pipe pipes[PIPES_MAX];
	struct sim_mark mark[PIPES_MAX];
	unsigned total;
} t;

static void pipe_add(struct pipe *p)
{
	static const struct timeval far = { .tv_sec = 3600 };

	sim_check(ec_event_add(&p->ev, t.shape->has_timeout ? &far : NULL) == 0);
}

/* One byte, or all where nobody will tell again. Told for nothing, a blocking read would hang. */
static void read_some(struct pipe *p)
{
	sim_check(t.shape->edge != 0 || sim_fd_bytes(p->fd) != 0);
	while (sim_fd_read(p->fd)) {
		p->read++;
		t.total++;
		if (t.shape->edge == 0)
			return;
	}
}

/* Legal: the event is neither pending nor active. */
static void pipe_recolor(struct pipe *p)
{
	p->color = (p->color + 1) % t.shape->colors;
	sim_check(ec_event_set_color(&p->ev, 100 + p->color) == 0);
}

static void readable(int fd, short what, void *arg)
{
	struct pipe *p = arg;
	const unsigned color = p->color;

	sim_note("reads from %d", fd);
	sim_check((what & EC_READ) != 0 && fd == p->fd);
	sim_check(!p->is_in);
	p->is_in = true;
	if (!t.shape->is_shared)
		sim_mark_enter(&t.mark[color]);
	if (t.shape->is_long)
		sim_sleep(2000000);
	read_some(p);
	if (t.shape->recolors)
		pipe_recolor(p);
	if (!t.shape->is_persist)
		pipe_add(p);
	if (t.shape->recolors)
		sim_sleep(sim_random(2) * 1000);
	if (!t.shape->is_shared)
		sim_mark_leave(&t.mark[color]);
	p->is_in = false;
	if (t.total == t.shape->pipes * BYTES)
		sim_check(ec_base_loopbreak(t.base) == 0);
}

static void writer_main(void *arg)
{
	struct pipe *p = arg;
	unsigned i;

	for (i = 0; i < BYTES; i++) {
		sim_fd_write(p->fd);
		if (sim_random(2) == 0)
			sim_sleep(1000);
	}
}

static void pipe_init(unsigned i)
{
	struct pipe *p = &t.pipes[i];
	short events = (short)(EC_READ | t.shape->edge | (t.shape->is_persist ? EC_PERSIST : 0));

	*p = (struct pipe){ .fd = sim_fd_open(), .color = i % t.shape->colors };
	sim_check(ec_event_init(&p->ev, t.base, p->fd, events, readable, p) == 0);
	if (t.shape->is_shared)
		sim_check(ec_event_set_color_shared(&p->ev, 100 + p->color) == 0);
	else
		sim_check(ec_event_set_color(&p->ev, 100 + p->color) == 0);
	pipe_add(p);
	sim_check(ec_color_set_cost(t.base, 100 + p->color, 100000) == 0);
}

static void body(const void *arg)
{
	unsigned i;
	int ids[PIPES_MAX];

	t.shape = arg;
	t.total = 0;
	t.base = sim_base_new(t.shape->workers, t.shape->is_poll ? "poll" : "epoll");
	for (i = 0; i < t.shape->pipes; i++)
		pipe_init(i);
	for (i = 0; i < t.shape->pipes; i++)
		ids[i] = sim_start("writer", writer_main, &t.pipes[i]);
	sim_check(ec_base_loop(t.base, 0) == 0);
	for (i = 0; i < t.shape->pipes; i++)
		sim_join(ids[i]);
	for (i = 0; i < t.shape->pipes; i++) {
		sim_check(t.pipes[i].read == BYTES);
		sim_check(ec_event_del(&t.pipes[i].ev, EC_DEL_BLOCK) == 0);
	}
	sim_check(sim_warnings() == 0);
	/* A poller that spins on a descriptor reports it a hundred times for each callback that takes long. */
	sim_check(sim_reports() <= REPORTS_MAX * t.shape->pipes * BYTES);
	sim_base_free(t.base);
}

#define CASE(n, fn, ...) { .name = n, .body = fn, .arg = &(const struct shape){ __VA_ARGS__ } }

int main(int argc, char **argv)
{
	const struct sim_case cases[] = {
		CASE("persist", body, .workers = 2, .pipes = 2, .colors = 2, .is_persist = true),
		CASE("again", body, .workers = 2, .pipes = 2, .colors = 2),
		CASE("one-color", body, .workers = 2, .pipes = 3, .colors = 1, .is_persist = true),
		CASE("long", body, .workers = 2, .pipes = 3, .colors = 3, .is_persist = true, .is_long = true),
		CASE("long-again", body, .workers = 3, .pipes = 4, .colors = 2, .is_long = true),
		CASE("timeout", body, .workers = 3, .pipes = 3, .colors = 2, .is_persist = true, .is_long = true,
		     .has_timeout = true),
		CASE("shared", body, .workers = 3, .pipes = 3, .colors = 1, .is_persist = true, .is_shared = true,
		     .is_long = true),
		CASE("shared-crowd", body, .workers = 4, .pipes = 4, .colors = 1, .is_persist = true, .is_shared = true,
		     .is_long = true),
		CASE("recolors", body, .workers = 2, .pipes = 2, .colors = 2, .recolors = true),
		CASE("recolors-long", body, .workers = 3, .pipes = 2, .colors = 3, .recolors = true, .is_long = true),
		CASE("edge", body, .workers = 2, .pipes = 2, .colors = 2, .is_persist = true, .edge = EC_ET),
		CASE("poll", body, .workers = 2, .pipes = 2, .colors = 2, .is_persist = true, .is_poll = true),
		CASE("poll-long", body, .workers = 3, .pipes = 3, .colors = 2, .is_long = true, .is_poll = true),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
