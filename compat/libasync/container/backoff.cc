/*
 * The color for the timers of a queue.
 */
#include "backoff.h"

#include <event2/smp.h>

namespace libasync
{

color tmoq_color()
{
	uint32_t number;

	return color(event_base_get_running_color(base(), &number) == 0 ? number : 0);
}

} // namespace libasync
