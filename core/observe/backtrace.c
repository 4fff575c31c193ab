#include "backtrace.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "asleep.h"
#include "context.h"
#include "lock/sync.h"
#include "os/thread.h"
#include "symbol.h"
#include "unwind.h"

enum phase { IDLE, ASKED, TAKING, DONE };

/* Frames of the handler itself: it, what libc and a sanitizer have around it. */
enum { HANDLER_MAX = 12 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

/* mu */
static bool is_started;
static struct sigaction before;			/* of the chosen signal */

/* atomic: of the chosen signal; any thread reads it */
static _Atomic(int) chosen;

/* atomic: the signals that were sent and those that came; when they are equal none is under way */
static _Atomic(uint32_t) sent, came;

/* The question. Written under mu while the phase is IDLE; read by the thread that made it TAKING. */
static struct {
	_Atomic(uint32_t) phase;		/* futex */
	_Atomic(const void *) key;
	struct ec_asleep call;			/* that the thread slept in before the signal was sent */
	void *frames[EC_BACKTRACE_MAX + HANDLER_MAX];
	int num;
	void *pc;
} question;

/* ---------------------------------------------------------------- the thread that is asked */

/* A signal of the program that is to end the call comes when this handler returns. */
static bool is_other_pending(const ucontext_t *context)
{
	sigset_t pending;
	int sig;

	if (sigpending(&pending) != 0)
		return true;
	for (sig = 1; sig <= SIGRTMAX; sig++) {
		if (sigismember(&pending, sig) == 1 && sigismember(&context->uc_sigmask, sig) == 0)
			return true;
	}
	return false;
}

/* close is the one call that has done its work when it is interrupted. */
static void go_on_sleeping(ucontext_t *context, const struct ec_asleep *call)
{
	if (call->nr >= 0 && call->nr != SYS_close && call->nr != SYS_restart_syscall && !is_other_pending(context))
		(void)ec_context_restart(context, call);
}

static void answer(ucontext_t *context)
{
	uint32_t expected = ASKED;

	if (ec_load_acquire(&question.key) != ec_thread_key() ||
	    !ec_cas_acq_rel(&question.phase, &expected, TAKING))	/* T1, meets A2 and A5 */
		return;
	question.pc = ec_context_pc(context);
	question.num = ec_unwind(question.frames, EC_BACKTRACE_MAX + HANDLER_MAX);
	go_on_sleeping(context, &question.call);
	ec_store_release(&question.phase, DONE);			/* T3, meets A4 */
	ec_futex_wake(&question.phase, 1);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	(void)sig;
	if (info->si_code == SI_TKILL && info->si_pid == getpid()) {
		ec_add_acq_rel(&came, 1);
		answer(context);
	}
	errno = saved_errno;
}

/* ---------------------------------------------------------------- the signal */

static bool is_ours(const struct sigaction *sa)
{
	return (sa->sa_flags & SA_SIGINFO) != 0 && sa->sa_sigaction == on_signal;
}

static bool is_free(int sig)
{
	struct sigaction sa;

	return sigaction(sig, NULL, &sa) == 0 && (sa.sa_flags & SA_SIGINFO) == 0 && sa.sa_handler == SIG_DFL;
}

static bool take(int sig)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };

	sa.sa_sigaction = on_signal;
	sigfillset(&sa.sa_mask);
	if (sigaction(sig, &sa, &before) != 0)
		return false;
	ec_store_release(&chosen, sig);
	return true;
}

/*
 * A program reads some signals with sigwait or signalfd, without a handler: it blocks those. So signals that the caller
 * does not block come first.
 */
static int choose(void)
{
	sigset_t blocked;
	bool takes_blocked;
	int sig, i;

	ec_store_release(&chosen, 0);
	if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0)
		sigemptyset(&blocked);
	for (i = 0; i < 2; i++) {
		takes_blocked = i != 0;
		for (sig = SIGRTMAX; sig >= SIGRTMIN; sig--) {
			if ((sigismember(&blocked, sig) == 1) == takes_blocked && is_free(sig) && take(sig))
				return 0;
		}
	}
	return -ENOSPC;
}

/* Under mu. The program may have taken the signal, or set all signals to their defaults. */
static int confirm(void)
{
	int sig = ec_load_relaxed(&chosen);
	struct sigaction sa;

	if (sig != 0 && sigaction(sig, NULL, &sa) == 0 && is_ours(&sa))
		return 0;
	return choose();
}

int ec_backtrace_start(void)
{
	int r = 0;

	pthread_mutex_lock(&mu);
	if (!is_started) {
		(void)ec_unwind_prepare();
		r = confirm();
		is_started = r == 0;
	}
	pthread_mutex_unlock(&mu);
	return r;
}

