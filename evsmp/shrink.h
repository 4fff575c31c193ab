/*
 * A shorter schedule that fails in the same way.
 */
#ifndef EVSMP_SHRINK_H
#define EVSMP_SHRINK_H

#include "switches.h"
#include "trials.h"

/*
 * `s` is a schedule that fails as `failure` does. It becomes one that does so with as many switches or fewer. True: no
 * single switch can be left out of it; false: it took longer than `limit_s`.
 */
bool shrink(struct trials *t, struct switches *s, const struct trial *failure, unsigned limit_s);

#endif
