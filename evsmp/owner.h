/*
 * Which users could replace a file: a service should load nothing that another user than root can exchange.
 */
#ifndef EVSMP_OWNER_H
#define EVSMP_OWNER_H

#include <sys/types.h>

#include "say.h"

/* Also in a user namespace, where root of outside may have no number of its own. */
bool owner_is_root(uid_t uid);

/*
 * NULL: only root can replace the libraries in that directory, or add others. Else who can, as a part of a sentence.
 * Below EVSMP_ROOT, this process's user and group count as root.
 */
const char *owner_objects(const char *libdir);

#endif
