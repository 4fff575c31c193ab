/*
 * The configuration of a base, before the base is made.
 */
#include "config.h"

#include <limits.h>

#include <event2/smp.h>

#include "le.h"

enum { WORKERS_MAX = 1024 };

struct event_config *event_config_new(void)
{
	struct event_config *cfg = ec_calloc(1, sizeof(*cfg));

	if (cfg == NULL)
		return NULL;
	cfg->ec.max_callbacks = INT_MAX;
	cfg->ec.limit_after_pri = 1;
	return cfg;
}

void event_config_free(struct event_config *cfg)
{
	size_t i;

	if (cfg == NULL)
		return;
	for (i = 0; i < cfg->avoid_num; i++)
		ec_free(cfg->avoid[i]);
	ec_free(cfg->avoid);
	ec_free(cfg);
}

int event_config_avoid_method(struct event_config *cfg, const char *method)
{
	char **avoid, *name;

	avoid = ec_realloc(cfg->avoid, (cfg->avoid_num + 2) * sizeof(*avoid));
	if (avoid == NULL)
		return -1;
	cfg->avoid = avoid;
	avoid[cfg->avoid_num] = NULL;
	name = ec_strdup(method);
	if (name == NULL)
		return -1;
	avoid[cfg->avoid_num++] = name;
	avoid[cfg->avoid_num] = NULL;
	return 0;
}

int event_config_require_features(struct event_config *cfg, int features)
{
	if (cfg == NULL)
		return -1;
	cfg->ec.features = (unsigned)features;
	return 0;
}

int event_config_set_flag(struct event_config *cfg, int flag)
{
	if (cfg == NULL)
		return -1;
	cfg->ec.flags |= (unsigned)flag;
	return 0;
}

int event_config_set_num_cpus_hint(struct event_config *cfg, int cpus)
{
	(void)cpus; /* documented as a hint for completion ports of Windows only */
	return cfg == NULL ? -1 : 0;
}

int event_config_set_max_dispatch_interval(struct event_config *cfg, const struct timeval *max_interval,
					   int max_callbacks, int min_priority)
{
	cfg->ec.has_interval = max_interval != NULL;
	if (max_interval != NULL)
		cfg->ec.max_interval = *max_interval;
	cfg->ec.max_callbacks = max_callbacks < 0 ? INT_MAX : max_callbacks;
	cfg->ec.limit_after_pri = min_priority < 0 ? 0 : min_priority;
	return 0;
}

int event_config_set_workers(struct event_config *cfg, unsigned n, event_worker_start_fn start, void *arg)
{
	if (cfg == NULL || n > WORKERS_MAX)
		return le_result(-EINVAL);
	cfg->ec.workers_num = n;
	cfg->ec.start = (ec_worker_start_fn)(void (*)(void))start;
	cfg->ec.start_arg = arg;
	return 0;
}
