/*
 * core/observe/backtrace.c: the stack of another thread, the choice of a signal, and what makes it fail.
 */
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "core/observe/asleep.h"
#include "core/observe/backtrace.h"
#include "core/observe/symbol.h"
#include "emulated.h"
#include "fault.h"
#include "../../sanitizers.h"

/* Enough for a thread that answers; the others are not waited for. */
static const struct timespec long_time = { .tv_sec = 1000 }, no_time;

static struct ec_backtrace trace;

static bool has_function(const struct ec_backtrace *t, const char *name)
{
	struct ec_symbol s;
	int i;

	for (i = 0; i < t->num; i++) {
		ec_symbol_find(t->frames[i], i == 0 ? EC_SYMBOL_ENTRY : EC_SYMBOL_RETURN, &s);
		if (strcmp(s.name, name) == 0)
			return true;
	}
	return false;
}

/* ThreadSanitizer holds a signal back until the thread calls a function that it knows: the frames are other ones. */
static bool tells(const struct ec_backtrace *t, const char *name)
{
	return HAS_TSAN || has_function(t, name);
}

static struct sigaction action_of(int sig)
{
	struct sigaction sa;

	assert_int_equal(sigaction(sig, NULL, &sa), 0);
	return sa;
}

static void enter(struct thread *t)
{
	(void)t;
	assert_int_equal(ec_backtrace_enter(), ec_backtrace_signal());
}

static void leave(struct thread *t)
{
	(void)t;
	ec_backtrace_leave(ec_backtrace_signal());
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(ec_backtrace_start(), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_backtrace_stop();
	return 0;
}

static void a_thread_tells_its_stack(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	thread_order(&t, enter);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	assert_true(tells(&trace, "wait_for_order"));
	assert_true(tells(&trace, "thread_main"));
	assert_false(has_function(&trace, "on_signal"));
	assert_false(has_function(&trace, "a_thread_tells_its_stack"));
	thread_end(&t);
}

/* The kernel tells what it sleeps in, as soon as it sleeps. */
static bool is_told_to_sleep(const struct thread *t)
{
	while (access("/proc/self/task", R_OK) == 0) {
		if (ec_asleep_of(t->tid).nr >= 0)
			return true;
		sched_yield();
	}
	return false;
}

static void a_call_that_signals_end_goes_on(void **state)
{
	struct thread t = { .cuts = 0 };
	int i;

	(void)state;
	if (HAS_TSAN || !has_told_calls())	/* its poll is another one */
		skip();
	thread_start(&t);
	thread_order(&t, enter);
	t.cuts = 0;
	for (i = 0; i < 5 && is_told_to_sleep(&t); i++)
		assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	thread_end(&t);
	assert_int_equal(t.cuts, 0);
}

static void what_it_sleeps_in_cannot_be_read(void **state)
{
	struct thread t = { .cuts = 0 };

	(void)state;
	thread_start(&t);
	thread_order(&t, enter);
	fault_call_at(FAULT_open, 1, EMFILE);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	assert_true(fault_end());
	fault_call_at(FAULT_read, 1, EIO);
	assert_int_equal(ec_asleep_of(t.tid).nr, -1);
	assert_true(fault_end());
	assert_int_equal(ec_asleep_of(1 << 30).nr, -1);
	thread_end(&t);
}

static void what_the_kernel_tells_of_a_sleep(void **state)
{
	struct ec_asleep a = ec_asleep_parse("7 0x10 0x1 0xffffffff 0x0 0x0 0x0 0x7ffc 0x401\n");

	(void)state;
	assert_int_equal(a.nr, 7);
	assert_true(a.arg == 0x10 && a.sp == 0x7ffc && a.pc == 0x401);
	assert_int_equal(ec_asleep_parse("running\n").nr, -1);
	assert_int_equal(ec_asleep_parse("-1 0x7ffc 0x401\n").nr, -1);
	assert_int_equal(ec_asleep_parse("7 0x10 0x1\n").nr, -1);
	assert_int_equal(ec_asleep_parse("").nr, -1);
}

__attribute__((noinline)) static void tell_callers(void)
{
	ec_backtrace_here(&trace);
	__asm__ volatile("# not the last call");
}

static void the_caller_tells_its_own_stack(void **state)
{
	(void)state;
	tell_callers();
	assert_false(has_function(&trace, "ec_backtrace_here"));
	assert_false(has_function(&trace, "tell_callers"));
	assert_true(has_function(&trace, __func__));
}

static void who_does_not_answer_is_not_waited_for(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &no_time, &trace), -ETIMEDOUT);
	assert_int_equal(trace.num, 0);
	/* The signal that is under way has no question any more, and the next one is answered. */
	thread_order(&t, enter);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	assert_true(tells(&trace, "wait_for_order"));
	thread_end(&t);
}

