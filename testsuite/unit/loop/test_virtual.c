/*
 * core/loop/virtual.c and mode.c: bases whose order of callbacks is a seed's. The environment is read once
 * in a process, so each case has its own.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include "core/ec.h"
#include "core/sched/base.h"
#include "core/sched/run.h"

#include "../../threads.h"
#include "virtual.h"
#include "table.h"

enum { COLORS = 5, POSTS = 6, LOG_MAX = 8192 };

static char log_text[LOG_MAX];
static size_t log_len;

static void note(const char *what, unsigned n)
{
	log_len += (size_t)snprintf(log_text + log_len, LOG_MAX - log_len, "%s%u ", what, n);
	check(log_len < LOG_MAX);
}

static const struct ec_virtual *virtual_of(struct event_base *b)
{
	return ((struct ec_base *)(void *)b)->virtual;
}

/* ---------------------------------------------------------------- a program with posts, descriptors and timers */

static int pairs[2][2];
static struct event *readers[2], *timers[COLORS];

static unsigned late_num;		/* callbacks after a loopexit */

static void post_fn(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;

	late_num += event_base_got_exit(base) != 0;
	note("p", n);
	if (n / 10 < POSTS)
		post(n % 10, post_fn, n + 10);
	if (readers[0] != NULL && (n == 21 || n == 32))
		check(write(pairs[n % 10 - 1][1], "x", 1) == 1);
}

static void read_cb(evutil_socket_t fd, short what, void *arg)
{
	char c;

	(void)what;
	check(read(fd, &c, 1) == 1);
	note("r", (unsigned)(uintptr_t)arg);
	event_del(readers[(uintptr_t)arg]);
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	note("t", (unsigned)(uintptr_t)arg);
}

static void program_begin(unsigned workers)
{
	const struct timeval in = { 0, 10000 };
	unsigned i;

	base_make(workers);
	for (i = 0; i < 2; i++) {
		check(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) == 0);
		readers[i] = event_make(pairs[i][0], EV_READ | EV_PERSIST, 8, read_cb, (void *)(uintptr_t)i);
		check(event_add(readers[i], NULL) == 0);
	}
	for (i = 1; i < COLORS; i++) {
		timers[i] = event_make(-1, 0, i, timer_cb, (void *)(uintptr_t)i);
		check(event_add(timers[i], &in) == 0);
		post(i, post_fn, i);
	}
}

static void program_end(void)
{
	unsigned i;

	for (i = 0; i < 2; i++)
		event_free(readers[i]);
	for (i = 1; i < COLORS; i++)
		event_free(timers[i]);
	event_base_free(base);
}

static void program(void)
{
	program_begin(4);
	check(virtual_of(base) != NULL);
	check(event_base_get_workers(base) == 4);
	check(event_base_dispatch(base) == 1);
	program_end();
	fputs(log_text, stderr);
}

static char *order_of(const char *seed, const char *policy)
{
	static struct child child;

	set(seed, policy);
	setenv("EVENT_SMP_TIME", "virtual", 1);
	child_passes(&child, program);
	return child.text;
}

static void a_seed_is_an_order(void **state)
{
	static const char *const policies[] = { "random", "pct", "pct:5:40", "order" };
	char before[LOG_MAX], seed[8];
	unsigned i, j, differ;

	(void)state;
	for (i = 0; i < ROWS(policies); i++) {
		differ = 0;
		for (j = 0; j < 8; j++) {
			snprintf(seed, sizeof(seed), "%u", j);
			if (j > 0)
				differ += strcmp(order_of(seed, policies[i]), before) != 0;
			snprintf(before, sizeof(before), "%s", order_of(seed, policies[i]));
			assert_string_equal(order_of(seed, policies[i]), before);
			assert_int_equal(strncmp(before, "[warn]", 6) == 0, 0);
		}
		assert_true(i == 3 ? differ == 0 : differ >= 5);
	}
}

/* Posts of a color run as they were posted, and before a timer of it that is due at the same time. */
static void colors_keep_their_order(void **state)
{
	char seed[8], what[16], *at;
	unsigned i, c, n;

	(void)state;
	for (i = 0; i < 30; i++) {
		snprintf(seed, sizeof(seed), "%u", i);
		for (c = 1; c < COLORS; c++) {
			at = order_of(seed, i % 2 == 0 ? "random" : "pct");
			for (n = 0; n <= POSTS; n++) {
				snprintf(what, sizeof(what), "p%u ", n * 10 + c);
				at = strstr(at, what);
				assert_non_null(at);
			}
		}
	}
}

