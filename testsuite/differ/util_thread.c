/*
 * evthread's setting up: what is taken, what is refused, and when it is too late. Each case
 * runs in a child of its own, for what is set stays set.
 */
#include "trace.h"

#include <pthread.h>

#include <event2/thread.h>

static void *lock_alloc(unsigned locktype)
{
	(void)locktype;
	return malloc(1);
}

static void lock_free(void *lock, unsigned locktype)
{
	(void)locktype;
	free(lock);
}

static int lock_any(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	return 0;
}

static void *cond_alloc(unsigned condtype)
{
	(void)condtype;
	return malloc(1);
}

static int cond_signal(void *cond, int broadcast)
{
	(void)cond;
	(void)broadcast;
	return 0;
}

static int cond_wait(void *cond, void *lock, const struct timeval *timeout)
{
	(void)cond;
	(void)lock;
	(void)timeout;
	return 0;
}

static unsigned long id(void)
{
	return 7;
}

static const struct evthread_lock_callbacks good_locks = {
	EVTHREAD_LOCK_API_VERSION,
	EVTHREAD_LOCKTYPE_RECURSIVE,
	lock_alloc,
	lock_free,
	lock_any,
	lock_any,
};
static const struct evthread_condition_callbacks good_conds = {
	EVTHREAD_CONDITION_API_VERSION,
	cond_alloc,
	free,
	cond_signal,
	cond_wait,
};

static void set_locks(const char *name, const struct evthread_lock_callbacks *cbs)
{
	int r = evthread_set_lock_callbacks(cbs);

	say("  locks %s: %d", name, r);
}

static void set_conds(const char *name, const struct evthread_condition_callbacks *cbs)
{
	int r = evthread_set_condition_callbacks(cbs);

	say("  conditions %s: %d", name, r);
}

static void use_base(void)
{
	struct event_base *base = base_new();
	struct event *ev = ev_new(base, -1, 0, say_cb, "event");

	event_active(ev, EV_READ, 1);
	say("  loop: %d", event_base_loop(base, EVLOOP_NONBLOCK));
	event_free(ev);
	event_base_free(base);
}

static void locks_twice(void)
{
	struct evthread_lock_callbacks other = good_locks;

	set_locks("good", &good_locks);
	set_locks("the same", &good_locks);
	set_locks("a copy", &other);
	other.supported_locktypes = 0;
	set_locks("of other types", &other);
	other = good_locks;
	other.lock_api_version = 9;
	set_locks("of another version", &other);
	other = good_locks;
	other.unlock = NULL;
	set_locks("without unlock", &other);
}

static void locks_without(size_t offset)
{
	struct evthread_lock_callbacks cbs = good_locks;

	memset((char *)&cbs + offset, 0, sizeof(cbs.alloc));
	set_locks("with one missing", &cbs);
	set_locks("good", &good_locks);
}

static void locks_incomplete(void)
{
	locks_without(offsetof(struct evthread_lock_callbacks, unlock));
}

static void locks_incomplete_alloc(void)
{
	locks_without(offsetof(struct evthread_lock_callbacks, alloc));
}

static void locks_odd(void)
{
	struct evthread_lock_callbacks cbs = good_locks;

	cbs.lock_api_version = 77;
	cbs.supported_locktypes = 0;
	set_locks("of an unknown version", &cbs);
	set_locks("good", &good_locks);
}

static void locks_none(void)
{
	set_locks("none", NULL);
	set_conds("none", NULL);
	set_locks("none", NULL);
	set_locks("good", &good_locks);
	set_locks("none", NULL);
}

static void conds_twice(void)
{
	struct evthread_condition_callbacks other = good_conds;

	set_conds("good", &good_conds);
	set_conds("the same", &good_conds);
	other.condition_api_version = 5;
	set_conds("of another version", &other);
	other = good_conds;
	other.wait_condition = NULL;
	set_conds("without wait", &other);
	set_conds("none", NULL);
	set_conds("without wait", &other);
	set_conds("good", &good_conds);
}

