/*
 * struct event_config: the configuration that event_base_new_with_config takes.
 */
#ifndef LE_EVENT_CONFIG_H
#define LE_EVENT_CONFIG_H

#include "core/ec.h"

struct event_config {
	struct ec_config ec;
	char **avoid;			/* NULL-terminated, or NULL */
	size_t avoid_num;
};

#endif
