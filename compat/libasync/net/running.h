/*
 * The color that the caller runs in.
 */
#ifndef NET_RUNNING_H
#define NET_RUNNING_H

#include "callback.h"
#include "loop/loop.h"

namespace libasync
{

/* Color 0 outside of callbacks. */
inline color running_color()
{
	uint32_t number = 0;

	(void)ec_base_running_color(engine(), &number);
	return color(number);
}

} // namespace libasync

#endif
