/*
 * systemctl(1), for what `enable` and `disable` changed. Without systemd, and below EVSMP_ROOT, there is nothing to do.
 */
#ifndef EVSMP_SYSTEMCTL_H
#define EVSMP_SYSTEMCTL_H

#include "say.h"

/* Lets systemd read all units again. Ends the process if it fails. */
void systemctl_reload(void);

/* Restarts what runs of it, and ends the process if that fails. False: systemd does not run here. */
bool systemctl_restart(const char *name);

#endif
