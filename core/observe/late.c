#include "late.h"

#include <stdarg.h>

#include "control.h"
#include "os/atomic.h"
#include "os/log.h"

/* After the message is counted. ec_late_flush_turn clears the bit before it asks for messages, so it misses none. */
static void attend(void)
{
	if (ec_log_is_late())
		ec_or_acq_rel(&ec_control_own.turn, EC_TURN_LATE);
}

void ec_late_log(enum ec_severity severity, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog_late(severity, EC_NO_ERRNO, fmt, ap);
	va_end(ap);
	attend();
}

void ec_late_log_errno(enum ec_severity severity, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ec_vlog_late(severity, err, fmt, ap);
	va_end(ap);
	attend();
}

void ec_late_flush(void)
{
	(void)ec_log_flush(false);
}

bool ec_late_flush_turn(void)
{
	bool is_any;

	if ((ec_load_relaxed(&ec_control_own.turn) & EC_TURN_LATE) == 0)
		return false;
	ec_and_acq_rel(&ec_control_own.turn, (uint8_t)~EC_TURN_LATE);
	is_any = ec_log_flush(true);
	attend();			/* others have some */
	return is_any;
}
