/* What the library says of bad input nobody reads, and writing it takes time. */
#ifndef FUZZ_QUIET_H
#define FUZZ_QUIET_H

#include <event2/event.h>

static inline void fuzz_ignore_log(int severity, const char *msg)
{
	(void)severity;
	(void)msg;
}

static inline void fuzz_be_quiet(void)
{
	event_set_log_callback(fuzz_ignore_log);
}

#endif
