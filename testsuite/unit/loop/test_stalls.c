/*
 * Stalls of real bases (core/sched/stalls.c, core/observe/stall.c), without colors, with one worker and with several:
 * a callback waits for the test, and the test calls the scans of the watchdog, with a clock of its own.
 */
#include "child.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/ec.h"
#include "core/observe/control.h"
#include "core/observe/stall.h"
#include "core/observe/symbol.h"
#include "core/observe/unwind.h"
#include "emulated.h"
#include "../../sanitizers.h"
#include "../../threads.h"

enum { LIMIT_MS = 100, STEP_MS = 25, OWN = 3, OTHERS = 2, COLOR = 5 };

/* A base without colors; with colors and one worker; with several workers. */
struct mode {
	unsigned workers;
	bool has_locks, has_colors;
};

static const struct mode modes[] = {
	{ 1, false, false }, { 1, true, false }, { 1, false, true },
	{ 1, true, true }, { 2, false, true }, { 2, true, true },
};

static const struct ec_stall_settings settings = { .limit_ms = LIMIT_MS };
static int entered[2], leave[2];	/* pipes: the callback waits for the test */
static struct event_base *base;
static bool has_colors, is_locked;
static uint64_t now_ms;

/* ---------------------------------------------------------------- what was said */

static pthread_mutex_t said_mu = PTHREAD_MUTEX_INITIALIZER;
static char said[1 << 16];		/* said_mu */

static void keep(int severity, const char *msg)
{
	size_t len;

	(void)severity;
	pthread_mutex_lock(&said_mu);
	len = strlen(said);
	snprintf(said + len, sizeof(said) - len, "%s\n", msg);
	pthread_mutex_unlock(&said_mu);
}

static void expect(const char *text)
{
	bool is_said;

	pthread_mutex_lock(&said_mu);
	is_said = strstr(said, text) != NULL;
	pthread_mutex_unlock(&said_mu);
	if (!is_said)
		fail_msg("not said: %s\nbut: %s", text, said);
}

/* In a backtrace. ThreadSanitizer holds a signal back until the thread calls a function that it knows. */
static void expect_frame(const char *function)
{
	if (!HAS_TSAN)
		expect(function);
}

static void expect_nothing(void)
{
	bool is_empty;

	pthread_mutex_lock(&said_mu);
	is_empty = said[0] == '\0';
	pthread_mutex_unlock(&said_mu);
	if (!is_empty)
		fail_msg("said: %s", said);
}

static void scan_for(uint64_t ms)
{
	for (; ms >= STEP_MS; ms -= STEP_MS) {
		now_ms += STEP_MS;
		ec_stall_scan(now_ms * 1000000);
	}
}

/* ---------------------------------------------------------------- a base */

static void make_base(const struct mode *mode)
{
	struct event_config *cfg = event_config_new();

	assert_non_null(cfg);
	if (!mode->has_locks)
		assert_int_equal(event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK), 0);
	assert_int_equal(event_config_set_workers(cfg, mode->workers, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	assert_non_null(base);
	event_config_free(cfg);
	has_colors = mode->has_colors;
	is_locked = has_colors || mode->has_locks;
}

static void *loop(void *arg)
{
	(void)arg;
	return event_base_dispatch(base) < 0 ? NULL : base;
}

static int setup(void **state)
{
	(void)state;
	said[0] = '\0';
	now_ms = 1000;
	ec_log_set_fn(keep);
	ec_stall_use(&settings);
	ec_store_relaxed(&ec_control_own.wanted_here, EC_OBSERVE_STALL);
	assert_int_equal(setenv("EVENT_STEAL", "0", 1), 0);	/* what waits behind a callback stays there */
	assert_int_equal(pipe(entered), 0);
	assert_int_equal(pipe(leave), 0);
	return 0;
}

static int teardown(void **state)
{
	int i;

	(void)state;
	ec_log_set_fn(NULL);
	ec_store_relaxed(&ec_control_own.wanted_here, 0);
	assert_int_equal(unsetenv("EVENT_STEAL"), 0);
	for (i = 0; i < 2; i++) {
		close(entered[i]);
		close(leave[i]);
	}
	return 0;
}

static void byte_write(int fds[2])
{
	check(write(fds[1], "x", 1) == 1);
}

/* The report interrupts it. ThreadSanitizer delivers signals in poll, and not in read. */
static void byte_read(int fds[2])
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	char byte;

	while (poll(&p, 1, -1) != 1)
		;
	check(read(fds[0], &byte, 1) == 1);
}

/* ---------------------------------------------------------------- a callback */

static void nothing(void *arg)
{
	(void)arg;
}

static void nothing_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* What a base without locks has waiting is counted when a callback begins. */
static void make_work(void)
{
	int i;

	for (i = 0; is_locked && i < OWN; i++)
		check(event_base_post(base, has_colors ? COLOR : 0, nothing, NULL) == 0);
	for (i = 0; has_colors && i < OTHERS; i++)
		check(event_base_post(base, (uint32_t)(100 + i), nothing, NULL) == 0);
}

__attribute__((noinline)) static void meet_test(void)
{
	byte_write(entered);
	byte_read(leave);
	__asm__ volatile("# not a tail call");
}

