/*
 * What a unit's settings take from our libraries.
 */
#ifndef EVSMP_SANDBOX_H
#define EVSMP_SANDBOX_H

#include "unit.h"

/* NULL: nothing that is known here. Else what is wrong and what to do. */
const char *sandbox_forbids(const struct unit *u, const char *libdir);

#endif
