/*
 * Faults of the original that a program may depend on, each a letter in the environment variable SFS_OPTIONS.
 *
 *   b  inetsocket returns a descriptor that blocks
 *   l  aios: the last line is lost if the stream ends before its newline
 *
 * No program depends on a callback that never comes: a late chldcb and a chain of yieldcb have no letter.
 */
#ifndef NET_OPTIONS_H
#define NET_OPTIONS_H

#include <cstdlib>
#include <cstring>

namespace libasync
{

inline bool option_is_set(char letter)
{
	const char *options = secure_getenv("SFS_OPTIONS");

	return options != nullptr && strchr(options, letter) != nullptr;
}

} // namespace libasync

#endif
