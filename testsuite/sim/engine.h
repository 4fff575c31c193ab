/*
 * The engine's own files under the simulator: what the protocol tests share.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <stdbool.h>

#include "core/ec.h"

/* A fresh system with one base; `method`: "epoll" or "poll". */
struct ec_base *sim_base_new(unsigned workers, const char *method);

/* One more base in the same system. */
struct ec_base *sim_base_more(unsigned workers);

/*
 * As after evthread_use_pthreads(): bases made from now on are locked without colors. For the rest
 * of the process, so for all schedules of a case.
 */
void sim_threads_on(void);

/* Free it, and look that nothing is left behind: no open descriptor but those of the test. */
void sim_base_free(struct ec_base *base);

/* Lines of severity EC_LOG_WARN and above since sim_base_new. */
unsigned sim_warnings(void);

/*
 * In a callback: fails if another callback with the same mark runs now. Another thread may
 * run between the two, and time passes, so that the color is worth stealing.
 */
struct sim_mark {
	bool is_in;
};

void sim_mark_enter(struct sim_mark *m);
void sim_mark_leave(struct sim_mark *m);

#endif
