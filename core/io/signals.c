#include "signals.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "observe/late.h"
#include "os/wakeup.h"
#include "poller.h"
#include "sched/event.h"
#include "sched/ready.h"

/*
 * Process-wide, because the handler has no other way to a base. `caught` counts each signal. `target` is the wake-up
 * descriptor of the base that gets the signals, plus 1.
 *
 * If another base becomes the target (H1), the base before keeps the signals that came until then (H2), and gets a
 * wake-up. The handler counts (H3), then wakes the target (H4). H2 and H3 change one word. If H2 comes first, H4 sees
 * H1 and wakes the new target; otherwise H2 takes what H3 counted.
 *
 * `caught_set` says which signals to look for: the handler sets the bit after it has counted (H5); a dispatch takes the
 * bits before the counts (H6). A count without a bit has a handler that is about to set it, and then ec_signals_any.
 */
static _Atomic(int) caught[EC_SIGNALS];
static _Atomic(uint64_t) caught_set[2];
_Atomic(int) ec_signals_any;
static _Atomic(int) target;

/* Guards the target base, which is not freed while this is held, and the signals that each base kept. */
static struct ec_spin mu = { .rank = EC_RANK_LEAF };
static struct ec_base *_Atomic target_base;

static void handler(int sig)
{
	int err = errno, fd;

	ec_add_acq_rel(&caught[sig], 1);			/* H3 */
	ec_or_acq_rel(&caught_set[sig / 64], UINT64_C(1) << sig % 64);	/* H5 */
	fd = ec_load_acquire(&target);				/* H4 */
	ec_store_release(&ec_signals_any, 1);
	if (fd != 0)
		ec_wakeup_send_fd(fd - 1);
	errno = err;
}

void ec_signals_init(struct ec_signals *s)
{
	memset(s, 0, sizeof(*s));
}

static bool is_installed(const struct ec_signals *s, int sig)
{
	return (ec_load_relaxed(&s->installed[sig / 64]) >> sig % 64 & 1) != 0;
}

static void restore(struct ec_signals *s, int sig)
{
	if (!is_installed(s, sig))
		return;
	ec_store_relaxed(&s->installed[sig / 64],
			 ec_load_relaxed(&s->installed[sig / 64]) & ~(UINT64_C(1) << sig % 64));
	(void)sigaction(sig, &s->old[sig], NULL);
}

static int install(struct ec_signals *s, int sig)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int r;

	if (is_installed(s, sig))
		return 0;
	sigfillset(&sa.sa_mask);
	if (sigaction(sig, &sa, &s->old[sig]) < 0) {
		r = -errno;
		ec_late_log_errno(EC_LOG_WARN, -r, "sigaction");
		return r;
	}
	ec_store_relaxed(&s->installed[sig / 64],
			 ec_load_relaxed(&s->installed[sig / 64]) | UINT64_C(1) << sig % 64);
	return 0;
}

static int tables_make(struct ec_signals *s)
{
	int sig;

	if (s->at != NULL)
		return 0;
	s->old = ec_calloc(EC_SIGNALS, sizeof(*s->old));
	s->at = ec_calloc(EC_SIGNALS, sizeof(*s->at));
	s->kept = ec_calloc(EC_SIGNALS, sizeof(*s->kept));
	if (s->old == NULL || s->at == NULL || s->kept == NULL) {
		ec_free(s->old);
		ec_free(s->at);
		ec_free(s->kept);
		s->old = NULL;
		s->at = NULL;
		s->kept = NULL;
		return -ENOMEM;
	}
	for (sig = 0; sig < EC_SIGNALS; sig++)
		ec_list_init(&s->at[sig]);
	return 0;
}

/* Under mu. The signals counted so far belong to `base`, except those that it has no event for. */
static void keep(struct ec_base *base)
{
	struct ec_signals *s = &base->signals;
	int sig, num;

	for (sig = 1; sig < EC_SIGNALS; sig++) {
		if (ec_load_relaxed(&caught[sig]) == 0 || !is_installed(s, sig))
			continue;
		num = ec_swap_acq_rel(&caught[sig], 0);			/* H2 */
		s->kept[sig] += num;
		ec_store_relaxed(&s->has_kept, true);
	}
	if (ec_load_relaxed(&s->has_kept))
		ec_wakeup_send(&base->zero.wakeup);
}

