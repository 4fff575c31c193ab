/*
 * Signals and children.
 *
 * The engine calls a signal's event as often as the signal came; the old API promises one call for several. So the
 * event only queues a job, once, which calls back. Both have the callback's color.
 *
 * The library waits for all children (waitpid of -1) when SIGCHLD has come: in amain always, in other loops
 * while a chldcb waits, because the signal's event keeps a loop alive. It keeps the statuses of the last children that
 * nobody has asked for, for a later chldcb. The system may give the process id of such a child to another one: as long
 * as that is a child of ours, waitpid knows it, and the old status is dropped.
 */
#include "async.h"

#include <cerrno>
#include <csignal>
#include <map>
#include <sys/wait.h>
#include <vector>

#include "log/die.h"
#include "loop/loop.h"

namespace
{

struct watch {
	struct ec_event ev;
	struct {
		struct ec_job base;
		watch *self;
	} job;

	/* const */
	cbv cb;
	uint32_t color;
	int sig;

	/* table_lock */
	bool is_queued = false;		/* the job */
	bool is_removed = false;

	watch(cbv c, int s) : cb(std::move(c)), color(cb->get_color().value()), sig(s) {}
};

/* table_lock */
watch *watches[NSIG];

/* Whoever waits for a child. */
struct waiter {
	/* table_lock */
	cbi::ptr cb;			/* NULL: removed */

	explicit waiter(cbi::ptr c) : cb(c) {}
};

/* A child that nobody has asked for. */
struct ended_child {
	int status;
	uint64_t seq;
};

enum { ENDED_MAX = 4096 };

/* table_lock, all that follow */
std::map<pid_t, ptr<waiter>> &waiting = *new std::map<pid_t, ptr<waiter>>;
std::map<pid_t, ptr<waiter>> &told = *new std::map<pid_t, ptr<waiter>>;	/* its callback is queued */
std::map<pid_t, ended_child> &ended = *new std::map<pid_t, ended_child>;
std::map<uint64_t, pid_t> &ended_in_order = *new std::map<uint64_t, pid_t>;
uint64_t next_ended;
struct ec_event child_event;
bool is_child_event_armed, is_armed_for_ever;

/* ---------------------------------------------------------------- signals */

void run_job(struct ec_job *job)
{
	watch *w = reinterpret_cast<decltype(watch::job) *>(job)->self;
	cbv cb = w->cb;
	bool is_removed;

	{
		libasync::table_lock lock;

		w->is_queued = false;
		is_removed = w->is_removed;
	}
	if (is_removed) {
		delete w;
		return;
	}
	libasync::note_call();
	cb();
}

void run_signal(int, short, void *arg)
{
	watch *w = static_cast<watch *>(arg);
	libasync::table_lock lock;

	if (w->is_queued)
		return;
	w->is_queued = true;
	libasync::check(ec_base_post_job(libasync::engine(), w->color, &w->job.base), "sigcb");
}

/* Its event is deleted, and no callback of it runs. */
void free_watch(struct ec_event *, void *arg)
{
	watch *w = static_cast<watch *>(arg);
	bool is_queued;

	{
		libasync::table_lock lock;

		is_queued = w->is_queued;
		w->is_removed = true;
	}
	if (!is_queued)
		delete w;
}

void set_flags(int sig, int sa_flags)
{
	struct sigaction sa;

	if (sa_flags == 0 || sigaction(sig, nullptr, &sa) < 0)
		return;
	sa.sa_flags = sa_flags;
	(void)sigaction(sig, &sa, nullptr);
}

void unblock(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	(void)pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

/* The new one is armed before the old one goes, so that no signal finds its default effect. */
watch *replace(int sig, watch *w)
{
	watch *old = watches[sig];

	watches[sig] = w;
	if (w != nullptr) {
		(void)ec_event_init(&w->ev, libasync::engine(), sig, EC_SIGNAL | EC_PERSIST, run_signal, w);
		(void)ec_event_set_color(&w->ev, w->color);
		libasync::check(ec_event_add(&w->ev, nullptr), "sigcb");
	}
	return old;
}

/* ---------------------------------------------------------------- children */

struct result {
	pid_t pid;
	ptr<waiter> who;
	color number;
	int status;
};

void call_child(pid_t pid, ptr<waiter> who, int status)
{
	cbi::ptr cb;

	{
		libasync::table_lock lock;
		auto it = told.find(pid);

		if (it != told.end() && it->second == who)
			told.erase(it);
		cb = std::move(who->cb);
	}
	if (cb != NULL)
		cb(status);
}

/* table_lock. Its callback is to be queued. */
result note_told(pid_t pid, ptr<waiter> who, int status)
{
	told[pid] = who;
	return { pid, who, who->cb->get_color(), status };
}

void tell(const result &r)
{
	libasync::post(cwrap(call_child, r.pid, r.who, r.status, r.number));
}

/* table_lock. Forget the one that waits for `pid`; what it holds goes to `dropped`. */
void forget(std::map<pid_t, ptr<waiter>> &from, pid_t pid, std::vector<cbi::ptr> &dropped)
{
	auto it = from.find(pid);

	if (it == from.end())
		return;
	dropped.push_back(std::move(it->second->cb));
	from.erase(it);
}

/* table_lock, the next three functions */
void drop_status(pid_t pid)
{
	auto it = ended.find(pid);

	if (it == ended.end())
		return;
	ended_in_order.erase(it->second.seq);
	ended.erase(it);
}

void keep_status(pid_t pid, int status)
{
	drop_status(pid);
	if (ended.size() == ENDED_MAX)
		drop_status(ended_in_order.begin()->second);
	ended[pid] = { status, next_ended };
	ended_in_order[next_ended++] = pid;
}

/* The status of the child that has this process id now. False: it lives, or is not known. */
bool take_status(pid_t pid, int *ret)
{
	auto it = ended.find(pid);
	int status;
	pid_t r;

	if (it == ended.end())
		return false;
	status = it->second.status;
	r = waitpid(pid, &status, WNOHANG);
	drop_status(pid);
	if (r == 0)
		return false;
	*ret = status;
	return true;
}

void wait_children();

void run_child_signal(int, short, void *)
{
	libasync::note_call();
	wait_children();
}

/* table_lock */
void arm_child_event()
{
	struct ec_base *base = libasync::engine();
	bool is_wanted = is_armed_for_ever || !waiting.empty();

	if (is_wanted == is_child_event_armed)
		return;
	is_child_event_armed = is_wanted;
	if (!is_wanted) {
		(void)ec_event_del(&child_event, EC_DEL_NOBLOCK);
		return;
	}
	(void)ec_event_init(&child_event, base, SIGCHLD, EC_SIGNAL | EC_PERSIST, run_child_signal, nullptr);
	libasync::check(ec_event_add(&child_event, nullptr), "chldcb");
}

void wait_children()
{
	std::vector<result> results;
	pid_t pid;
	int status;

	{
		libasync::table_lock lock;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
			auto it = waiting.find(pid);

			if (it == waiting.end()) {
				keep_status(pid, status);
				continue;
			}
			results.push_back(note_told(pid, it->second, status));
			waiting.erase(it);
		}
		arm_child_event();
	}
	for (const result &r : results)
		tell(r);
}

} // namespace

