/*
 * Log messages and fatal errors of the libraries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdatomic.h>

#include "ec.h"

enum { MESSAGE_MAX = 1024 };

static _Atomic(ec_log_fn) log_fn;
static _Atomic(ec_fatal_fn) fatal_fn;

void ec_log_set_fn(ec_log_fn fn)
{
	log_fn = fn;
}

void ec_log_set_fatal_fn(ec_fatal_fn fn)
{
	fatal_fn = fn;
}

void ec_log_set_debug(uint32_t which)
{
	ec_watch_set(EC_WATCH_LOG, which != 0);
}

static void emit(enum ec_severity severity, const char *msg)
{
	static const char *const names[] = { "debug", "msg", "warn", "err" };
	ec_log_fn fn = log_fn;

	if (fn != NULL)
		fn((int)severity, msg);
	else
		(void)fprintf(stderr, "[%s] %s\n", names[severity], msg);
}

void ec_vlog(enum ec_severity severity, int err, const char *fmt, va_list ap)
{
	char msg[MESSAGE_MAX];
	size_t len;
	int n;

	if (severity == EC_LOG_DEBUG && !ec_log_debug_on())
		return;
	n = vsnprintf(msg, sizeof(msg), fmt, ap);
	if (n < 0)
		msg[0] = '\0';
	len = strlen(msg);
	if (err != 0 && len < sizeof(msg) - 3)
		(void)snprintf(msg + len, sizeof(msg) - len, ": %s", strerror(err));
	emit(severity, msg);
}

void ec_log(enum ec_severity severity, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(severity, 0, fmt, ap);
	va_end(ap);
}

void ec_log_errno(enum ec_severity severity, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(severity, err, fmt, ap);
	va_end(ap);
}

_Noreturn void ec_die(int exit_code, const char *fmt, ...)
{
	ec_fatal_fn fn = fatal_fn;
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(EC_LOG_ERR, 0, fmt, ap);
	va_end(ap);
	if (fn != NULL)
		fn(exit_code);
	if (exit_code == (int)0xdeaddead)
		abort();
	exit(exit_code);
}
