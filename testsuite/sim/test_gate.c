/*
 * Pause and the loop's own ends: while a pause holds, no callback runs but the pauser's own;
 * two pausers have turns; nothing is left asleep afterwards. When event_base_loop has returned, no
 * callback runs anywhere; loopexit comes after what was ready, EC_LOOP_ONCE after something ran.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "core/lock/sync.h"
#include "core/sched/base.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { COLORS = 3, POSTS = 3, PAUSERS_MAX = 2 };

struct shape {
	unsigned workers, pausers;
	bool in_callback;		/* the pausers are callbacks, else threads of their own */
	bool is_nested;
	bool is_poll;			/* the poller that keeps no set in the kernel */
	bool is_busy;			/* a color goes on for ever by itself */
	bool is_exit;			/* one of the callbacks ends the loop */
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	unsigned running;		/* callbacks, but those that pause */
	bool is_paused;
	_Atomic(unsigned) done;
	unsigned expected;
	bool has_left;			/* the loop */
	struct ec_event ev[COLORS];
	unsigned ran[COLORS];
} t;

static void stop(void *arg)
{
	(void)arg;
	sim_check(ec_base_loopbreak(t.base) == 0);
}

static void done(void)
{
	if (ec_add_acq_rel(&t.done, 1) + 1 == t.expected)
		sim_check(ec_base_post(t.base, 0, stop, NULL) == 0);
}

static void begin(const void *arg)
{
	t.shape = arg;
	t.base = sim_base_new(t.shape->workers, t.shape->is_poll ? "poll" : "epoll");
	t.running = 0;
	t.is_paused = t.has_left = false;
	t.done = 0;
	sim_check(ec_color_set_cost(t.base, 7, 100000) == 0);
}

/* A callback's inside: seen by the pausers, and not by who comes after the loop. */
static void work(void)
{
	sim_check(!t.is_paused && !t.has_left);
	t.running++;
	if (sim_random(2) == 0)
		sim_sleep(3000);
	EC_POINT();
	sim_check(!t.is_paused && !t.has_left);
	t.running--;
}

/* ---------------------------------------------------------------- pause */

static void post_run(void *arg)
{
	(void)arg;
	work();
	done();
}

static void pause_once(void)
{
	sim_check(ec_base_pause(t.base) == 0);
	sim_note("paused");
	sim_check(t.running == 0 && !t.is_paused);
	t.is_paused = true;
	if (t.shape->is_nested)
		sim_check(ec_base_pause(t.base) == 0);
	if (sim_random(2) == 0)
		sim_sleep(5000);
	EC_POINT();
	if (t.shape->is_nested)
		sim_check(ec_base_resume(t.base) == 0);
	EC_POINT();
	sim_check(t.running == 0);
	t.is_paused = false;
	sim_note("resumes");
	sim_check(ec_base_resume(t.base) == 0);
	done();
}

static void pauser_thread(void *arg)
{
	(void)arg;
	pause_once();
}

static void poster_thread(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < COLORS * POSTS; i++)
		sim_check(ec_base_post(t.base, i % COLORS, post_run, NULL) == 0);
}

static void pause_body(const void *arg)
{
	int ids[PAUSERS_MAX + 1];
	unsigned i, num = 0;

	begin(arg);
	t.expected = COLORS * POSTS + t.shape->pausers;
	ids[num++] = sim_start("poster", poster_thread, NULL);
	for (i = 0; i < t.shape->pausers; i++) {
		if (t.shape->in_callback)
			sim_check(ec_base_post(t.base, 100 + i, pauser_thread, NULL) == 0);
		else
			ids[num++] = sim_start("pauser", pauser_thread, NULL);
	}
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < num; i++)
		sim_join(ids[i]);
	sim_check(t.done == t.expected);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- pause, and shared events that are read once */

/* Ready at all times, so it runs whenever it may. */
static void shared_run(int fd, short what, void *arg)
{
	struct ec_event *ev = arg;

	(void)fd;
	sim_check(what == EC_READ);
	work();
	if (++t.ran[ev - t.ev] == POSTS)
		done();
	else
		sim_check(ec_event_add(ev, NULL) == 0);
}

