#include "start.h"

#include <errno.h>
#include <string.h>

#include "ec.h"
#include "fork.h"
#include "io/far.h"
#include "io/observing.h"
#include "io/poller.h"
#include "io/time.h"
#include "observe/late.h"
#include "os/clock.h"
#include "os/topology.h"
#include "sched/above.h"
#include "sched/colors.h"
#include "sched/event.h"
#include "sched/gate.h"
#include "sched/mailbox.h"
#include "sched/park.h"
#include "sched/queue.h"
#include "sched/ready.h"
#include "sched/refs.h"
#include "sched/task.h"
#include "threads.h"

int ec_worker_init(struct ec_worker *w, struct ec_base *base, unsigned id, const struct ec_poller_ops *ops,
		   bool precise)
{
	int r;

	ec_clear(w, sizeof(*w));
	w->base = base;
	w->id = id;
	w->run_popped = ec_task_run_popped;
	w->plain_input = ops->input;
	w->mailbox = &ec_mailbox_none;
	ec_spin_init(&w->src, EC_RANK_SOURCE);
	ec_spin_init(&w->run, EC_RANK_RUNQ);
	ec_list_init(&w->free_posts);
	ec_fds_init(&w->fds);
	ec_timers_init(&w->timers);
	ec_far_init(&w->timers);
	w->wait_until_ns = INT64_MAX;
	w->wall_synced_ns = -EC_WALL_SYNC_NS;	/* too long ago, whatever the time is */

	r = ec_runq_init(&w->runq, base->lanes_num);
	if (r < 0)
		return r;
	r = ops->open(precise, &w->poller);
	if (r < 0)
		goto fini_runq;
	r = ec_wakeup_open(&w->wakeup);
	if (r < 0)
		goto close_poller;
	r = ops->watch(w->poller, ec_wakeup_fd(&w->wakeup), 0, EC_READ | EC_ET, 0);
	if (r < 0)
		goto close_wakeup;
	return 0;

close_wakeup:
	ec_wakeup_close(&w->wakeup);
close_poller:
	ops->close(w->poller);
fini_runq:
	ec_runq_fini(&w->runq);
	return r;
}

void ec_worker_fini(struct ec_worker *w)
{
	ec_wakeup_close(&w->wakeup);
	w->poller->ops->close(w->poller);
	ec_runq_fini(&w->runq);
	ec_far_fini(&w->timers);
	ec_timers_fini(&w->timers);
	ec_fds_fini(&w->fds);
	ec_idle_fini(&w->idle);
	ec_free(w->victims);
	ec_free(w->ring);
	ec_mailbox_free(w->mailbox);
}

static void workers_free(struct ec_base *base, unsigned from, unsigned to)
{
	while (to-- > from) {
		ec_worker_fini(base->workers[to]);
		ec_free(base->workers[to]);
		base->workers[to] = NULL;
	}
}

static int victims_find(struct ec_base *base, struct ec_worker *w)
{
	if (w->victims == NULL)
		w->victims = ec_calloc(base->workers_max, sizeof(*w->victims));
	if (w->victims == NULL)
		return -ENOMEM;
	ec_topology_victims(w->id, base->workers_max, w->victims);
	return 0;
}

/* Nothing reads an entry that was not written. */
static int ring_make(struct ec_worker *w)
{
	if (w->ring != NULL)
		return 0;
	w->ring = ec_lines_alloc(sizeof(*w->ring));
	if (w->ring == NULL)
		return -ENOMEM;
	memset(w->ring->known, 0, sizeof(w->ring->known));
	return 0;
}

static int workers_make(struct ec_base *base)
{
	const struct ec_poller_ops *ops = base->zero.poller->ops;
	struct ec_worker *w;
	unsigned i;
	int r;

	for (i = 1; i < base->workers_max; i++) {
		w = ec_lines_alloc(sizeof(*w));
		r = w == NULL ? -ENOMEM : ec_worker_init(w, base, i, ops, (base->flags & EC_BASE_PRECISE_TIMER) != 0);
		if (r < 0) {
			ec_free(w);
			workers_free(base, 1, i);
			return r;
		}
		base->workers[i] = w;
	}
	for (i = 0; i < base->workers_max; i++) {
		r = victims_find(base, base->workers[i]);
		if (r == 0 && i != 0)
			r = ring_make(base->workers[i]);
		if (r < 0) {
			workers_free(base, 1, base->workers_max);
			return r;
		}
	}
	return 0;
}

/* What is ready in color 0 enters worker 0's run queue; when a callback is running, after it. */
static void color0_join(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;

	base->color0.tasks_num = ec_load_relaxed(&w->active_num);
	if (w->current != NULL) {
		base->color0.state = EC_COLOR_RUNNING;
		ec_counter_add(&w->active_num, 1);
		ec_store_relaxed(&base->is_continue, true);
	} else if (base->color0.tasks_num != 0) {
		ec_color_enqueue(w, &base->color0);
	}
}

/*
 * The first color of a base with a single worker: no color runs beside another, so all of them are
 * queued as color 0 is. Other threads may come from now on.
 */
