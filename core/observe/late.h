/*
 * What the engine logs while it holds a lock of its own. The program's log callback may call any function of the
 * library, so it must not be called then. The message waits:
 *
 *	a thread that runs a loop	until its next poll: ec_control_attention() is not 0, so nothing else is asked
 *	any other			until the call of the library ends: its rare ways call ec_late_flush()
 *
 * At the latest, another thread's loop logs it. Code that may hold no lock logs by ec_log, which logs first what waits.
 */
#ifndef EC_LATE_H
#define EC_LATE_H

#include <stdbool.h>

#include "ec.h"

/* As ec_log and ec_log_errno. */
void ec_late_log(enum ec_severity severity, const char *fmt, ...) EC_PRINTF(2, 3);
void ec_late_log_errno(enum ec_severity severity, int err, const char *fmt, ...) EC_PRINTF(3, 4);

/* The caller holds no lock: logs what its thread has kept. */
void ec_late_flush(void);

/* The same, by a loop, while ec_control_attention(). True: it called the callback, which may have made work. */
bool ec_late_flush_turn(void);

#endif