static void another_thread_by_that_number_does_not_answer(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	thread_order(&t, enter);
	assert_int_equal(ec_backtrace_of(t.tid, &t, &no_time, &trace), -ETIMEDOUT);
	thread_end(&t);
}

static void a_thread_that_has_ended_has_none(void **state)
{
	const int PID_MAX = 1 << 30;

	(void)state;
	assert_int_equal(ec_backtrace_of(PID_MAX, &trace, &long_time, &trace), -ESRCH);
	fault_call_at(FAULT_tgkill, 1, EAGAIN);
	assert_int_equal(ec_backtrace_of(PID_MAX, &trace, &long_time, &trace), -EAGAIN);
	assert_true(fault_end());
}

/* A signal under way would end the process if there was no handler. */
static void the_signal_is_given_back_when_none_is_under_way(void **state)
{
	int sig = ec_backtrace_signal();
	struct thread t;

	(void)state;
	thread_start(&t);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &no_time, &trace), -ETIMEDOUT);
	ec_backtrace_stop();
	assert_true((action_of(sig).sa_flags & SA_SIGINFO) != 0);
	thread_order(&t, enter);
	thread_end(&t);
	assert_int_equal(ec_backtrace_start(), 0);
	assert_int_equal(ec_backtrace_signal(), sig);
	ec_backtrace_stop();
	assert_true(action_of(sig).sa_handler == SIG_DFL);
}

static void what_was_blocked_is_blocked_again(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	thread_order(&t, enter);
	thread_order(&t, leave);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &no_time, &trace), -ETIMEDOUT);
	thread_order(&t, enter);
	assert_int_equal(ec_backtrace_enter(), 0);	/* here it is not blocked */
	ec_backtrace_leave(0);
	thread_end(&t);
}

/* ---------------------------------------------------------------- the program's signals */

static volatile sig_atomic_t programs_num;

static void programs(int sig)
{
	(void)sig;
	programs_num++;
}

static void the_program_takes_the_signal(void **state)
{
	int sig = ec_backtrace_signal();
	struct thread t;

	(void)state;
	thread_start(&t);
	assert_true(signal(sig, programs) != SIG_ERR);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &no_time, &trace), -ETIMEDOUT);
	assert_true(ec_backtrace_signal() != sig);
	thread_order(&t, enter);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	assert_true(tells(&trace, "wait_for_order"));
	assert_int_equal(raise(sig), 0);
	assert_int_equal(programs_num, 1);
	thread_end(&t);
	ec_backtrace_stop();
	assert_true(action_of(sig).sa_handler == programs);
	assert_true(signal(sig, SIG_DFL) == programs);
}

/* As some daemons do at their start. */
static void the_program_sets_all_signals_to_their_defaults(void **state)
{
	int sig = ec_backtrace_signal();
	struct thread t;

	(void)state;
	thread_start(&t);
	thread_order(&t, enter);
	assert_true(signal(sig, SIG_DFL) != SIG_ERR);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	assert_int_equal(ec_backtrace_signal(), sig);
	thread_end(&t);
}

