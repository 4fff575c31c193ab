/*
 * The variables that a service gets from its unit: Environment=, EnvironmentFile=, UnsetEnvironment=.
 */
#ifndef EVSMP_VARIABLES_H
#define EVSMP_VARIABLES_H

#include "unit.h"

/* NULL: the unit does not set it. What a file sets may be something else tomorrow. */
const char *variables_get(const struct unit *u, const char *name);

/*
 * What takes away, or sets otherwise, the variables of the drop-in: what is wrong and what to do. NULL: nothing does.
 * `workers`: EVENT_WORKERS, or NULL.
 */
const char *variables_forbid(const struct unit *u, const char *workers);

#endif