static void shared_body(const void *arg)
{
	unsigned i;
	int id;

	begin(arg);
	t.expected = COLORS + 1;
	for (i = 0; i < COLORS; i++) {
		t.ran[i] = 0;
		sim_check(ec_event_init(&t.ev[i], t.base, sim_fd_open(), EC_READ, shared_run, &t.ev[i]) == 0);
		sim_check(ec_event_set_color_shared(&t.ev[i], 1 + i % 2) == 0);
		sim_check(ec_event_add(&t.ev[i], NULL) == 0);
		sim_fd_set(t.ev[i].fd, EC_READ);
	}
	id = sim_start("pauser", pauser_thread, NULL);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	sim_join(id);
	sim_check(t.done == t.expected);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- break */

static void again_run(void *arg)
{
	work();
	sim_check(ec_base_post(t.base, (uint32_t)(uintptr_t)arg, again_run, arg) == 0);
}

static void break_thread(void *arg)
{
	(void)arg;
	sim_sleep(10000);
	sim_check(ec_base_loopbreak(t.base) == 0);
}

/* Work without end in every color, and a loopbreak: nothing runs once the loop has returned. */
static void break_body(const void *arg)
{
	unsigned i;
	int id;

	begin(arg);
	for (i = 0; i < COLORS; i++)
		again_run((void *)(uintptr_t)i);
	id = sim_start("breaker", break_thread, NULL);
	sim_check(ec_base_loop(t.base, 0) == 0);
	sim_check(t.running == 0);
	t.has_left = true;
	sim_check(ec_base_got_break(t.base));
	EC_POINT();
	sim_sleep(10000);
	sim_check(t.running == 0);
	sim_join(id);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- timers and the end of a loop */

static void timer_run(int fd, short what, void *arg)
{
	struct ec_event *ev = arg;

	(void)fd;
	sim_check(what == EC_TIMEOUT);
	t.ran[ev - t.ev]++;
	work();
	if (t.ran[ev - t.ev] == POSTS)
		sim_check(ec_event_del(ev, EC_DEL_BLOCK) == 0);
}

static void timers_add(short events)
{
	unsigned i;

	for (i = 0; i < COLORS; i++) {
		struct timeval tv = { .tv_usec = (int)(1 + i) };

		t.ran[i] = 0;
		sim_check(ec_event_init(&t.ev[i], t.base, -1, events, timer_run, &t.ev[i]) == 0);
		sim_check(ec_event_set_color(&t.ev[i], i) == 0);
		sim_check(ec_color_set_cost(t.base, i + 1, 100000) == 0);
		sim_check(ec_event_add(&t.ev[i], &tv) == 0);
	}
}

/* Persistent timers that delete themselves: the loop ends when the last one has. */
static void timers_body(const void *arg)
{
	unsigned i;

	begin(arg);
	timers_add(EC_PERSIST);
	sim_check(ec_base_loop(t.base, 0) == 1);
	t.has_left = true;
	for (i = 0; i < COLORS; i++)
		sim_check(t.ran[i] == POSTS);
	sim_check(ec_base_num_events(t.base, EC_COUNT_ADDED) == 0);
	ec_base_free(t.base);
}

/* EC_LOOP_ONCE: returns when something ran, and leaves the rest for the next one. */
static void once_body(const void *arg)
{
	unsigned i, ran = 0, before, turns = 0;

	begin(arg);
	timers_add(0);
	do {
		before = ran;
		t.has_left = false;
		sim_check(ec_base_loop(t.base, EC_LOOP_ONCE) >= 0);
		t.has_left = true;
		for (ran = 0, i = 0; i < COLORS; i++)
			ran += t.ran[i];
		sim_check(ran > before && t.running == 0);
		turns++;
	} while (ran < COLORS);
	sim_check(turns <= COLORS);
	t.has_left = false;
	sim_check(ec_base_loop(t.base, EC_LOOP_ONCE) == 1);
	ec_base_free(t.base);
}

static void ready_run(int fd, short what, void *arg)
{
	(void)what;
	sim_check(sim_fd_read(fd));
	++*(unsigned *)arg;
	work();
}

/* EC_LOOP_NONBLOCK: what is ready before the call has run when it returns, and it does not wait. */
static void nonblock_body(const void *arg)
{
	int64_t start;
	unsigned i;
	int fd[COLORS];

	begin(arg);
	for (i = 0; i < COLORS; i++) {
		t.ran[i] = 0;
		fd[i] = sim_fd_open();
		sim_check(ec_event_init(&t.ev[i], t.base, fd[i], EC_READ | EC_PERSIST, ready_run, &t.ran[i]) == 0);
		sim_check(ec_event_set_color(&t.ev[i], i) == 0);
		sim_check(ec_event_add(&t.ev[i], NULL) == 0);
		sim_fd_write(fd[i]);
	}
	start = sim_clock_ns();
	sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) == 0);
	t.has_left = true;
	for (i = 0; i < COLORS; i++)
		sim_check(t.ran[i] == 1);
	sim_check(sim_clock_ns() - start < 1000000);
	for (i = 0; i < COLORS; i++)
		sim_check(ec_event_del(&t.ev[i], EC_DEL_BLOCK) == 0);
	ec_base_free(t.base);
}

