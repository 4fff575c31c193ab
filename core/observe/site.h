/*
 * Which function of the program a stalled callback is. For an event it is the event's callback. But callbacks of
 * bufferevents, listeners and HTTP are called by a callback of our libraries: then it is what that calls, in the stack.
 */
#ifndef EC_SITE_H
#define EC_SITE_H

#include "finding.h"

/* Sets p->site, and p->site_frame if it is in the stack: without one it is the callback itself. */
void ec_site_find(struct ec_stall_party *p);

/*
 * Of a stack, the innermost frame first, the files of its frames. The frame of the function that our libraries called
 * first, coming from the loop; -1: there is none.
 */
int ec_site_choose(const char *const *objects, int num);

#endif
