/*
 * QEMU's user emulation claims to do some things that it does not do, and dies of others. Tests of these are skipped
 * there.
 * scripts/test-arm64 sets this variable.
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