/* ---------------------------------------------------------------- files */

static char out_path[] = "/tmp/test_virtual.XXXXXX";

static void out_new(void)
{
	static const char empty[] = "XXXXXX";
	int fd;

	memcpy(strstr(out_path, ".") + 1, empty, sizeof(empty));
	fd = mkstemp(out_path);
	assert_true(fd >= 0);
	close(fd);
	unlink(out_path);
}

static void a_file_replays(void **state)
{
	char before[LOG_MAX];

	(void)state;
	out_new();
	setenv("EVENT_SMP_SCHEDULE_OUT", out_path, 1);
	snprintf(before, sizeof(before), "%s", order_of("5", "random"));
	unsetenv("EVENT_SMP_SCHEDULE_OUT");
	unsetenv("EVENT_SMP_SEED");
	unsetenv("EVENT_SMP_POLICY");
	setenv("EVENT_SMP_SCHEDULE", out_path, 1);
	{
		struct child child;

		child_passes(&child, program);
		assert_string_equal(child.text, before);
	}
	unsetenv("EVENT_SMP_SCHEDULE");
	unlink(out_path);
}

static void forked(void)
{
	int status;
	pid_t pid;

	program_begin(4);
	pid = fork();
	check(pid >= 0);
	if (pid == 0) {
		check(event_reinit(base) == 0);
		check(virtual_of(base) != NULL);
		check(event_base_dispatch(base) == 1);
		check(strchr(log_text, 't') != NULL);
		_exit(0);
	}
	check(waitpid(pid, &status, 0) == pid && status == 0);
	check(event_base_dispatch(base) == 1);
	fputs(log_text, stderr);
}

/* The file has one run's switches, not two. */
static void a_child_writes_no_switches(void **state)
{
	struct child child;
	struct stat with, without;

	(void)state;
	set("5", "random");
	setenv("EVENT_SMP_TIME", "virtual", 1);
	out_new();
	setenv("EVENT_SMP_SCHEDULE_OUT", out_path, 1);
	child_passes(&child, forked);
	assert_int_equal(stat(out_path, &with), 0);
	unlink(out_path);
	child_passes(&child, program);
	assert_int_equal(stat(out_path, &without), 0);
	unlink(out_path);
	unsetenv("EVENT_SMP_SCHEDULE_OUT");
	assert_int_equal(with.st_size, without.st_size);
}

/* ---------------------------------------------------------------- what is refused */

static void base_of_old(void)
{
	base_make(4);
	check(virtual_of(base) == NULL);
	event_base_free(base);
	base_make(2);
	check(virtual_of(base) == NULL);
	event_base_free(base);
}

static void ignores_env(void)
{
	struct event_config *cfg = event_config_new();

	check(event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV) == 0);
	base = event_base_new_with_config(cfg);
	check(virtual_of(base) == NULL);
	event_base_free(base);
	event_config_free(cfg);
	base_make(1);			/* another base follows it */
	check(virtual_of(base) != NULL);
	event_base_free(base);
}

static const char *const names[] = { "EVENT_SMP_SEED", "EVENT_SMP_POLICY", "EVENT_SMP_TIME", "EVENT_SMP_SCHEDULE",
				     "EVENT_SMP_SCHEDULE_OUT" };

static void unset_all(void)
{
	size_t i;

	for (i = 0; i < ROWS(names); i++)
		unsetenv(names[i]);
}

