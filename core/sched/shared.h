/*
 * Shared callbacks of a color may overlap each other, like readers, but not an exclusive callback.
 */
#ifndef EC_SHARED_H
#define EC_SHARED_H

#include "color.h"
#include "worker.h"

/*
 * The first task of `c` is shared. RUNQ of `w` is held, and released here. The worker takes this task alone: the color
 * is runnable again before the callback runs, for other workers.
 */
void ec_shared_run(struct ec_worker *w, struct ec_color *c, uint64_t now);

#endif
