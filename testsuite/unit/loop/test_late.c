/*
 * core/observe/late.c and its callers: the program's log callback may call any function of the library, also if the
 * engine has something to tell while it holds a lock. Here it makes another event of the same base active. Each step
 * may wait for ever, so an alarm ends the test.
 */
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "core/os/atomic.h"

/* The base: as it is without evthread, with locks, and with colors on one worker and on two. */
struct way {
	const char *name;
	bool has_locks;
	unsigned workers;
	uint32_t color;
};

static const struct way ways[] = {
	{ "no locks", false, 1, 0 },
	{ "locks", true, 1, 0 },
	{ "one worker", true, 1, 3 },
	{ "two workers", true, 2, 3 },
};

enum { ORDER_MAX = 4 };

static struct event_base *base;
static struct event *told;		/* the log callback makes it active */
static _Atomic(unsigned) warnings, runs, wanted;
static char texts[ORDER_MAX][200];
static int file_fd;

static void note_warning(int severity, const char *text)
{
	unsigned n;

	if (severity < EVENT_LOG_WARN)
		return;
	n = ec_add_acq_rel(&warnings, 1);
	if (n < ORDER_MAX)
		snprintf(texts[n], sizeof(texts[n]), "%s", text);
	event_active(told, EV_READ, 1);
}

static void count(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (ec_add_acq_rel(&runs, 1) + 1 == ec_load_relaxed(&wanted))
		event_base_loopbreak(base);
}

static void nothing(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static struct event *event_of(const struct way *way, int fd, short what, event_callback_fn fn)
{
	struct event *ev = event_new(base, fd, what, fn, NULL);

	assert_non_null(ev);
	assert_int_equal(event_set_color(ev, way->color), 0);
	return ev;
}

static struct event_base *base_new(const struct way *way)
{
	struct event_config *cfg = event_config_new();
	struct event_base *b;

	assert_non_null(cfg);
	if (!way->has_locks)
		assert_int_equal(event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK), 0);
	assert_int_equal(event_config_set_workers(cfg, way->workers, NULL, NULL), 0);
	assert_int_equal(event_config_avoid_method(cfg, "poll"), 0);
	assert_int_equal(event_config_avoid_method(cfg, "select"), 0);
	b = event_base_new_with_config(cfg);
	assert_non_null(b);
	event_config_free(cfg);
	return b;
}

static void begin(const struct way *way)
{
	alarm(30);
	ec_store_relaxed(&warnings, 0);
	ec_store_relaxed(&runs, 0);
	ec_store_relaxed(&wanted, 1);
	base = base_new(way);
	told = event_of(way, -1, 0, count);
	event_set_log_callback(note_warning);
	file_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(file_fd >= 0);
}

static void end(void)
{
	event_set_log_callback(NULL);
	event_free(told);
	event_base_free(base);
	close(file_fd);
	alarm(0);
}

static void loop(void)
{
	assert_true(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) >= 0);
}

/* ---------------------------------------------------------------- a file that epoll refuses */

static void expect_refusal(struct event *ev)
{
	errno = 0;
	assert_int_equal(event_add(ev, NULL), -1);
	assert_int_equal(errno, EPERM);
	assert_true(ec_load_acquire(&warnings) != 0);
}

static void *adds(void *arg)
{
	expect_refusal(arg);
	expect_refusal(arg);
	return NULL;
}

/* By a thread that does not run the loop, or by the one that does, before. */
static void a_refused_file_is_told(void **state)
{
	bool is_foreign = *state != NULL;
	struct event *file;
	pthread_t thread;
	size_t i;

	for (i = 0; i < ROWS(ways); i++) {
		if (is_foreign && !ways[i].has_locks)
			continue;
		begin(&ways[i]);
		file = event_of(&ways[i], file_fd, EV_READ | EV_PERSIST, nothing);
		if (is_foreign)
			assert_int_equal(pthread_create(&thread, NULL, adds, file), 0);
		else
			adds(file);
		loop();
		if (is_foreign)
			assert_int_equal(pthread_join(thread, NULL), 0);
		assert_row(ec_load_acquire(&warnings) == 2, ways[i].name);
		assert_row(strncmp(texts[0], "Epoll ADD(1) on fd", 18) == 0, ways[i].name);
		assert_row(strstr(texts[0], strerror(EPERM)) != NULL, ways[i].name);
		event_free(file);
		end();
	}
}

/* By the loop's thread, before it polls: the descriptor's number has another file since the event was deleted. */
static void replace(evutil_socket_t fd, short what, void *arg)
{
	struct event *ev = arg;
	int number = event_get_fd(ev);

	(void)fd;
	(void)what;
	assert_int_equal(event_del(ev), 0);
	assert_int_equal(dup2(file_fd, number), number);
	(void)event_add(ev, NULL);
}

static void so_it_is_before_a_poll(void **state)
{
	struct event *ev, *first;
	int pipe_fd[2];
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(ways); i++) {
		begin(&ways[i]);
		assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
		ev = event_of(&ways[i], pipe_fd[0], EV_READ | EV_PERSIST, nothing);
		assert_int_equal(event_add(ev, NULL), 0);
		first = event_new(base, -1, 0, replace, ev);
		assert_non_null(first);
		assert_int_equal(event_set_color(first, ways[i].color), 0);
		event_active(first, EV_READ, 1);
		loop();
		assert_row(ec_load_acquire(&warnings) == 1, ways[i].name);
		event_free(first);
		event_free(ev);
		end();
		close(pipe_fd[0]);
		close(pipe_fd[1]);
	}
}

/* ---------------------------------------------------------------- others */

static void two_bases_with_signals_are_told(void **state)
{
	struct event_base *other;
	struct event *mine, *ev;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(ways); i++) {
		begin(&ways[i]);
		other = base_new(&ways[i]);
		ev = event_new(other, SIGUSR1, EV_SIGNAL | EV_PERSIST, nothing, NULL);
		assert_non_null(ev);
		assert_int_equal(event_add(ev, NULL), 0);
		mine = event_of(&ways[i], SIGUSR2, EV_SIGNAL | EV_PERSIST, nothing);
		assert_int_equal(event_add(mine, NULL), 0);
		assert_row(ec_load_acquire(&warnings) == 1, ways[i].name);
		loop();
		event_free(mine);
		event_free(ev);
		event_base_free(other);
		end();
	}
}

static void too_many_common_timeouts_are_told(void **state)
{
	enum { MAX = 256 };
	struct timeval tv = { .tv_sec = 0 };
	size_t i;

	(void)state;
	for (i = 0; i < ROWS(ways); i++) {
		begin(&ways[i]);
		for (tv.tv_sec = 1; tv.tv_sec <= MAX; tv.tv_sec++)
			assert_non_null(event_base_init_common_timeout(base, &tv));
		assert_null(event_base_init_common_timeout(base, &tv));
		assert_row(ec_load_acquire(&warnings) == 1, ways[i].name);
		loop();
		end();
	}
}

static int use_pthreads(void **state)
{
	(void)state;
	return evthread_use_pthreads();
}

#define WITH(test, foreign) \
	{ \
		.name = #test " " #foreign, .test_func = test, .initial_state = (void *)(uintptr_t)(foreign) \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(a_refused_file_is_told, 0),
		WITH(a_refused_file_is_told, 1),
		cmocka_unit_test(so_it_is_before_a_poll),
		cmocka_unit_test(two_bases_with_signals_are_told),
		cmocka_unit_test(too_many_common_timeouts_are_told),
	};

	return cmocka_run_group_tests_name("late", tests, use_pthreads, NULL);
}