static void bad_values_are_refused_with_one_message(void **state)
{
	/* In the order of the names. */
	static const char *const rows[][6] = {
		{ "", NULL, NULL, NULL, NULL, "EVENT_SMP_SEED= is not a number" },
		{ "x", NULL, NULL, NULL, NULL, "EVENT_SMP_SEED=x is not a number" },
		{ "-1", NULL, NULL, NULL, NULL, "EVENT_SMP_SEED=-1 is not a number" },
		{ " 1", NULL, NULL, NULL, NULL, "is not a number" },
		{ "18446744073709551616", NULL, NULL, NULL, NULL, "is not a number" },
		{ "1", "", NULL, NULL, NULL, "EVENT_SMP_POLICY= is not random" },
		{ "1", "fifo", NULL, NULL, NULL, "EVENT_SMP_POLICY=fifo is not random" },
		{ "1", "pct:", NULL, NULL, NULL, "is not random" },
		{ "1", "pct:0", NULL, NULL, NULL, "is not random" },
		{ "1", "pct:65", NULL, NULL, NULL, "is not random" },
		{ "1", "pct:3:0", NULL, NULL, NULL, "is not random" },
		{ "1", "pct:3:9:9", NULL, NULL, NULL, "is not random" },
		{ "1", NULL, "fast", NULL, NULL, "EVENT_SMP_TIME=fast is not real" },
		{ "1", NULL, "virtual:", NULL, NULL, "is not real" },
		{ "1", NULL, "virtual:3600001", NULL, NULL, "is not real" },
		{ "1", NULL, NULL, "/dev/null", NULL, "exclude each other" },
		{ NULL, NULL, NULL, "/dev/null", NULL, "it is no regular file" },
		{ NULL, NULL, NULL, "/no/such/file", NULL, "cannot be read: No such file" },
		{ NULL, NULL, NULL, "/proc/self/exe", NULL, "line 1 is not part of a schedule" },
		{ "1", NULL, NULL, NULL, "/dev/null", "cannot be made" },
		{ NULL, "pct", NULL, NULL, NULL, "EVENT_SMP_POLICY does nothing without" },
		{ NULL, NULL, "virtual", NULL, NULL, "EVENT_SMP_TIME does nothing without" },
	};
	struct child child;
	size_t i, j;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		unset_all();
		for (j = 0; j < ROWS(names); j++) {
			if (rows[i][j] != NULL)
				setenv(names[j], rows[i][j], 1);
		}
		child_passes(&child, base_of_old);
		assert_row(strstr(child.text, rows[i][5]) != NULL, rows[i][5]);
		assert_row(strchr(child.text, '\n') == child.text + strlen(child.text) - 1, child.text);
	}
	unset_all();
	child_passes(&child, base_of_old);
	assert_string_equal(child.text, "");
	set("18446744073709551615", "pct:64:9223372036854775807");
	child_passes(&child, ignores_env);
	assert_string_equal(child.text, "");
}

/* ---------------------------------------------------------------- the rules of the loop */

/* A process of one thread (two, with ThreadSanitizer's) stays one. */
static void counts_threads(void)
{
	unsigned before = threads_num();

	program_begin(4);
	check(event_base_dispatch(base) == 1);
	check(threads_num() == before);
	check(((struct ec_base *)(void *)base)->workers_num == 1);
	program_end();
}

static void note_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	note("", (unsigned)(uintptr_t)arg);
}

/* Color 1 has the less urgent event, and comes first in the queue. */
static void two_priorities(unsigned workers)
{
	struct event *less, *more;

	priorities = 2;
	base_make(workers);
	less = event_make(-1, 0, 1, note_cb, (void *)(uintptr_t)1);
	more = event_make(-1, 0, 2, note_cb, (void *)(uintptr_t)2);
	check(event_priority_set(less, 1) == 0 && event_priority_set(more, 0) == 0);
	event_active(less, EV_TIMEOUT, 1);
	event_active(more, EV_TIMEOUT, 1);
	check(event_base_dispatch(base) == 1);
	event_free(less);
	event_free(more);
	event_base_free(base);
	fputs(log_text, stderr);
}

static void with_one_worker(void)
{
	two_priorities(1);
}

static void with_several(void)
{
	two_priorities(4);
}

static void priorities_hold_on_one_worker(void **state)
{
	bool is_any_first = false;
	struct child child;
	unsigned i;
	char seed[8];

	(void)state;
	for (i = 0; i < 16; i++) {
		snprintf(seed, sizeof(seed), "%u", i);
		set(seed, "random");
		child_passes(&child, with_one_worker);
		assert_string_equal(child.text, "2 1 ");
		child_passes(&child, with_several);
		is_any_first = is_any_first || strcmp(child.text, "1 2 ") == 0;
	}
	assert_true(is_any_first);
}

static void exit_fn(void *arg)
{
	(void)arg;
	note("exit", 0);
	check(event_base_loopexit(base, NULL) == 0);
}

static void break_fn(void *arg)
{
	(void)arg;
	note("break", 0);
	check(event_base_loopbreak(base) == 0);
}

