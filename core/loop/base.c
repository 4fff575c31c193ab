#include "sched/base.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "announce.h"
#include "fork.h"
#include "io/deadline.h"
#include "io/observing.h"
#include "io/poller.h"
#include "observe/control.h"
#include "observe/fibers.h"
#include "once.h"
#include "os/number.h"
#include "os/process.h"
#include "os/topology.h"
#include "sched/above.h"
#include "sched/colors.h"
#include "sched/event.h"
#include "sched/gate.h"
#include "sched/handover.h"
#include "sched/holds.h"
#include "sched/misuse.h"
#include "sched/numbers.h"
#include "sched/post.h"
#include "sched/queue.h"
#include "sched/pool.h"
#include "sched/ready.h"
#include "sched/refs.h"
#include "sched/task.h"
#include "sched/wait.h"
#include "start.h"
#include "threads.h"
#include "virtual.h"

enum { WORKERS_MAX = EC_EV_WORKER + 1 };

/* ---------------------------------------------------------------- the environment */

/* All names begin with EVENT_. Hardly any process has one, and then none is searched for. */
static bool env_has_any(void)
{
	char *const *at;

	for (at = environ; at != NULL && *at != NULL; at++) {
		if ((*at)[0] == 'E' && strncmp(*at, "EVENT_", strlen("EVENT_")) == 0)
			return true;
	}
	return false;
}

static const char *env(const char *name, bool is_ignored)
{
	return is_ignored ? NULL : secure_getenv(name);
}

static bool is_avoided_by_env(const char *method)
{
	char name[32] = "EVENT_NO";
	size_t i;

	for (i = 0; method[i] != '\0' && i < sizeof(name) - 9; i++)
		name[8 + i] = (char)(method[i] >= 'a' && method[i] <= 'z' ? method[i] - 'a' + 'A' : method[i]);
	return secure_getenv(name) != NULL;
}

static bool is_avoided(const struct ec_config *cfg, bool ignores_env, const char *method)
{
	const char *const *name;

	for (name = cfg->avoid; name != NULL && *name != NULL; name++) {
		if (strcmp(*name, method) == 0)
			return true;
	}
	return !ignores_env && is_avoided_by_env(method);
}

/* Read once: a program may make bases by the thousand, and opening two files costs more than a base. */
static unsigned quota(void)
{
	static _Atomic(uint32_t) known; /* 0: not yet; two threads may both read the files, with one result */
	uint32_t cpus = ec_load_relaxed(&known);

	if (cpus == 0) {
		cpus = ec_topology_quota();
		ec_store_relaxed(&known, cpus);
	}
	return cpus;
}

