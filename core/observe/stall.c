#include "stall.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ec.h"
#include "os/clock.h"
#include "site.h"
#include "watchdog.h"

enum {
	SCANS = 4,			/* in the limit */
	SITES = 256,			/* callbacks that are remembered */
	WINDOWS = 8,			/* that a queue grows */
	GROWN_MIN = 1000,		/* callbacks that wait then, at least */
	PATIENCE_NS = 100000000,	/* for a stack */
	DEFAULT_MS = 100,		/* if the environment has no limit, and a tool wants reports */
};

/* Guards the life of the watchdog: its start and its end. Taken before mu. */
static pthread_mutex_t life_mu = PTHREAD_MUTEX_INITIALIZER;

/* Guards the records. */
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

/* mu */
static struct ec_list records = { &records, &records };
static struct ec_list orphans = { &orphans, &orphans };	/* of the parent: they are used again */
static uint32_t scans;
static uint64_t scanned_ns;				/* when the last scan was; 0: there was none */
static struct site {
	const void *fn;
	enum ec_finding_kind kind;
} sites[SITES];
static unsigned sites_num;

/* const, but for tests; NULL: the environment's */
static const struct ec_stall_settings *test_settings;
static bool (*test_cpu_time)(pid_t tid, struct ec_cpu_time *ret);

/* ---------------------------------------------------------------- settings */

static const struct ec_stall_settings *settings(void)
{
	return test_settings != NULL ? test_settings : ec_stall_settings();
}

void ec_stall_use(const struct ec_stall_settings *s)
{
	pthread_mutex_lock(&mu);
	test_settings = s;
	sites_num = 0;
	scanned_ns = 0;
	pthread_mutex_unlock(&mu);
}

void ec_stall_use_cpu_time(bool (*of)(pid_t tid, struct ec_cpu_time *ret))
{
	test_cpu_time = of;
}

static bool cpu_time_of(pid_t tid, struct ec_cpu_time *ret)
{
	if (test_settings != NULL)
		return test_cpu_time != NULL && test_cpu_time(tid, ret);
	return ec_cpu_time_of(tid, ret);
}

static unsigned limit_ms(void)
{
	return settings()->limit_ms != 0 ? settings()->limit_ms : DEFAULT_MS;
}

static uint64_t limit_ns(void)
{
	return limit_ms() * UINT64_C(1000000);
}

/* ---------------------------------------------------------------- what was reported */

/* Under mu. */
static bool is_site(enum ec_finding_kind kind, const void *fn)
{
	unsigned i;

	for (i = 0; i < sites_num; i++) {
		if (sites[i].fn == fn && sites[i].kind == kind)
			return true;
	}
	return false;
}

/* Under mu. True: it is the first time. When there are too many, that is said once. */
static bool note_site(enum ec_finding_kind kind, const void *fn, bool *is_last)
{
	*is_last = false;
	if (sites_num == SITES || is_site(kind, fn))
		return false;
	sites[sites_num++] = (struct site){ .fn = fn, .kind = kind };
	*is_last = sites_num == SITES;
	return true;
}

static void tell(struct ec_finding *f, bool is_last)
{
	ec_finding_tell(f, settings());
	if (is_last)
		ec_log(EC_LOG_WARN, "stall: %d callbacks were reported; no others will be", SITES);
}

/* ---------------------------------------------------------------- stacks */

static const struct timespec patience = { .tv_nsec = PATIENCE_NS };

static void ask_trace(struct ec_stall_party *p)
{
	if (p->key == ec_thread_key())
		ec_backtrace_here(&p->trace);
	else
		p->no_trace = ec_backtrace_of(p->tid, p->key, &patience, &p->trace);
}

/* Under mu: is it in the list? It may be freed memory. */
static bool is_record(const struct ec_stall *s)
{
	struct ec_list *at;

	for (at = records.next; at != &records && at != &s->link; at = at->next)
		;
	return at != &records;
}

/* Is the worker where it was when `seq` and `turns` were read? If not, its stack is of something else. */
static void confirm_trace(const struct ec_stall *s, uint32_t seq, uint32_t turns, struct ec_finding *f)
{
	bool is_same;

	pthread_mutex_lock(&mu);
	is_same = is_record(s) && (f->kind == EC_FINDING_CALLBACK ? ec_load_acquire(&s->seq) == seq :
								     ec_load_relaxed(&s->turns) == turns);
	pthread_mutex_unlock(&mu);
	if (!is_same && f->parties[0].trace.num != 0) {
		f->parties[0].trace.num = 0;
		f->parties[0].no_trace = -ECANCELED;
	}
}

/* ---------------------------------------------------------------- one record; mu is held */

