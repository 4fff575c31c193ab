/*
 * ident at another port, for tests.
 */
#ifndef NET_IDENT_H
#define NET_IDENT_H

#include "amisc.h"

namespace libasync
{

void ident_at(int fd, u_int16_t port, callback<void, str, int>::ref cb);

} // namespace libasync

#endif
