/*
 * core/os/topology.c on machines that are folders: a /proc and a /sys made for each test.
 */
#include "table.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/os/topology.h"
#include "fault.h"

static char root[64];

/* The file and the folders on its way. */
static void put(const char *path, const char *text)
{
	char full[512], *at;
	FILE *f;

	assert_in_range(snprintf(full, sizeof(full), "%s%s", root, path), 1, sizeof(full) - 1);
	for (at = strchr(full + strlen(root) + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(full, 0700) < 0)
			assert_int_equal(errno, EEXIST);
		*at = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int setup(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/test_topology.XXXXXX");
	if (mkdtemp(root) == NULL)
		return -1;
	fault_system_at(root);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	(void)fault_end();
	fault_system_at(NULL);
	fault_cpus(0, 0);
	(void)snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

/* ---------------------------------------------------------------- how many CPUs */

static void without_a_quota_affinity_rules(void **state)
{
	(void)state;
	fault_cpus(3, 5);
	assert_int_equal(ec_topology_cpus(ec_topology_quota()), 5);
	fault_cpus(0, 1);
	assert_int_equal(ec_topology_cpus(ec_topology_quota()), 1);
}

static void a_quota_takes_cpus_away(void **state)
{
	static const struct {
		const char *max;
		unsigned cpus;
	} rows[] = {
		{ "max 100000\n", 6 },	    { "200000 100000\n", 2 }, { "200001 100000\n", 3 }, { "50000 100000\n", 1 },
		{ "0 100000\n", 1 },	    { "900000 100000\n", 6 }, { "200000 0\n", 6 },	{ "200000\n", 6 },
		{ "", 6 },		    { "two of them\n", 6 },
	};
	size_t i;

	(void)state;
	fault_cpus(0, 6);
	put("/proc/self/cgroup", "0::/a.slice/b.scope\n");
	for (i = 0; i < ROWS(rows); i++) {
		put("/sys/fs/cgroup/a.slice/b.scope/cpu.max", rows[i].max);
		if (ec_topology_cpus(ec_topology_quota()) != rows[i].cpus)
			fail_msg("row %zu: %s", i, rows[i].max);
	}
}

/* In a container the group's own folder is the root of what can be seen. */
static void a_quota_may_stand_at_the_root(void **state)
{
	(void)state;
	fault_cpus(0, 6);
	put("/proc/self/cgroup", "0::/docker/0123456789\n");
	put("/sys/fs/cgroup/cpu.max", "150000 100000\n");
	assert_int_equal(ec_topology_cpus(ec_topology_quota()), 2);
}

static void other_cgroups_have_no_say(void **state)
{
	(void)state;
	fault_cpus(0, 6);
	put("/proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/\n");
	put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
	assert_int_equal(ec_topology_cpus(ec_topology_quota()), 6);
}

static void who_may_not_ask_has_one_cpu(void **state)
{
	(void)state;
	fault_call_at(FAULT_sched_getaffinity, 1, EINVAL);
	assert_int_equal(ec_topology_cpus(ec_topology_quota()), 1);
	assert_true(fault_end());
}

/* ---------------------------------------------------------------- whom to rob */

enum { WORKERS_MAX = 100 };

static void assert_victims(unsigned id, unsigned num, const char *want)
{
	uint16_t victims[WORKERS_MAX];
	char text[WORKERS_MAX * 4] = "";
	unsigned i;

	ec_topology_victims(id, num, victims);
	for (i = 0; i + 1 < num; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), i == 0 ? "%d" : " %d", victims[i]);
	assert_string_equal(text, want);
}

/* CPUs first to last - 1 share the cache of that level. */
static void share(unsigned first, unsigned last, int level)
{
	char path[128], group[32];
	unsigned cpu;

	(void)snprintf(group, sizeof(group), "%u-%u\n", first, last - 1);
	for (cpu = first; cpu < last; cpu++) {
		(void)snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", cpu,
			       level);
		put(path, group);
	}
}

static void machine_with_two_caches(unsigned first)
{
	unsigned cpu;

	for (cpu = 0; cpu < 8; cpu += 2)
		share(first + cpu, first + cpu + 2, 2);
	share(first, first + 4, 3);
	share(first + 4, first + 8, 3);
	fault_cpus(first, 8);
}

static void the_nearest_cache_goes_first(void **state)
{
	(void)state;
	machine_with_two_caches(0);
	assert_victims(0, 8, "1 2 3 4 5 6 7");
	assert_victims(1, 8, "0 2 3 4 5 6 7");
	assert_victims(5, 8, "4 6 7 0 1 2 3");
	assert_victims(7, 8, "6 4 5 0 1 2 3");
	assert_victims(1, 2, "0");
	assert_victims(0, 1, "");
}

/* Workers are counted among the CPUs that the process may use. */
static void forbidden_cpus_are_not_counted(void **state)
{
	(void)state;
	machine_with_two_caches(16);
	assert_victims(5, 8, "4 6 7 0 1 2 3");
}

static void without_sysfs_all_are_equally_far(void **state)
{
	(void)state;
	fault_cpus(0, 4);
	assert_victims(0, 4, "1 2 3");
	assert_victims(2, 4, "3 0 1");
}

static void more_workers_than_cpus_are_robbed_last(void **state)
{
	(void)state;
	machine_with_two_caches(0);
	fault_cpus(0, 3);
	assert_victims(0, 5, "1 2 3 4");
	assert_victims(4, 5, "0 1 2 3");
}

static void of_many_the_next_goes_first(void **state)
{
	uint16_t victims[WORKERS_MAX];
	unsigned i;

	(void)state;
	fault_call_at(FAULT_fopen, 0, 0);
	ec_topology_victims(90, WORKERS_MAX, victims);
	assert_int_equal(fault_calls(FAULT_fopen), 0);
	for (i = 0; i < WORKERS_MAX - 1; i++)
		assert_int_equal(victims[i], (91 + i) % WORKERS_MAX);
}

/* Whatever cannot be read, every other worker is named once. */
static void what_cannot_be_read_is_far(void **state)
{
	uint16_t victims[8];
	unsigned nth, i, seen;
	bool came = true;

	(void)state;
	machine_with_two_caches(0);
	for (nth = 1; came; nth++) {
		fault_call_at(nth % 2 != 0 ? FAULT_fopen : FAULT_sched_getaffinity, (nth + 1) / 2, EACCES);
		ec_topology_victims(2, 8, victims);
		came = fault_end() || nth < 20;
		for (i = 0, seen = 0; i < 7; i++)
			seen |= 1U << victims[i];
		assert_int_equal(seen, 0xfb);
	}
	fault_call_always(FAULT_sched_getaffinity, EINVAL);
	ec_topology_victims(2, 8, victims);
	assert_int_equal(victims[0], 3);
}

/* Success keeps errno, and what could not be read here is no failure. */
static void errno_is_kept(void **state)
{
	uint16_t victims[4];

	(void)state;
	fault_cpus(0, 4);
	errno = EDOM;
	(void)ec_topology_quota();
	assert_int_equal(errno, EDOM);
	ec_topology_victims(0, 4, victims);
	assert_int_equal(errno, EDOM);
	fault_call_always(FAULT_sched_getaffinity, EINVAL);
	errno = EDOM;
	assert_int_equal(ec_topology_cpus(4), 1);
	assert_int_equal(errno, EDOM);
	ec_topology_victims(0, 4, victims);
	assert_int_equal(errno, EDOM);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_quota_affinity_rules),
		TEST(a_quota_takes_cpus_away),
		TEST(a_quota_may_stand_at_the_root),
		TEST(other_cgroups_have_no_say),
		TEST(who_may_not_ask_has_one_cpu),
		TEST(the_nearest_cache_goes_first),
		TEST(forbidden_cpus_are_not_counted),
		TEST(without_sysfs_all_are_equally_far),
		TEST(more_workers_than_cpus_are_robbed_last),
		TEST(of_many_the_next_goes_first),
		TEST(what_cannot_be_read_is_far),
		TEST(errno_is_kept),
	};

	return cmocka_run_group_tests_name("topology", tests, fault_init, fault_fini);
}
