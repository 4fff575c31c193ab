/*
 * Two protocols alone, before and beside the engine that uses them: the color's state word
 * (STYLE example 5) and the poster's and the sleeper's handshake (example 2). Each wrong turn
 * that looked right at some time is a mutant, and must be caught within its number of seeds.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/lock/sync.h"
#include "driver.h"
#include "sched.h"

/* ---------------------------------------------------------------- the color's state word */

enum { COLOR_IDLE, COLOR_QUEUED, COLOR_RUNNING, COLOR_DIRTY };

enum color_mutant {
	COLOR_RIGHT,
	POST_FORGETS_DIRTY,		/* a post to a running color changes nothing */
	DONE_STORES_IDLE,		/* a plain store, over what was posted meanwhile */
	DONE_IGNORES_LEFT,		/* becomes idle though it left tasks */
	POST_BEFORE_TASK,		/* the state first, the task after */
	POST_ALWAYS_QUEUES,		/* each poster queues the color */
	RUN_STAYS_QUEUED,		/* a run does not say that it runs */
};

enum { POSTERS = 2, POSTS = 3, WORKERS = 2, TASKS = POSTERS * POSTS, BUDGET = 2 };

static enum color_mutant color_mutant;

static struct {
	_Atomic(unsigned) state;
	_Atomic(unsigned) runnable;	/* times that the color is in the run queue */
	_Atomic(unsigned) running;
	_Atomic(unsigned) posted[POSTERS];
	_Atomic(unsigned) ran_num;
	unsigned ran[POSTERS];
} color;

static bool color_post(void)
{
	static const unsigned next[] = {
		[COLOR_IDLE] = COLOR_QUEUED,
		[COLOR_QUEUED] = COLOR_QUEUED,
		[COLOR_RUNNING] = COLOR_DIRTY,
		[COLOR_DIRTY] = COLOR_DIRTY,
	};
	unsigned old = ec_load_relaxed(&color.state), to;

	do {
		to = color_mutant == POST_FORGETS_DIRTY && old == COLOR_RUNNING ? old : next[old];
	} while (!ec_cas_weak_acq_rel(&color.state, &old, to));
	return old == COLOR_IDLE || color_mutant == POST_ALWAYS_QUEUES;
}

static bool color_done(bool tasks_left)
{
	unsigned old = COLOR_RUNNING;

	if (color_mutant == RUN_STAYS_QUEUED)
		old = COLOR_QUEUED;
	if (color_mutant == DONE_IGNORES_LEFT)
		tasks_left = false;
	if (color_mutant == DONE_STORES_IDLE && !tasks_left) {
		ec_store_release(&color.state, COLOR_IDLE);
		return false;
	}
	if (!tasks_left && ec_cas_acq_rel(&color.state, &old, COLOR_IDLE))
		return false;
	ec_swap_acq_rel(&color.state, COLOR_QUEUED);
	return true;
}

static bool color_take(unsigned poster)
{
	if (ec_load_acquire(&color.posted[poster]) == color.ran[poster])
		return false;
	color.ran[poster]++;
	ec_add_acq_rel(&color.ran_num, 1);
	return true;
}

static bool color_has_tasks(void)
{
	unsigned i;

	for (i = 0; i < POSTERS; i++) {
		if (ec_load_acquire(&color.posted[i]) != color.ran[i])
			return true;
	}
	return false;
}

static void color_run(void)
{
	unsigned i, num = 0;

	if (color_mutant != RUN_STAYS_QUEUED)
		ec_swap_acq_rel(&color.state, COLOR_RUNNING);
	sim_check(ec_add_acq_rel(&color.running, 1) == 0);
	for (i = 0; i < POSTERS; i++) {
		while (num < BUDGET && color_take(i))
			num++;
	}
	ec_sub_acq_rel(&color.running, 1);
	if (color_done(num == BUDGET && color_has_tasks()))
		ec_add_acq_rel(&color.runnable, 1);
}

static void color_worker(void *arg)
{
	unsigned num;

	(void)arg;
	while (ec_load_acquire(&color.ran_num) < TASKS) {
		num = ec_load_acquire(&color.runnable);
		if (num == 0)
			ec_cpu_relax();
		else if (ec_cas_acq_rel(&color.runnable, &num, num - 1))
			color_run();
	}
}