/* Under mu. */
static void target_set(struct ec_base *base)
{
	ec_store_relaxed(&target_base, base);
	ec_store_release(&target, ec_wakeup_fd(&base->zero.wakeup) + 1);	/* H1 */
}

/*
 * Makes `base` the target, and returns the one before, if that has signals. Two threads may do so at once, also when
 * there was none before: without mu, the descriptor could be of one base and target_base the other.
 */
static struct ec_base *take_over(struct ec_base *base)
{
	struct ec_base *before;

	ec_spin_lock(&mu);
	before = ec_load_relaxed(&target_base);
	target_set(base);
	if (before != NULL && before != base) {
		keep(before);
		if (ec_load_relaxed(&before->signals.added_num) == 0)
			before = NULL;
	}
	ec_spin_unlock(&mu);
	return before;
}

void ec_signals_claim(struct ec_base *base)
{
	if (ec_load_relaxed(&target_base) != base)
		(void)take_over(base);
}

static void claim(struct ec_base *base)
{
	struct ec_base *before = ec_load_relaxed(&target_base);

	if (before != base)
		before = take_over(base);
	if (before != NULL && before != base)
		ec_late_log(EC_LOG_WARN,
		       "Added a signal to event base %p with signals already added to event_base %p.  Only one "
		       "can have signals at a time with the %s backend.  The base with the most recently added "
		       "signal or the most recent event_base_loop() call gets preference; do not rely on this "
		       "behavior in future Libevent versions.",
		       (void *)base, (void *)before, base->zero.poller->ops->name);
}

int ec_signal_add(struct ec_base *base, struct ec_event *ev)
{
	struct ec_signals *s = &base->signals;
	int r;

	if (ev->fd <= 0 || ev->fd >= EC_SIGNALS)
		return -EINVAL;
	r = tables_make(s);
	if (r < 0)
		return r;
	claim(base);
	r = install(s, ev->fd);
	if (r < 0)
		return r;
	ec_list_push_front(&s->at[ev->fd], &ev->of.sig.link);	/* the latest first, as libevent has it */
	ec_counter_add(&s->added_num, 1);
	return 0;
}

void ec_signal_del(struct ec_base *base, struct ec_event *ev)
{
	struct ec_signals *s = &base->signals;

	ec_list_remove(&ev->of.sig.link);
	if (ec_list_is_empty(&s->at[ev->fd]))
		restore(s, ev->fd);
	ec_counter_add(&s->added_num, UINT32_MAX);
}

void ec_signals_activate(struct ec_base *base, int sig, int ncalls, struct ec_batch *b)
{
	struct ec_list *at, *next, *head;

	if (sig < 0 || sig >= EC_SIGNALS || base->signals.at == NULL)
		return;
	head = &base->signals.at[sig];
	for (at = head->next; at != head; at = next) {
		next = at->next;
		ec_event_ready_by(base, b, ec_container_of(at, struct ec_event, of.sig.link), EC_SIGNAL, ncalls);
	}
}

/* The number of signals for `base` since the last call. */
static int take(struct ec_base *base, bool is_target, int sig)
{
	struct ec_signals *s = &base->signals;
	int num = 0;

	if (is_target && ec_load_relaxed(&caught[sig]) != 0)
		num = ec_swap_acq_rel(&caught[sig], 0);
	if (s->kept != NULL) {
		num += s->kept[sig];
		s->kept[sig] = 0;
	}
	return num;
}

/* Under mu: the signals that may have come for `base`. */
static void take_set(struct ec_base *base, bool is_target, uint64_t set[2])
{
	struct ec_signals *s = &base->signals;
	int sig;

	set[0] = is_target ? ec_swap_acq_rel(&caught_set[0], 0) : 0;		/* H6 */
	set[1] = is_target ? ec_swap_acq_rel(&caught_set[1], 0) : 0;
	for (sig = 1; ec_load_relaxed(&s->has_kept) && sig < EC_SIGNALS; sig++)
		set[sig / 64] |= (uint64_t)(s->kept[sig] != 0) << sig % 64;
	ec_store_relaxed(&s->has_kept, false);
}

