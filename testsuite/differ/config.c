/*
 * Configurations: methods there are, avoided, required by feature; the environment and the
 * flag that ignores it.
 */
#include "trace.h"

#include <event2/event_compat.h>

static void base_of(const char *name, const struct event_config *cfg)
{
	struct event_base *base = event_base_new_with_config(cfg);

	if (base == NULL) {
		say("%s: none", name);
		return;
	}
	say("%s: %s, features %#x, priorities %d", name, event_base_get_method(base),
	    (unsigned)event_base_get_features(base), event_base_get_npriorities(base));
	event_base_free(base);
}

static struct event_config *config_new(void)
{
	struct event_config *cfg = event_config_new();

	must(cfg != NULL, "make a config");
	return cfg;
}

static void avoid(void)
{
	static const char *const steps[] = { "kqueue", "epoll", "epoll", "EPOLL", "poll", "select" };
	struct event_config *cfg = config_new();

	section("avoid");
	base_of("default", cfg);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		say("avoid %s: %d", steps[i], event_config_avoid_method(cfg, steps[i]));
		base_of("then", cfg);
	}
	event_config_free(cfg);
}

static void features(void)
{
	static const int wants[] = { 0,
				     EV_FEATURE_ET,
				     EV_FEATURE_O1,
				     EV_FEATURE_FDS,
				     EV_FEATURE_EARLY_CLOSE,
				     EV_FEATURE_ET | EV_FEATURE_O1,
				     EV_FEATURE_ET | EV_FEATURE_FDS,
				     EV_FEATURE_O1 | EV_FEATURE_EARLY_CLOSE,
				     0x10 };

	section("features");
	for (size_t i = 0; i < sizeof(wants) / sizeof(wants[0]); i++) {
		struct event_config *cfg = config_new();
		char name[32];

		say("require: %d", event_config_require_features(cfg, wants[i]));
		sprintf(name, "%#x", (unsigned)wants[i]);
		base_of(name, cfg);
		/* The last call counts. */
		event_config_require_features(cfg, 0);
		base_of("none required", cfg);
		event_config_free(cfg);
	}
}

static void flags(void)
{
	static const int all[] = { EVENT_BASE_FLAG_NOLOCK,	       EVENT_BASE_FLAG_IGNORE_ENV,
				   EVENT_BASE_FLAG_STARTUP_IOCP,       EVENT_BASE_FLAG_NO_CACHE_TIME,
				   EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST, EVENT_BASE_FLAG_PRECISE_TIMER,
				   0x1000,			       0 };

	section("flags");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct event_config *cfg = config_new();
		char name[32];

		say("set: %d", event_config_set_flag(cfg, all[i]));
		sprintf(name, "%#x", (unsigned)all[i]);
		base_of(name, cfg);
		event_config_free(cfg);
	}
	say("no config: %d", event_config_set_flag(NULL, EVENT_BASE_FLAG_NOLOCK));
}

static void numbers(void)
{
	static const struct timeval tv = { 1, 0 };
	struct event_config *cfg = config_new();

	section("numbers");
	say("cpus 4: %d", event_config_set_num_cpus_hint(cfg, 4));
	say("cpus 0: %d", event_config_set_num_cpus_hint(cfg, 0));
	say("interval: %d", event_config_set_max_dispatch_interval(cfg, &tv, 5, 1));
	say("none: %d", event_config_set_max_dispatch_interval(cfg, NULL, -1, 0));
	say("negative: %d", event_config_set_max_dispatch_interval(cfg, &tv, -7, -7));
	say("no config: %d", event_config_set_num_cpus_hint(NULL, 4));
	say("no config: %d", event_config_require_features(NULL, 0));
	base_of("with them", cfg);
	event_config_free(cfg);
}

static void environment(void)
{
	static const char *const variables[] = { "EVENT_NOSELECT", "EVENT_NOEPOLL", "EVENT_NOPOLL", "EVENT_NOKQUEUE" };
	struct event_config *cfg = config_new();

	section("environment");
	event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
	base_of("ignored", cfg);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *before = getenv(variables[i]);

		setenv(variables[i], "1", 1);
		say("with %s", variables[i]);
		base_of("heeded", NULL);
		base_of("ignored", cfg);
		/* Its presence counts, not its value. */
		setenv(variables[i], "", 1);
		base_of("empty", NULL);
		if (before == NULL)
			unsetenv(variables[i]);
	}
	event_config_free(cfg);
}

int main(void)
{
	const char **methods = event_get_supported_methods();

	event_set_log_callback(say_log);
	section("methods");
	for (; *methods != NULL; methods++)
		say("%s", *methods);
	base_of("NULL", NULL);
	avoid();
	features();
	flags();
	numbers();
	environment();
	section("free NULL config is not allowed, free of an empty one is");
	event_config_free(config_new());
	return 0;
}
