/*
 * Events that are made for one callback and end with it.
 */
#ifndef EC_ONCE_H
#define EC_ONCE_H

#include "sched/base.h"

/* Those that have not run; as the base ends. Making one is ec_base_once, in ec.h. */
void ec_onces_free(struct ec_base *base);

#endif
