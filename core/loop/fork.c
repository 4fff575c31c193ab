#include "fork.h"

#include <errno.h>
#include <pthread.h>

#include "ec.h"
#include "io/poller.h"
#include "io/signals.h"
#include "io/watch.h"
#include "observe/stall.h"
#include "os/chunk.h"
#include "os/clone.h"
#include "os/list.h"
#include "os/process.h"
#include "os/thread.h"
#include "sched/color.h"
#include "sched/colors.h"
#include "sched/gate.h"
#include "sched/mailbox.h"
#include "sched/post.h"
#include "sched/queue.h"
#include "sched/refs.h"
#include "sched/wait.h"
#include "threads.h"

static pthread_mutex_t bases_mu = PTHREAD_MUTEX_INITIALIZER;

/* bases_mu */
static struct ec_list bases = { &bases, &bases };

/* atomic: a hint, there was one, ever */
static _Atomic(bool) has_bases;

uintptr_t ec_fork_gone_num;
__thread struct ec_fork_known ec_fork_known;

static pthread_mutex_t install_mu = PTHREAD_MUTEX_INITIALIZER;

/* install_mu; any thread reads is_installed */
static _Atomic(bool) is_installed;
static bool is_watching;

/* ---------------------------------------------------------------- the fork itself */

static void base_freeze(struct ec_base *base)
{
	unsigned i, n;

	ec_start_lock(base);
	n = ec_workers_num(base);
	ec_spin_freeze(&base->mu);
	for (i = 0; i < n; i++)
		ec_bias_freeze(&base->bias, &base->workers[i]->src);
	for (i = 0; i < n; i++)
		ec_bias_freeze(&base->bias, &base->workers[i]->run);
	for (i = 0; i < n; i++)
		ec_mailbox_freeze(base->workers[i]);
	ec_colors_freeze(&base->colors);
	ec_spin_freeze(&base->pool_mu);
	ec_spin_freeze(&base->numbers.mu);
}

static void base_thaw(struct ec_base *base)
{
	unsigned i, n = ec_workers_num(base);

	ec_spin_thaw(&base->numbers.mu);
	ec_spin_thaw(&base->pool_mu);
	ec_colors_thaw(&base->colors);
	for (i = n; i-- > 0;)
		ec_mailbox_thaw(base->workers[i]);
	for (i = n; i-- > 0;)
		ec_spin_thaw(&base->workers[i]->run);
	for (i = n; i-- > 0;)
		ec_spin_thaw(&base->workers[i]->src);
	ec_spin_thaw(&base->mu);
	ec_start_unlock(base);
}

/*
 * atomic: the thread whose fork is in progress, and whether it has all locks. A child that another thread clones reads
 * both.
 */
static _Atomic(const void *) forker;
static _Atomic(bool) is_frozen;

static void prepare(void)
{
	struct ec_list *at;

	ec_fork_look();
	ec_stall_freeze();	/* first: the watchdog takes locks of bases under its own */
	pthread_mutex_lock(&bases_mu);
	ec_store_release(&forker, ec_thread_key());
	for (at = bases.next; at != &bases; at = at->next)
		base_freeze(ec_container_of(at, struct ec_base, fork_link));
	ec_waits_freeze();
	ec_signals_freeze();
	ec_debug_freeze();
	ec_store_release(&is_frozen, true);
}

static void release(void)
{
	struct ec_list *at;

	ec_store_release(&is_frozen, false);
	ec_debug_thaw();
	ec_signals_thaw();
	ec_waits_thaw();
	for (at = bases.prev; at != &bases; at = at->prev)
		base_thaw(ec_container_of(at, struct ec_base, fork_link));
	ec_store_release(&forker, NULL);
	pthread_mutex_unlock(&bases_mu);
	ec_stall_thaw();
}

/* A worker's thread blocked the program's signals. */
static void unmask(void)
{
	struct ec_worker *self = ec_self();

	while (self != NULL && self->outer != NULL)
		self = self->outer;
	if (self != NULL && self->id != 0)
		ec_osthread_unmask(&self->thread);
}

