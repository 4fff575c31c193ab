#include "mode.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ec.h"
#include "os/number.h"
#include "os/virtual_clock.h"

enum { SLACK_MS = 100, SLACK_MS_MAX = 3600000, DEPTH = 3, STEPS = 1000 };

/* What was asked for; const after read_once. */
struct mode {
	struct ec_policy policy;
	bool is_on;
	bool is_time_virtual;
	int64_t slack_ns;
	int out;			/* descriptor, or -1 */
	pid_t pid;			/* that writes there: not a child */
};

static struct mode mode = { .out = -1 };
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---------------------------------------------------------------- the environment */

static bool refuse(const char *name, const char *value, const char *wants)
{
	ec_log(EC_LOG_WARN, "%s=%.100s is not %s: the schedule stays as it is", name, value, wants);
	return false;
}

static bool seed_read(const char *value, struct mode *m)
{
	return ec_number_is(value, UINT64_MAX, &m->policy.seed) ||
	       refuse("EVENT_SMP_SEED", value, "a number from 0 to 18446744073709551615");
}

/* pct[:DEPTH[:STEPS]] */
static bool pct_read(const char *at, struct mode *m)
{
	uint64_t depth = DEPTH, steps = STEPS;

	if (*at == ':') {
		at++;
		if (!ec_number_read(&at, EC_POLICY_DEPTH_MAX, &depth))
			return false;
	}
	if (*at == ':') {
		at++;
		if (!ec_number_read(&at, INT64_MAX, &steps))
			return false;
	}
	if (*at != '\0')
		return false;
	m->policy.kind = EC_POLICY_PCT;
	m->policy.depth = (unsigned)depth;
	m->policy.steps = steps;
	return depth != 0 && steps != 0;
}

static bool policy_read(const char *value, struct mode *m)
{
	m->policy.kind = EC_POLICY_RANDOM;
	if (value == NULL || strcmp(value, "random") == 0)
		return true;
	if (strncmp(value, "pct", 3) == 0 && (value[3] == '\0' || value[3] == ':') && pct_read(value + 3, m))
		return true;
	m->policy.kind = EC_POLICY_ORDER;
	return strcmp(value, "order") == 0 ||
	       refuse("EVENT_SMP_POLICY", value, "random, pct, pct:DEPTH (1 to 64), pct:DEPTH:STEPS, or order");
}

static bool time_read(const char *value, struct mode *m)
{
	static const char begin[] = "virtual:";
	const size_t len = strlen(begin);
	uint64_t ms = SLACK_MS;

	if (strcmp(value, "real") == 0)
		return true;
	if (strcmp(value, "virtual") != 0 &&
	    (strncmp(value, begin, len) != 0 || !ec_number_is(value + len, SLACK_MS_MAX, &ms)))
		return refuse("EVENT_SMP_TIME", value, "real, virtual, or virtual: and milliseconds up to 3600000");
	m->is_time_virtual = true;
	m->slack_ns = (int64_t)ms * 1000000;
	return true;
}

/* ---------------------------------------------------------------- files */

static bool list_read(const char *path, struct mode *m)
{
	struct ec_switch *list = NULL;
	size_t line = 0;
	int r;

	r = ec_schedule_read(path, &list, &m->policy.list_num, &line);
	if (r == -EINVAL)
		ec_log(EC_LOG_WARN, "EVENT_SMP_SCHEDULE=%.100s is not used: line %zu is not part of a schedule", path,
		       line);
	else if (r == -ENOTSUP)
		ec_log(EC_LOG_WARN, "EVENT_SMP_SCHEDULE=%.100s is not used: it is no regular file", path);
	else if (r < 0)
		ec_log_errno(EC_LOG_WARN, -r, "EVENT_SMP_SCHEDULE=%.100s cannot be read", path);
	if (r < 0)
		return false;
	m->policy.kind = EC_POLICY_LIST;
	m->policy.list = list;
	return true;
}

static bool out_open(const char *path, struct mode *m)
{
	m->out = ec_schedule_create(path);
	if (m->out >= 0)
		return true;
	ec_log_errno(EC_LOG_WARN, -m->out, "EVENT_SMP_SCHEDULE_OUT=%.100s cannot be made: the schedule stays as it is",
		     path);
	m->out = -1;
	return false;
}

/* ---------------------------------------------------------------- once */

/* One of these without a seed or a schedule does nothing: probably a mistake. */
static void orphan_tell(void)
{
	static const char *const names[] = { "EVENT_SMP_POLICY", "EVENT_SMP_SCHEDULE_OUT", "EVENT_SMP_TIME" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (secure_getenv(names[i]) == NULL)
			continue;
		ec_log(EC_LOG_WARN, "%s does nothing without EVENT_SMP_SEED or EVENT_SMP_SCHEDULE", names[i]);
		return;
	}
}

static bool env_read(struct mode *m)
{
	const char *seed = secure_getenv("EVENT_SMP_SEED"), *list = secure_getenv("EVENT_SMP_SCHEDULE");
	const char *time = secure_getenv("EVENT_SMP_TIME"), *out = secure_getenv("EVENT_SMP_SCHEDULE_OUT");

	if (seed == NULL && list == NULL) {
		orphan_tell();
		return false;
	}
	if (seed != NULL && list != NULL) {
		ec_log(EC_LOG_WARN,
		       "EVENT_SMP_SEED and EVENT_SMP_SCHEDULE exclude each other: the schedule stays as it is");
		return false;
	}
	if (seed != NULL && (!seed_read(seed, m) || !policy_read(secure_getenv("EVENT_SMP_POLICY"), m)))
		return false;
	if (time != NULL && !time_read(time, m))
		return false;
	if (list != NULL && !list_read(list, m))
		return false;
	return out == NULL || out_open(out, m);
}

static void read_once(void)
{
	struct mode m = { .out = -1 };

	if (!env_read(&m)) {
		ec_free((void *)(uintptr_t)m.policy.list);
		return;
	}
	m.is_on = true;
	m.pid = getpid();
	mode = m;
	ec_policy_set(&mode.policy);
	if (mode.is_time_virtual)
		ec_virtual_clock_start();
}

bool ec_mode_is_on(void)
{
	pthread_once(&once, read_once);
	return mode.is_on;
}

int64_t ec_mode_slack_ns(void)
{
	return mode.slack_ns;
}

bool ec_mode_has_out(void)
{
	return mode.out >= 0 && mode.pid == getpid();
}

void ec_mode_note(const struct ec_switch *s, const struct ec_due *ran, const struct ec_due *first)
{
	if (ec_schedule_write(mode.out, s, ran, first) < 0)
		ec_log(EC_LOG_WARN, "cannot write a switch of the schedule: step %llu is missing",
		       (unsigned long long)s->step);
}
