/*
 * The names of syslog: "local3.info".
 */
#ifndef LIBASYNC_PRIORITY_H
#define LIBASYNC_PRIORITY_H

namespace libasync
{

/* Facility and level in one number, as syslog takes it. -1: `text` is not FACILITY.LEVEL. */
int syslog_number(const char *text);

} // namespace libasync

#endif
