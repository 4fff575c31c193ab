/*
 * Messages, and fatal errors, which end the process.
 *
 * The callbacks may be set while other threads log: each is one word, read once per message.
 * A program that replaces one must keep both usable meanwhile, as with any libevent.
 */
#include "ec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atomic.h"
#include "thread.h"

enum { MESSAGE_MAX = 1024 }; /* longer messages are cut: programs copy them to buffers of libevent's size */

static _Atomic(ec_log_fn) log_fn;
static _Atomic(ec_fatal_fn) fatal_fn;

void ec_log_set_fn(ec_log_fn fn)
{
	ec_store_release(&log_fn, fn); /* meets emit */
}

void ec_log_set_fatal_fn(ec_fatal_fn fn)
{
	ec_store_release(&fatal_fn, fn); /* meets leave */
}

void ec_log_set_debug(uint32_t which)
{
	ec_watch_set(EC_WATCH_LOG, which != 0);
}

static void emit(enum ec_severity severity, const char *msg)
{
	static const char *const names[] = {
		[EC_LOG_DEBUG] = "debug",
		[EC_LOG_MSG] = "msg",
		[EC_LOG_WARN] = "warn",
		[EC_LOG_ERR] = "err",
	};
	ec_log_fn fn = ec_load_acquire(&log_fn);
	int state = ec_cancel_hold();

	/* The caller may hold a lock. */
	if (fn != NULL)
		fn((int)severity, msg);
	else
		fprintf(stderr, "[%s] %s\n", names[severity], msg);
	ec_cancel_release(state);
}

void ec_vlog(enum ec_severity severity, int err, const char *fmt, va_list ap)
{
	char msg[MESSAGE_MAX];
	int saved_errno = errno;
	size_t len;

	if (severity == EC_LOG_DEBUG && !ec_log_debug_on())
		return;

	if (vsnprintf(msg, sizeof(msg), fmt, ap) < 0)
		msg[0] = '\0';
	len = strlen(msg);
	/* Without room for a colon, a blank and one letter, leave out the error's text. */
	if (err != EC_NO_ERRNO && len < sizeof(msg) - 3) {
		errno = err; /* %m: C libraries differ in what strerror_r returns */
		snprintf(msg + len, sizeof(msg) - len, ": %m");
	}
	emit(severity, msg);
	errno = saved_errno;
}

void ec_log(enum ec_severity severity, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(severity, EC_NO_ERRNO, fmt, ap);
	va_end(ap);
}

void ec_log_errno(enum ec_severity severity, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog(severity, err == 0 ? EC_NO_ERRNO : err, fmt, ap);
	va_end(ap);
}

/* The callback may end the process itself, or leave by longjmp. If it returns, the process exits. */
_Noreturn static void leave(int exit_code)
{
	ec_fatal_fn fn = ec_load_acquire(&fatal_fn);

	if (fn != NULL) {
		fn(exit_code);
		exit(exit_code);
	}
	if (exit_code == EC_EXIT_ABORT)
		abort();
	exit(exit_code);
}

void ec_vdie(int exit_code, int err, const char *fmt, va_list ap)
{
	ec_vlog(EC_LOG_ERR, err, fmt, ap);
	leave(exit_code);
}

void ec_die(int exit_code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vdie(exit_code, EC_NO_ERRNO, fmt, ap);
}
