/*
 * fdlim.h: the limits of descriptors are what getrlimit says.
 */
#include "fdlim.h"

#include <initializer_list>
#include <unistd.h>

#include "dies.h"
#include "test.h"

namespace
{

/* The limits of the test stay: each case begins with 100 and 200, in a child. */
template <class F> void assert_in_child(F fn)
{
	const ended e = run_in_child([&] {
		const struct rlimit limit = { 100, 200 };

		_exit(setrlimit(RLIMIT_NOFILE, &limit) == 0 && fn() ? 0 : 1);
	});

	if (!e.has_exited(0))
		fail_msg("%s", e.text);
}

bool limits_are(int soft, int hard)
{
	return fdlim_get(0) == soft && fdlim_get(1) == hard;
}

void limits_are_read(void **)
{
	assert_in_child([] { return limits_are(100, 200); });
}

void soft_limit(void **)
{
	assert_in_child([] { return fdlim_set(150, 0) == 0 && limits_are(150, 200); });
	assert_in_child([] { return fdlim_set(50, 0) == 0 && limits_are(50, 200); });
	assert_in_child([] { return fdlim_set(201, 0) == -1 && errno == EINVAL && limits_are(100, 200); });
}

void both_limits(void **)
{
	assert_in_child([] { return fdlim_set(150, 1) == 0 && limits_are(150, 150); });
	assert_in_child([] { return fdlim_set(50, 1) == 0 && limits_are(50, 50); });
}

/* As a server does that hands its limits to its children: the hard one first, then the soft one. */
void hard_limit(void **)
{
	assert_in_child([] { return fdlim_set(150, -1) == 0 && limits_are(100, 150); });
	assert_in_child([] { return fdlim_set(50, -1) == 0 && limits_are(50, 50); });
	assert_in_child([] { return fdlim_set(150, -1) == 0 && fdlim_set(120, 0) == 0 && limits_are(120, 150); });
}

void raising_takes_a_privilege(void **)
{
	assert_in_child([] {
		if (geteuid() == 0 && seteuid(65534) < 0)
			return true;
		return fdlim_set(300, -1) == -1 && errno == EPERM && fdlim_set(300, 1) == -1 && errno == EPERM &&
		       limits_are(100, 200);
	});
}

void no_such_limit(void **)
{
	assert_in_child([] {
		for (int how = -1; how <= 1; how++) {
			for (int n : { 0, -1, INT_MIN }) {
				errno = 0;
				if (fdlim_set(n, how) != -1 || errno != EINVAL)
					return false;
			}
		}
		return limits_are(100, 200);
	});
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_read),
		cmocka_unit_test(soft_limit),
		cmocka_unit_test(both_limits),
		cmocka_unit_test(hard_limit),
		cmocka_unit_test(raising_takes_a_privilege),
		cmocka_unit_test(no_such_limit),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
