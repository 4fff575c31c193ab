#include "announce.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "lock/sync.h"
#include "mode.h"
#include "os/process.h"
#include "os/version.h"
#include "sched/base.h"

/* The directory that this library was loaded from; its length. */
static size_t directory(const char **ret)
{
	const char *slash;
	Dl_info info;

	if (dladdr(&ec_process, &info) == 0 || info.dli_fname == NULL)
		return 0;
	slash = strrchr(info.dli_fname, '/');
	*ret = info.dli_fname;
	return slash == NULL ? 0 : (size_t)(slash - info.dli_fname);
}

/* Why a base has one worker. EVENT_WORKERS counts only where it was read: see workers_wanted() in base.c. */
static const char *why_one(const struct ec_config *cfg)
{
	if ((cfg->flags & EC_BASE_IGNORE_ENV) == 0 && secure_getenv("EVENT_WORKERS") != NULL)
		return " (EVENT_WORKERS)";
	if (cfg->workers_num == 1)
		return " (the program's choice)";
	return " (this process may use one CPU)";
}

/* What asked for virtual workers: see loop/virtual.c. */
static const char *why_virtual(const struct ec_config *cfg)
{
	if ((cfg->flags & EC_BASE_IGNORE_ENV) != 0 || !ec_mode_is_on())
		return "EVENT_CHECK_COLORS";
	return secure_getenv("EVENT_SMP_SEED") != NULL ? "EVENT_SMP_SEED" : "EVENT_SMP_SCHEDULE";
}

static void say(struct ec_base *base, const struct ec_config *cfg)
{
	unsigned num = ec_base_workers(base);
	const char *dir = "", *plural = num == 1 ? "" : "s";
	size_t len = directory(&dir);

	if (base->virtual != NULL)
		ec_log(EC_LOG_MSG, "libevent-smp %s in %.*s: %s, %u virtual worker%s on one thread (%s)", EC_VERSION,
		       (int)len, dir, ec_base_method(base), num, plural, why_virtual(cfg));
	else
		ec_log(EC_LOG_MSG, "libevent-smp %s in %.*s: %s, %u worker%s%s", EC_VERSION, (int)len, dir,
		       ec_base_method(base), num, plural,
		       num == 1 ? why_one(cfg) : " from the first color on, one thread until then");
}

void ec_announce(struct ec_base *base, const struct ec_config *cfg)
{
	static _Atomic(bool) is_announced; /* two threads that make the first base at once may both say the line */

	ec_process_count(&ec_process.bases, 1);
	if (ec_load_relaxed(&is_announced))
		return;
	ec_store_relaxed(&is_announced, true);
	if (secure_getenv("EVENT_SMP_VERBOSE") != NULL)
		say(base, cfg);
}
