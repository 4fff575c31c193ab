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
 * No header declares these, but programs declare and call them: code that event_rpcgen.py generates
 * calls the warnings, and libevent's tests call the rest. Those without x append the text of errno,
 * also for a socket.
 */
void event_msgx(const char *fmt, ...) EC_PRINTF(1, 2);
void event_warnx(const char *fmt, ...) EC_PRINTF(1, 2);
void event_warn(const char *fmt, ...) EC_PRINTF(1, 2);
void event_sock_warn(evutil_socket_t fd, const char *fmt, ...) EC_PRINTF(2, 3);
_Noreturn void event_errx(int exit_code, const char *fmt, ...) EC_PRINTF(2, 3);
_Noreturn void event_err(int exit_code, const char *fmt, ...) EC_PRINTF(2, 3);
_Noreturn void event_sock_err(int exit_code, evutil_socket_t fd, const char *fmt, ...) EC_PRINTF(3, 4);

void event_msgx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(EC_LOG_MSG, EC_NO_ERRNO, fmt, ap);
	va_end(ap);
}

void event_warnx(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(EC_LOG_WARN, EC_NO_ERRNO, fmt, ap);
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

void event_sock_warn(evutil_socket_t fd, const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	(void)fd;
	va_start(ap, fmt);
	ec_vlog(EC_LOG_WARN, err, fmt, ap);
	va_end(ap);
}

void event_errx(int exit_code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vdie(exit_code, EC_NO_ERRNO, fmt, ap);
}

void event_err(int exit_code, const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	ec_vdie(exit_code, err, fmt, ap);
}

void event_sock_err(int exit_code, evutil_socket_t fd, const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	(void)fd;
	va_start(ap, fmt);
	ec_vdie(exit_code, err, fmt, ap);
}
