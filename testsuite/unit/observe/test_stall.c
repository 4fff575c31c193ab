/*
 * core/observe/stall.c: what is a stall and what is none, and when it is reported. The test owns the clock and calls
 * the scans. A stalled callback is a thread that waits for the test.
 */
#include "thread.h"

#include <errno.h>
#include <sys/wait.h>

#include "core/ec.h"
#include "core/observe/stall.h"
#include "emulated.h"
#include "fault.h"
#include "../../sanitizers.h"

enum { LIMIT_MS = 100, STEP_MS = 25 };

static struct ec_stall_settings settings = { .limit_ms = LIMIT_MS };
static char said[1 << 16];
static int told_num;		/* reports */
static uint64_t now_ms;

/* ---------------------------------------------------------------- a worker */

struct worker {
	bool is_looping;
	struct ec_stall_queue queue;
	struct ec_stall *stall;
};

static bool is_looping(const void *worker)
{
	return ((const struct worker *)worker)->is_looping;
}

static void look(void *worker, uint32_t color, struct ec_stall_queue *ret)
{
	const struct worker *w = worker;

	(void)color;
	if (w->queue.has_colors)
		*ret = w->queue;
}

static int prepared;

static int prepare(void)
{
	return prepared;
}

static const struct ec_stall_ops ops = { prepare, is_looping, look };

static void worker_new(struct worker *w, unsigned id)
{
	*w = (struct worker){ .is_looping = true };
	assert_int_equal(ec_stall_new(7, id, &w->stall), 0);
	assert_false(ec_stall_is_attached(w->stall));
	ec_stall_attach(w->stall, &ops, w);
}

static void worker_free(struct worker *w)
{
	ec_stall_free(w->stall);
	ec_stall_settle();
}

/* ---------------------------------------------------------------- what was said */

static void keep(int severity, const char *msg)
{
	size_t len = strlen(said);

	assert_int_equal(severity, EC_LOG_WARN);
	told_num += strncmp(msg, "stall:   ", 9) != 0;
	snprintf(said + len, sizeof(said) - len, "%s\n", msg);
}

static void forget(void)
{
	said[0] = '\0';
	told_num = 0;
}

static bool has_said(const char *text)
{
	return strstr(said, text) != NULL;
}

/* In a backtrace. ThreadSanitizer holds a signal back until the thread calls a function that it knows. */
static bool has_frame(const char *function)
{
	return HAS_TSAN || has_said(function);
}

static void scan(uint64_t ms)
{
	now_ms += ms;
	ec_stall_scan(now_ms * 1000000);
}

/* As many scans as the watchdog makes. */
static void scan_for(uint64_t ms)
{
	for (; ms >= STEP_MS; ms -= STEP_MS)
		scan(STEP_MS);
}

static int setup(void **state)
{
	(void)state;
	forget();
	ec_log_set_fn(keep);
	settings = (struct ec_stall_settings){ .limit_ms = LIMIT_MS };
	ec_stall_use(&settings);
	now_ms = 1000;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	ec_log_set_fn(NULL);
	return 0;
}

static const void *address(void (*fn)(void))
{
	return (const void *)(uintptr_t)fn;
}

__attribute__((noinline)) static void slow_callback(void)
{
	__asm__ volatile("# slow_callback");
}

__attribute__((noinline)) static void other_callback(void)
{
	__asm__ volatile("# other_callback");
}

static void run(struct worker *w, void (*fn)(void), uint32_t color)
{
	ec_stall_begin(w->stall, address(fn), color);
	ec_stall_end(w->stall);
}

/* ---------------------------------------------------------------- callbacks */

static void a_callback_is_reported_while_it_runs(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 3);
	w.queue = (struct ec_stall_queue){ .has_colors = true, .colors = 4, .own = 1 };
	scan(0);
	ec_stall_begin(w.stall, address(slow_callback), 42);
	scan(STEP_MS);
	scan_for(LIMIT_MS - STEP_MS);
	assert_int_equal(told_num, 0);
	scan(STEP_MS);
	assert_int_equal(told_num, 1);
	assert_true(has_said("stall: slow_callback ("));
	assert_true(has_said(") of color 42 has run for 100 ms on worker 3 of base 7; "
			     "4 colors wait behind it, and 1 callback of its own color\n"));
	assert_true(has_said("stall:   #0 "));
	ec_stall_end(w.stall);
	worker_free(&w);
}

