/*
 * The unwinder of the C library, if it has one: unwind_execinfo.c or unwind_none.c, as Meson picks.
 */
#ifndef EC_UNWIND_H
#define EC_UNWIND_H

#include <stdbool.h>

/* Loads what ec_unwind needs, so that this later allocates nothing. False: there is no unwinder. */
bool ec_unwind_prepare(void);

/* The return addresses of the calling thread, innermost first. Their number. Safe in a signal's handler. */
int ec_unwind(void **frames, int max);

#endif
