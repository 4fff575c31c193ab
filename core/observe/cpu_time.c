#include "cpu_time.h"

#include "asleep.h"
#include "os/clock.h"
#include "thread_file.h"

bool ec_cpu_time_of(pid_t tid, struct ec_cpu_time *ret)
{
	char line[128];

	if (!ec_thread_file_read(tid, "schedstat", line, sizeof(line)))
		return false;
	ret->at_ns = (uint64_t)ec_monotonic_ns();
	ret->is_runnable = ec_asleep_of(tid).nr < 0;
	return ec_cpu_time_parse(line, ret);
}

/*
 * The kernel adds a wait when it is over. So a thread that is runnable, and got a CPU once at most, waits now for what
 * is left: a thread that slept meanwhile got one after each sleep.
 */
uint64_t ec_cpu_time_missed_ns(const struct ec_cpu_time *from, const struct ec_cpu_time *to)
{
	uint64_t passed_ns = to->at_ns - from->at_ns, ran_ns = to->ran_ns - from->ran_ns;
	uint64_t missed_ns = to->waited_ns - from->waited_ns;

	if (to->is_runnable && to->times - from->times <= 1 && passed_ns > ran_ns)
		missed_ns = passed_ns - ran_ns;
	return missed_ns < passed_ns ? missed_ns : passed_ns;
}
