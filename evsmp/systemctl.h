/*
 * systemctl(1), for what `enable` and `disable` changed. Without systemd, and below EVSMP_ROOT, there is nothing to do.
 */
#ifndef EVSMP_SYSTEMCTL_H
#define EVSMP_SYSTEMCTL_H

#include "say.h"

/* Lets systemd read all units again. Ends the process if it fails. */
void systemctl_reload(void);

/*
 * Restarts a service, or the instances of a template, if they run. Ends the process if that fails. False: systemd does
 * not run here, or no instance does.
 */
bool systemctl_restart(const char *name);
/* The same as a command for people, which also starts a service that does not run. NULL: no instance runs. */
const char *systemctl_restart_command(const char *name);

#endif
