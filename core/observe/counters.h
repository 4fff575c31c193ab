/*
 * Counters of an observed base.
 */
#ifndef EC_COUNTERS_H
#define EC_COUNTERS_H

#include "probe.h"

extern const struct ec_consumer ec_counters_consumer;

#endif
