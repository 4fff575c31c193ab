/* The hints of all events where struct event has no room for one (event_narrow.h). */
#include "ec.h"

uint32_t ec_event_bounds[EC_BOUNDS];