static void base_inherit(struct ec_base *base)
{
	base->is_child = true;
	base->fork_pins = 0;
	ec_store_relaxed(&base->holds, 0);
	ec_bias_reset_entered(&base->bias, &base->zero.src, &base->zero.run);
}

/* The forking thread has the process for itself from here on. */
static void release_in_child(void)
{
	struct ec_list *at;

	ec_clone_note();
	ec_waits_reset();
	for (at = bases.next; at != &bases; at = at->next)
		base_inherit(ec_container_of(at, struct ec_base, fork_link));
	unmask();
	release();
	ec_stall_reset();
}

/* ---------------------------------------------------------------- a child that was cloned */

/* Was a thread that is gone inside the biased lock, by the short way? */
static bool is_entered(struct ec_bias *l, const struct ec_spin *s)
{
	unsigned state = ec_load_relaxed(&l->state);

	return state < EC_ROLES && (ec_load_relaxed(&s->is_entered[state]) || ec_load_relaxed(&l->is_both[state]));
}

/* Free all locks. True: one of them was held. */
static bool base_reset(struct ec_base *base)
{
	bool was_held = ec_swap_acq_rel(&base->starting, 0) != 0;
	unsigned i;

	was_held |= ec_spin_reset(&base->mu);
	was_held |= is_entered(&base->bias, &base->zero.src) || is_entered(&base->bias, &base->zero.run);
	for (i = 0; i < ec_workers_num(base); i++) {
		was_held |= ec_spin_reset(&base->workers[i]->src);
		was_held |= ec_spin_reset(&base->workers[i]->run);
		was_held |= ec_mailbox_reset(base->workers[i]);
	}
	was_held |= ec_colors_reset(&base->colors);
	was_held |= ec_spin_reset(&base->numbers.mu);
	if (ec_spin_reset(&base->pool_mu)) {
		ec_list_init(&base->post_pool);		/* its posts leak */
		base->post_pool_num = 0;
	}
	return was_held;
}

/*
 * The state that a free lock guarded is consistent. If a lock was held, its state may not be: that base is lost. But a
 * thread that was about to fork held all locks, and no state was changing then. A base enters the list with one store
 * to a `next` pointer, and leaves it with one: so forwards the list is consistent.
 */
static void recover(void)
{
	bool is_whole = ec_load_relaxed(&is_frozen), was_held;
	struct ec_list *at, *before = &bases;
	struct ec_base *base;

	bases_mu = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	install_mu = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	ec_store_relaxed(&forker, NULL);
	ec_store_relaxed(&is_frozen, false);
	ec_clone_note();
	ec_waits_reset();
	ec_signals_reset();
	ec_debug_reset();
	ec_chunk_reset();
	ec_stall_reset();
	for (at = bases.next; at != &bases; before = at, at = at->next) {
		base = ec_container_of(at, struct ec_base, fork_link);
		at->prev = before;
		was_held = base_reset(base);
		base->is_lost = was_held && !is_whole;
		base_inherit(base);
	}
	bases.prev = before;
	unmask();
}

/* In libc's fork, release_in_child comes later, and must find the locks as they are. */
void ec_fork_look(void)
{
	if (ec_clone_is_child() && ec_load_relaxed(&forker) != ec_thread_key())
		recover();
}

/* Under install_mu. */
static int install(void)
{
	int r;

	if (!is_watching)
		ec_clone_watch();
	is_watching = true;
	r = -pthread_atfork(prepare, release, release_in_child);
	ec_store_release(&is_installed, r == 0);
	return r;
}

int ec_fork_prepare(void)
{
	int r;

	if (ec_load_acquire(&is_installed))
		return 0;
	pthread_mutex_lock(&install_mu);
	r = ec_load_relaxed(&is_installed) ? 0 : install();
	pthread_mutex_unlock(&install_mu);
	return r;
}

void ec_fork_register(struct ec_base *base)
{
	ec_fork_look();
	ec_store_relaxed(&has_bases, true);
	pthread_mutex_lock(&bases_mu);
	ec_list_push_back(&bases, &base->fork_link);
	pthread_mutex_unlock(&bases_mu);
}