static void color_poster(void *arg)
{
	_Atomic(unsigned) *posted = arg;
	unsigned i;

	for (i = 0; i < POSTS; i++) {
		if (color_mutant != POST_BEFORE_TASK)
			ec_add_acq_rel(posted, 1);
		if (color_post())
			ec_add_acq_rel(&color.runnable, 1);
		if (color_mutant == POST_BEFORE_TASK)
			ec_add_acq_rel(posted, 1);
	}
}

static void color_body(const void *arg)
{
	int ids[WORKERS + POSTERS];
	unsigned i;

	color_mutant = *(const enum color_mutant *)arg;
	color.state = COLOR_IDLE;
	color.runnable = color.running = color.ran_num = 0;
	for (i = 0; i < POSTERS; i++) {
		color.posted[i] = 0;
		color.ran[i] = 0;
		ids[i] = sim_start("poster", color_poster, &color.posted[i]);
	}
	for (i = 0; i < WORKERS; i++)
		ids[POSTERS + i] = sim_start("worker", color_worker, NULL);
	for (i = 0; i < WORKERS + POSTERS; i++)
		sim_join(ids[i]);
	sim_check(color.ran_num == TASKS);
}

/* ---------------------------------------------------------------- falling asleep */

enum park_mutant {
	PARK_RIGHT,
	LOOKS_FIRST,			/* S2, S1: looks for work, then says that it sleeps */
	SAYS_ONLY,			/* S1 without S2 */
	WAKES_FIRST,			/* P2, P1: looks at the sleeper, then queues */
	NEVER_WAKES,			/* P1 without P2 */
};

static enum park_mutant park_mutant;

static struct {
	_Atomic(uint32_t) asleep;
	_Atomic(unsigned) queued;
	_Atomic(unsigned) wakeups;	/* an eventfd: stays until read */
} park;

static void park_poster(void *arg)
{
	(void)arg;
	if (park_mutant != WAKES_FIRST)
		ec_add_acq_rel(&park.queued, 1);				/* P1 */
	if (park_mutant != NEVER_WAKES && ec_swap_acq_rel(&park.asleep, 0) == 1) { /* P2 */
		ec_add_acq_rel(&park.wakeups, 1);
		sim_wake(&park.wakeups, 1);
	}
	if (park_mutant == WAKES_FIRST)
		ec_add_acq_rel(&park.queued, 1);
}

static void park_sleep(void)
{
	EC_POINT();
	while (park.wakeups == 0)
		sim_block(&park.wakeups, SIM_FOREVER, "a wake-up");
	park.wakeups = 0;
}

static void park_worker(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < POSTERS;) {
		if (ec_load_acquire(&park.queued) > i) {
			i++;
			continue;
		}
		if (park_mutant == LOOKS_FIRST && ec_load_acquire(&park.queued) > i)
			continue;
		ec_swap_acq_rel(&park.asleep, 1);				/* S1 */
		if (park_mutant == LOOKS_FIRST || park_mutant == SAYS_ONLY ||
		    ec_load_acquire(&park.queued) == i)				/* S2 */
			park_sleep();						/* S3 */
		ec_swap_acq_rel(&park.asleep, 0);
	}
}

static void park_body(const void *arg)
{
	unsigned i;

	park_mutant = *(const enum park_mutant *)arg;
	park.asleep = 0;
	park.queued = park.wakeups = 0;
	sim_start("worker", park_worker, NULL);
	for (i = 0; i < POSTERS; i++)
		sim_start("poster", park_poster, NULL);
}

#define MUTANT(kind, n)                                                                            \
	{ .name = #kind "-" #n, .body = kind##_body, .arg = &(const enum kind##_mutant){ n },      \
	  .must_fail = true, .seeds = 2000 }

int main(int argc, char **argv)
{
	static const enum color_mutant color_right = COLOR_RIGHT;
	static const enum park_mutant park_right = PARK_RIGHT;
	const struct sim_case cases[] = {
		{ .name = "color", .body = color_body, .arg = &color_right },
		MUTANT(color, POST_FORGETS_DIRTY),
		MUTANT(color, DONE_STORES_IDLE),
		MUTANT(color, DONE_IGNORES_LEFT),
		MUTANT(color, POST_BEFORE_TASK),
		MUTANT(color, POST_ALWAYS_QUEUES),
		MUTANT(color, RUN_STAYS_QUEUED),
		{ .name = "park", .body = park_body, .arg = &park_right },
		MUTANT(park, LOOKS_FIRST),
		MUTANT(park, SAYS_ONLY),
		MUTANT(park, WAKES_FIRST),
		MUTANT(park, NEVER_WAKES),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