/* A face's function, which turned out to call one of the program's. The callback around it keeps its name. */
static void a_callback_may_get_another_name(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 3);
	ec_stall_begin(w.stall, address(other_callback), 1);
	ec_stall_begin(w.stall, address(other_callback), 1);
	ec_stall_rename(w.stall, address(slow_callback));
	scan(0);
	scan_for(LIMIT_MS);
	assert_true(has_said("stall: slow_callback ("));
	ec_stall_end(w.stall);
	scan(0);
	scan_for(LIMIT_MS);
	assert_true(has_said("stall: other_callback ("));
	ec_stall_end(w.stall);
	worker_free(&w);
}

static struct ec_cpu_time cpu;

static bool cpu_time(pid_t tid, struct ec_cpu_time *ret)
{
	assert_int_equal(tid, gettid());
	*ret = cpu;
	return true;
}

/* From the second scan that finds the callback there, to the report: 75 ms of the clock. */
static void a_callback_without_a_cpu_is_not_to_blame(void **state)
{
	static const struct {
		const char *name;
		struct ec_cpu_time at_end;
		bool is_short;
	} rows[] = {
		{ "it waited and then ran", { 6000000, 71000000, 12, 76000000, true }, true },
		{ "it waits", { 6000000, 2000000, 11, 76000000, true }, true },
		{ "it sleeps", { 6000000, 2000000, 11, 76000000, false }, false },
		{ "it slept often", { 6000000, 3000000, 60, 76000000, true }, false },
		{ "it computes", { 70000000, 7000000, 14, 76000000, true }, false },
	};
	struct worker w;
	size_t i;

	(void)state;
	ec_stall_use_cpu_time(cpu_time);
	for (i = 0; i < ROWS(rows); i++) {
		ec_stall_use(&settings);
		forget();
		worker_new(&w, 3);
		scan(0);
		ec_stall_begin(w.stall, address(slow_callback), 42);
		cpu = (struct ec_cpu_time){ 4000000, 1000000, 10, 1000000, true };
		scan(STEP_MS);
		scan(STEP_MS);
		cpu = rows[i].at_end;
		scan_for(LIMIT_MS);
		assert_row(told_num == 1, rows[i].name);
		assert_row(has_said(" on worker 3 of base 7, but had a CPU for 2 of the last 75 ms: the machine is "
				    "short of CPUs; 0 callbacks wait") == rows[i].is_short, rows[i].name);
		ec_stall_end(w.stall);
		worker_free(&w);
	}
	ec_stall_use_cpu_time(NULL);
}

static void threads_have_cpu_times(void **state)
{
	struct ec_cpu_time t;

	(void)state;
	assert_false(ec_cpu_time_of(-1, &t));
	assert_false(ec_cpu_time_parse("none", &t));
	assert_true(ec_cpu_time_parse("12 34 5\n", &t));
	assert_int_equal(t.ran_ns, 12);
	assert_int_equal(t.waited_ns, 34);
	assert_int_equal(t.times, 5);
}

static void a_site_is_reported_once(void **state)
{
	struct worker w;
	int i;

	(void)state;
	worker_new(&w, 0);
	for (i = 0; i < 3; i++) {
		ec_stall_begin(w.stall, address(slow_callback), (uint32_t)i);
		scan_for(5 * LIMIT_MS);
		ec_stall_end(w.stall);
		scan(STEP_MS);
	}
	assert_int_equal(told_num, 1);
	ec_stall_begin(w.stall, address(other_callback), 0);
	scan_for(2 * LIMIT_MS);
	ec_stall_end(w.stall);
	assert_int_equal(told_num, 2);
	assert_true(has_said("stall: other_callback ("));
	worker_free(&w);
}

