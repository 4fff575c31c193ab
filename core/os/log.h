/*
 * Messages that wait until their thread holds no lock of the engine: the program's log callback may call any function
 * of the library. observe/late.h is for those who log so.
 */
#ifndef EC_LOG_H
#define EC_LOG_H

#include <stdarg.h>
#include <stdbool.h>

#include "ec.h"

/* As ec_vlog, later. errno is kept. */
void ec_vlog_late(enum ec_severity severity, int err, const char *fmt, va_list ap);

/*
 * The caller holds no lock. Logs the messages of its thread, in their order. With `others`, also those of threads that
 * have not come to it since the last such call. True: it called the callback.
 */
bool ec_log_flush(bool others);

/* Does any thread have messages that wait? */
bool ec_log_is_late(void);

#endif
