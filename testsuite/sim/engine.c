#include "engine.h"

#include <stddef.h>
#include <string.h>

#include "../../core/clock.h"
#include "../../core/sync.h"
#include "sched.h"
#include "system.h"

enum { CALLBACK_NS = 2000 };

static unsigned warnings;

static void log_line(int severity, const char *msg)
{
	sim_note("log: %s", msg);
	if (severity >= EC_LOG_WARN)
		warnings++;
}

struct ec_base *sim_base_new(unsigned workers, const char *method)
{
	static const char *const not_epoll[] = { "epoll", NULL };
	struct ec_config cfg = { .flags = EC_BASE_IGNORE_ENV, .workers_num = workers };
	struct ec_base *base;

	sim_system_reset();
	warnings = 0;
	ec_clock_set_source(sim_clock_ns);
	ec_log_set_fn(log_line);
	if (strcmp(method, "epoll") != 0)
		cfg.avoid = not_epoll;
	if (ec_base_new(&cfg, &base) < 0)
		sim_fail("cannot make a base");
	return base;
}

void sim_base_free(struct ec_base *base)
{
	ec_base_free(base);
}

unsigned sim_warnings(void)
{
	return warnings;
}

void sim_mark_enter(struct sim_mark *m)
{
	EC_POINT();
	sim_check(!m->is_in);
	m->is_in = true;
	if (sim_random(2) == 0)
		sim_sleep(CALLBACK_NS);
	EC_POINT();
}

void sim_mark_leave(struct sim_mark *m)
{
	EC_POINT();
	m->is_in = false;
}
