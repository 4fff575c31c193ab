/*
 * What file2str and the readers of configuration files share.
 */
#ifndef LIBASYNC_TEXT_READ_ALL_H
#define LIBASYNC_TEXT_READ_ALL_H

#include "str.h"

namespace libasync
{

/* All bytes up to the end of file; `expected` is how many there may be. NULL with errno. */
LIBASYNC_HIDDEN str read_all(int fd, size_t expected);

} // namespace libasync

#endif
