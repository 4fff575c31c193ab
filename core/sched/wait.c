#include "wait.h"

#include <limits.h>

#include "ec.h"
#include "base.h"
#include "observe/stall.h"
#include "os/tsan.h"
#include "worker.h"

static struct ec_spin waits_mu = { .rank = EC_RANK_WAIT };
static struct ec_list waits = { &waits, &waits };	/* waits_mu */
static unsigned epoch;				/* waits_mu: of the list; another one in a forked child */

static struct ec_waiting *waiting_at(struct ec_list *at)
{
	return ec_container_of(at, struct ec_waiting, link);
}

/* ---------------------------------------------------------------- dependencies */

/* Is a thread, whose innermost callback is that of `frame`, in the callback of `w`? */
static bool is_in_callback_of(const struct ec_worker *frame, const struct ec_worker *w)
{
	while (frame != NULL && frame != w)
		frame = frame->outer;
	return frame != NULL;
}

static bool is_in_base(const struct ec_worker *frame, const struct ec_base *base)
{
	while (frame != NULL && frame->base != base)
		frame = frame->outer;
	return frame != NULL;
}

/* Is a thread that is at `self` one of the base's own? */
static bool is_thread_of(const struct ec_worker *self, const struct ec_base *base)
{
	while (self != NULL && self->outer != NULL)
		self = self->outer;
	return self != NULL && self->base == base;
}

/* True: the thread that pauses `base` waits in `q`. A nested loop does not count: a callback in it may resume. */
static bool is_pauser(const struct ec_waiting *q, struct ec_base *base)
{
	return !q->is_implied && ec_load_relaxed(&base->pauser) == q->thread;
}

static bool is_quiescent(const struct ec_waiting *q, const struct ec_base *base)
{
	return q->what == EC_WAIT_RESUME && q->base == base;
}

static bool depends(const struct ec_waiting *r, const struct ec_waiting *q)
{
	switch (r->what) {
	case EC_WAIT_CALLBACK:
		return is_in_callback_of(q->frame, r->worker);
	case EC_WAIT_QUIESCENT:
		return is_in_callback_of(q->frame, r->worker) && !is_quiescent(q, r->base);
	case EC_WAIT_RESUME:
		return is_pauser(q, r->base);
	case EC_WAIT_LOOP:
		return (q->thread != r->thread && is_in_base(q->frame, r->base)) ||
		       (r->is_implied && is_pauser(q, r->base));
	case EC_WAIT_THREADS:
		return q->thread != r->thread && is_thread_of(q->self, r->base);
	}
	return false;
}

/* ---------------------------------------------------------------- the search */

/* Records that `q` is on a path from the new wait, after `r`. */
static void reach(struct ec_waiting *q, struct ec_waiting *r, struct ec_waiting **todo)
{
	q->from = r;
	q->todo = *todo;
	*todo = q;
}

/*
 * Under the WAIT lock: finds a wait that depends on `me` and that `me` depends on; `from` has its path back to `me`.
 * NULL: there is none. Each wait is visited once, and compared with all others.
 */
static struct ec_waiting *find_circle(struct ec_waiting *me)
{
	struct ec_waiting *todo = NULL, *r, *q;
	struct ec_list *at;

	for (at = waits.next; at != &waits; at = at->next)
		waiting_at(at)->from = NULL;
	for (reach(me, me, &todo); (r = todo) != NULL;) {
		todo = r->todo;
		if (depends(r, me))
			return r;
		for (at = waits.next; at != &waits; at = at->next) {
			q = waiting_at(at);
			if (q->from == NULL && !ec_load_relaxed(&q->is_broken) && depends(r, q))
				reach(q, r, &todo);
		}
	}
	return NULL;
}

/* Under the WAIT lock: ends the last wait on the path to `r` that need not wait. False: there is none. */
static bool break_one(struct ec_waiting *r, const struct ec_waiting *me)
{
	while (r != me && (r->what == EC_WAIT_LOOP || r->what == EC_WAIT_THREADS))
		r = r->from;
	if (r == me)
		return false;
	ec_store_release(&r->is_broken, true);			/* meets ec_wait_is_broken */
	ec_add_acq_rel(r->futex, 1);
	ec_futex_wake(r->futex, INT_MAX);
	return true;
}