/* After a loopexit, what is ready still runs, and what that makes ready does not; then nothing is lost. */
static void ends(void)
{
	unsigned i;

	base_make(4);
	for (i = 1; i < COLORS; i++)
		post(i, post_fn, i);
	post(9, exit_fn, 0);
	check(event_base_dispatch(base) == 0 && event_base_got_exit(base));
	check(strstr(log_text, "exit0") != NULL);
	for (i = 1; i < COLORS; i++) {
		char first[8];

		snprintf(first, sizeof(first), "p%u ", i);
		check(strstr(log_text, first) != NULL);
	}
	check(late_num <= COLORS - 1);		/* each color had one callback ready */
	post(9, break_fn, 0);
	check(event_base_dispatch(base) == 0 && event_base_got_break(base));
	check(event_base_dispatch(base) == 1);
	check(strstr(log_text, "p61 ") != NULL && strstr(log_text, "p64 ") != NULL);
	check(event_base_loop(base, EVLOOP_NONBLOCK) == 1);
	post(1, post_fn, 1);
	check(event_base_loop(base, EVLOOP_ONCE) == 0);
	event_base_free(base);
}

static bool is_over;
static unsigned turns;

static void spin_fn(void *arg)
{
	if (is_over || ++turns == 100000)
		return;
	/* Two colors that post to each other, or one to itself. */
	post(arg == NULL ? 1 : 1 + turns % 2, spin_fn, (uintptr_t)arg);
}

static void over_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	is_over = true;
}

static void spins(unsigned waiter_color, uintptr_t is_ping_pong)
{
	struct event *ev;

	base_make(4);
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[0]) == 0);
	ev = event_make(pairs[0][0], EV_READ, waiter_color, over_cb, NULL);
	check(event_add(ev, NULL) == 0 && write(pairs[0][1], "x", 1) == 1);
	post(1, spin_fn, is_ping_pong);
	check(event_base_dispatch(base) == 1);
	check(is_over && turns < 20000);
	event_free(ev);
	event_base_free(base);
}

static void spins_beside_another_color(void)
{
	spins(3, 0);
}

static void two_spin(void)
{
	spins(3, 1);
}

static void spins_beside_its_own_descriptor(void)
{
	spins(1, 0);
}

static void nested_fn(void *arg)
{
	(void)arg;
	note("begin", 0);
	post(1, post_fn, 61);		/* a turn waits until something is ready */
	post(2, post_fn, 62);
	check(ec_base_turn((struct ec_base *)(void *)base) == 0);
	check(ec_base_turn((struct ec_base *)(void *)base) == 0);
	note("end", 0);
}

/* A turn within a callback runs what is ready, one callback each. */
static void nests(void)
{
	base_make(4);
	post(1, post_fn, 51);
	post(2, post_fn, 52);
	post(0, nested_fn, 0);
	check(event_base_dispatch(base) == 1);
	check(strstr(log_text, "begin0 ") != NULL && strstr(log_text, "end0 ") != NULL);
	check(strstr(log_text, "p61 ") != NULL && strstr(log_text, "p62 ") != NULL);
	event_base_free(base);
}

static void many_fn(void *arg)
{
	turns += (unsigned)(uintptr_t)arg;
}

/* More colors are ready than are chosen from at a time. */
static void many(void)
{
	unsigned i;

	base_make(4);
	for (i = 1; i <= 3000; i++)
		post(i, many_fn, 1);
	check(event_base_dispatch(base) == 1);
	check(turns == 3000);
	event_base_free(base);
}

static void rules_hold_under_seeds(void **state)
{
	static void (*const cases[])(void) = { counts_threads, ends, spins_beside_another_color, two_spin,
					       spins_beside_its_own_descriptor, nests, many };
	static const char *const policies[] = { "random", "pct:2:50", "order" };
	struct child child;
	char seed[8];
	size_t i, j;

	(void)state;
	unsetenv("EVENT_SMP_TIME");
	for (i = 0; i < ROWS(cases); i++) {
		for (j = 0; j < 9; j++) {
			snprintf(seed, sizeof(seed), "%zu", j);
			set(seed, policies[j % 3]);
			child_passes(&child, cases[i]);
		}
	}
}

/* ---------------------------------------------------------------- time */