static void start_single(struct ec_base *base)
{
	struct ec_worker *w = &base->zero;
	bool was_locked = ec_is_locked(base);

	(void)ec_clock_ticks();	/* the first call measures for a moment: not within a run */
	if (!was_locked) {
		ec_fork_register(base);
		ec_bias_allow(&base->bias);
		base->fast_path = NULL;
		/* The loop's thread, in a callback, need not wait for its next turn; nor another for the first loop. */
		ec_bias_claim(&base->bias, &w->src, &w->run,
			      ec_load_relaxed(&base->is_running) ? EC_CLAIM_LOOP : EC_CLAIM_MAKER);
	}
	/* Both, so that a loop's thread that holds them finds one kind of base. */
	ec_bias_lock_both(&base->bias, &w->src, &w->run);
	ec_store_relaxed(&base->is_continue, true);	/* a lane that runs ends here */
	ec_store_release(&base->is_locked, true);
	ec_store_release(&base->is_single_colored, true);
	ec_base_set_paths(base);
	ec_spin_unlock(&w->run);
	ec_spin_unlock(&w->src);
}

/*
 * All of a first color that can fail, and nothing that shows: a worker counts from grow() on. Without memory or
 * descriptors a later call tries again. Start lock.
 */
static int prepare(struct ec_base *base)
{
	int r = ec_fork_prepare();

	if (r == 0 && !ec_has_colors(base))
		r = ring_make(&base->zero);
	if (r < 0 || base->is_single)
		return r;
	r = ec_colors_reserve(&base->colors);
	if (r < 0 || base->virtual != NULL || base->workers[1] != NULL)
		return r;
	return workers_make(base);
}

/* The prepared workers count. */
static void grow(struct ec_base *base)
{
	unsigned i;

	for (i = 1; i < base->workers_max; i++)
		base->workers[i]->mailbox = ec_mailbox_new();
	ec_store_release(&base->workers_num, base->workers_max);
}

/* Has the base fewer workers than it wants? Then a later prepare() may make them. */
static bool is_short(struct ec_base *base)
{
	return !base->is_single && base->virtual == NULL && ec_workers_num(base) == 1;
}

/* The base has colors from here on: with the workers that are prepared, or, where none are, with worker 0 only. */
static void start(struct ec_base *base)
{
	bool was_locked = ec_is_locked(base);
	struct ec_mailbox *mailbox = ec_mailbox_new();

	ec_colors_reserve_needed(&base->colors);
	if (!ec_load_relaxed(&base->is_running))
		ec_gate_close(base);
	if (base->virtual == NULL && base->workers[1] != NULL)
		grow(base);
	if (!was_locked)
		ec_fork_register(base);

	/* By their words: the bias ends here for good. */
	ec_bias_lock_both(&base->bias, &base->zero.src, &base->zero.run);
	ec_bias_end(&base->bias);
	if (!was_locked)			/* else it is NULL, and other threads may read it */
		base->fast_path = NULL;
	color0_join(base);
	base->zero.mailbox = mailbox;
	if (base->zero.asleep)
		(void)ec_mailbox_sleep(&base->zero);	/* else a message would wake nobody */
	ec_store_release(&base->is_colored, true);
	ec_store_release(&base->is_locked, true);
	ec_spin_unlock(&base->zero.run);
	ec_spin_unlock(&base->zero.src);
}

/*
 * Start lock. The loop runs. If its thread sleeps, it must go to sleep anew as one of several workers: those would not
 * know else that it is idle.
 */
static void threads_join(struct ec_base *base)
{
	ec_base_start_threads(base);
	ec_park_wake_if_asleep(&base->zero);
}

/* Start lock. */
static void start_and_run(struct ec_base *base)
{
	if (base->is_single)
		start_single(base);
	else
		start(base);
	if (ec_load_relaxed(&base->is_running))
		threads_join(base);
}

int ec_base_start_colors(struct ec_base *base, enum ec_birth birth)
{
	int r = 0;

	if (ec_has_colors(base))
		return 0;
	ec_start_lock(base);
	if (!ec_has_colors(base)) {
		r = prepare(base);
		if (r == 0 || birth == EC_BIRTH_NEEDED)
			start_and_run(base);
	}
	ec_start_unlock(base);
	ec_late_flush();
	if (r == 0 || birth != EC_BIRTH_NEEDED)
		return r;
	ec_log_errno(EC_LOG_WARN, -r, "cannot make workers: the loop's thread runs all colors for now");
	return 0;
}

int ec_base_prepare_colors(struct ec_base *base)
{
	int r;

	if (ec_has_colors(base) && !is_short(base))
		return 0;
	ec_start_lock(base);
	r = ec_has_colors(base) && !is_short(base) ? 0 : prepare(base);
	if (r == 0 && ec_has_colors(base) && is_short(base)) {
		grow(base);
		if (ec_load_relaxed(&base->is_running))
			threads_join(base);
	}
	if (ec_has_colors(base))
		r = 0;
	ec_start_unlock(base);
	ec_late_flush();
	return r;
}

void ec_base_unprepare(struct ec_base *base)
{
	ec_start_lock(base);
	if (is_short(base) && base->workers[1] != NULL)
		workers_free(base, 1, base->workers_max);
	ec_start_unlock(base);
}