void ec_fork_unregister(struct ec_base *base)
{
	ec_fork_look();
	pthread_mutex_lock(&bases_mu);
	while (base->fork_pins != 0) {
		pthread_mutex_unlock(&bases_mu);
		ec_cpu_relax();
		pthread_mutex_lock(&bases_mu);
	}
	ec_list_remove(&base->fork_link);
	ec_store_plain(&ec_fork_gone_num, ec_fork_gone_num + 1);
	pthread_mutex_unlock(&bases_mu);
}

bool ec_fork_pin(struct ec_base *base)
{
	struct ec_list *at;

	/* In a process that never had a locked base, one thread uses a base, and knows that it is there. */
	if (!ec_load_relaxed(&has_bases))
		return false;
	pthread_mutex_lock(&bases_mu);
	for (at = bases.next; at != &bases && at != &base->fork_link; at = at->next)
		;
	if (at != &bases) {
		base->fork_pins++;
		ec_fork_known = (struct ec_fork_known){ base, ec_fork_gone_num };
	}
	pthread_mutex_unlock(&bases_mu);
	return at != &bases;
}

void ec_fork_unpin(struct ec_base *base)
{
	pthread_mutex_lock(&bases_mu);
	base->fork_pins--;
	pthread_mutex_unlock(&bases_mu);
}

/* ---------------------------------------------------------------- the child's base */

/* The callback that ran is lost, also a shared one, whose color may be elsewhere. Under RUNQ of its color. */
static void run_lost(struct ec_worker *w, struct ec_color *c)
{
	struct ec_worker *at = ec_load_relaxed(&c->worker);
	bool is_reader = w->is_reader, is_exclusive = !is_reader && at == w && c->state == EC_COLOR_RUNNING;

	ec_counter_add(&w->active_num, UINT32_MAX);
	w->is_reader = false;
	if (is_reader && --c->readers == 0 && c->state == EC_COLOR_WAITING)
		ec_color_enqueue(at, c);
	if (is_exclusive) {
		ec_posts_close_in_child(w, c);
		if (c->tasks_num != 0)
			ec_color_enqueue(w, c);
		else
			c->state = EC_COLOR_IDLE;
	}
	if ((is_reader || is_exclusive) && c != &w->base->color0)
		ec_color_put(w->base, c);
}

/* The thread of this worker is the parent's: the callback that it ran is lost, the tasks that waited are not. */
static void worker_orphaned(struct ec_base *base, struct ec_worker *w)
{
	ec_run_lock(w);
	if (w->id != 0 && ec_load_relaxed(&w->has_thread))
		ec_process_count(&ec_process.threads, -1u);
	ec_store_relaxed(&w->has_thread, false);
	ec_store_relaxed(&w->is_started, false);
	ec_list_init(&w->free_posts);	/* perhaps in the middle of a change: its posts are leaked */
	w->free_posts_num = 0;
	if (w->current != NULL && ec_is_colored(base))
		run_lost(w, w->current);
	else if (base->is_single)
		ec_posts_close_in_child(w, &base->color0);
	w->current = NULL;
	w->local_head = w->local_tail = 0;
	w->now_ns = 0;
	w->is_pausing = false;
	w->is_sleeper = false;
	ec_store_relaxed(&w->busy_since, 0);
	ec_store_relaxed(&w->running_event, NULL);
	ec_store_relaxed(&w->suspended, NULL);
	w->ran = (struct ec_ran){ NULL, -1 };
	ec_run_unlock(w);
}

/* Of any worker: in a process of one thread, none sleeps or waits for another. */
static void worker_settle(struct ec_worker *w)
{
	w->asleep = false;
	ec_mailbox_wake(w);
	ec_store_relaxed(&w->del_waiters, 0);
}