static void a_blocked_signal_is_the_last_choice(void **state)
{
	int sig = ec_backtrace_signal();
	sigset_t set;

	(void)state;
	ec_backtrace_stop();
	sigemptyset(&set);
	sigaddset(&set, sig);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(ec_backtrace_start(), 0);
	assert_true(ec_backtrace_signal() != 0 && ec_backtrace_signal() != sig);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
}

/* Without a free signal: no stacks. Those of other threads that were free before stay the program's. */
static void a_program_that_handles_every_signal(void **state)
{
	struct thread t;
	int sig;

	(void)state;
	ec_backtrace_stop();
	for (sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		assert_true(signal(sig, programs) != SIG_ERR);
	assert_int_equal(ec_backtrace_start(), -ENOSPC);
	assert_int_equal(ec_backtrace_signal(), 0);
	assert_int_equal(ec_backtrace_enter(), 0);
	thread_start(&t);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), -ENOSPC);
	for (sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		assert_true(signal(sig, SIG_DFL) == programs);
	lost_signals_hide();
	assert_int_equal(ec_backtrace_start(), 0);
	thread_order(&t, enter);
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &long_time, &trace), 0);
	thread_end(&t);
}

static void calls_that_fail(void **state)
{
	int last = ec_backtrace_signal();

	(void)state;
	ec_backtrace_stop();
	fault_call_always(FAULT_sigaction, EINVAL);
	assert_int_equal(ec_backtrace_start(), -ENOSPC);
	assert_true(fault_end());
	/* The first free signal cannot be taken, the next one can. */
	fault_call_at(FAULT_sigaction, (unsigned)(SIGRTMAX - last) + 2, EINVAL);
	assert_int_equal(ec_backtrace_start(), 0);
	assert_int_equal(ec_backtrace_signal(), last - 1);
	assert_true(fault_end());
	fault_call_at(FAULT_pthread_sigmask, 1, EINVAL);
	assert_int_equal(ec_backtrace_enter(), 0);
	assert_true(fault_end());
	ec_backtrace_stop();
	fault_call_at(FAULT_pthread_sigmask, 1, EINVAL); /* then no signal counts as blocked */
	assert_int_equal(ec_backtrace_start(), 0);
	assert_true(fault_end());
}

/* ---------------------------------------------------------------- fork */

static void a_child_asks_its_own_threads(void **state)
{
	struct thread t;
	int status;
	pid_t pid;

	(void)state;
	if (HAS_TSAN)		/* which allows no threads in a child of a process with threads */
		skip();
	thread_start(&t);
	/* The parent's signal is under way while it forks. */
	assert_int_equal(ec_backtrace_of(t.tid, t.key, &no_time, &trace), -ETIMEDOUT);
	ec_backtrace_freeze();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct thread own;

		ec_backtrace_reset();
		thread_start(&own);
		thread_order(&own, enter);
		assert_int_equal(ec_backtrace_of(own.tid, own.key, &long_time, &trace), 0);
		thread_end(&own);
		ec_backtrace_stop();
		_exit(ec_backtrace_signal() != 0 ? 1 : has_function(&trace, "wait_for_order") ? 0 : 2);
	}
	ec_backtrace_thaw();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	thread_order(&t, enter);
	thread_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_thread_tells_its_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_that_signals_end_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_sleeps_in_cannot_be_read, setup, teardown),
		cmocka_unit_test(what_the_kernel_tells_of_a_sleep),
		cmocka_unit_test_setup_teardown(the_caller_tells_its_own_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(who_does_not_answer_is_not_waited_for, setup, teardown),
		cmocka_unit_test_setup_teardown(another_thread_by_that_number_does_not_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_has_ended_has_none, setup, teardown),
		cmocka_unit_test_setup_teardown(the_signal_is_given_back_when_none_is_under_way, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_blocked_is_blocked_again, setup, teardown),
		cmocka_unit_test_setup_teardown(the_program_takes_the_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(the_program_sets_all_signals_to_their_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(a_blocked_signal_is_the_last_choice, setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_handles_every_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(calls_that_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(a_child_asks_its_own_threads, setup, teardown),
	};

	lost_signals_hide();
	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
