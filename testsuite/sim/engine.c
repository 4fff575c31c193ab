#include "engine.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "core/lock/sync.h"
#include "core/os/clock.h"
#include "core/sched/base.h"
#include "core/sched/slabs.h"
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

static void *lock_alloc(unsigned locktype)
{
	static char lock;

	(void)locktype;
	return &lock;
}

static void lock_free(void *lock, unsigned locktype)
{
	(void)lock;
	(void)locktype;
}

static int lock_nothing(unsigned mode, void *lock)
{
	(void)mode;
	(void)lock;
	return 0;
}

void sim_threads_on(void)
{
	/* The engine has its own locks: it only asks whether there are any. */
	static const struct ec_lock_callbacks cbs = {
		.api_version = 1,
		.supported_locktypes = 1,
		.alloc = lock_alloc,
		.free = lock_free,
		.lock = lock_nothing,
		.unlock = lock_nothing,
	};

	if (!ec_thread_is_on() && ec_thread_set_lock_callbacks(&cbs) < 0)
		sim_fail("cannot set lock callbacks");
}

static struct ec_base *base_new(unsigned workers, const char *const *avoid)
{
	struct ec_config cfg = {
		.flags = EC_BASE_IGNORE_ENV, .workers_num = workers, .max_callbacks = INT_MAX, .avoid = avoid,
	};
	struct ec_base *base;

	if (ec_base_new(&cfg, &base) < 0)
		sim_fail("cannot make a base");
	return base;
}

struct ec_base *sim_base_new(unsigned workers, const char *method)
{
	static const char *const not_epoll[] = { "epoll", NULL };

	sim_system_reset();
	warnings = 0;
	ec_clock_set_source(sim_clock_ns);
	ec_log_set_fn(log_line);
	return base_new(workers, strcmp(method, "epoll") != 0 ? not_epoll : NULL);
}

struct ec_base *sim_base_more(unsigned workers)
{
	return base_new(workers, NULL);
}

/* With nothing pending and nothing queued, only hints refer to a color. */
static void refs_check(struct ec_base *base)
{
	uint32_t i, used = ec_colors_used(&base->colors);
	struct ec_color *c;
	unsigned hints;

	if (ec_base_num_events(base, EC_COUNT_ADDED | EC_COUNT_ACTIVE) != 0)
		return;
	for (i = 0; i < used; i++) {
		c = ec_color_at(base, i);
		hints = c->flags & (EC_COLOR_COST_SET | EC_COLOR_PENALTY_SET);
		sim_check(ec_load_relaxed(&c->alive) == 0 || c->refs == (hints != 0));
	}
}

void sim_base_free(struct ec_base *base)
{
	refs_check(base);
	sim_check(ec_load_relaxed(&base->sleepers) < ec_workers_num(base));
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