static void second_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct timeval now, *then = arg;

	(void)fd;
	(void)what;
	check(event_base_gettimeofday_cached(base, &now) == 0);
	check(now.tv_sec == then->tv_sec + 3600 && now.tv_usec == then->tv_usec);
	turns++;
}

static void first_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	check(event_base_gettimeofday_cached(base, arg) == 0);
	turns++;
}

/* Two hours of timers take no time, also before the base has colors. */
static void hours(void)
{
	const struct timeval one = { 3600, 0 }, two = { 7200, 0 };
	struct event *first, *second;
	struct timeval then;

	base_make(4);
	first = event_make(-1, 0, 0, first_timer_cb, &then);
	second = event_make(-1, 0, 0, second_timer_cb, &then);
	check(event_add(first, &one) == 0 && event_add(second, &two) == 0);
	check(event_base_dispatch(base) == 1 && turns == 2);
	check(event_del(first) == 0 && event_set_color(second, 7) == 0);
	check(event_add(first, &one) == 0 && event_add(second, &two) == 0);
	check(event_base_dispatch(base) == 1 && turns == 4);
	event_free(first);
	event_free(second);
	event_base_free(base);
}

/* A timer that is near may come before a callback that is ready; one that is far may not. */
static void near_and_far(void)
{
	const struct timeval near_tv = { 0, 50000 }, far_tv = { 1, 0 };
	struct event *near_ev, *far_ev;

	base_make(4);
	near_ev = event_make(-1, 0, 1, note_cb, (void *)(uintptr_t)1);
	far_ev = event_make(-1, 0, 2, note_cb, (void *)(uintptr_t)2);
	check(event_add(near_ev, &near_tv) == 0 && event_add(far_ev, &far_tv) == 0);
	post(3, post_fn, 63);
	check(event_base_dispatch(base) == 1);
	event_free(near_ev);
	event_free(far_ev);
	event_base_free(base);
	fputs(log_text, stderr);
}

static void time_is_virtual(void **state)
{
	bool is_near_first = false, is_post_first = false;
	struct child child;
	unsigned i;
	char seed[8];

	(void)state;
	setenv("EVENT_SMP_TIME", "virtual", 1);
	set("1", "random");
	child_passes(&child, hours);
	for (i = 0; i < 16; i++) {
		snprintf(seed, sizeof(seed), "%u", i);
		set(seed, "random");
		child_passes(&child, near_and_far);
		is_near_first = is_near_first || strcmp(child.text, "1 p63 2 ") == 0;
		is_post_first = is_post_first || strcmp(child.text, "p63 1 2 ") == 0;
		assert_true(strstr(child.text, "p63") < strstr(child.text, "2 "));
	}
	assert_true(is_near_first && is_post_first);
	setenv("EVENT_SMP_TIME", "virtual:0", 1);
	for (i = 0; i < 16; i++) {
		snprintf(seed, sizeof(seed), "%u", i);
		set(seed, "random");
		child_passes(&child, near_and_far);
		assert_string_equal(child.text, "p63 1 2 ");
	}
	unsetenv("EVENT_SMP_TIME");
}

/* ---------------------------------------------------------------- memory */

static size_t big;

static void *malloc_but_big(size_t size)
{
	return size >= big ? NULL : malloc(size);
}

static void no_memory(void)
{
	big = sizeof(struct ec_base) + 1024;
	event_set_mem_functions(malloc_but_big, realloc, free);
	base_make(1);		/* it is small itself */
	check(virtual_of(base) == NULL);
	post(1, post_fn, 61);
	check(event_base_dispatch(base) == 1 && strcmp(log_text, "p61 ") == 0);
	event_base_free(base);
}

static void without_memory_all_is_as_always(void **state)
{
	struct child child;

	(void)state;
	set("1", "order");
	child_passes(&child, no_memory);
	assert_non_null(strstr(child.text, "no memory for virtual workers"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seed_is_an_order),
		cmocka_unit_test(colors_keep_their_order),
		cmocka_unit_test(a_file_replays),
		cmocka_unit_test(a_child_writes_no_switches),
		cmocka_unit_test(bad_values_are_refused_with_one_message),
		cmocka_unit_test(priorities_hold_on_one_worker),
		cmocka_unit_test(rules_hold_under_seeds),
		cmocka_unit_test(time_is_virtual),
		cmocka_unit_test(without_memory_all_is_as_always),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