/* The first signal of the set, which leaves it; 0: none. */
static int set_pop(uint64_t set[2])
{
	int i = set[0] == 0, sig;

	if (set[i] == 0)
		return 0;
	sig = i * 64 + __builtin_ctzll(set[i]);
	set[i] &= set[i] - 1;
	return sig;
}

/* Events are activated without mu, because that takes locks. */
void ec_signals_dispatch(struct ec_base *base, struct ec_batch *b)
{
	int num[EC_SIGNALS], which[EC_SIGNALS], n = 0, i, sig;
	uint64_t set[2];
	bool is_target;

	ec_spin_lock(&mu);
	is_target = ec_load_relaxed(&target_base) == base;
	if (is_target)
		(void)ec_swap_acq_rel(&ec_signals_any, 0);
	take_set(base, is_target, set);
	while ((sig = set_pop(set)) != 0) {
		which[n] = sig;
		num[n++] = take(base, is_target, sig);
	}
	ec_spin_unlock(&mu);
	/* Without colors, a less urgent event may wait for several dispatches. As in libevent, it gets one's calls. */
	b->caught_pri_end = ec_has_colors(base) ? EC_PRI_MAX : 1;
	for (i = 0; i < n; i++) {
		if (num[i] != 0)
			ec_signals_activate(base, which[i], num[i], b);
	}
	b->caught_pri_end = 0;
}

/* Under mu, or in a child without other threads. Drops the counted signals: no base gets them. */
static void caught_forget(void)
{
	int sig;

	for (sig = 0; sig < EC_SIGNALS; sig++)
		ec_store_relaxed(&caught[sig], 0);
	ec_store_relaxed(&caught_set[0], 0);
	ec_store_relaxed(&caught_set[1], 0);
	ec_store_relaxed(&ec_signals_any, 0);
}

/*
 * If it is the target, there is none then. The counts are dropped under the same lock: after it, another base may be
 * the target, whose signals they count.
 */
static void give_up(struct ec_base *base)
{
	ec_spin_lock(&mu);
	if (ec_load_relaxed(&target_base) == base) {
		ec_store_relaxed(&target_base, NULL);
		ec_store_release(&target, 0);
		caught_forget();
	}
	ec_spin_unlock(&mu);
}

void ec_signals_fini(struct ec_base *base)
{
	struct ec_signals *s = &base->signals;
	int sig;

	for (sig = 0; s->at != NULL && sig < EC_SIGNALS; sig++)
		restore(s, sig);
	if (s->at != NULL)		/* else it never was the target */
		give_up(base);
	ec_free(s->at);
	ec_free(s->old);
	ec_free(s->kept);
	ec_signals_init(s);
}

/* In a child without other threads. */
static void base_forget(struct ec_base *base)
{
	struct ec_signals *s = &base->signals;
	int sig;

	for (sig = 0; s->kept != NULL && sig < EC_SIGNALS; sig++)
		s->kept[sig] = 0;
	ec_store_relaxed(&s->has_kept, false);
	if (ec_load_relaxed(&target_base) == base)
		caught_forget();
}

/* Until reinit, each signal also wakes the parent, whose wake-up descriptor is still the target. It finds nothing. */
void ec_signals_inherit(struct ec_base *base)
{
	base_forget(base);
	base->signals.is_inherited = true;
}

int ec_signals_reinit(struct ec_base *base)
{
	struct ec_signals *s = &base->signals;

	if (!s->is_inherited)
		base_forget(base);
	s->is_inherited = false;
	if (ec_load_relaxed(&target_base) == base)
		ec_store_release(&target, ec_wakeup_fd(&base->zero.wakeup) + 1);
	/* A handler counted before it sent: what is not seen here wakes the new descriptor. */
	if (ec_signals_are_pending(s))
		ec_wakeup_send(&base->zero.wakeup);
	return 0;
}

void ec_signals_freeze(void)
{
	ec_spin_freeze(&mu);
}

void ec_signals_thaw(void)
{
	ec_spin_thaw(&mu);
}

/* In a cloned child the lock may be taken. Release it: it guards only counts, which are valid at any moment. */
void ec_signals_reset(void)
{
	(void)ec_spin_reset(&mu);
}
