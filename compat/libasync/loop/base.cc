/*
 * The base of the process, and how it runs.
 */
#include "async.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sched.h>
#include <unistd.h>
#include <utility>

#include "log/die.h"
#include "log/log.h"
#include "log/time.h"
#include "loop/loop.h"

namespace
{

/* atomic: set once, and by a child of fork */
void *the_base;

/* own: the only thread of a child of fork, which has not used the loop yet. The parent's base. */
void *inherited_base;

pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;

/* const after the constructor below; in a child of fork, the thread that forked */
pthread_t first_thread;

/* own: the loop's thread */
bool is_main_running;
pid_t base_pid;

/* How long exit() waits for callbacks of other workers, before static objects are destroyed. */
constexpr unsigned EXIT_PATIENCE_MS = 1000;

/* The thread is in exit(), and has paused the base. */
thread_local bool is_halted;

void nothing_of_str(str)
{
}

/* Standard error is writable again. */
void write_messages()
{
	if (!libasync::err_write_more())
		fdcb(errfd, selwrite, NULL);
}

void wait_to_write()
{
	fdcb(errfd, selwrite, wrap(write_messages));
}

struct ec_base *make_base()
{
	struct ec_base *made;
	int r;

	base_pid = getpid();
	if (ec_current_base() != nullptr)
		return ec_current_base();
	r = libasync::make_engine(&made);
	if (r < 0)
		libasync::engine_failed(r, "the loop's base");
	ec_set_current_base(made);
	return made;
}

/* By exit(), before static objects are destroyed that were made before the first thread of the library. */
void halt()
{
	struct ec_base *base = static_cast<struct ec_base *>(ec_published(&the_base));

	if (base != nullptr && getpid() == base_pid)
		is_halted = ec_base_pause_within(base, EXIT_PATIENCE_MS) != -EBUSY;
}

/* A program that runs the loop at its end wants callbacks again, meanwhile. */
class unhalted
{
	bool was_halted = std::exchange(is_halted, false);

public:
	unhalted()
	{
		if (was_halted)
			(void)ec_base_resume(libasync::engine());
	}
	~unhalted()
	{
		if (was_halted)
			halt();
	}
	unhalted(const unhalted &) = delete;
	unhalted &operator=(const unhalted &) = delete;
};

/* The library starts its first thread. */
void note_threads()
{
	static bool is_noted;

	libasync::share_counts();
	if (!__atomic_exchange_n(&is_noted, true, __ATOMIC_RELAXED))
		(void)atexit(halt);
}

void note_poll()
{
	libasync::note_time();
	libasync::note_clock();
	libasync::note_turn();
}

/* own: the thread that forks. What it blocked before. */
thread_local sigset_t mask_before_fork;

/* A signal that came while the process is copied could be either process's. Both get theirs afterwards. */
void hold_signals()
{
	sigset_t all;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &mask_before_fork);
}

void release_signals()
{
	(void)pthread_sigmask(SIG_SETMASK, &mask_before_fork, nullptr);
}

/*
 * In a child of fork. Its base polls with the parent's descriptors: what it adds to them or removes concerns the parent
 * too. Most children only run another program, so a new poller is made when the base is asked for. Signals are counted
 * until then.
 */
void note_fork()
{
	void *base = ec_published(&the_base);

	first_thread = pthread_self();
	if (base != nullptr) {
		inherited_base = base;
		__atomic_store_n(&the_base, nullptr, __ATOMIC_RELAXED);
	}
	if (inherited_base != nullptr)
		ec_base_inherit_signals(static_cast<struct ec_base *>(inherited_base));
	release_signals();
}

void reinit(struct ec_base *base)
{
	base_pid = getpid();
	libasync::check(ec_base_reinit(base), "the loop's base in a child");
}

/* The first use of the loop in this process. Making a poller may print a message, which uses the loop: not again. */
struct ec_base *begin_base()
{
	struct ec_base *inherited = static_cast<struct ec_base *>(std::exchange(inherited_base, nullptr));

	if (inherited == nullptr)
		return static_cast<struct ec_base *>(ec_publish(&the_base, make_base()));
	(void)ec_publish(&the_base, inherited);
	reinit(inherited);
	return inherited;
}

/* Before the program's own static objects, and its main. */
__attribute__((constructor(201))) void begin()
{
	struct sigaction sa;
	int r;

	first_thread = pthread_self();
	r = pthread_atfork(hold_signals, release_signals, note_fork);
	if (r != 0)
		libasync::engine_failed(-r, "pthread_atfork");
	if (sigaction(SIGPIPE, nullptr, &sa) == 0 && sa.sa_handler == SIG_DFL)
		(void)signal(SIGPIPE, SIG_IGN);
	libasync::err_wait_writable = wait_to_write;
	ec_slot_set(EC_SLOT_THREADS_FN, reinterpret_cast<uintptr_t>(&note_threads));
	ec_set_turn_fn(note_poll);
}