static void describe(const struct ec_stall *s, struct ec_stall_party *p)
{
	uint32_t depth = ec_load_relaxed(&s->depth);
	const struct ec_stall_call *call = &s->calls[depth == 0 ? 0 : (depth - 1) % EC_STALL_DEPTH];

	*p = (struct ec_stall_party){ .base = s->base_id, .worker = s->worker_id, .tid = s->tid, .key = s->key };
	p->site_frame = -1;
	p->is_between = depth == 0;
	p->fn = ec_load_acquire(&call->fn);				/* W2, meets O1 */
	p->color = ec_load_acquire(&call->color);
}

/* Of the thread, from the first scan that found the callback there. */
static void compare_cpu_time(const struct ec_stall *s, struct ec_finding *f)
{
	struct ec_cpu_time now;

	if (s->cpu.at_ns == 0 || !cpu_time_of(s->tid, &now) || now.at_ns <= s->cpu.at_ns)
		return;
	f->cpu_of_ns = now.at_ns - s->cpu.at_ns;
	f->cpu_ns = now.ran_ns - s->cpu.ran_ns;
	f->cpu_missed_ns = ec_cpu_time_missed_ns(&s->cpu, &now);
}

static bool find_callback(struct ec_stall *s, uint64_t step_ns, struct ec_finding *f)
{
	uint32_t seq = ec_load_acquire(&s->seq);			/* W1, meets O2 */
	bool is_same = seq == s->seen_seq && ec_load_relaxed(&s->depth) != 0;

	if (!is_same)
		s->cpu.at_ns = 0;
	else if (s->call_ns == 0 && !cpu_time_of(s->tid, &s->cpu))
		s->cpu.at_ns = 0;
	s->call_ns = is_same ? s->call_ns + step_ns : 0;
	s->seen_seq = seq;
	s->is_call_told = is_same && s->is_call_told;
	if (!is_same || s->call_ns < limit_ns() || s->is_call_told)
		return false;
	s->is_call_told = true;
	describe(s, &f->parties[0]);
	if (ec_load_acquire(&s->seq) != seq || sites_num == SITES ||	/* W3, meets O2 */
	    is_site(EC_FINDING_CALLBACK, f->parties[0].fn))
		return false;
	f->kind = EC_FINDING_CALLBACK;
	f->ms = s->call_ns / 1000000;
	compare_cpu_time(s, f);
	return true;
}

/* A callback that runs for long is the shorter report. */
static bool find_turn(struct ec_stall *s, uint64_t step_ns, struct ec_finding *f)
{
	uint32_t turns = ec_load_relaxed(&s->turns), seq = s->seen_seq;
	bool is_turning = turns != s->seen_turns || ec_load_relaxed(&s->is_asleep) || !s->ops->is_looping(s->worker);

	if (is_turning)
		s->turn_seq = seq;
	s->turn_ns = is_turning || s->call_ns >= limit_ns() ? 0 : s->turn_ns + step_ns;
	s->seen_turns = turns;
	if (s->turn_ns < limit_ns() || s->call_ns >= limit_ns() / 2 || s->is_turn_told)
		return false;
	s->is_turn_told = true;
	describe(s, &f->parties[0]);
	f->kind = EC_FINDING_TURN;
	f->ms = s->turn_ns / 1000000;
	f->began = (seq - s->turn_seq) / 2;
	return true;
}

static void growth_restart(struct ec_stall_growth *g, uint64_t least)
{
	*g = (struct ec_stall_growth){ .least = UINT64_MAX, .first = least, .last = least };
}

/*
 * A window is as long as the limit. A queue that bursts fill and callbacks drain has a least that comes back. While a
 * callback stalls, the queue behind it grows because of that.
 */
static bool find_growth(struct ec_stall *s, struct ec_finding *f)
{
	struct ec_stall_growth *g = &s->growth;
	uint64_t queued = ec_load_relaxed(&s->queued);

	if (s->is_growth_told && queued < g->first / 2)
		s->is_growth_told = false;
	if (s->is_growth_told)
		return false;
	if (queued < g->least)
		g->least = queued;
	if (++g->scans < SCANS)
		return false;
	if (g->least <= g->last || s->call_ns >= limit_ns()) {
		growth_restart(g, g->least);
		return false;
	}
	g->last = g->least;
	g->least = UINT64_MAX;
	g->scans = 0;
	if (++g->windows < WINDOWS || g->last < GROWN_MIN || g->last / 2 < g->first)
		return false;
	describe(s, &f->parties[0]);
	f->kind = EC_FINDING_POSTS;
	f->from = g->first;
	f->to = g->last;
	f->ms = g->windows * (uint64_t)limit_ms();
	s->is_growth_told = true;
	growth_restart(g, f->to);
	return true;
}

/* ---------------------------------------------------------------- the scan */

