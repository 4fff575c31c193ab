/*
 * The end of a process whose program has broken a rule, or that has no memory.
 */
#ifndef LIBASYNC_LOG_DIE_H
#define LIBASYNC_LOG_DIE_H

#include "libasync_config.h"

namespace libasync
{

/* Prints a line with the text, and aborts. Any thread. */
[[noreturn]] LIBASYNC_COLD void die(const char *fmt, ...) LIBASYNC_PRINTF(1, 2);

} // namespace libasync

#endif