cbv::ptr sigcb(int sig, cbv::ptr cb, int sa_flags)
{
	watch *w, *old;
	cbv::ptr before;

	if (sig <= 0 || sig >= NSIG)
		libasync::die("sigcb: signal %d", sig);
	w = cb == NULL ? nullptr : new watch(cb, sig);
	if (w != nullptr) {
		w->job.base.run = run_job;
		w->job.self = w;
	}
	{
		libasync::table_lock lock;

		old = replace(sig, w);
	}
	if (old != nullptr) {
		before = old->cb;
		if (libasync::is_own_color(old->color)) {
			(void)ec_event_del(&old->ev, EC_DEL_NOBLOCK);
			free_watch(nullptr, old);
		} else {
			libasync::check(ec_event_finalize(&old->ev, free_watch, false), "sigcb");
		}
	}
	if (w == nullptr && sig != SIGCHLD)
		(void)signal(sig, SIG_DFL);
	set_flags(sig, w == nullptr ? 0 : sa_flags);
	unblock(sig);
	return before;
}

void chldcb(pid_t pid, cbi::ptr cb)
{
	std::vector<cbi::ptr> dropped;		/* without the lock */
	std::vector<result> early;

	{
		libasync::table_lock lock;
		int status;

		forget(waiting, pid, dropped);
		forget(told, pid, dropped);
		if (cb != NULL && take_status(pid, &status))
			early.push_back(note_told(pid, New refcounted<waiter>(cb), status));
		else if (cb != NULL)
			waiting[pid] = New refcounted<waiter>(cb);
		arm_child_event();
	}
	if (!early.empty())
		tell(early[0]);
	else if (cb != NULL)
		wait_children();	/* it may have ended before SIGCHLD was armed */
}

void libasync::drop_child(pid_t pid)
{
	while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR)
		;
	/* Another thread may have waited for all children. */
	table_lock lock;
	drop_status(pid);
}

void libasync::collect_children()
{
	{
		table_lock lock;

		is_armed_for_ever = true;
		arm_child_event();
	}
	wait_children();
}
