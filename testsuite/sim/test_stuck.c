/*
 * Callbacks that wait for others: what is queued, or becomes ready, behind them at the same worker runs soon
 * at another one.
 */
#include <stdbool.h>

#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { FDS = 3 };

struct shape {
	unsigned workers;
	bool is_poll;			/* the poller that keeps no set in the kernel */
	bool is_post;			/* what gets stuck is a post from another thread */
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct ec_event ev[FDS];
} t;

static void begin(const void *arg)
{
	t.shape = arg;
	t.base = sim_base_new(t.shape->workers, t.shape->is_poll ? "poll" : "epoll");
}

/* ---------------------------------------------------------------- blocked */

static _Atomic(uint32_t) has_run;

static void waits_run(void *arg)
{
	(void)arg;
	while (ec_load_acquire(&has_run) == 0)
		ec_futex_wait(&has_run, 0, NULL);
}

static void ends_wait_run(void *arg)
{
	(void)arg;
	ec_store_release(&has_run, 1u);
	ec_futex_wake(&has_run, 1);
}

static void blocks_run(void *arg)
{
	(void)arg;
	/* Both here: what the first one waits for is queued behind it, on the same worker. */
	sim_check(ec_base_post(t.base, 101, ends_wait_run, NULL) == 0);
	waits_run(NULL);
}

static void blocks_later(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	blocks_run(arg);
}

/* After a millisecond `fn` runs in color 100. */
static void begin_blocked(const void *arg, void (*fn)(int, short, void *))
{
	static const struct timeval ms = { .tv_usec = 1000 };

	begin(arg);
	has_run = 0;
	sim_check(ec_event_init(&t.ev[0], t.base, -1, 0, fn, NULL) == 0);
	sim_check(ec_event_set_color(&t.ev[0], 100) == 0);
	sim_check(ec_event_add(&t.ev[0], &ms) == 0);
}

/*
 * A callback that waits for one that is queued behind it: another worker, which has been asleep for
 * long, is woken to take that.
 */
static void blocked_body(const void *arg)
{
	int64_t start;

	begin_blocked(arg, blocks_later);
	start = sim_clock_ns();
	sim_check(ec_base_loop(t.base, 0) == 1);
	sim_check(sim_clock_ns() - start < 1900000);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- blocked-late */

enum { RUNS_MAX = 4, RUN_NS = 20000, LATE_MAX_NS = 900000 };

static int64_t posted_ns;

static void long_run(void *arg)
{
	(void)arg;
	sim_sleep(RUN_NS);
}

/* What it waits for comes from elsewhere, to a color that was here before. */
static void blocks_here(int fd, short what, void *arg)
{
	unsigned i;

	(void)fd;
	(void)what;
	(void)arg;
	for (i = 1 + sim_random(RUNS_MAX); i > 0; i--)
		sim_check(ec_base_post(t.base, 101, long_run, NULL) == 0);
	sim_check(ec_base_post(t.base, 102, waits_run, NULL) == 0);
}

static void is_in_time(void *arg)
{
	sim_check(sim_clock_ns() - posted_ns < LATE_MAX_NS);
	ends_wait_run(arg);
}

static void posts_late(void *arg)
{
	(void)arg;
	sim_sleep(1000000 + sim_random(200000));
	posted_ns = sim_clock_ns();
	sim_check(ec_base_post(t.base, 101, is_in_time, NULL) == 0);
}

/*
 * A post from outside to a color of the worker that is blocked, perhaps at the moment at which the others go to sleep:
 * one of them takes it at once.
 */
static void blocked_late_body(const void *arg)
{
	int id;

	begin_blocked(arg, blocks_here);
	id = sim_start("poster", posts_late, NULL);
	sim_check(ec_base_loop(t.base, 0) == 1);
	sim_join(id);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- stuck */

/* 0 and 2 have one home, as a rule. That of 0 waits for that of 2. */
enum { STUCK_AFTER = 8 };

static int stuck_fd[FDS];
static unsigned stuck_reads;

static void stuck_read(int fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	sim_check(sim_fd_read(fd));
	if (fd == stuck_fd[2]) {
		ends_wait_run(NULL);
		sim_check(ec_base_loopbreak(t.base) == 0);
	} else if (fd == stuck_fd[0] && ++stuck_reads == STUCK_AFTER && !t.shape->is_post) {
		waits_run(NULL);
	}
}

static void stuck_writer(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < STUCK_AFTER; i++) {
		sim_sleep(sim_random(25000));
		sim_fd_write(stuck_fd[0]);
	}
	if (t.shape->is_post)
		sim_check(ec_base_post(t.base, 100, waits_run, NULL) == 0);
	sim_sleep(sim_random(2) * 10000000);
	sim_fd_write(stuck_fd[2]);
}

/*
 * A callback that waits for one whose descriptor becomes ready at the same worker, now or later: whoever
 * began to run it, and however that came, another worker looks after the descriptor.
 */
static void stuck_body(const void *arg)
{
	unsigned i;
	int id;

	begin(arg);
	has_run = 0;
	stuck_reads = 0;
	for (i = 0; i < FDS; i++) {
		stuck_fd[i] = sim_fd_open();
		sim_check(ec_event_init(&t.ev[i], t.base, stuck_fd[i], EC_READ | EC_PERSIST, stuck_read, NULL) == 0);
		sim_check(ec_event_set_color(&t.ev[i], 100 + i) == 0);
		sim_check(ec_event_add(&t.ev[i], NULL) == 0);
	}
	id = sim_start("writer", stuck_writer, NULL);
	sim_check(ec_base_loop(t.base, 0) == 0);
	sim_join(id);
	for (i = 0; i < FDS; i++)
		sim_check(ec_event_del(&t.ev[i], EC_DEL_BLOCK) == 0);
	ec_base_free(t.base);
}

#define CASE(n, fn, ...) { .name = n, .body = fn, .arg = &(const struct shape){ __VA_ARGS__ } }

int main(int argc, char **argv)
{
	const struct sim_case cases[] = {
		CASE("blocked", blocked_body, .workers = 2),
		CASE("blocked-late", blocked_late_body, .workers = 2),
		CASE("blocked-late-three", blocked_late_body, .workers = 3),
		CASE("stuck", stuck_body, .workers = 2),
		CASE("stuck-three", stuck_body, .workers = 3),
		CASE("stuck-post", stuck_body, .workers = 2, .is_post = true),
		CASE("stuck-post-poll", stuck_body, .workers = 3, .is_post = true, .is_poll = true),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
