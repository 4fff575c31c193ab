/*
 * Mandatory access control: AppArmor's profiles and SELinux's labels that keep a program from our directory.
 */
#ifndef EVSMP_MAC_H
#define EVSMP_MAC_H

#include "program.h"

/* NULL: nothing that can be read here forbids the program to map the library. Else what is wrong and what to do. */
const char *mac_forbids(const struct program *program, const struct caller *caller, const char *library);

/* For `doctor`: "AppArmor", "SELinux (enforcing)", … */
const char *mac_name(void);
bool mac_is_selinux_enforcing(void);

/* apparmor.c: the same for a program's path, where AppArmor is on. `profile`: its name; NULL: the one for that path. */
const char *apparmor_forbids(const char *path, const char *profile, const char *library);

#endif