/* A report takes time, and the next record is looked at after it: so each has its own mark. */
static struct ec_stall *next_record(void)
{
	struct ec_list *at;
	struct ec_stall *s;

	for (at = records.next; at != &records; at = at->next) {
		s = ec_container_of(at, struct ec_stall, link);
		if (s->scan != scans)
			return s;
	}
	return NULL;
}

/* The stack of the worker in `f`, and what function of the program it is. False: that one was reported before. */
static bool complete(const struct ec_stall *s, uint32_t seq, uint32_t turns, struct ec_finding *f, bool *is_last)
{
	bool is_new;

	*is_last = false;
	if (f->kind == EC_FINDING_POSTS)
		return true;
	ask_trace(&f->parties[0]);
	confirm_trace(s, seq, turns, f);
	if (f->kind != EC_FINDING_CALLBACK)
		return true;
	ec_site_find(&f->parties[0]);
	pthread_mutex_lock(&mu);
	is_new = note_site(EC_FINDING_CALLBACK, f->parties[0].site, is_last);
	pthread_mutex_unlock(&mu);
	return is_new;
}

/* Under mu, which is released for the report. */
static void scan_record(struct ec_stall *s, uint64_t step_ns)
{
	struct ec_finding f = { .parties_num = 1 };
	uint32_t seq, turns;
	bool is_last, is_any;

	is_any = find_callback(s, step_ns, &f);
	is_any = find_turn(s, step_ns, &f) || is_any;
	if (!is_any && !find_growth(s, &f))
		return;
	seq = s->seen_seq;
	turns = s->seen_turns;
	f.queue.callbacks = ec_load_relaxed(&s->queued);
	s->ops->look(s->worker, f.parties[0].color, &f.queue);
	pthread_mutex_unlock(&mu);
	if (complete(s, seq, turns, &f, &is_last))
		tell(&f, is_last);
	pthread_mutex_lock(&mu);
}

void ec_stall_scan(uint64_t now_ns)
{
	uint64_t step_ns, step_max = limit_ns() * 2 / SCANS;
	struct ec_stall *s;

	pthread_mutex_lock(&mu);
	step_ns = scanned_ns == 0 || now_ns < scanned_ns ? 0 : now_ns - scanned_ns;
	if (step_ns > step_max)
		step_ns = step_max;
	scanned_ns = now_ns;
	scans++;
	while ((s = next_record()) != NULL) {
		s->scan = scans;
		scan_record(s, step_ns);
	}
	pthread_mutex_unlock(&mu);
}

/* ---------------------------------------------------------------- cycles */

/* False: no record has that worker. */
static bool find_worker(const void *worker, struct ec_stall_party *p)
{
	struct ec_list *at;
	struct ec_stall *s;

	for (at = records.next; at != &records; at = at->next) {
		s = ec_container_of(at, struct ec_stall, link);
		if (s->worker == worker) {
			describe(s, p);
			return true;
		}
	}
	return false;
}

void ec_stall_tell_cycle(const struct ec_stall_wait *waits, int num)
{
	struct ec_finding f = { .kind = EC_FINDING_CYCLE };
	bool is_last = false, is_new = false;
	int i;

	f.is_cut = num > EC_PARTIES_MAX;
	f.parties_num = f.is_cut ? EC_PARTIES_MAX : num;
	pthread_mutex_lock(&mu);
	for (i = 0; i < f.parties_num; i++) {
		if (!find_worker(waits[i].worker, &f.parties[i]))
			f.parties[i].no_trace = -ESRCH;
		f.parties[i].waits_for = waits[i].what;
	}
	if (f.parties[0].fn != NULL && !f.parties[0].is_between)
		is_new = note_site(EC_FINDING_CYCLE, f.parties[0].fn, &is_last);
	pthread_mutex_unlock(&mu);
	if (!is_new)
		return;
	for (i = 0; i < f.parties_num; i++) {
		if (f.parties[i].tid != 0)
			ask_trace(&f.parties[i]);
	}
	tell(&f, is_last);
}

/* ---------------------------------------------------------------- records */

static void watch(void)
{
	ec_stall_scan((uint64_t)ec_monotonic_ns());
}

/* Under life_mu. Without a signal there are no stacks, and the reports say so. */
static int watch_start(void)
{
	unsigned interval_ms = limit_ms() / SCANS;

	if (test_settings != NULL || ec_watchdog_is_on())
		return 0;
	scanned_ns = 0;
	return ec_watchdog_start(watch, interval_ms == 0 ? 1 : interval_ms);
}

void ec_stall_enter(struct ec_stall *s)
{
	bool is_other = s->key != ec_thread_key();

	if (!is_other)
		ec_backtrace_leave(s->blocked);
	pthread_mutex_lock(&mu);
	s->tid = (pid_t)syscall(SYS_gettid);
	s->key = ec_thread_key();
	pthread_mutex_unlock(&mu);
	s->signal = ec_backtrace_signal();
	s->blocked = ec_backtrace_enter();
}

