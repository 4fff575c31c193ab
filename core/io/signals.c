#include "signals.h"

#include <errno.h>
#include <stdatomic.h>

#include "os/wakeup.h"
#include "poller.h"
#include "sched/event.h"
#include "source.h"

/*
 * Process-wide: the handler has no other way to a base. `caught` counts what came for each
 * signal; `target` is the wake-up descriptor of the base that gets them, + 1.
 */
static _Atomic(int) caught[EC_SIGNALS];
_Atomic(int) ec_signals_any;
static _Atomic(int) target;
static struct ec_base *_Atomic target_base;

static void handler(int sig)
{
	int err = errno, fd = ec_load_relaxed(&target);

	ec_add_acq_rel(&caught[sig], 1);
	ec_store_release(&ec_signals_any, 1);
	if (fd != 0)
		ec_wakeup_send_fd(fd - 1);
	errno = err;
}

void ec_signals_init(struct ec_signals *s)
{
	*s = (struct ec_signals){ 0 };
}

static bool is_installed(const struct ec_signals *s, int sig)
{
	return (s->installed[sig / 64] >> sig % 64 & 1) != 0;
}

static void restore(struct ec_signals *s, int sig)
{
	if (!is_installed(s, sig))
		return;
	s->installed[sig / 64] &= ~(UINT64_C(1) << sig % 64);
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
		ec_log_errno(EC_LOG_WARN, -r, "sigaction");
		return r;
	}
	s->installed[sig / 64] |= UINT64_C(1) << sig % 64;
	return 0;
}

static int tables_make(struct ec_signals *s)
{
	int sig;

	if (s->at != NULL)
		return 0;
	s->old = ec_calloc(EC_SIGNALS, sizeof(*s->old));
	s->at = ec_calloc(EC_SIGNALS, sizeof(*s->at));
	if (s->old == NULL || s->at == NULL) {
		ec_free(s->old);
		ec_free(s->at);
		s->old = NULL;
		s->at = NULL;
		return -ENOMEM;
	}
	for (sig = 0; sig < EC_SIGNALS; sig++)
		ec_list_init(&s->at[sig]);
	return 0;
}

void ec_signals_claim(struct ec_base *base)
{
	ec_store_relaxed(&target_base, base);
	ec_store_release(&target, ec_wakeup_fd(&base->zero.wakeup) + 1);
}

static void claim(struct ec_base *base)
{
	struct ec_base *before = ec_load_relaxed(&target_base);

	if (before != NULL && before != base)
		ec_log(EC_LOG_WARN,
		       "Added a signal to event base %p with signals already added to event_base %p.  Only one "
		       "can have signals at a time with the %s backend.  The base with the most recently added "
		       "signal or the most recent event_base_loop() call gets preference; do not rely on this "
		       "behavior in future Libevent versions.",
		       (void *)base, (void *)before, base->zero.poller->ops->name);
	ec_store_relaxed(&target_base, base);
	ec_store_release(&target, ec_wakeup_fd(&base->zero.wakeup) + 1);
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
	s->added_num++;
	return 0;
}

void ec_signal_del(struct ec_base *base, struct ec_event *ev)
{
	struct ec_signals *s = &base->signals;

	ec_list_remove(&ev->of.sig.link);
	if (ec_list_is_empty(&s->at[ev->fd]))
		restore(s, ev->fd);
	s->added_num--;
}

void ec_signals_activate(struct ec_base *base, int sig, int ncalls, struct ec_batch *b)
{
	struct ec_list *at, *next, *head;

	if (sig < 0 || sig >= EC_SIGNALS || base->signals.at == NULL)
		return;
	head = &base->signals.at[sig];
	for (at = head->next; at != head; at = next) {
		next = at->next;
		ec_event_ready(b, ec_container_of(at, struct ec_event, of.sig.link), EC_SIGNAL, ncalls);
	}
}

void ec_signals_dispatch(struct ec_base *base, struct ec_batch *b)
{
	int sig, num;

	if (ec_load_relaxed(&target_base) != base)
		return;
	(void)ec_swap_acq_rel(&ec_signals_any, 0);
	for (sig = 1; sig < EC_SIGNALS; sig++) {
		if (ec_load_relaxed(&caught[sig]) == 0)
			continue;
		num = ec_swap_acq_rel(&caught[sig], 0);
		ec_signals_activate(base, sig, num, b);
	}
}

/* What came is nobody's any more. */
static void caught_forget(void)
{
	int sig;

	for (sig = 0; sig < EC_SIGNALS; sig++)
		ec_store_relaxed(&caught[sig], 0);
	ec_store_relaxed(&ec_signals_any, 0);
}

void ec_signals_fini(struct ec_base *base)
{
	struct ec_signals *s = &base->signals;
	bool was_target = ec_load_relaxed(&target_base) == base;
	int sig;

	if (was_target) {
		ec_store_relaxed(&target_base, NULL);
		ec_store_release(&target, 0);
	}
	for (sig = 0; s->at != NULL && sig < EC_SIGNALS; sig++)
		restore(s, sig);
	if (was_target)
		caught_forget();
	ec_free(s->at);
	ec_free(s->old);
	ec_signals_init(s);
}

int ec_signals_reinit(struct ec_base *base)
{
	if (ec_load_relaxed(&target_base) != base)
		return 0;
	caught_forget();
	ec_store_release(&target, ec_wakeup_fd(&base->zero.wakeup) + 1);
	return 0;
}
