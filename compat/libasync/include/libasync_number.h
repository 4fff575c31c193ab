/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_NUMBER_H
#define LIBASYNC_NUMBER_H

/*
 * Numbers from text, strictly: all `len` bytes belong to the number, a NUL follows them, and no white space stands in
 * front. `base` as of strtol: 0 takes the prefixes 0x and 0. False: no such number, or out of range; *out and errno are
 * as they were. Any thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "libasync_config.h"

namespace libasync
{

LIBASYNC_EXPORT bool parse_signed(const char *p, size_t len, int base, int64_t low, int64_t high, int64_t *out);
LIBASYNC_EXPORT bool parse_unsigned(const char *p, size_t len, int base, uint64_t high, uint64_t *out);
/* No base: as strtod, and a number too small to write is 0. */
LIBASYNC_EXPORT bool parse_double(const char *p, size_t len, double *out);

} // namespace libasync

#endif