static void many_short_callbacks_are_no_long_one(void **state)
{
	struct worker w;
	int i;

	(void)state;
	worker_new(&w, 0);
	for (i = 0; i < 100; i++) {
		ec_stall_turn(w.stall);
		run(&w, slow_callback, 1);
		ec_stall_begin(w.stall, address(slow_callback), 1);
		scan_for(LIMIT_MS - STEP_MS);
		ec_stall_end(w.stall);
	}
	assert_int_equal(told_num, 0);
	worker_free(&w);
}

/* A process that was stopped, or a machine that was busy: the callback did not run meanwhile. */
static void late_scans_are_no_time(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(slow_callback), 1);
	scan(STEP_MS);
	scan(1000 * LIMIT_MS);
	assert_int_equal(told_num, 0);
	scan_for(LIMIT_MS);
	assert_int_equal(told_num, 1);
	now_ms = 0;			/* nor is a clock that goes back */
	scan(0);
	ec_stall_end(w.stall);
	worker_free(&w);
}

static void a_callback_within_a_callback(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(slow_callback), 1);
	ec_stall_begin(w.stall, address(other_callback), 2);
	scan_for(LIMIT_MS + STEP_MS);
	assert_true(has_said("stall: other_callback ("));
	forget();
	ec_stall_end(w.stall);
	scan(STEP_MS);
	scan_for(LIMIT_MS);
	assert_true(has_said("stall: slow_callback ("));
	assert_true(has_said("of color 1 "));
	ec_stall_end(w.stall);
	worker_free(&w);
}

static void very_deep_callbacks(void **state)
{
	struct worker w;
	int i;

	(void)state;
	worker_new(&w, 0);
	for (i = 0; i < 3 * EC_STALL_DEPTH; i++)
		ec_stall_begin(w.stall, address(i % 2 != 0 ? slow_callback : other_callback), (uint32_t)i);
	scan_for(LIMIT_MS + STEP_MS);
	assert_true(has_said("of color 23 "));
	for (i = 0; i < 3 * EC_STALL_DEPTH; i++)
		ec_stall_end(w.stall);
	ec_stall_turn(w.stall);
	forget();
	w.stall->is_asleep = true;
	scan_for(3 * LIMIT_MS);
	assert_int_equal(told_num, 0);
	worker_free(&w);
}

static void without_colors_only_callbacks_are_counted(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 0);
	ec_stall_queued(w.stall, 1);
	ec_stall_begin(w.stall, address(slow_callback), 0);
	scan_for(LIMIT_MS + STEP_MS);
	assert_true(has_said("; 1 callback waits behind it\n"));
	ec_stall_end(w.stall);
	worker_free(&w);
}

static void after_many_sites_no_others_are_reported(void **state)
{
	static const char at[300];
	struct worker w;
	int i;

	(void)state;
	worker_new(&w, 0);
	for (i = 0; i < 300; i++) {
		ec_stall_begin(w.stall, at + i, 0);
		scan_for(LIMIT_MS + STEP_MS);
		ec_stall_end(w.stall);
	}
	assert_int_equal(told_num, 256 + 1);
	assert_true(has_said("stall: 256 callbacks were reported; no others will be\n") ||
		    strlen(said) == sizeof(said) - 1);
	worker_free(&w);
}

/* ---------------------------------------------------------------- stacks */

static struct worker stalled;

static void begin_there(struct thread *t)
{
	(void)t;
	worker_new(&stalled, 1);
	ec_stall_begin(stalled.stall, address(slow_callback), 9);
}

static void end_there(struct thread *t)
{
	(void)t;
	ec_stall_end(stalled.stall);
	worker_free(&stalled);
}

static void the_stalled_thread_tells_its_stack(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	thread_order(&t, begin_there);
	scan_for(LIMIT_MS + STEP_MS);
	assert_int_equal(told_num, 1);
	assert_true(has_frame("wait_for_order"));
	assert_true(has_frame(" thread_main+"));
	assert_true(HAS_TSAN || !has_said("no backtrace"));
	thread_order(&t, end_there);
	thread_end(&t);
}