enum { CHAINS = 2 };

/* Makes the next descriptor ready, which is that of another color. */
static void chain_run(int fd, short what, void *arg)
{
	const int *next = arg;

	(void)what;
	sim_check(sim_fd_read(fd));
	t.ran[0]++;
	work();
	if (*next >= 0)
		sim_fd_write(*next);
}

/* EC_LOOP_NONBLOCK: what callbacks make ready before they return has run, too, whichever worker polls it. */
static void nonblock_chain_body(const void *arg)
{
	int fd[COLORS + CHAINS];
	unsigned i;

	begin(arg);
	t.ran[0] = 0;
	for (i = 0; i < COLORS + CHAINS; i++)
		fd[i] = i < COLORS ? sim_fd_open() : -1;
	for (i = 0; i < COLORS; i++) {
		sim_check(ec_event_init(&t.ev[i], t.base, fd[i], EC_READ | EC_PERSIST, chain_run,
					&fd[i + CHAINS]) == 0);
		sim_check(ec_event_set_color(&t.ev[i], COLORS - i) == 0);
		sim_check(ec_event_add(&t.ev[i], NULL) == 0);
	}
	for (i = 0; i < CHAINS; i++)
		sim_fd_write(fd[i]);
	sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) == 0);
	t.has_left = true;
	sim_check(t.ran[0] == COLORS);
	for (i = 0; i < COLORS; i++)
		sim_check(ec_event_del(&t.ev[i], EC_DEL_BLOCK) == 0);
	ec_base_free(t.base);
}

/* Posts from another thread break loops that only look. */
static void breaks_thread(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < POSTS; i++)
		sim_check(ec_base_post(t.base, i + 1, stop, NULL) == 0);
}

