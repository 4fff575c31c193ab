/*
 * How the files of this room tell the user what is wrong.
 */
#ifndef LIBASYNC_TEXT_MESSAGE_H
#define LIBASYNC_TEXT_MESSAGE_H

#include "str.h"

namespace libasync
{

/* Print a text, with the program's name in front or without. */
LIBASYNC_HIDDEN void print_named(const str &text);
LIBASYNC_HIDDEN void print(const str &text);

/* Print a line. */
LIBASYNC_HIDDEN void message(const str &line);

/* Print a line and exit with status 1. */
[[noreturn]] LIBASYNC_HIDDEN void message_fatal(const str &line);

} // namespace libasync

#endif