static struct ec_stall *record_new(void)
{
	struct ec_stall *s = NULL;

	pthread_mutex_lock(&mu);
	if (!ec_list_is_empty(&orphans)) {
		s = ec_container_of(orphans.next, struct ec_stall, link);
		ec_list_remove(&s->link);
	}
	pthread_mutex_unlock(&mu);
	return s != NULL ? s : ec_malloc(sizeof(*s));
}

int ec_stall_new(unsigned base_id, unsigned worker_id, struct ec_stall **ret)
{
	struct ec_stall *s = record_new();

	if (s == NULL)
		return -ENOMEM;
	memset(s, 0, sizeof(*s));
	s->base_id = base_id;
	s->worker_id = worker_id;
	growth_restart(&s->growth, UINT64_MAX);		/* the first window only begins a row */
	*ret = s;
	return 0;
}

static void log_failure(int r)
{
	static _Atomic(bool) is_told;

	if (!ec_swap_acq_rel(&is_told, true))
		ec_log_errno(EC_LOG_WARN, -r, "stall: the watchdog cannot start");
}

void ec_stall_attach(struct ec_stall *s, const struct ec_stall_ops *ops, void *worker)
{
	int r = ops->prepare();

	s->ops = ops;
	s->worker = worker;
	pthread_mutex_lock(&life_mu);
	(void)ec_backtrace_start();
	if (r == 0)
		r = watch_start();
	s->is_watched = r == 0;
	if (r == 0) {
		pthread_mutex_lock(&mu);
		ec_list_push_back(&records, &s->link);
		pthread_mutex_unlock(&mu);
	}
	pthread_mutex_unlock(&life_mu);
	if (r < 0)
		log_failure(r);
	else
		ec_stall_enter(s);
}

void ec_stall_free(struct ec_stall *s)
{
	if (s->is_watched) {
		if (s->key == ec_thread_key())
			ec_backtrace_leave(s->blocked);
		pthread_mutex_lock(&mu);
		ec_list_remove(&s->link);
		pthread_mutex_unlock(&mu);
	}
	ec_free(s);
}

void ec_stall_settle(void)
{
	bool is_empty;

	pthread_mutex_lock(&life_mu);
	pthread_mutex_lock(&mu);
	is_empty = ec_list_is_empty(&records);
	pthread_mutex_unlock(&mu);
	if (is_empty) {
		ec_watchdog_stop();
		ec_backtrace_stop();
	}
	pthread_mutex_unlock(&life_mu);
}

/* ---------------------------------------------------------------- of a probe */

static int stall_open(struct ec_probe *p)
{
	return ec_stall_new(p->observer->base, p->worker, &p->stall);
}

static void stall_close(struct ec_probe *p)
{
	ec_stall_free(p->stall);
	p->stall = NULL;
}

static void stall_begin(struct ec_probe *p, const struct ec_probe_call *call)
{
	ec_stall_begin(p->stall, (const void *)call->fn, call->color);
}

static void stall_rename(struct ec_probe *p, const struct ec_probe_call *call)
{
	ec_stall_rename(p->stall, (const void *)call->fn);
}

static void stall_end(struct ec_probe *p, const struct ec_probe_call *call)
{
	(void)call;
	ec_stall_end(p->stall);
}

static void stall_note(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	(void)color;
	if (what == EC_PROBE_TURN && p->stall->is_watched)
		ec_stall_turn(p->stall);
	if (what == EC_PROBE_QUEUE)
		ec_stall_queued(p->stall, value);
}

static void stall_fini(struct ec_observer *o)
{
	(void)o;
	ec_stall_settle();
}

const struct ec_consumer ec_stall_consumer = {
	.bit = EC_OBSERVE_STALL,
	.name = "records of stalls",
	.open = stall_open,
	.close = stall_close,
	.begin = stall_begin,
	.rename = stall_rename,
	.end = stall_end,
	.note = stall_note,
	.fini = stall_fini,
};

/* ---------------------------------------------------------------- fork */

void ec_stall_freeze(void)
{
	pthread_mutex_lock(&life_mu);
	pthread_mutex_lock(&mu);
	ec_backtrace_freeze();
}

void ec_stall_thaw(void)
{
	ec_backtrace_thaw();
	pthread_mutex_unlock(&mu);
	pthread_mutex_unlock(&life_mu);
}

void ec_stall_reset(void)
{
	life_mu = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	mu = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	ec_backtrace_reset();
	ec_watchdog_reset();
	ec_list_splice_back(&orphans, &records);
	sites_num = 0;
}