/* A child that was cloned without fork has not noted that. */
void follow_clone()
{
	struct ec_base *base = libasync::engine();

	if (getpid() != base_pid)
		reinit(base);
}

} // namespace

__attribute__((init_priority(200))) cbs cbs_null(wrap(nothing_of_str));

namespace
{

/* As in callback.cc. */
const cbs *const kept_cbs = new cbs(cbs_null);

} // namespace

namespace libasync
{

struct ec_base *engine()
{
	void *base = ec_published(&the_base);

	if (__builtin_expect(base != nullptr, 1))
		return static_cast<struct ec_base *>(base);
	return begin_base();
}

struct ec_base *made_engine()
{
	void *base = ec_published(&the_base);

	if (base == nullptr)
		base = inherited_base;
	return base != nullptr ? static_cast<struct ec_base *>(base) : ec_current_base();
}

struct event_base *base()
{
	return reinterpret_cast<struct event_base *>(engine());
}

void use_base(struct event_base *base)
{
	void *used = inherited_base != nullptr ? engine() : ec_publish(&the_base, base);

	base_pid = getpid();
	if (used != base)
		die("use_base: the loop has a base");
}

void table_lock::take()
{
	(void)pthread_mutex_lock(&table_mutex);
}

void table_lock::release()
{
	(void)pthread_mutex_unlock(&table_mutex);
}

void engine_failed(int r, const char *what)
{
	die("%s: %s", what, strerror(-r));
}

timeval to_timeval(int64_t ns)
{
	constexpr time_t longest = std::numeric_limits<time_t>::max();	/* 68 years, where time_t has 32 bits */
	timeval tv;

	if (ns < 0)
		ns = 0;
	if (ns / 1000000000 >= longest)
		return { longest, 0 };
	tv.tv_sec = ns / 1000000000;
	tv.tv_usec = (ns % 1000000000 + 999) / 1000;
	if (tv.tv_usec == 1000000) {
		tv.tv_sec++;
		tv.tv_usec = 0;
	}
	return tv;
}

bool is_own_color(uint32_t number)
{
	uint32_t here;

	if (ec_base_running_color(engine(), &here) == 0)
		return here == number;
	return number == 0 && pthread_equal(pthread_self(), first_thread);
}

/* ---------------------------------------------------------------- posts */

/* Its reference is that of the post. */
static void run_post(void *arg)
{
	callback<void> *cb = static_cast<callback<void> *>(arg);

	note_call();
	(*cb)();
	cb->refcount_dec();
}

void post(::ref<callback<void>> cb)
{
	callback<void> *raw = cb.get();

	/* A thread of the program's own: counts of what it posts are shared from now on. */
	if (__builtin_expect(!are_counts_shared(), 1) && !pthread_equal(pthread_self(), first_thread))
		share_counts();
	(void)refaccess::take_count(cb);
	if (ec_base_post(engine(), raw->get_color().value(), run_post, raw) < 0)
		die("cpucb: %s", strerror(errno));
}

} // namespace libasync

void cpucb(cbv cb)
{
	libasync::post(std::move(cb));
}

/* ---------------------------------------------------------------- running */

void amain()
{
	if (is_main_running || ec_base_is_looping(libasync::engine()))
		libasync::die("amain: the loop is running");
	is_main_running = true;

	unhalted meanwhile;

	follow_clone();
	libasync::collect_children();
	for (;;) {
		int r = ec_base_loop(libasync::engine(), EC_LOOP_NO_EXIT_ON_EMPTY);

		libasync::check(r, "amain");
	}
}

/* A callback of a color may run on any worker, and a turn there would run others' colors on its stack. */
static void refuse_turn()
{
	static bool has_warned;

	if (!__atomic_exchange_n(&has_warned, true, __ATOMIC_RELAXED))
		warn("acheck: called in a callback of another color than 0, where it does nothing\n");
	(void)sched_yield();
}

void acheck()
{
	unhalted meanwhile;

	if (ec_base_is_looping(libasync::engine())) {
		int r = ec_base_turn(libasync::engine());

		if (r == -EPERM)
			refuse_turn();
		else
			libasync::check(r, "acheck");
		return;
	}
	follow_clone();
	libasync::check(ec_base_loop(libasync::engine(), EC_LOOP_ONCE), "acheck");
}
