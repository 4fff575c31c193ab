/*
 * The callbacks for messages and for fatal errors.
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

/* In the headers the bits choose sources. As in libevent, any bit turns on all messages. */
void event_enable_debug_logging(ev_uint32_t which)
{
	ec_log_set_debug(which);
}

/*
 * No header declares these two, but the code that event_rpcgen.py generates declares and calls
 * them. They log a warning; event_warn appends the text of errno.
 */
void event_warnx(const char *fmt, ...) EC_PRINTF(1, 2);
void event_warn(const char *fmt, ...) EC_PRINTF(1, 2);

void event_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(EC_LOG_WARN, 0, fmt, ap);
	va_end(ap);
}

void event_warn(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(EC_LOG_WARN, err, fmt, ap);
	va_end(ap);
}
