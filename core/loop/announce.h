/*
 * What a process tells of itself: the line of EVENT_SMP_VERBOSE. The numbers for `evsmp ps` are in os/process.h.
 */
#ifndef EC_ANNOUNCE_H
#define EC_ANNOUNCE_H

#include "ec.h"

/* A base was made. The first one of the process logs the line, if the environment asks for it. */
void ec_announce(struct ec_base *base, const struct ec_config *cfg);

#endif