static void why_there_is_no_stack(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	thread_order(&t, begin_there);
	fault_call_at(FAULT_tgkill, 1, EAGAIN);
	scan_for(LIMIT_MS + STEP_MS);
	assert_true(fault_end());
	assert_true(has_said("stall:   no backtrace: the signal could not be sent\n"));
	thread_order(&t, end_there);
	thread_end(&t);
}

static void without_a_signal_there_are_reports_without_stacks(void **state)
{
	struct thread t;

	(void)state;
	thread_start(&t);
	fault_call_always(FAULT_sigaction, EINVAL);
	thread_order(&t, begin_there);
	scan_for(LIMIT_MS + STEP_MS);
	assert_true(fault_end());
	assert_true(has_said("stall: slow_callback ("));
	assert_true(has_said("no backtrace: the program handles every real-time signal"));
	thread_order(&t, end_there);
	thread_end(&t);
}

static void turn_there(struct thread *t)
{
	(void)t;
	ec_stall_turn(stalled.stall);
	ec_stall_begin(stalled.stall, address(other_callback), 9);
}

static void end_last_there(struct thread *t)
{
	(void)t;
	ec_stall_end(stalled.stall);
}

/* A loop runs in the thread that calls it; it may be another one each time. */
static void a_loop_that_changes_its_thread(void **state)
{
	struct thread t;

	(void)state;
	worker_new(&stalled, 1);
	thread_start(&t);
	thread_order(&t, turn_there);
	scan_for(LIMIT_MS + STEP_MS);
	assert_true(has_said("stall: other_callback ("));
	assert_true(has_frame("wait_for_order"));
	thread_order(&t, end_last_there);
	thread_end(&t);
	worker_free(&stalled);
}

/* ---------------------------------------------------------------- loops */

static void a_loop_that_does_not_turn(void **state)
{
	struct worker w;
	int i;

	(void)state;
	worker_new(&w, 2);
	ec_stall_turn(w.stall);
	ec_stall_queued(w.stall, 5);
	scan(STEP_MS);
	for (i = 0; i < LIMIT_MS / STEP_MS; i++) {
		assert_int_equal(told_num, 0);
		run(&w, slow_callback, 1);
		run(&w, slow_callback, 1);
		scan(STEP_MS);
	}
	assert_int_equal(told_num, 1);
	assert_true(has_said("stall: worker 2 of base 7 has not turned for 100 ms; "
			     "8 callbacks began meanwhile, and 5 wait; it is in no callback, after slow_callback ("));
	for (i = 0; i < 50; i++) {		/* once */
		run(&w, slow_callback, 1);
		scan(STEP_MS);
	}
	assert_int_equal(told_num, 1);
	worker_free(&w);
}

/* It waits for the end of a pause, perhaps. */
static void a_loop_that_hangs_between_callbacks(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 0);
	ec_stall_turn(w.stall);
	scan_for(LIMIT_MS);
	assert_int_equal(told_num, 0);
	scan(STEP_MS);
	assert_true(has_said("not turned for 100 ms; 0 callbacks began meanwhile, and 0 wait; it is in no callback"));
	worker_free(&w);
}

static void loops_that_need_not_turn(void **state)
{
	struct worker w;

	(void)state;
	worker_new(&w, 0);
	ec_stall_sleep(w.stall, true);		/* nothing to do */
	scan_for(10 * LIMIT_MS);
	ec_stall_sleep(w.stall, false);
	w.is_looping = false;			/* the program is elsewhere */
	scan_for(10 * LIMIT_MS);
	w.is_looping = true;
	scan_for(LIMIT_MS - STEP_MS);
	ec_stall_turn(w.stall);
	scan_for(LIMIT_MS - STEP_MS);
	assert_int_equal(told_num, 0);
	worker_free(&w);
}

/* ---------------------------------------------------------------- queues */

enum { WINDOWS = 8 };

