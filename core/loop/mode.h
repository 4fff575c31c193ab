/*
 * What the environment asks of the schedule (virtual.h lists the variables), read once in a process. A value that is
 * not understood is refused with one message, and then nothing is on. A set-user-id program reads none of them.
 */
#ifndef EC_MODE_H
#define EC_MODE_H

#include <stdbool.h>
#include <stdint.h>

#include "policy.h"
#include "schedule.h"

/* Are bases to have virtual workers? The first call reads the environment. any thread */
bool ec_mode_is_on(void);

/* With virtual time: how far the clock may jump while callbacks are ready. */
int64_t ec_mode_slack_ns(void);

/* A switch was made: as ec_schedule_write, if that was asked for. any thread */
bool ec_mode_has_out(void);
void ec_mode_note(const struct ec_switch *s, const struct ec_due *ran, const struct ec_due *first);

#endif
