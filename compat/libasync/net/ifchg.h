/*
 * The step that ifchgcb takes every minute.
 */
#ifndef NET_IFCHG_H
#define NET_IFCHG_H

#include <sys/types.h>

#include <vector>

namespace libasync
{

/* The addresses are these now: call those that wait for a change, if they were others before. Sorted. */
void interfaces_compare(const std::vector<u_int32_t> &now);

} // namespace libasync

#endif
