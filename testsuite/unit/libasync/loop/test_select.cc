/*
 * sfs_select.h: the loop waits as the program wishes, if it says so early enough.
 */
#include "sfs_select.h"
#include "async.h"

#include <event2/event.h>
#include <event2/event_compat.h>

#include "dies.h"
#include "test.h"

using namespace sfs_core;

namespace
{

/* Each test has a process of its own, in which no base is made yet. */
template <class F> void assert_in_child(F fn)
{
	const ended e = run_in_child([&] { _exit(fn() ? 0 : 1); });

	if (!e.has_exited(0))
		fail_msg("%s", e.text);
}

void forget_environment()
{
	for (const char *name : { "EVENT_NOEPOLL", "EVENT_NOPOLL", "EVENT_NOSELECT", "EVENT_EPOLL_USE_CHANGELIST" })
		unsetenv(name);
}

bool waits_by(const char *method)
{
	return strcmp(event_base_get_method(libasync::base()), method) == 0;
}

/* A loop that waits so also works. */
bool turns()
{
	bool has_run = false;

	delaycb(0, 1000000, wrap([](bool *p) { *p = true; }, &has_run));
	while (!has_run)
		acheck();
	return true;
}

void names(void **)
{
	assert_int_equal(select_policy_from_str("epoll"), SELECT_BY_EPOLL);
	assert_int_equal(select_policy_from_str("EPoll"), SELECT_BY_EPOLL);
	assert_int_equal(select_policy_from_str("e"), SELECT_NONE);
	assert_int_equal(select_policy_from_str("kqueue"), SELECT_BY_KQUEUE);
	assert_int_equal(select_policy_from_str("select"), SELECT_BY_SELECT);
	assert_int_equal(select_policy_from_str("none"), SELECT_NONE);
	assert_int_equal(select_policy_from_str("epolls"), SELECT_NONE);
	assert_int_equal(select_policy_from_str(""), SELECT_NONE);
	assert_int_equal(select_policy_from_str(NULL), SELECT_NONE);
}

void policy_holds(void **)
{
	assert_in_child([] { return set_select_policy(SELECT_BY_SELECT) == 0 && waits_by("select") && turns(); });
	assert_in_child([] { return set_select_policy(SELECT_BY_EPOLL) == 0 && waits_by("epoll") && turns(); });
	assert_in_child([] { return set_select_policy(SELECT_NONE) == 0 && waits_by("epoll"); });
	assert_in_child([] {
		return set_select_policy(SELECT_BY_SELECT) == 0 && set_select_policy(SELECT_NONE) == 0 &&
		       waits_by("epoll");
	});
}

void kqueue_is_not_here(void **)
{
	assert_in_child([] {
		const int r = set_select_policy(SELECT_BY_KQUEUE);

		return r == -1 && errno == EOPNOTSUPP && waits_by("epoll");
	});
}

void too_late(void **)
{
	assert_in_child([] {
		(void)libasync::base();
		if (set_select_policy(SELECT_BY_EPOLL) != 0 || set_select_policy(SELECT_NONE) != 0)
			return false;
		return set_select_policy(SELECT_BY_SELECT) == -1 && errno == EBUSY && waits_by("epoll");
	});
	/* libevent's base is the loop's base, too. */
	assert_in_child([] {
		return event_init() != nullptr && set_select_policy(SELECT_BY_SELECT) == -1 && errno == EBUSY;
	});
	/* What a child of fork polls with is a copy of the parent's. */
	assert_in_child([] {
		(void)libasync::base();
		const ended e = run_in_child([] {
			_exit(set_select_policy(SELECT_BY_SELECT) == -1 && errno == EBUSY ? 0 : 1);
		});
		return e.has_exited(0);
	});
}

void environment_comes_first(void **)
{
	assert_in_child([] {
		setenv("EVENT_NOEPOLL", "1", 1);
		return set_select_policy(SELECT_BY_EPOLL) == 0 && waits_by("poll");
	});
	assert_in_child([] {
		setenv("EVENT_NOSELECT", "1", 1);
		return set_select_policy(SELECT_BY_SELECT) == 0 && waits_by("epoll");
	});
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(policy_holds),
		cmocka_unit_test(kqueue_is_not_here),
		cmocka_unit_test(too_late),
		cmocka_unit_test(environment_comes_first),
	};

	forget_environment();
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
