/*
 * core/loop/announce.c and core/os/process.c: the line of EVENT_SMP_VERBOSE, and what `evsmp ps` reads.
 */
#include "child.h"

#include <event2/event.h>
#include <event2/smp.h>

#include "os/process.h"
#include "os/version.h"
#include "../../sanitizers.h"

static void bases_new(unsigned workers_num, int num)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	check(event_config_set_workers(cfg, workers_num, NULL, NULL) == 0);
	while (num-- > 0) {
		base = event_base_new_with_config(cfg);
		check(base != NULL);
		event_base_free(base);
	}
	event_config_free(cfg);
}

static void two_bases_of_four(void)
{
	setenv("EVENT_SMP_VERBOSE", "1", 1);
	unsetenv("EVENT_WORKERS");
	bases_new(4, 2);
}

static void silent_bases(void)
{
	unsetenv("EVENT_SMP_VERBOSE");
	bases_new(4, 1);
	/* Too late: the line is about the first base. */
	setenv("EVENT_SMP_VERBOSE", "1", 1);
	bases_new(4, 1);
}

static void one_by_the_program(void)
{
	setenv("EVENT_SMP_VERBOSE", "1", 1);
	unsetenv("EVENT_WORKERS");
	bases_new(1, 1);
}

static void one_by_the_environment(void)
{
	setenv("EVENT_WORKERS", "1", 1);
	setenv("EVENT_SMP_VERBOSE", "1", 1);
	bases_new(4, 1);
}

static void many_by_seed(void)
{
	setenv("EVENT_SMP_SEED", "1", 1);
	two_bases_of_four();
}

static void one_by_seed(void)
{
	setenv("EVENT_SMP_SEED", "1", 1);
	one_by_the_program();
}

static unsigned lines_num(const char *text)
{
	unsigned num = 0;

	while ((text = strstr(text, "libevent-smp ")) != NULL) {
		num++;
		text++;
	}
	return num;
}

static void the_first_base_says_one_line(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, two_bases_of_four, 0, "[msg] libevent-smp " EC_VERSION " in ");
	assert_non_null(strstr(child.text, ": epoll, 4 workers from the first color on"));
	assert_int_equal(lines_num(child.text), 1);
}

static void unasked_it_is_silent(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, silent_bases);
	assert_string_equal(child.text, "");
}

static void it_says_why_there_is_one_worker(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, one_by_the_program, 0, ": epoll, 1 worker (the program's choice)\n");
	child_exits(&child, one_by_the_environment, 0, ": epoll, 1 worker (EVENT_WORKERS)\n");
}

static void it_says_why_workers_have_no_threads(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, many_by_seed, 0, ", 4 virtual workers on one thread (EVENT_SMP_SEED)\n");
	child_exits(&child, one_by_seed, 0, ", 1 virtual worker on one thread (EVENT_SMP_SEED)\n");
}

/* ---------------------------------------------------------------- numbers for others */

static _Atomic(uint32_t) threads_seen;	/* colors run in parallel */

static void see_threads(void *arg)
{
	(void)arg;
	threads_seen = ec_process.threads;
}

static void counts(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base, *other;

	unsetenv("EVENT_WORKERS");
	check(strcmp(ec_process.version, EC_VERSION) == 0);
	check(ec_process.bases == 0 && ec_process.threads == 0);
	check(event_config_set_workers(cfg, 3, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	other = event_base_new_with_config(cfg);
	check(ec_process.bases == 2 && ec_process.threads == 0 && ec_process.colors == 0);
	check(event_base_post(base, 7, see_threads, NULL) == 0);
	check(event_base_post(base, 8, see_threads, NULL) == 0);
	check(event_base_dispatch(base) >= 0);
	check(threads_seen == 2);
	check(ec_process.colors == 2);	/* color 0 does not count */
	check(event_base_post(base, 8, see_threads, NULL) == 0);
	check(event_base_dispatch(base) >= 0);
	check(ec_process.colors == 2);
	event_base_free(base);
	check(ec_process.bases == 1 && ec_process.threads == 0 && ec_process.colors == 0);
	event_base_free(other);
	event_config_free(cfg);
	check(ec_process.bases == 0);
}

static void bases_and_threads_are_counted(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, counts);
}

static void fork_within_a_color(void *arg)
{
	struct event_base *base = arg;
	int status;
	pid_t pid = fork();

	check(pid >= 0);
	if (pid == 0) {
		check(event_reinit(base) == 0);
		child_end((int)ec_process.threads);
	}
	check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	/* The loop's thread starts the others anew; the thread of a worker, which was counted, lives on. */
	check(WEXITSTATUS(status) == (event_base_get_running_worker(base) == 0 ? 2 : 1));
	check(ec_process.threads == 2);
}

static void forks(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	unsetenv("EVENT_WORKERS");
	check(event_config_set_workers(cfg, 3, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	check(event_base_post(base, 7, fork_within_a_color, base) == 0);
	check(event_base_dispatch(base) >= 0);
	event_base_free(base);
	event_config_free(cfg);
}

static void a_child_has_no_threads_of_its_parent(void **state)
{
	struct child child;

	(void)state;
	if (HAS_TSAN)
		skip();
	child_passes(&child, forks);
}

/* ---------------------------------------------------------------- versions */

static void a_program_can_ask_for_the_version(void **state)
{
	unsigned major, minor, patch;

	(void)state;
	assert_string_equal(event_smp_version(), EC_VERSION);
	assert_string_equal(event_smp_version(), EVENT_SMP_VERSION);
	assert_int_equal(sscanf(EC_VERSION, "%u.%u.%u", &major, &minor, &patch), 3);
	assert_int_equal(event_smp_version_number(), major << 24 | minor << 16 | patch << 8);
	assert_int_equal(event_smp_version_number(), EVENT_SMP_VERSION_NUMBER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_base_says_one_line),
		cmocka_unit_test(unasked_it_is_silent),
		cmocka_unit_test(it_says_why_there_is_one_worker),
		cmocka_unit_test(it_says_why_workers_have_no_threads),
		cmocka_unit_test(bases_and_threads_are_counted),
		cmocka_unit_test(a_child_has_no_threads_of_its_parent),
		cmocka_unit_test(a_program_can_ask_for_the_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
