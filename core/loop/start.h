/*
 * From one thread to many: what the first color of a base sets off.
 */
#ifndef EC_START_H
#define EC_START_H

#include "sched/base.h"
#include "sched/worker.h"

struct ec_poller_ops;

int ec_worker_init(struct ec_worker *w, struct ec_base *base, unsigned id, const struct ec_poller_ops *ops,
		   bool precise);
void ec_worker_fini(struct ec_worker *w);

#endif