__attribute__((noinline)) static void slow_callback(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	make_work();
	meet_test();
	__asm__ volatile("");		/* no tail call: its frame must be there */
}

static void stall_once(const struct mode *mode)
{
	struct event *slow, *behind[OWN];
	pthread_t thread;
	void *ret;
	int i;

	make_base(mode);
	slow = event_new(base, -1, 0, slow_callback, NULL);
	if (mode->has_colors)
		assert_int_equal(event_set_color(slow, COLOR), 0);
	event_active(slow, EV_READ, 1);
	for (i = 0; i < OWN; i++) {
		behind[i] = event_new(base, -1, 0, nothing_cb, NULL);
		if (!is_locked)
			event_active(behind[i], EV_READ, 1);
	}
	assert_int_equal(pthread_create(&thread, NULL, loop, NULL), 0);
	byte_read(entered);
	scan_for(LIMIT_MS);
	expect_nothing();
	scan_for(STEP_MS);
	byte_write(leave);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_non_null(ret);
	for (i = 0; i < OWN; i++)
		event_free(behind[i]);
	event_free(slow);
	event_base_free(base);
}

static void a_slow_callback_of_each_mode_of_a_base(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		(void)setup(NULL);
		stall_once(&modes[i]);
		expect("stall: slow_callback (");
		expect(modes[i].has_colors ? " of color 5 has run for 100 ms on worker " :
					     " of color 0 has run for 100 ms on worker 0 of base ");
		expect(modes[i].has_colors ? "; 2 colors wait behind it, and 3 callbacks of its own color\n" :
					     "; 3 callbacks wait behind it\n");
		expect_frame(" meet_test+0x");
		expect_frame(" slow_callback+0x");
		(void)teardown(NULL);
	}
}

/* ---------------------------------------------------------------- loops */

static void wait_for_test(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	byte_write(entered);
}

/* A loop that waits for a descriptor is asleep, and one that has ended is none. */
static void idle_loops_are_no_stalls(void **state)
{
	struct timeval soon = { 0, 1 };
	struct event *ev, *end;
	pthread_t thread;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		make_base(&modes[i]);
		ev = event_new(base, -1, 0, wait_for_test, NULL);
		end = event_new(base, leave[0], EV_READ, wait_for_test, NULL);
		if (modes[i].has_colors)
			assert_int_equal(event_set_color(ev, COLOR), 0);
		assert_int_equal(event_add(ev, &soon), 0);
		assert_int_equal(event_add(end, NULL), 0);
		assert_int_equal(pthread_create(&thread, NULL, loop, NULL), 0);
		byte_read(entered);
		/* The loop may be on its way to its poller still: a scan is not late before the limit. */
		scan_for(LIMIT_MS - STEP_MS);
		byte_write(leave);
		byte_read(entered);
		assert_int_equal(pthread_join(thread, NULL), 0);
		byte_read(leave);
		scan_for(5 * LIMIT_MS);
		expect_nothing();
		event_free(ev);
		event_free(end);
		event_base_free(base);
	}
}

static void activate_again(evutil_socket_t fd, short what, void *arg)
{
	static int left;

	(void)fd;
	(void)what;
	if (left == 0)
		left = 2 * LIMIT_MS / STEP_MS;
	scan_for(STEP_MS);
	if (--left != 0)
		event_active(arg, EV_READ, 1);
}

/* As with libevent, an event that makes itself active does so before the next poll. */
static void callbacks_that_keep_the_loop_from_polling(void **state)
{
	const struct mode mode = { 1, false, false };
	struct event *ev;

	(void)state;
	make_base(&mode);
	ev = event_new(base, -1, 0, activate_again, event_self_cbarg());
	event_active(ev, EV_READ, 1);
	assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
	expect("stall: worker 0 of base ");
	expect(" has not turned for 100 ms; ");
	expect("; it is in activate_again (");
	event_free(ev);
	event_base_free(base);
}

/* ---------------------------------------------------------------- posts */

static int posts_left;

static void post_two(void *arg)
{
	(void)arg;
	if (posts_left > 0) {
		posts_left--;
		check(event_base_post(base, COLOR, post_two, NULL) == 0);
		check(event_base_post(base, COLOR, post_two, NULL) == 0);
	}
	if (posts_left % 1000 == 0)
		scan_for(LIMIT_MS);
}

static void posts_that_only_grow(void **state)
{
	static const struct mode one = { 1, false, true }, several = { 2, false, true };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		said[0] = '\0';
		make_base(i == 0 ? &one : &several);
		posts_left = 20000;
		assert_int_equal(event_base_post(base, COLOR, post_two, NULL), 0);
		assert_true(event_base_dispatch(base) >= 0);
		expect("stall: the callbacks that wait at worker ");
		expect(", and never shrank; ");
		expect(" are of color 5\n");
		event_base_free(base);
	}
}

/* ---------------------------------------------------------------- cycles */

static struct event *one, *two;
static _Atomic(int) in_callbacks;
static int both[2][2];

