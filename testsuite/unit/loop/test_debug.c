/*
 * core/loop/debug.c: what debug mode notices, and when it can be switched on. Each case in a
 * process of its own, for the mode is the process's.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>

#include "core/ec.h"

enum { EVENTS_MANY = 3000 }; /* makes the table grow four times */

static struct ec_event ev, other;

static size_t fail_at, mallocs_num;

static void *failing_malloc(size_t size)
{
	return ++mallocs_num == fail_at ? NULL : malloc(size);
}

static void enable(void)
{
	ec_debug_enable();
	check(ec_debug_on());
}

/* ---------------------------------------------------------------- when */

static void twice(void)
{
	enable();
	ec_debug_enable();
}

static void after_an_event(void)
{
	ec_debug_note_setup(&ev);
	ec_debug_enable();
}

static void after_a_base(void)
{
	ec_debug_note_base();
	ec_debug_enable();
}

static void after_a_shutdown(void)
{
	enable();
	ec_global_shutdown();
	check(!ec_debug_on());
	ec_debug_assert_is_setup(&ev);
	enable();
}

static void after_a_base_and_a_shutdown(void)
{
	enable();
	ec_debug_note_base();
	ec_global_shutdown();
	ec_debug_enable();
}

static void it_is_enabled_once_and_early(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, twice, 1, "event_enable_debug_mode was called twice!");
	child_exits(&child, after_an_event, 1, "must be called *before* creating any events");
	child_exits(&child, after_a_base, 1, "must be called *before* creating any events");
	child_exits(&child, after_a_base_and_a_shutdown, 1,
		    "must be called *before* creating any events");
	child_passes(&child, after_a_shutdown);
}

static void threads_after_a_base(void)
{
	enable();
	ec_debug_assert_no_base();
	ec_debug_note_base();
	ec_debug_assert_no_base();
}

static void threads_after_a_base_undebugged(void)
{
	ec_debug_note_base();
	ec_debug_assert_no_base();
}

static void threads_are_set_up_before_a_base(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, threads_after_a_base, 1,
		    "evthread initialization must be called BEFORE anything else!");
	child_passes(&child, threads_after_a_base_undebugged);
}

/* ---------------------------------------------------------------- misuse */

static void off(void)
{
	(void)ec_debug_note_add(&ev, true);
	ec_debug_note_del(&ev);
	ec_debug_note_teardown(&ev);
	ec_debug_assert_is_setup(&ev);
	ev.task.flags = EC_IN_INSERTED;
	ec_debug_assert_not_added(&ev);
	ec_debug_assert_socket_nonblocking(0);
}

static void nothing_is_checked_while_off(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, off);
}

static void add_unknown(void)
{
	enable();
	ec_debug_note_setup(&other);
	(void)ec_debug_note_add(&ev, true);
}

static void del_unknown(void)
{
	enable();
	ec_debug_note_del(&ev);
}

static void use_unknown(void)
{
	enable();
	ev.events = 0x12;
	ev.fd = 7;
	ev.task.flags = 0x80;
	ec_debug_assert_is_setup(&ev);
}

static void use_forgotten(void)
{
	enable();
	ec_debug_note_setup(&ev);
	ec_debug_assert_is_setup(&ev);
	ec_debug_note_teardown(&ev);
	ec_debug_note_teardown(&ev);
	ec_debug_assert_is_setup(&ev);
}

static void an_event_must_be_assigned(void **state)
{
	struct child child;

	(void)state;
	child_aborts(&child, add_unknown, "noting an add on a non-setup event");
	child_aborts(&child, del_unknown, "noting a del on a non-setup event");
	child_aborts(&child, use_unknown, "(events: 0x12, fd: 7, flags: 0x80)");
	child_aborts(&child, use_forgotten, "called on a non-initialized event");
}

static void assign_added(void)
{
	enable();
	ec_debug_note_setup(&ev);
	(void)ec_debug_note_add(&ev, true);
	ev.task.flags = EC_IN_INIT | EC_IN_TIMEOUT;
	ec_debug_assert_not_added(&ev);
}