static void conds_incomplete(void)
{
	struct evthread_condition_callbacks cbs = good_conds;

	cbs.signal_condition = NULL;
	set_conds("without signal", &cbs);
	set_conds("without signal", &cbs);
	set_conds("good", &good_conds);
	set_conds("without signal", &cbs);
}

static void pthreads_twice(void)
{
	say("  pthreads: %d", evthread_use_pthreads());
	say("  pthreads: %d", evthread_use_pthreads());
	set_locks("good", &good_locks);
	set_conds("good", &good_conds);
	use_base();
}

static void pthreads_after_others(void)
{
	set_locks("good", &good_locks);
	set_conds("good", &good_conds);
	say("  pthreads: %d", evthread_use_pthreads());
	evthread_set_id_callback(id);
	use_base();
}

static void pthreads_after_base(void)
{
	use_base();
	say("  pthreads: %d", evthread_use_pthreads());
	use_base();
}

static void debugging_first(void)
{
	evthread_enable_lock_debugging();
	evthread_enable_lock_debugging();
	evthread_enable_lock_debuging();
	say("  pthreads: %d", evthread_use_pthreads());
	say("  pthreads: %d", evthread_use_pthreads());
	set_locks("good", &good_locks);
	use_base();
}

static void debugging_last(void)
{
	say("  pthreads: %d", evthread_use_pthreads());
	evthread_enable_lock_debugging();
	say("  pthreads: %d", evthread_use_pthreads());
	use_base();
}

static void debugging_alone(void)
{
	evthread_enable_lock_debugging();
	use_base();
}

static void id_alone(void)
{
	evthread_set_id_callback(id);
	use_base();
	evthread_set_id_callback(NULL);
	use_base();
}

static void debug_mode_in_time(void)
{
	event_enable_debug_mode();
	say("  pthreads: %d", evthread_use_pthreads());
	use_base();
}

static void debug_mode_too_late(void)
{
	event_enable_debug_mode();
	use_base();
	say("  pthreads: %d", evthread_use_pthreads());
}

static void debug_mode_conds_too_late(void)
{
	event_enable_debug_mode();
	use_base();
	evthread_set_id_callback(id);
	evthread_enable_lock_debugging();
	set_conds("good", &good_conds);
}

static void debug_mode_none_too_late(void)
{
	event_enable_debug_mode();
	use_base();
	set_locks("none", NULL);
}

static void shutdown_and_again(void)
{
	say("  pthreads: %d", evthread_use_pthreads());
	use_base();
	libevent_global_shutdown();
	say("  pthreads: %d", evthread_use_pthreads());
	use_base();
	libevent_global_shutdown();
}

static void log_line(int severity, const char *msg)
{
	say_log(severity, msg);
}

static void run_case(const char *name, void (*fn)(void))
{
	int status;
	pid_t pid;

	section(name);
	pid = fork();
	must(pid >= 0, "fork");
	if (pid == 0) {
		event_set_log_callback(log_line);
		fn();
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid, "wait");
	say("exit %d, signal %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
	    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

#define RUN(name) run_case(#name, name)

int main(void)
{
	RUN(locks_twice);
	RUN(locks_incomplete);
	RUN(locks_incomplete_alloc);
	RUN(locks_odd);
	RUN(locks_none);
	RUN(conds_twice);
	RUN(conds_incomplete);
	RUN(pthreads_twice);
	RUN(pthreads_after_others);
	RUN(pthreads_after_base);
	RUN(debugging_first);
	RUN(debugging_last);
	RUN(debugging_alone);
	RUN(id_alone);
	RUN(debug_mode_in_time);
	RUN(debug_mode_too_late);
	RUN(debug_mode_conds_too_late);
	RUN(debug_mode_none_too_late);
	RUN(shutdown_and_again);
	return 0;
}