/* If a thread of the parent waited in the poller, the poller may be in the middle of a change: it is leaked. */
static int poller_reinit(struct ec_worker *w)
{
	bool precise = (w->base->flags & EC_BASE_PRECISE_TIMER) != 0;
	struct ec_poller *fresh;
	int r;

	if (!w->is_waiting)
		return w->poller->ops->reopen(w->poller);
	r = w->poller->ops->open(precise, &fresh);
	if (r < 0)
		return r;
	if (w->base->virtual != NULL)
		fresh->ops = w->poller->ops;
	if (w->poller->kernel_fd >= 0)
		ec_close(w->poller->kernel_fd);
	w->poller = fresh;
	w->is_waiting = false;
	return 0;
}

/* Under SOURCE. */
static int worker_reinit(struct ec_worker *w)
{
	int r;

	r = poller_reinit(w);
	if (r < 0)
		return r;
	ec_wakeup_close(&w->wakeup);
	r = ec_wakeup_open(&w->wakeup);
	if (r < 0)
		return r;
	ec_source_rearm_all(w);
	ec_source_rewatch(w, NULL);
	return 0;
}

static void base_settle(struct ec_base *base)
{
	struct ec_worker *self = ec_worker_in(base);
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		struct ec_worker *w = base->workers[i];

		if (!ec_worker_is_mine(w) && (i != 0 || ec_load_relaxed(&base->is_running)))
			worker_orphaned(base, w);
		worker_settle(w);
	}
	/* The loop's thread is the parent's, unless the fork was in one of its callbacks. */
	if (self != &base->zero) {
		base->running_pri = 0;
		ec_bias_reset(&base->bias);
		ec_store_relaxed(&base->wants_quiet, false);
		ec_store_relaxed(&base->is_running, self != NULL);
		if (self != NULL)
			self->is_successor = true;
	}
	ec_gate_reinit(base, self == &base->zero);
	ec_store_relaxed(&base->sleepers, 0);
	ec_store_relaxed(&base->searchers, 0);
	ec_store_relaxed(&base->tickers, 0);
}

/* All of them, and the signals, also if one fails; the first failure. */
static int workers_reinit(struct ec_base *base)
{
	int r, first = 0;
	unsigned i;

	for (i = 0; i < ec_workers_num(base); i++) {
		ec_src_lock(base->workers[i]);
		r = worker_reinit(base->workers[i]);
		ec_src_unlock(base->workers[i]);
		if (r < 0 && first == 0)
			first = r;
	}
	r = ec_signals_reinit(base);
	return first < 0 ? first : r;
}

void ec_base_inherit_signals(struct ec_base *base)
{
	ec_signals_inherit(base);
}

unsigned ec_base_reinits(const struct ec_base *base)
{
	return base->reinits_num;
}

int ec_base_reinit(struct ec_base *base)
{
	int r;

	ec_fork_look();
	if (base->is_lost) {
		ec_log(EC_LOG_WARN, "event_reinit: this process was cloned without fork() while another thread was "
				    "changing the event_base, which is lost here");
		return -ENOTRECOVERABLE;
	}
	if (ec_is_locked(base) && !ec_fork_is_child(base))
		return 0;
	base->reinits_num++;
	base_settle(base);
	ec_base_unprepare(base); /* theirs would be the parent's descriptors */
	r = workers_reinit(base);
	base->is_child = base->is_bare = r < 0;
	/* In a callback of a loop that continues. */
	ec_start_lock(base);
	if (r == 0 && ec_is_colored(base) && ec_worker_is_mine(&base->zero))
		ec_base_start_threads(base);
	ec_start_unlock(base);
	return r;
}

/* Its lists must not be followed: all but the descriptors is leaked, and its events stay as they are. */
void ec_fork_abandon(struct ec_base *base)
{
	unsigned i;

	ec_fork_unregister(base);
	for (i = 0; i < ec_workers_num(base); i++) {
		if (base->workers[i]->poller->kernel_fd >= 0)
			ec_close(base->workers[i]->poller->kernel_fd);
		ec_wakeup_close(&base->workers[i]->wakeup);
	}
	if (ec_current_base() == base)
		ec_set_current_base(NULL);
}
