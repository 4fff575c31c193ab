/*
 * Nobody starves: while posts beget posts on every worker, what becomes ready runs within a
 * millisecond and the callbacks already begun, of whatever color; readers pass exclusive posts;
 * loopexit ends the loop; what waits at a worker that is stuck, or in its start callback, is found by
 * another one within five.
 */
#include <stddef.h>

#include "core/sched/base.h"
#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { LOADS_MAX = 4, READY_AT = 7, CALLBACK_NS = 30000, MAX_NS = 1000000, STUCK_MAX_NS = 5000000, RAN_MAX = 400 };
enum { LOAD = 100, OTHER = 200, STUCK = 300 };

enum waiter { DESCRIPTOR, TIMER, ACTIVE, POST, READER, WRITER, EXIT };

struct shape {
	unsigned workers;
	unsigned loads;			/* streams of posts: at least one for each worker that is free */
	bool is_ping_pong;
	bool is_outside;		/* and one by another thread */
	uint32_t color;			/* of the first stream */
	uint32_t waiter_color;
	enum waiter waiter;
	bool is_stuck;			/* a worker, by a callback of the color STUCK */
	bool is_starting;		/* all but worker 0 are in their start callbacks */
	bool has_priorities;
};

struct load {
	uint32_t colors[2];
	unsigned next;
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct load loads[LOADS_MAX];
	struct ec_event ev, stuck_ev;
	int fd;
	_Atomic(unsigned) ran;
	_Atomic(bool) is_over, is_ready;
	int64_t ready_ns;
} t;

static void over(void)
{
	int64_t max = t.shape->is_stuck || t.shape->is_starting ? STUCK_MAX_NS : MAX_NS;

	sim_note("late by %lld ns", (long long)(sim_clock_ns() - t.ready_ns));
	sim_check(sim_clock_ns() - t.ready_ns <= max + 2 * CALLBACK_NS);
	ec_store_release(&t.is_over, true);			/* meets load_run */
}

static void over_event(int fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	if (fd >= 0)
		(void)sim_fd_read(fd);
	over();
}

static void over_post(void *arg)
{
	(void)arg;
	over();
}

static void make_ready(void)
{
	static const struct timeval tv = { .tv_usec = 200 };

	sim_note("ready");
	t.ready_ns = sim_clock_ns();
	switch (t.shape->waiter) {
	case DESCRIPTOR:
		sim_fd_write(t.fd);
		break;
	case TIMER:
		t.ready_ns += 200000;
		sim_check(ec_event_add(&t.ev, &tv) == 0);
		break;
	case ACTIVE:
	case READER:
	case WRITER:
		ec_event_active(&t.ev, EC_READ, 1);
		break;
	case POST:
		sim_check(ec_base_post(t.base, t.shape->waiter_color, over_post, NULL) == 0);
		break;
	case EXIT:
		sim_check(ec_base_loopexit(t.base, NULL) == 0);
		break;
	}
}

static void load_run(void *arg)
{
	struct load *l = arg;
	unsigned ran = ec_add_acq_rel(&t.ran, 1) + 1;

	sim_sleep(CALLBACK_NS);
	if (ran == READY_AT)
		make_ready();
	if (ec_load_acquire(&t.is_over))			/* meets over */
		return;
	sim_check(ran <= RAN_MAX);
	l->next ^= t.shape->is_ping_pong;
	sim_check(ec_base_post(t.base, l->colors[l->next], load_run, l) == 0);
}

static void load_start(unsigned i)
{
	uint32_t color = i == 0 ? t.shape->color : LOAD + 10 * i;

	t.loads[i] = (struct load){ .colors = { color, color + LOAD / 2 } };
	sim_check(ec_base_post(t.base, color, load_run, &t.loads[i]) == 0);
}

static void outside_run(void *arg)
{
	(void)arg;
	sim_sleep(CALLBACK_NS);
}

static void outside_main(void *arg)
{
	(void)arg;
	while (!ec_load_acquire(&t.is_over)) {			/* meets over */
		sim_check(ec_base_post(t.base, t.shape->color, outside_run, NULL) == 0);
		sim_sleep(CALLBACK_NS / 2);
	}
}

/* The worker that runs it does nothing else until all is over. */
static void stand(void)
{
	while (!ec_load_acquire(&t.is_over))			/* meets over */
		sim_sleep(CALLBACK_NS);
}

static void stuck_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	stand();
}

static void start(struct ec_base *base, unsigned worker, void *arg)
{
	(void)base;
	(void)worker;
	(void)arg;
	stand();
}

static void nothing(void *arg)
{
	(void)arg;
}