/* ---------------------------------------------------------------- joining and leaving */

static struct ec_worker *innermost_callback(struct ec_worker *w)
{
	while (w != NULL && w->current == NULL)
		w = w->outer;
	return w;
}

static void fill(struct ec_waiting *wait)
{
	wait->thread = ec_thread_key();
	wait->self = ec_self();
	wait->frame = innermost_callback(wait->self);
}

static void join(struct ec_waiting *wait)
{
	wait->epoch = epoch;
	ec_list_push_back(&waits, &wait->link);
}

/* What a report of a cycle says. */
static const char *const waits_for[] = {
	[EC_WAIT_CALLBACK] = "the end of a callback",
	[EC_WAIT_QUIESCENT] = "the end of a callback, to pause its event_base",
	[EC_WAIT_RESUME] = "the end of a pause",
	[EC_WAIT_LOOP] = "the end of a loop",
	[EC_WAIT_THREADS] = "the end of the threads of an event_base",
};

/* Under the WAIT lock. The waits of the cycle that `me` would close, in order; their number. */
static int copy_circle(struct ec_waiting *me, struct ec_stall_wait *ret, int max)
{
	struct ec_waiting *r, *last = find_circle(me);
	int num = 0, at;

	for (r = last; r != NULL; r = r == me ? NULL : r->from)
		num++;
	for (r = last, at = num - 1; at >= 0; r = r->from, at--) {
		if (at < max)
			ret[at] = (struct ec_stall_wait){ .worker = r->frame, .what = waits_for[r->what] };
	}
	return num;
}

/*
 * Under the WAIT lock, which is released for the report: `me` would close a cycle. The other threads of it wait, so
 * that their stacks show where.
 */
static __attribute__((noinline)) void tell_circle(struct ec_waiting *me) EC_NO_ANALYSIS
{
	struct ec_stall_wait circle[EC_PARTIES_MAX];
	int num = copy_circle(me, circle, EC_PARTIES_MAX);

	ec_spin_unlock(&waits_mu);
	ec_stall_tell_cycle(circle, num);
	ec_spin_lock(&waits_mu);
}

bool ec_wait_begin(struct ec_waiting *wait)
{
	bool is_free;

	fill(wait);
	ec_spin_lock(&waits_mu);
	is_free = find_circle(wait) == NULL;
	if (is_free)
		join(wait);
	else if (ec_stall_is_on())
		tell_circle(wait);
	ec_spin_unlock(&waits_mu);
	return is_free;
}

bool ec_wait_begin_for_sure(struct ec_waiting *wait)
{
	bool is_free = true, is_told = false;
	struct ec_waiting *r;

	fill(wait);
	ec_spin_lock(&waits_mu);
	while (is_free && (r = find_circle(wait)) != NULL) {
		if (!is_told && ec_stall_is_on()) {
			is_told = true;
			tell_circle(wait);
		} else {
			is_free = break_one(r, wait);
		}
	}
	if (is_free)
		join(wait);
	ec_spin_unlock(&waits_mu);
	return is_free;
}

void ec_wait_end(struct ec_waiting *wait)
{
	ec_spin_lock(&waits_mu);
	if (wait->epoch == epoch)
		ec_list_remove(&wait->link);
	ec_spin_unlock(&waits_mu);
}

void ec_wait_nest(struct ec_waiting *wait, struct ec_base *base)
{
	*wait = (struct ec_waiting){ .what = EC_WAIT_LOOP, .is_implied = true, .base = base };
	fill(wait);
	ec_spin_lock(&waits_mu);
	join(wait);
	ec_spin_unlock(&waits_mu);
}

void ec_wait_unnest(struct ec_waiting *wait)
{
	if (wait->base == NULL)
		return;
	ec_wait_end(wait);
	wait->base = NULL;
}