static void window(struct worker *w, uint64_t queued_num)
{
	ec_stall_queued(w->stall, queued_num);
	ec_stall_turn(w->stall);
	scan_for(LIMIT_MS);
}

static void a_queue_that_only_grows(void **state)
{
	struct worker w;
	uint64_t i;

	(void)state;
	worker_new(&w, 0);
	w.queue = (struct ec_stall_queue){ .has_colors = true, .most = 900, .most_color = 17 };
	window(&w, 0);
	for (i = 1; i <= WINDOWS; i++) {
		assert_int_equal(told_num, 0);
		window(&w, i * 1000);
	}
	assert_int_equal(told_num, 1);
	assert_true(has_said("stall: the callbacks that wait at worker 0 of base 7 grew from 0 to 8000 within 800 ms, "
			     "and never shrank; 900 are of color 17\n"));
	for (i = 0; i < 4 * WINDOWS; i++)
		window(&w, 9000 + i * 1000);
	assert_int_equal(told_num, 1);
	window(&w, 0);				/* it was drained, and grows once more */
	for (i = 0; i < 2 * WINDOWS; i++)
		window(&w, i * 1000);
	assert_int_equal(told_num, 2);
	worker_free(&w);
}

static void queues_that_are_no_problem(void **state)
{
	struct worker w;
	uint64_t i;

	(void)state;
	worker_new(&w, 0);
	for (i = 0; i < 10 * WINDOWS; i++)
		window(&w, i * 10);		/* small */
	window(&w, 0);
	for (i = 0; i < 10 * WINDOWS; i++)
		window(&w, 100000);		/* large, and does not grow */
	for (i = 0; i < 10 * WINDOWS; i++)
		window(&w, 100000 + i);		/* grows slowly */
	for (i = 0; i < 10 * WINDOWS; i++)
		window(&w, i * 1000 % 6000);	/* shrinks now and then */
	for (i = 0; i < 10 * WINDOWS; i++) {	/* bursts that are drained */
		ec_stall_queued(w.stall, i * 1000);
		ec_stall_turn(w.stall);
		scan(STEP_MS);
		ec_stall_queued(w.stall, 0);
		ec_stall_turn(w.stall);
		scan_for(LIMIT_MS - STEP_MS);
	}
	assert_string_equal(said, "");
	worker_free(&w);
}

static void a_queue_behind_a_stalled_callback(void **state)
{
	struct worker w;
	uint64_t i;

	(void)state;
	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(slow_callback), 1);
	for (i = 0; i < 5 * WINDOWS; i++) {
		ec_stall_queued(w.stall, i * 1000);
		scan_for(LIMIT_MS);
	}
	assert_int_equal(told_num, 1);
	ec_stall_end(w.stall);
	worker_free(&w);
}

/* ---------------------------------------------------------------- cycles */

static void a_cycle_is_reported_with_both_stacks(void **state)
{
	struct ec_stall_wait waits[2] = { { .what = "the end of a callback" }, { .what = "the end of a pause" } };
	struct thread t;
	struct worker w;
	int i;

	(void)state;
	thread_start(&t);
	thread_order(&t, begin_there);
	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(other_callback), 4);
	waits[0].worker = &w;
	waits[1].worker = &stalled;
	for (i = 0; i < 2; i++)			/* once */
		ec_stall_tell_cycle(waits, 2);
	assert_int_equal(told_num, 3);		/* a line for the cycle, and one for each callback */
	assert_true(has_said("stall: 2 callbacks wait for each other; one stops waiting\nstall: other_callback ("));
	assert_true(has_said(" of color 4 on worker 0 of base 7 waits for the end of a callback\n"));
	assert_true(has_said(" of color 9 on worker 1 of base 7 waits for the end of a pause\n"));
	assert_true(has_said("a_cycle_is_reported_with_both_stacks"));
	assert_true(has_frame("wait_for_order"));
	ec_stall_end(w.stall);
	worker_free(&w);
	thread_order(&t, end_there);
	thread_end(&t);
}