/* A signal under way would end the process, without a handler. */
void ec_backtrace_stop(void)
{
	int sig = ec_load_relaxed(&chosen);
	struct sigaction sa;

	pthread_mutex_lock(&mu);
	if (is_started && ec_load_acquire(&came) == ec_load_acquire(&sent)) {
		if (sigaction(sig, NULL, &sa) == 0 && is_ours(&sa))
			(void)sigaction(sig, &before, NULL);
		ec_store_release(&chosen, 0);
	}
	is_started = false;
	pthread_mutex_unlock(&mu);
}

int ec_backtrace_signal(void)
{
	return ec_load_relaxed(&chosen);
}

int ec_backtrace_enter(void)
{
	int sig = ec_load_acquire(&chosen);
	sigset_t set, old;

	if (sig == 0)
		return 0;
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (pthread_sigmask(SIG_UNBLOCK, &set, &old) != 0)
		return 0;
	return sigismember(&old, sig) == 1 ? sig : 0;
}

void ec_backtrace_leave(int blocked)
{
	sigset_t set;

	if (blocked == 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, blocked);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* ---------------------------------------------------------------- the thread that asks */

/* Leaves out the frames of the handler: the interrupted one is known by its program counter. */
static void read_answer(struct ec_backtrace *ret)
{
	int skip = 0, num = question.num;

	while (skip < num && question.frames[skip] != question.pc)
		skip++;
	if (skip == num && question.pc != NULL) {	/* no unwinder, or it did not get past the handler */
		ret->frames[0] = question.pc;
		ret->num = 1;
		return;
	}
	skip = question.pc != NULL ? skip : 0;
	ret->num = num - skip < EC_BACKTRACE_MAX ? num - skip : EC_BACKTRACE_MAX;
	memcpy(ret->frames, question.frames + skip, (size_t)ret->num * sizeof(ret->frames[0]));
}

/* A4. False: no answer came in time. A thread that has begun to take its stack is waited for: it ends soon. */
static bool wait_done(const struct timespec *patience)
{
	uint32_t phase, expected;
	int r = 0;

	while ((phase = ec_load_acquire(&question.phase)) != DONE) {
		expected = ASKED;
		if (r == -ETIMEDOUT && phase == ASKED && ec_cas_acq_rel(&question.phase, &expected, IDLE)) /* A5 */
			return false;
		r = ec_futex_wait(&question.phase, phase, phase == ASKED ? patience : NULL);
	}
	return true;
}

static int ask(pid_t tid, const void *key, const struct timespec *patience, struct ec_backtrace *ret)
{
	int r = confirm();

	if (r < 0)
		return r;
	question.call = ec_asleep_of(tid);
	ec_store_release(&question.key, key);				/* A1 */
	ec_store_release(&question.phase, ASKED);			/* A2, meets T1 */
	ec_add_acq_rel(&sent, 1);
	if (syscall(SYS_tgkill, getpid(), tid, ec_load_relaxed(&chosen)) != 0) {
		r = -errno;
		ec_sub_acq_rel(&sent, 1);
		ec_store_release(&question.phase, IDLE);
		return r;
	}
	if (!wait_done(patience))
		return -ETIMEDOUT;
	read_answer(ret);
	ec_store_release(&question.phase, IDLE);
	return 0;
}

int ec_backtrace_of(pid_t tid, const void *key, const struct timespec *patience, struct ec_backtrace *ret)
{
	int state = ec_cancel_hold(), r;

	ret->num = 0;
	pthread_mutex_lock(&mu);
	r = ask(tid, key, patience, ret);
	pthread_mutex_unlock(&mu);
	ec_cancel_release(state);
	return r;
}

__attribute__((noinline)) void ec_backtrace_here(struct ec_backtrace *ret)
{
	uintptr_t caller = ec_symbol_code(__builtin_extract_return_addr(__builtin_return_address(0)));
	void *frames[EC_BACKTRACE_MAX + 2];
	int num = ec_unwind(frames, EC_BACKTRACE_MAX + 2), skip = 0;

	while (skip < num && (uintptr_t)frames[skip] != caller)
		skip++;
	skip = skip == num ? 0 : skip + 1;
	ret->num = num - skip < EC_BACKTRACE_MAX ? num - skip : EC_BACKTRACE_MAX;
	memcpy(ret->frames, frames + skip, (size_t)ret->num * sizeof(frames[0]));
}

/* ---------------------------------------------------------------- fork */

void ec_backtrace_freeze(void)
{
	pthread_mutex_lock(&mu);
}

void ec_backtrace_thaw(void)
{
	pthread_mutex_unlock(&mu);
}

/* Handlers are inherited, signals under way are not. */
void ec_backtrace_reset(void)
{
	mu = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	ec_store_relaxed(&question.phase, IDLE);
	ec_store_relaxed(&came, ec_load_relaxed(&sent));
}