/* ---------------------------------------------------------------- fork */

void ec_waits_freeze(void)
{
	ec_spin_freeze(&waits_mu);
}

void ec_waits_thaw(void)
{
	ec_spin_thaw(&waits_mu);
}

/* The list may be damaged. Makes it anew, from the loops that the calling thread is in. */
void ec_waits_reset(void)
{
	struct ec_worker *w;

	(void)ec_spin_reset(&waits_mu);
	ec_list_init(&waits);
	epoch++;
	for (w = ec_self(); w != NULL; w = w->outer) {
		if (w == &w->base->zero && w->base->nested.base != NULL)
			join(&w->base->nested);
	}
}

/* ---------------------------------------------------------------- for the callback of an event */

void ec_wait_prepare(struct ec_wait *wait, struct ec_worker *runner, struct ec_event *ev)
{
	*wait = (struct ec_wait){ .runner = runner, .ev = ev, .seq = ec_load_relaxed(&runner->run_seq) };
	ec_add_acq_rel(&runner->del_waiters, 1);
}

void ec_wait_notify(struct ec_worker *w)
{
	ec_add_acq_rel(&w->run_done, 1);
	ec_futex_wake(&w->run_done, INT_MAX);
}

static bool is_running(const struct ec_wait *wait)
{
	return ec_load_acquire(&wait->runner->running_event) == wait->ev &&
	       ec_load_acquire(&wait->runner->run_seq) == wait->seq;
}

static void sleep_until_ended(const struct ec_wait *wait, struct ec_waiting *waiting)
{
	uint32_t done;

	for (;;) {
		done = ec_load_acquire(&wait->runner->run_done);
		if (!is_running(wait) || ec_wait_is_broken(waiting))
			return;
		ec_futex_wait(&wait->runner->run_done, done, NULL);
	}
}

void ec_wait_for(struct ec_wait *wait)
{
	struct ec_waiting waiting = {
		.what = EC_WAIT_CALLBACK,
		.base = wait->runner->base,
		.worker = wait->runner,
		.futex = &wait->runner->run_done,
	};
	bool is_circle;

	if (is_running(wait)) {
		is_circle = !ec_wait_begin(&waiting);
		if (!is_circle) {
			sleep_until_ended(wait, &waiting);
			ec_wait_end(&waiting);
			is_circle = ec_wait_is_broken(&waiting) && is_running(wait);
		}
		if (is_circle)
			ec_log(EC_LOG_WARN, "event_del: two callbacks wait for each other's end; not waiting");
	}
	ec_tsan_acquire(&wait->runner->run_done);
	ec_sub_acq_rel(&wait->runner->del_waiters, 1);
}

/* ---------------------------------------------------------------- for a face */

/* A thread that runs no worker is its key, made odd. */
static const void *place_of_thread(void)
{
	return (const char *)ec_thread_key() + 1;
}

static struct ec_worker *worker_at(const void *place)
{
	return (uintptr_t)place % 2 == 0 ? (struct ec_worker *)(uintptr_t)place : NULL;
}

const void *ec_place(void)
{
	struct ec_worker *w = ec_self();

	return w != NULL ? w : place_of_thread();
}

bool ec_place_is_own(const void *place)
{
	struct ec_worker *w = worker_at(place);

	return w != NULL ? is_in_callback_of(ec_self(), w) : place == place_of_thread();
}

bool ec_place_wait(const void *place, uint32_t *word, uint32_t seen)
{
	_Atomic(uint32_t) *futex = (_Atomic(uint32_t) *)word;
	struct ec_waiting waiting = { .what = EC_WAIT_CALLBACK, .worker = worker_at(place), .futex = futex };

	if (waiting.worker != NULL && !ec_wait_begin(&waiting))
		return false;
	while (ec_load_acquire(futex) == seen)
		ec_futex_wait(futex, seen, NULL);
	if (waiting.worker != NULL)
		ec_wait_end(&waiting);
	return !ec_wait_is_broken(&waiting);
}
