/*
 * Where messages and fatal errors go.
 */
#include "le.h"

void event_set_log_callback(event_log_cb fn)
{
	ec_log_set_fn(fn);
}

void event_set_fatal_callback(event_fatal_cb fn)
{
	ec_log_set_fatal_fn(fn);
}

/* The bits choose sources in the headers only: as with libevent, any of them turns all on. */
void event_enable_debug_logging(ev_uint32_t which)
{
	ec_log_set_debug(which);
}
