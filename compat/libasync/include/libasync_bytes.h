/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_BYTES_H
#define LIBASYNC_BYTES_H

/*
 * Which objects a container may move as bytes.
 */
#include <type_traits>

namespace libasync
{

/*
 * Is a T at another place, with the same bytes, the same T? Then it needs no constructor to move there. The headers of
 * such types say so; a program may for its own: template <> struct libasync::moves_as_bytes<T> : std::true_type {};
 */
template <class T> struct moves_as_bytes : std::is_trivially_copyable<T> {
};

} // namespace libasync

#endif