/* The first color makes the workers: what is added after that may be at home at any of them. */
static void begin(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = sim_random(3); i > 0; i--)
		sim_check(ec_base_post(t.base, i, nothing, NULL) == 0);
	sim_check(ec_base_post(t.base, OTHER, nothing, NULL) == 0);
	if (t.shape->waiter == READER)
		sim_check(ec_event_set_color_shared(&t.ev, t.shape->waiter_color) == 0);
	else
		sim_check(ec_event_set_color(&t.ev, t.shape->waiter_color) == 0);
	if (t.shape->waiter == DESCRIPTOR)
		sim_check(ec_event_add(&t.ev, NULL) == 0);
	if (t.shape->is_stuck) {
		sim_check(ec_event_set_color(&t.stuck_ev, STUCK) == 0);
		ec_event_active(&t.stuck_ev, EC_READ, 1);
	}
	for (i = 0; i < t.shape->loads; i++)
		load_start(i);
	if (t.shape->loads == 0)
		make_ready();
}

static void body(const void *arg)
{
	int id = -1;

	t.shape = arg;
	t.base = sim_base_new(t.shape->workers, "epoll");
	if (t.shape->has_priorities)
		sim_check(ec_base_priority_init(t.base, 3) == 0);
	if (t.shape->is_starting)
		t.base->start = start;
	t.ran = 0;
	ec_store_relaxed(&t.is_over, false);
	t.fd = sim_fd_open();
	sim_check(ec_event_init(&t.ev, t.base, t.shape->waiter == DESCRIPTOR ? t.fd : -1,
				t.shape->waiter == DESCRIPTOR ? EC_READ : 0, over_event, NULL) == 0);
	sim_check(ec_event_init(&t.stuck_ev, t.base, -1, 0, stuck_event, NULL) == 0);
	sim_check(ec_base_post(t.base, 0, begin, NULL) == 0);
	if (t.shape->is_outside)
		id = sim_start("outside", outside_main, NULL);
	if (t.shape->waiter == EXIT) {
		sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
		over();
	}
	(void)ec_base_loop(t.base, 0);
	sim_check(ec_load_acquire(&t.is_over));
	if (id >= 0)
		sim_join(id);
	(void)ec_base_loop(t.base, 0);
	sim_base_free(t.base);
}

#define CASE(n, ...) { .name = n, .body = body, .arg = &(const struct shape){ __VA_ARGS__ } }

int main(int argc, char **argv)
{
	const struct sim_case cases[] = {
		CASE("self", .workers = 2, .loads = 2, .color = LOAD, .waiter_color = OTHER),
		CASE("ping-pong", .workers = 2, .loads = 2, .is_ping_pong = true, .color = LOAD, .waiter_color = OTHER),
		CASE("ping-pong-one-worker", .workers = 1, .loads = 1, .is_ping_pong = true, .color = LOAD,
		     .waiter_color = OTHER),
		CASE("ping-pong-three", .workers = 3, .loads = 3, .is_ping_pong = true, .color = LOAD,
		     .waiter_color = OTHER, .waiter = TIMER),
		CASE("ping-pong-color-0", .workers = 2, .loads = 2, .is_ping_pong = true, .color = LOAD),
		CASE("color-0", .workers = 2, .loads = 1, .waiter = TIMER),
		CASE("own", .workers = 2, .loads = 2, .color = LOAD, .waiter_color = LOAD),
		CASE("own-active", .workers = 2, .loads = 2, .color = LOAD, .waiter_color = LOAD, .waiter = ACTIVE),
		CASE("own-ping-pong", .workers = 2, .loads = 2, .is_ping_pong = true, .color = LOAD,
		     .waiter_color = LOAD),
		CASE("own-priorities", .workers = 2, .loads = 2, .color = LOAD, .waiter_color = LOAD, .waiter = ACTIVE,
		     .has_priorities = true),
		CASE("outside", .workers = 2, .loads = 2, .is_outside = true, .color = LOAD, .waiter_color = OTHER),
		CASE("post", .workers = 2, .loads = 2, .is_ping_pong = true, .color = LOAD, .waiter_color = OTHER,
		     .waiter = POST),
		CASE("reader", .workers = 2, .loads = 2, .color = LOAD, .waiter_color = LOAD, .waiter = READER),
		CASE("reader-ping-pong", .workers = 2, .loads = 2, .is_ping_pong = true, .color = LOAD,
		     .waiter_color = LOAD, .waiter = READER),
		CASE("exit", .workers = 2, .loads = 2, .color = 0, .waiter = EXIT),
		CASE("exit-ping-pong", .workers = 3, .loads = 3, .is_ping_pong = true, .color = LOAD, .waiter = EXIT),
		CASE("stuck", .workers = 2, .loads = 2, .is_ping_pong = true, .color = LOAD, .waiter_color = OTHER,
		     .is_stuck = true),
		CASE("stuck-three", .workers = 3, .loads = 3, .is_ping_pong = true, .color = LOAD,
		     .waiter_color = OTHER, .is_stuck = true),
		CASE("starting", .workers = 3, .loads = 0, .waiter_color = OTHER, .is_starting = true),
		CASE("starting-busy", .workers = 3, .loads = 1, .is_ping_pong = true, .color = LOAD,
		     .waiter_color = OTHER, .is_starting = true),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
