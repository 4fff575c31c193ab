/*
 * The variables timenow and tsnow.
 */
#ifndef LIBASYNC_LOG_TIME_H
#define LIBASYNC_LOG_TIME_H

namespace libasync
{

/* Set them to the time now. Any thread. */
void note_time();

} // namespace libasync

#endif