/* Both run, then each deletes the other. */
static void delete_other(struct event *other, int me)
{
	byte_write(both[1 - me]);
	byte_read(both[me]);
	check(event_del(other) == 0);
}

__attribute__((noinline)) static void delete_two(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	delete_other(two, 0);
	atomic_fetch_add(&in_callbacks, 1);
}

__attribute__((noinline)) static void delete_one(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	delete_other(one, 1);
	atomic_fetch_add(&in_callbacks, 1);
}

static void *frames[40];
static int frames_num;

static void note_frames(int sig)
{
	(void)sig;
	frames_num = ec_unwind(frames, (int)(sizeof(frames) / sizeof(*frames)));
}

/* False on ARM: glibc's syscall() has no table for an unwinder. A thread that waits for a lock is there. */
__attribute__((noinline)) static bool is_unwound_behind_syscall(void)
{
	uintptr_t caller = ec_symbol_code(__builtin_extract_return_addr(__builtin_return_address(0)));
	struct sigaction sa = { .sa_handler = note_frames }, before;
	bool is_found = false;
	int i;

	assert_true(ec_unwind_prepare());
	assert_int_equal(sigaction(SIGUSR1, &sa, &before), 0);
	assert_int_equal(syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1), 0);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
	for (i = 0; i < frames_num; i++)
		is_found = is_found || (uintptr_t)frames[i] == caller;
	return is_found;
}

static void callbacks_that_delete_each_other(void **state)
{
	const struct mode mode = { 2, true, true };
	struct timeval soon = { 0, 1 };

	(void)state;
	assert_int_equal(unsetenv("EVENT_STEAL"), 0);
	assert_int_equal(pipe(both[0]), 0);
	assert_int_equal(pipe(both[1]), 0);
	make_base(&mode);
	one = event_new(base, -1, 0, delete_two, NULL);
	two = event_new(base, -1, 0, delete_one, NULL);
	assert_int_equal(event_set_color(one, 1), 0);
	assert_int_equal(event_set_color(two, 2), 0);
	assert_int_equal(event_add(one, &soon), 0);
	assert_int_equal(event_add(two, &soon), 0);
	assert_true(event_base_dispatch(base) >= 0);
	expect("stall: 2 callbacks wait for each other; one stops waiting\n");
	expect("stall: delete_two (");
	expect("stall: delete_one (");
	expect(" of color 1 on worker ");
	expect(" of color 2 on worker ");
	expect(" waits for the end of a callback\n");
	if (is_unwound_behind_syscall()) {
		expect_frame(" delete_two+0x");
		expect_frame(" delete_one+0x");
	}
	if (!HAS_TSAN)
		assert_null(strstr(said, "no backtrace"));
	event_free(one);
	event_free(two);
	event_base_free(base);
	close(both[0][0]);
	close(both[0][1]);
	close(both[1][0]);
	close(both[1][1]);
}

/* ---------------------------------------------------------------- fork */

static void in_child(void)
{
	const struct mode mode = { 1, false, false };

	said[0] = '\0';
	check(event_reinit(base) == 0);
	event_base_free(base);
	stall_once(&mode);
	check(strstr(said, "stall: slow_callback (") != NULL);
	check(strstr(said, "no backtrace") == NULL);
}

/* What was reported in the parent is reported in the child as well. */
static void a_child_is_watched_anew(void **state)
{
	struct child child;
	size_t i;

	(void)state;
	if (HAS_TSAN)		/* which allows no threads in a child of a process with threads */
		skip();
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		(void)setup(NULL);
		make_base(&modes[i]);
		if (modes[i].has_colors)
			assert_int_equal(event_base_post(base, COLOR, nothing, NULL), 0);
		assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
		/* A child is not watched if another thread was just switching on what is asked for. */
		threads_wait_asleep();
		child_passes(&child, in_child);
		event_base_free(base);
		(void)teardown(NULL);
	}
}

static bool is_ending;

/* The watchdog looks at what is left, just as the memory becomes another's. */
static void free_and_scan(void *memory)
{
	if (memory == NULL)
		return;
	if (is_ending)
		memset(memory, 0xa5, malloc_usable_size(memory));
	free(memory);
	if (is_ending)
		scan_for(STEP_MS);
}

static void a_base_that_ends_is_not_looked_at(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		(void)setup(NULL);
		event_set_mem_functions(malloc, realloc, free_and_scan);
		make_base(&modes[i]);
		if (modes[i].has_colors)
			assert_int_equal(event_base_post(base, COLOR, nothing, NULL), 0);
		assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
		is_ending = true;
		event_base_free(base);
		is_ending = false;
		event_set_mem_functions(NULL, NULL, NULL);
		expect_nothing();
		(void)teardown(NULL);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_callback_of_each_mode_of_a_base),
		TEST(idle_loops_are_no_stalls),
		TEST(callbacks_that_keep_the_loop_from_polling),
		TEST(posts_that_only_grow),
		TEST(callbacks_that_delete_each_other),
		cmocka_unit_test(a_child_is_watched_anew),
		cmocka_unit_test(a_base_that_ends_is_not_looked_at),
	};

	if (evthread_use_pthreads() != 0)
		return 1;
	lost_signals_hide();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
