/*
 * QEMU's user emulation claims to do some things that it does not do, and dies of others. Tests of these are skipped
 * there.
 * ports/lib/emulated.sh sets this variable.
 */
#ifndef QEMU_H
#define QEMU_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool is_qemu(void)
{
	return getenv("TESTS_UNDER_QEMU") != NULL;
}

#endif