static void a_cycle_of_many_and_of_unknown_threads(void **state)
{
	struct ec_stall_wait waits[6] = { 0 };
	struct worker w;
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		waits[i].what = "the end of a loop";
	ec_stall_tell_cycle(waits, 6);		/* not from a callback: there is nothing to show */
	assert_int_equal(told_num, 0);
	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(other_callback), 4);
	waits[0].worker = &w;
	ec_stall_tell_cycle(waits, 6);
	assert_true(has_said("stall: 4 or more callbacks wait for each other"));
	assert_true(has_said("stall: no callback on worker 0 of base 0 waits for the end of a loop\n"));
	ec_stall_end(w.stall);
	worker_free(&w);
}

/* ---------------------------------------------------------------- records */

static void without_memory_there_is_no_record(void **state)
{
	struct worker w = { 0 };

	(void)state;
	fault_alloc_at(1);
	assert_int_equal(ec_stall_new(7, 0, &w.stall), -ENOMEM);
	assert_true(fault_end());
	assert_null(w.stall);
}

static void a_watchdog_that_cannot_start(void **state)
{
	struct worker w;

	(void)state;
	prepared = -ENOMEM;
	worker_new(&w, 0);
	prepared = 0;
	assert_int_equal(told_num, 1);
	assert_true(has_said("stall: the watchdog cannot start: "));
	assert_true(ec_stall_is_attached(w.stall));
	ec_stall_begin(w.stall, address(slow_callback), 1);
	scan_for(3 * LIMIT_MS);
	ec_stall_end(w.stall);
	assert_int_equal(told_num, 1);
	worker_free(&w);
}

/* ---------------------------------------------------------------- fork */

static void stall_once(void)
{
	struct worker w;

	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(slow_callback), 1);
	scan_for(LIMIT_MS + STEP_MS);
	ec_stall_end(w.stall);
	worker_free(&w);
}

static void a_child_begins_anew(void **state)
{
	struct worker w;
	int status;
	pid_t pid;

	(void)state;
	worker_new(&w, 0);
	ec_stall_begin(w.stall, address(slow_callback), 1);
	ec_stall_freeze();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		ec_stall_reset();
		scan_for(2 * LIMIT_MS);
		if (told_num != 0)
			_exit(1);
		fault_alloc_always();		/* the parent's record is used again */
		stall_once();
		_exit(told_num == 1 && !has_said("no backtrace") ? 0 : 2);
	}
	ec_stall_thaw();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	scan_for(LIMIT_MS + STEP_MS);
	assert_int_equal(told_num, 1);
	ec_stall_end(w.stall);
	worker_free(&w);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_callback_is_reported_while_it_runs),
		TEST(a_callback_may_get_another_name),
		TEST(a_callback_without_a_cpu_is_not_to_blame),
		TEST(threads_have_cpu_times),
		TEST(a_site_is_reported_once),
		TEST(many_short_callbacks_are_no_long_one),
		TEST(late_scans_are_no_time),
		TEST(a_callback_within_a_callback),
		TEST(very_deep_callbacks),
		TEST(without_colors_only_callbacks_are_counted),
		TEST(after_many_sites_no_others_are_reported),
		TEST(the_stalled_thread_tells_its_stack),
		TEST(why_there_is_no_stack),
		TEST(without_a_signal_there_are_reports_without_stacks),
		TEST(a_loop_that_changes_its_thread),
		TEST(a_loop_that_does_not_turn),
		TEST(a_loop_that_hangs_between_callbacks),
		TEST(loops_that_need_not_turn),
		TEST(a_queue_that_only_grows),
		TEST(queues_that_are_no_problem),
		TEST(a_queue_behind_a_stalled_callback),
		TEST(a_cycle_is_reported_with_both_stacks),
		TEST(a_cycle_of_many_and_of_unknown_threads),
		TEST(without_memory_there_is_no_record),
		TEST(a_watchdog_that_cannot_start),
		TEST(a_child_begins_anew),
	};

	lost_signals_hide();
	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