/* None of these is added: deleted; fired; assigned anew; never an event. */
static void assign_not_added(void)
{
	enable();
	ec_debug_note_setup(&ev);
	ec_debug_assert_not_added(&ev);
	(void)ec_debug_note_add(&ev, true);
	ec_debug_note_del(&ev);
	ev.task.flags = EC_IN_INSERTED;
	ec_debug_assert_not_added(&ev);
	(void)ec_debug_note_add(&ev, true);
	ev.task.flags = EC_IN_INIT;
	ec_debug_assert_not_added(&ev);
	ev.task.flags = EC_IN_INSERTED;
	ec_debug_note_setup(&ev);
	ec_debug_assert_not_added(&ev);
	other.task.flags = EC_IN_INSERTED;
	ec_debug_assert_not_added(&other);
}

static void an_added_event_is_not_assigned(void **state)
{
	struct child child;

	(void)state;
	child_aborts(&child, assign_added, "called on an already added event");
	child_passes(&child, assign_not_added);
}

static void many(void)
{
	struct ec_event *evs = calloc(EVENTS_MANY, sizeof(*evs));
	size_t i;

	check(evs != NULL);
	enable();
	for (i = 0; i < EVENTS_MANY; i++)
		ec_debug_note_setup(&evs[i]);
	for (i = 0; i < EVENTS_MANY; i += 2)
		ec_debug_note_teardown(&evs[i]);
	/* The last is left for the shutdown to forget. */
	for (i = 1; i < EVENTS_MANY; i += 2) {
		ec_debug_assert_is_setup(&evs[i]);
		if (i < EVENTS_MANY - 1)
			ec_debug_note_teardown(&evs[i]);
	}
	ec_global_shutdown();
	free(evs);
}

static void many_events_are_told_apart(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, many);
}

/* ---------------------------------------------------------------- descriptors */

static void blocking_fd(void)
{
	int fds[2];

	enable();
	check(pipe(fds) == 0);
	ec_debug_assert_socket_nonblocking(fds[0]);
}

static void other_fds(void)
{
	int fds[2];

	enable();
	check(pipe2(fds, O_NONBLOCK) == 0);
	ec_debug_assert_socket_nonblocking(fds[0]);
	ec_debug_assert_socket_nonblocking(-1);
	close(fds[0]);
	ec_debug_assert_socket_nonblocking(fds[0]);
}

static void a_descriptor_must_not_block(void **state)
{
	struct child child;

	(void)state;
	child_aborts(&child, blocking_fd, "blocks");
	child_passes(&child, other_fds);
}

/* ---------------------------------------------------------------- no memory */

static void no_table(void)
{
	fail_at = 1;
	ec_mem_set_fns(failing_malloc, NULL, NULL);
	enable();
	ec_debug_note_setup(&ev);
}

static void no_entry(void)
{
	fail_at = 2;
	ec_mem_set_fns(failing_malloc, NULL, NULL);
	enable();
	ec_debug_note_setup(&ev);
}

/* The table and 256 entries, then the larger table: chains just get longer. */
static void no_larger_table(void)
{
	struct ec_event *evs = calloc(EVENTS_MANY, sizeof(*evs));
	size_t i;

	check(evs != NULL);
	fail_at = 1 + 256 + 1;
	ec_mem_set_fns(failing_malloc, NULL, NULL);
	enable();
	for (i = 0; i < EVENTS_MANY; i++)
		ec_debug_note_setup(&evs[i]);
	for (i = 0; i < EVENTS_MANY; i++)
		ec_debug_assert_is_setup(&evs[i]);
	check(mallocs_num > fail_at);
}

static void without_memory_it_says_so_or_goes_on(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, no_table, 1, "Out of memory in debugging code");
	child_exits(&child, no_entry, 1, "Out of memory in debugging code");
	child_passes(&child, no_larger_table);
}

/* ---------------------------------------------------------------- the current base */

static void base_stays(void)
{
	struct ec_base *base = (struct ec_base *)(void *)&ev;

	check(ec_current_base() == NULL);
	ec_set_current_base(base);
	check(ec_current_base() == base);
	ec_global_shutdown();
	check(ec_current_base() == base);
}

static void a_shutdown_keeps_the_current_base(void **state)
{
	struct child child;

	(void)state;
	child_passes(&child, base_stays);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_enabled_once_and_early),
		cmocka_unit_test(threads_are_set_up_before_a_base),
		cmocka_unit_test(nothing_is_checked_while_off),
		cmocka_unit_test(an_event_must_be_assigned),
		cmocka_unit_test(an_added_event_is_not_assigned),
		cmocka_unit_test(many_events_are_told_apart),
		cmocka_unit_test(a_descriptor_must_not_block),
		cmocka_unit_test(without_memory_it_says_so_or_goes_on),
		cmocka_unit_test(a_shutdown_keeps_the_current_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