static unsigned workers_wanted(const struct ec_config *cfg, bool ignores_env)
{
	const char *value = env("EVENT_WORKERS", ignores_env);
	uint64_t n = cfg->workers_num;

	if (value != NULL && !ec_number_is(value, WORKERS_MAX, &n))
		ec_log(EC_LOG_WARN, "EVENT_WORKERS=%s is not a number from 0 to %d: it is ignored", value, WORKERS_MAX);
	if (n == 0)
		n = ec_topology_cpus(quota());
	return n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

/* ---------------------------------------------------------------- methods */

static const char *method_name(const struct ec_poller_ops *ops, unsigned flags)
{
	bool is_changelist = (flags & EC_BASE_EPOLL_USE_CHANGELIST) != 0;

	return ops->name == ec_poller_epoll.name && is_changelist ? "epoll (with changelist)" : ops->name;
}

const char *ec_method_name(size_t i)
{
	size_t j;

	for (j = 0; j < i && ec_pollers[j] != NULL; j++)
		;
	return ec_pollers[j] == NULL ? NULL : ec_pollers[j]->name;
}

const char **ec_method_names(void)
{
	enum { METHODS_MAX = 8 };
	static const char *names[METHODS_MAX];
	size_t i;

	for (i = 0; ec_pollers[i] != NULL && i < METHODS_MAX - 1; i++)
		names[i] = ec_pollers[i]->name;
	return names;
}

const char *ec_base_method(const struct ec_base *base)
{
	return method_name(base->zero.poller->ops, base->flags);
}

unsigned ec_base_features(const struct ec_base *base)
{
	return base->zero.poller->ops->features;
}

/* The first method that is allowed, has the features, and opens. */
static int open_first(struct ec_base *base, const struct ec_config *cfg, bool ignores_env)
{
	bool precise = (base->flags & EC_BASE_PRECISE_TIMER) != 0;
	int r = -ENOTSUP;
	size_t i;

	for (i = 0; ec_pollers[i] != NULL; i++) {
		if (is_avoided(cfg, ignores_env, ec_pollers[i]->name) ||
		    (ec_pollers[i]->features & cfg->features) != cfg->features)
			continue;
		r = ec_worker_init(&base->zero, base, 0, ec_pollers[i], precise);
		if (r == 0)
			return 0;
	}
	return r;
}

/* ---------------------------------------------------------------- birth */

static void lanes_free(struct ec_base *base)
{
	struct ec_lanes *l, *before;

	for (l = base->lanes_own; l != NULL; l = before) {
		before = l->before;
		ec_free(l);
	}
	base->lanes_own = NULL;
}

static void lanes_init(struct ec_base *base, struct ec_lane *lanes, unsigned num)
{
	unsigned i;

	for (i = 0; i < num; i++) {
		ec_list_init(&lanes[i].posts);
		ec_list_init(&lanes[i].others);
	}
	base->lanes = lanes;
}

/*
 * The lanes are empty, before and after. In a callback, the loop looks at those before once more, so they stay until
 * the base is freed, or gets others while no loop runs.
 */
static int lanes_make(struct ec_base *base, unsigned num)
{
	struct ec_lanes *l = ec_calloc(1, sizeof(*l) + num * sizeof(*l->at));

	if (l == NULL)
		return -ENOMEM;
	if (!ec_load_relaxed(&base->is_running))
		lanes_free(base);
	l->before = base->lanes_own;
	base->lanes_own = l;
	lanes_init(base, l->at, num);
	return 0;
}

static void configure(struct ec_base *base, const struct ec_config *cfg, bool ignores_env)
{
	const char *steal = env("EVENT_STEAL", ignores_env);

	base->flags = cfg->flags;
	if (env("EVENT_EPOLL_USE_CHANGELIST", ignores_env) != NULL)
		base->flags |= EC_BASE_EPOLL_USE_CHANGELIST;
	if (env("EVENT_PRECISE_TIMER", ignores_env) != NULL)
		base->flags |= EC_BASE_PRECISE_TIMER;
	base->has_interval = cfg->has_interval;
	base->max_interval_ns = cfg->has_interval ? ec_timeval_ns(&cfg->max_interval) : 0;
	base->max_callbacks = cfg->max_callbacks >= 0 ? cfg->max_callbacks : INT_MAX;
	base->lane_limits = base->has_interval || base->max_callbacks != INT_MAX ? EC_LIMIT_CONFIG : 0;
	base->limit_after_pri = cfg->limit_after_pri < 0 ? 0 : (unsigned)cfg->limit_after_pri;
	base->start = cfg->start;
	base->start_arg = cfg->start_arg;
	base->steals = steal == NULL || strcmp(steal, "0") != 0;
	base->virtual = ec_virtual_new(ignores_env, base->workers_max);
	base->is_single = base->workers_max == 1 && base->virtual == NULL;
	base->lanes_num = base->lanes_cap = 1;
	lanes_init(base, &base->only_lane, 1);
	base->running_pri = 0;
}

/* All but worker 0. */
static void init_parts(struct ec_base *base, const struct ec_config *cfg, bool ignores_env, unsigned workers_max)
{
	enum { AFTER = offsetof(struct ec_base, zero) + sizeof(base->zero) };

	memset((char *)base + AFTER, 0, sizeof(*base) - AFTER + workers_max * sizeof(*base->workers));
	base->workers_max = workers_max;
	base->workers = (struct ec_worker **)(void *)(base + 1);
	base->workers[0] = &base->zero;
	ec_spin_init(&base->mu, EC_RANK_BASE);
	ec_spin_init(&base->pool_mu, EC_RANK_LEAF);
	ec_list_init(&base->post_pool);
	ec_numbers_init(&base->numbers);
	ec_list_init(&base->onces);
	ec_list_init(&base->dependents);
	ec_signals_init(&base->signals);
	ec_bias_init(&base->bias, &base->gate, &base->zero.del_waiters);
	ec_list_init(&base->color0.tasks);
	base->color0.flags = EC_COLOR_PINNED;
	base->color0.refs = 1;
	ec_store_relaxed(&base->color0.alive, 1);
	ec_store_relaxed(&base->color0.worker, &base->zero);
	ec_store_relaxed(&base->workers_num, 1);
	configure(base, cfg, ignores_env);
}

/* With evthread on, the base has its locks from the start. */
static int lock_from_start(struct ec_base *base)
{
	int r;

	if (!ec_thread_is_on() || (base->flags & EC_BASE_NOLOCK) != 0)
		return 0;
	r = ec_fork_prepare();
	if (r < 0)
		return r;
	ec_fork_register(base);
	ec_store_release(&base->is_locked, true);
	ec_store_release(&base->inbox, &ec_inbox_closed);
	ec_bias_allow(&base->bias);
	ec_bias_claim(&base->bias, &base->zero.src, &base->zero.run, EC_CLAIM_MAKER);
	return 0;
}

/*
 * For the race checker the base has colors from the start, so that all callbacks run in one way. Without memory it is
 * not checked.
 */
static void check_from_start(struct ec_base *base, enum ec_check mode)
{
	if (base->virtual != NULL)
		base->fibers = ec_fibers_new(mode);
	if (base->fibers != NULL && ec_base_start_colors(base, EC_BIRTH_MAY_FAIL) == 0)
		return;
	ec_fibers_free(base->fibers);
	base->fibers = NULL;
	ec_log(EC_LOG_WARN, "no memory for the race checker: the colors of this base are not checked");
}

int ec_base_new(const struct ec_config *cfg, struct ec_base **ret)
{
	static const struct ec_config defaults = { .max_callbacks = INT_MAX };
	bool has_env = env_has_any(), ignores_env;
	struct ec_base *base;
	unsigned workers_max;
	int r;

	if (cfg == NULL)
		cfg = &defaults;
	ec_debug_note_base();
	ignores_env = !has_env || (cfg->flags & EC_BASE_IGNORE_ENV) != 0;
	workers_max = workers_wanted(cfg, ignores_env);
	base = ec_lines_alloc(sizeof(*base) + workers_max * sizeof(*base->workers) + ec_hand_size());
	if (base == NULL)
		return -ENOMEM;
	init_parts(base, cfg, ignores_env, workers_max);
	ec_colors_init(&base->colors);
	r = open_first(base, cfg, ignores_env);
	if (r < 0)
		goto free_base;
	if (base->virtual != NULL)
		ec_virtual_take_poller(base);

	r = lock_from_start(base);
	if (r < 0)
		goto fini_zero;
	if (__builtin_expect(ec_check_mode() != EC_CHECK_OFF, 0))
		check_from_start(base, ec_check_mode());
	ec_base_set_paths(base);
	if (env("EVENT_SHOW_METHOD", !has_env) != NULL) /* also with EC_BASE_IGNORE_ENV: it chooses nothing */
		ec_log(EC_LOG_MSG, "libevent using: %s", ec_base_method(base));
	if (has_env)
		ec_control_read_environment();
	ec_announce(base, cfg);
	ec_control_base_begins();
	*ret = base;
	return 0;

fini_zero:
	ec_worker_fini(&base->zero);
free_base:
	ec_virtual_free(base->virtual);
	ec_free(base);
	return r;
}

/* ---------------------------------------------------------------- end */

/* Run `t` in its color, as the loop would. */
static void job_run_last(struct ec_base *base, struct ec_color *c, struct ec_task *t)
{
	struct ec_worker *w = &base->zero;

	w->current = c;
	w->running_color = t->color;
	ec_task_run(w, t);
	w->current = NULL;
	w->running_color = 0;
}

/* How a base ends. */
struct end {
	bool finalize;			/* finalizers that wait run */
	uint32_t lost_num;		/* posts that never ran */
};

/* Of the tasks that wait, jobs run, and finalizers perhaps; the others do not. */
static void task_drop(struct ec_base *base, struct ec_color *c, struct ec_task *t, struct end *end)
{
	bool is_finalizer = t->kind == EC_KIND_EVENT_FINALIZE || t->kind == EC_KIND_EVENT_FINALIZE_FREE ||
			    t->kind == EC_KIND_FINALIZE;

	ec_task_remove(c, t);
	if (t->kind == EC_KIND_POST && ec_post_is_job(t))
		job_run_last(base, c, t);
	else if (is_finalizer && end->finalize)
		ec_task_run(&base->zero, t);
	else if (t->kind == EC_KIND_POST) {
		end->lost_num++;
		ec_free(t);
	}
}

/* False: no task waited. */
static bool tasks_drop(struct ec_base *base, struct end *end)
{
	bool is_any = false;
	struct ec_color *c;
	struct ec_task *t;
	unsigned i;

	for (; (t = ec_color_first(base, &base->color0)) != NULL; is_any = true)
		task_drop(base, &base->color0, t, end);
	for (i = 0; i < ec_workers_num(base); i++) {
		ec_mailbox_drain(base->workers[i]);
		for (; (c = ec_runq_first(&base->workers[i]->runq)) != NULL; is_any = true) {
			ec_color_get(c);
			while ((t = ec_color_first(base, c)) != NULL)
				task_drop(base, c, t, end);
			ec_color_put(base, c);
		}
	}
	return is_any;
}

/* The short ways of ec_event_del leave the note of debug mode to the program's calls. */
static void event_drop(struct ec_event *ev)
{
	if (ec_debug_on())
		ec_debug_note_pending(ev, false);
	(void)ec_event_del(ev, EC_DEL_NOBLOCK);
}

static void events_drop(struct ec_base *base, struct ec_worker *w)
{
	struct ec_event *ev;
	uint32_t slot = 0;
	void *owner;
	int i;

	for (i = 0; i < w->fds.cap; i++) {
		struct ec_source *s = ec_source_find(&w->fds, i);

		while (s != NULL && !ec_list_is_empty(&s->events)) {
			ev = ec_container_of(s->events.next, struct ec_event, of.io.link);
			event_drop(ev);
		}
	}
	while ((owner = ec_timers_find(&w->timers, &slot)) != NULL) {
		struct ec_list *queue = ec_deadline_queue(owner);

		ev = queue == NULL ? owner : ec_event_of_common(queue->next);
		event_drop(ev);
	}
	for (i = 1; w->id == 0 && base->signals.at != NULL && i < EC_SIGNALS; i++) {
		while (!ec_list_is_empty(&base->signals.at[i])) {
			ev = ec_container_of(base->signals.at[i].next, struct ec_event, of.sig.link);
			event_drop(ev);
		}
	}
}

/* The calling thread is worker 0 from now on: finalizers and jobs may ask. Returns the worker that it was. */
static struct ec_worker *thread_enter(struct ec_base *base)
{
	struct ec_worker *self = ec_self();

	if (ec_worker_is_mine(&base->zero))
		return self;
	base->zero.outer = self;
	ec_set_self(&base->zero);
	return self;
}

/* The calling thread stays a worker of other bases: the base may be freed in one of its own callbacks. */
static void thread_leave(struct ec_base *base, struct ec_worker *self)
{
	struct ec_worker *first, **at = &first, *w;

	for (w = self; w != NULL; w = w->outer) {
		if (w->base == base)
			continue;
		*at = w;
		at = &w->outer;
	}
	*at = NULL;
	ec_wait_unnest(&base->nested);
	ec_set_self(first);
}

/* Finalizers and jobs may add events and post: repeat until nothing is left. */
static void all_drop(struct ec_base *base, bool finalize)
{
	struct end end = { .finalize = finalize };
	struct ec_worker *self = thread_enter(base);
	unsigned i;

	ec_inbox_drain(base);
	do {
		for (i = 0; i < ec_workers_num(base); i++)
			events_drop(base, base->workers[i]);
	} while (tasks_drop(base, &end));
	thread_leave(base, self);
	if (ec_debug_on())
		ec_misuse_note_lost(base, end.lost_num);
}

void ec_base_attach(struct ec_base *base, struct ec_dependent *d)
{
	ec_spin_lock(&base->mu);
	ec_list_push_back(&base->dependents, &d->link);
	ec_spin_unlock(&base->mu);
}

void ec_base_detach(struct ec_base *base, struct ec_dependent *d)
{
	ec_spin_lock(&base->mu);
	ec_list_remove(&d->link);
	ec_spin_unlock(&base->mu);
}

/* Each may detach another. */
static void dependents_tell(struct ec_base *base)
{
	struct ec_dependent *d;

	ec_spin_lock(&base->mu);
	while (!ec_list_is_empty(&base->dependents)) {
		d = ec_container_of(base->dependents.next, struct ec_dependent, link);
		ec_list_remove(&d->link);
		ec_spin_unlock(&base->mu);
		d->orphaned(d);
		ec_spin_lock(&base->mu);
	}
	ec_spin_unlock(&base->mu);
}

/*
 * Some programs delete or free events after their base, when nothing of them is pending. libevent reads the freed base
 * then. So does this library; as long as the memory is not used again it finds a base without locks, and does not wait
 * for one that nobody releases.
 */
static void forget(struct ec_base *base)
{
	ec_store_relaxed(&base->is_locked, false);
	ec_store_relaxed(&base->is_colored, false);
	ec_store_relaxed(&base->is_single_colored, false);
	ec_free(ec_debug_on() ? ec_misuse_bury(base) : base);
}

static void base_free(struct ec_base *base, bool finalize)
{
	unsigned i;
	int j;

	if (ec_debug_on() && !ec_misuse_check_free(base))
		return;
	ec_process_count(&ec_process.bases, -1u);
	ec_fork_look();
	if (base->is_lost) {
		ec_fork_abandon(base);
		return;
	}
	/* The parent's pollers are not to be changed. If new ones cannot be made, nothing better is left. */
	if (ec_fork_is_child(base))
		(void)ec_base_reinit(base);
	if (ec_is_colored(base))
		ec_base_stop_threads(base);
	ec_base_wait_holds(base);
	all_drop(base, finalize);
	dependents_tell(base);
	if (ec_is_locked(base)) /* since the first color, perhaps that of a post that a finalizer made */
		ec_fork_unregister(base);
	ec_onces_free(base);
	ec_signals_fini(base);
	for (j = 0; j < base->commons_num; j++)
		ec_free(base->commons[j]);
	ec_free(base->commons);
	ec_pool_fini(base);
	ec_observing_end(base);		/* until then, the watchdog reads workers */
	ec_base_unprepare(base);
	for (i = ec_workers_num(base); i-- > 0;) {
		ec_worker_fini(base->workers[i]);
		if (i != 0)
			ec_free(base->workers[i]);
	}
	ec_fibers_free(base->fibers);
	ec_virtual_free(base->virtual);
	lanes_free(base);
	ec_colors_fini(&base->colors);
	ec_numbers_fini(&base->numbers);
	if (ec_current_base() == base)
		ec_set_current_base(NULL);
	forget(base);
}

void ec_base_free(struct ec_base *base)
{
	base_free(base, true);
}

void ec_base_free_nofinalize(struct ec_base *base)
{
	base_free(base, false);
}

/* ---------------------------------------------------------------- priorities, locks */

/*
 * Lanes and levels for `num` priorities. The lanes come last: base.fast_path points to the old ones until the caller
 * sets it, so nothing may fail after them. Without memory for them the run queue has more levels, which nobody uses.
 */
static int lanes_grow(struct ec_base *base, unsigned num)
{
	int r = ec_runq_set_levels(&base->zero.runq, num);

	if (r == 0)
		r = lanes_make(base, num);
	if (r < 0) {
		base->zero.runq.levels_num = base->lanes_num;
		return r;
	}
	base->lanes_cap = num;
	return 0;
}

int ec_base_priority_init(struct ec_base *base, int num)
{
	int r;

	if (num < 1 || num >= EC_PRI_MAX)
		return -EINVAL;
	if (ec_load_relaxed(&base->zero.active_num) != 0)
		return -EBUSY;
	if ((unsigned)num == base->lanes_num)
		return 0;
	if (ec_is_colored(base))
		return -EBUSY;
	if ((unsigned)num > base->lanes_cap) {
		r = lanes_grow(base, (unsigned)num);
		if (r < 0)
			return r;
	}
	base->zero.runq.levels_num = (unsigned)num;	/* nothing is ready: all lanes and levels are empty */
	base->lanes_num = (unsigned)num;
	ec_base_unprepare(base); /* they have run queues of as many levels as before */
	ec_base_set_paths(base);
	return 0;
}

int ec_base_priorities(struct ec_base *base)
{
	return (int)base->lanes_num;
}

bool ec_base_is_locked(const struct ec_base *base)
{
	return atomic_load_explicit(&base->is_locked, memory_order_relaxed);
}

int ec_base_make_notifiable(struct ec_base *base)
{
	(void)base; /* every base has its wake-up descriptor from the start */
	return 0;
}