/* The others rest after a break, and the loop, which waits until each has polled, must not wait for that. */
static void nonblock_break_body(const void *arg)
{
	unsigned i;
	int id;

	begin(arg);
	id = sim_start("breaks", breaks_thread, NULL);
	for (i = 0; i < 2 * POSTS; i++)
		sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	sim_join(id);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- loopexit */

/* What it posts before the exit still runs. */
static void exits_run(void *arg)
{
	(void)arg;
	sim_check(ec_base_post(t.base, 1, post_run, NULL) == 0);
	sim_check(ec_base_loopexit(t.base, NULL) == 0);
	work();
}

/* Never done: the loop ends without it. */
static void busy_run(void *arg)
{
	(void)arg;
	work();
	sim_check(ec_base_post(t.base, 9, busy_run, NULL) == 0);
}

/* Beside the loop that follows there are pausers, and colors without an end. */
static void begin_loaded(const void *arg, int ids[PAUSERS_MAX])
{
	unsigned i;

	begin(arg);
	t.expected = UINT32_MAX;
	for (i = 0; i < t.shape->pausers; i++)
		ids[i] = sim_start("pauser", pauser_thread, NULL);
	for (i = 0; i < (t.shape->is_busy ? 2 : 0); i++)
		sim_check(ec_base_post(t.base, 9, busy_run, NULL) == 0);
}

/* What was posted before the exit runs before the loop returns, whatever else becomes ready. */
static void exit_body(const void *arg)
{
	int ids[PAUSERS_MAX];
	unsigned i;

	begin_loaded(arg, ids);
	sim_check(ec_base_post(t.base, 0, exits_run, NULL) == 0);
	for (i = 0; i < COLORS * POSTS; i++)
		sim_check(ec_base_post(t.base, i % COLORS, post_run, NULL) == 0);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	t.has_left = true;
	sim_check(ec_base_got_exit(t.base));
	for (i = 0; i < t.shape->pausers; i++)
		sim_join(ids[i]);
	sim_check(t.done == COLORS * POSTS + 1 + t.shape->pausers);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- a short loop under load */

enum { ENOUGH = 256, MANY = 72 };	/* callbacks after which it ends; so many that all workers run the rest */

static void enough_run(void *arg)
{
	(void)arg;
	ec_counter_add(&t.base->zero.stats.callbacks, ENOUGH);
	work();
}

/* EC_LOOP_ONCE: what was posted before the loop had run enough runs before it returns. */
static void enough_body(const void *arg)
{
	int ids[PAUSERS_MAX];
	bool is_short;
	unsigned i;

	begin_loaded(arg, ids);
	sim_check(ec_base_post(t.base, 0, enough_run, NULL) == 0);
	for (i = 0; i < MANY; i++)
		sim_check(ec_base_post(t.base, i % COLORS,
				       i == MANY / 2 && t.shape->is_exit ? exits_run : post_run, NULL) == 0);
	sim_check(ec_base_loop(t.base, EC_LOOP_ONCE) == 0);
	t.has_left = true;
	for (i = 0; i < t.shape->pausers; i++)
		sim_join(ids[i]);
	/* The exit's own post: it need not have come that far. */
	is_short = t.shape->is_exit && !ec_base_got_exit(t.base);
	sim_check(t.done <= MANY + t.shape->pausers && t.done + is_short >= MANY + t.shape->pausers);
	ec_base_free(t.base);
}

/* ---------------------------------------------------------------- a turn within a callback */

enum { ASKS = 3 };

static struct {
	unsigned asked, answered, depth;
	_Atomic(bool) is_posted, is_deleted;
} nested;

static void nested_answer(void *arg)
{
	(void)arg;
	nested.answered++;
}

/* In another color, or in the same if there is none: answers to color 0. */
static void nested_ask(void *arg)
{
	(void)arg;
	work();
	if (t.shape->in_callback)
		sim_check(ec_base_turn(t.base) == -EPERM);
	sim_check(ec_base_post(t.base, 0, nested_answer, NULL) == 0);
}

/* Waits for its answers, and so does a second one on top of it. */
static void nested_wait(void *arg)
{
	uint32_t color = t.shape->in_callback ? 5 : 0;
	unsigned i;

	(void)arg;
	nested.depth++;
	if (nested.depth == 1)
		sim_check(ec_base_post(t.base, 0, nested_wait, NULL) == 0);
	for (i = 0; i < ASKS; i++) {
		nested.asked++;
		sim_check(ec_base_post(t.base, color, nested_ask, NULL) == 0);
		while (nested.answered < nested.asked)
			sim_check(ec_base_turn(t.base) == 0 && !t.is_paused);
	}
	while (!ec_load_acquire(&nested.is_posted))
		sim_check(ec_base_turn(t.base) == 0);
}

static void nested_posted(void *arg)
{
	(void)arg;
	ec_store_release(&nested.is_posted, true);	/* meets nested_wait */
}

static void nested_thread(void *arg)
{
	(void)arg;
	if (t.shape->pausers != 0) {
		sim_check(ec_base_pause(t.base) == 0);
		t.is_paused = true;
		sim_check(t.running == 0);
		EC_POINT();
		t.is_paused = false;
		sim_check(ec_base_resume(t.base) == 0);
	}
	sim_check(ec_base_post(t.base, 0, nested_posted, NULL) == 0);
}

/* Callbacks of color 0 that run turns of the loop: what they wait for comes, from other colors and threads. */
static void nested_body(const void *arg)
{
	int id;

	begin(arg);
	nested.asked = nested.answered = nested.depth = 0;
	nested.is_posted = false;
	sim_check(ec_base_turn(t.base) == -EPERM);
	sim_check(ec_base_post(t.base, 0, nested_wait, NULL) == 0);
	id = sim_start("thread", nested_thread, NULL);
	while (ec_base_loop(t.base, 0) != 1 || !ec_load_acquire(&nested.is_posted))
		;
	sim_join(id);
	sim_check(nested.depth == 2 && nested.answered == 2 * ASKS);
	ec_base_free(t.base);
}

/* It is not called once its event is deleted, which need not wait for a turn within it. */
static void nested_signal(int sig, short what, void *arg)
{
	(void)sig;
	(void)what;
	(void)arg;
	sim_check(!ec_load_acquire(&nested.is_deleted));
	if (nested.depth++ != 0)
		return;
	while (!ec_load_acquire(&nested.is_posted))
		sim_check(ec_base_turn(t.base) == 0);
}

static void nested_del_thread(void *arg)
{
	(void)arg;
	sim_check(ec_event_del(&t.ev[0], EC_DEL_AUTOBLOCK) == 0);
	ec_store_release(&nested.is_deleted, true);	/* meets nested_signal */
	sim_check(ec_base_post(t.base, 0, nested_posted, NULL) == 0);
}

/* A callback of a signal's event that has calls left runs a turn, and a thread deletes the event. */
static void nested_del_body(const void *arg)
{
	int id;

	begin(arg);
	nested.depth = 0;
	nested.is_posted = nested.is_deleted = false;
	sim_check(ec_event_init(&t.ev[0], t.base, SIGUSR1, EC_SIGNAL | EC_PERSIST, nested_signal, NULL) == 0);
	ec_event_active(&t.ev[0], EC_SIGNAL, 3);
	id = sim_start("thread", nested_del_thread, NULL);
	while (ec_base_loop(t.base, 0) != 1 || !ec_load_acquire(&nested.is_posted))
		;
	sim_join(id);
	ec_base_free(t.base);
}

#define CASE(n, fn, ...) { .name = n, .body = fn, .arg = &(const struct shape){ __VA_ARGS__ } }

int main(int argc, char **argv)
{
	const struct sim_case cases[] = {
		CASE("pause", pause_body, .workers = 2, .pausers = 1),
		CASE("pause-two", pause_body, .workers = 3, .pausers = 2),
		CASE("pause-nested", pause_body, .workers = 2, .pausers = 2, .is_nested = true, .is_poll = true),
		CASE("pause-callback", pause_body, .workers = 2, .pausers = 1, .in_callback = true),
		CASE("pause-callbacks", pause_body, .workers = 3, .pausers = 2, .in_callback = true, .is_nested = true),
		CASE("pause-shared", shared_body, .workers = 2),
		CASE("pause-shared-three", shared_body, .workers = 3),
		CASE("break", break_body, .workers = 3),
		CASE("break-poll", break_body, .workers = 2, .is_poll = true),
		CASE("timers", timers_body, .workers = 2),
		CASE("timers-poll", timers_body, .workers = 3, .is_poll = true),
		CASE("once", once_body, .workers = 2),
		CASE("nonblock", nonblock_body, .workers = 2),
		CASE("nonblock-chain", nonblock_chain_body, .workers = 2),
		CASE("nonblock-chain3", nonblock_chain_body, .workers = 3),
		CASE("nonblock-break", nonblock_break_body, .workers = 2),
		CASE("exit", exit_body, .workers = 2),
		CASE("exit-busy", exit_body, .workers = 2, .is_busy = true),
		CASE("exit-pause", exit_body, .workers = 2, .pausers = 2, .is_busy = true),
		CASE("exit-busy-one", exit_body, .workers = 1, .is_busy = true),
		CASE("enough", enough_body, .workers = 2, .is_busy = true),
		CASE("enough-three", enough_body, .workers = 3),
		CASE("enough-pause", enough_body, .workers = 2, .pausers = 2, .is_busy = true),
		CASE("enough-exit", enough_body, .workers = 2, .is_busy = true, .is_exit = true),
		CASE("nested", nested_body, .workers = 2, .in_callback = true),
		CASE("nested-three", nested_body, .workers = 3, .in_callback = true),
		CASE("nested-pause", nested_body, .workers = 2, .in_callback = true, .pausers = 1),
		CASE("nested-one", nested_body, .workers = 1, .in_callback = true),
		CASE("nested-plain", nested_body, .workers = 1),
		CASE("nested-del", nested_del_body, .workers = 2),
		CASE("nested-del-one", nested_del_body, .workers = 1),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
