/*
 * What the loop has to do with messages.
 */
#ifndef LIBASYNC_LOG_LOG_H
#define LIBASYNC_LOG_LOG_H

#include <string>

#include "libasync_config.h"

namespace libasync
{

/* Write a message, or as much as the descriptor takes. errno stays. */
void err_print(const std::string &text, int fd);

/* Write more of what waits. True: some still waits. */
bool err_write_more();

/* The loop's: call err_write_more() once the descriptor is writable, until nothing waits. NULL: there is no loop. */
extern void (*err_wait_writable)();

} // namespace libasync

#endif
