#include "quiet.h"

#include "park.h"

static int pending_sum(struct ec_base *base)
{
	unsigned i;
	int sum = 0;

	for (i = 0; i < ec_workers_num(base); i++)
		sum += (int)ec_load_acquire(&base->workers[i]->pending_num);	/* meets M2 */
	return sum + (int)ec_load_relaxed(&base->virtuals);
}

/*
 * A registration that moves to another worker is counted there first, then the move is counted (M1), then the
 * old worker's count goes down (M2). So a sum that misses the registration has read M2, and sees M1.
 */
bool ec_base_is_idle(struct ec_base *base)
{
	uint32_t moves = ec_load_acquire(&base->pending_moves);

	return pending_sum(base) == 0 && ec_load_acquire(&base->pending_moves) == moves;
}

/* The tasks that wait or run at all workers, and a number that any new work changes. */
static uint32_t active_sum(struct ec_base *base, uint32_t *pushes)
{
	uint32_t sum = 0;
	unsigned i;

	*pushes = 0;
	for (i = 0; i < ec_workers_num(base); i++) {
		ec_run_lock(base->workers[i]);
		ec_mailbox_deliver(base->workers[i]);		/* by MAIL, whoever posted */
		sum += ec_load_relaxed(&base->workers[i]->active_num);
		*pushes += ec_load_relaxed(&base->workers[i]->pushes);
		ec_run_unlock(base->workers[i]);
	}
	return sum;
}

/* Work may move during a check. Only two checks without new work in between prove that there is none. */
static bool is_quiet_since(struct ec_base *base, uint32_t pushes)
{
	uint32_t now;

	return active_sum(base, &now) == 0 && now == pushes;
}

bool ec_base_is_quiet(struct ec_base *base)
{
	uint32_t pushes;

	return active_sum(base, &pushes) == 0 && is_quiet_since(base, pushes);
}

/*
 * While a callback runs, its registration may have ended, and it may be about to make another. So registrations are
 * counted between two checks that prove that no callback ran.
 */
static bool is_nothing_left(struct ec_base *base)
{
	uint32_t pushes;

	return active_sum(base, &pushes) == 0 && ec_base_is_idle(base) && is_quiet_since(base, pushes);
}

uint64_t ec_quiet_callbacks(struct ec_base *base)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++)
		sum += ec_load_relaxed(&base->workers[i]->stats.callbacks);
	return sum;
}

bool ec_quiet_is_enough(struct ec_base *base)
{
	enum { ENOUGH_CALLBACKS = 256 };

	return (ec_load_relaxed(&base->loop_flags) & (EC_LOOP_ONCE | EC_LOOP_NONBLOCK)) != 0 &&
	       ec_quiet_callbacks(base) - ec_load_relaxed(&base->callbacks_before) >= ENOUGH_CALLBACKS;
}

void ec_loop_ran(struct ec_base *base)
{
	if (ec_quiet_is_enough(base))
		ec_park_wake_if_asleep(&base->zero);
}

enum ec_outcome ec_quiet_outcome(struct ec_base *base)
{
	bool has_run = ec_quiet_callbacks(base) != ec_load_relaxed(&base->callbacks_before);
	int flags = ec_load_relaxed(&base->loop_flags);

	if ((flags & EC_LOOP_ONCE) != 0 && has_run)
		return EC_STOPPED;
	if (ec_quiet_may_end(base) && is_nothing_left(base))
		return EC_NOTHING_LEFT;
	return (flags & EC_LOOP_NONBLOCK) != 0 ? EC_STOPPED : EC_GO_ON;
}

/*
 * A worker becomes idle while worker 0 waits for that. It wakes worker 0, which checks whether all workers are idle
 * now. Worker 0 also checks once more before it sleeps: the last worker may have become idle before the announcement.
 */
bool ec_loop_idle(struct ec_worker *w)
{
	struct ec_base *base = w->base;

	if (!ec_load_acquire(&base->wants_quiet))				/* meets colored_idle */
		return true;
	if (w->id == 0)
		return !ec_base_is_quiet(base) || ec_quiet_outcome(base) == EC_GO_ON;
	if ((ec_load_relaxed(&base->loop_flags) & (EC_LOOP_ONCE | EC_LOOP_NONBLOCK)) != 0 || pending_sum(base) == 0)
		ec_park_wake_if_asleep(&base->zero);
	return true;
}
