/*
 * What the environment asks of the watchdog: EVENT_SMP_STALL_MS, EVENT_SMP_STALL_FORMAT, EVENT_SMP_STALL_FILE.
 */
#ifndef EC_SETTINGS_H
#define EC_SETTINGS_H

#include <limits.h>
#include <stdbool.h>

enum { EC_STALL_MS_MAX = 3600000 };

struct ec_stall_settings {
	unsigned limit_ms;		/* 0: off */
	bool is_json;
	char path[PATH_MAX];		/* absolute; "": messages go to the log, and JSON to stderr */
};

/*
 * Reads the environment, unless the program has more rights than its user. A value that cannot be is refused with one
 * message, and the watchdog stays off.
 */
void ec_stall_settings_read(struct ec_stall_settings *ret);

/* What the environment asks: read once. */
const struct ec_stall_settings *ec_stall_settings(void);

/*
 * Opens the file of the settings to append to it; the caller closes it. It must be a regular file of this user that
 * nobody else may write, with one name; a symbolic link is not followed. A new one has mode 0600. -errno; -EPERM: it
 * is another kind of file, or others may write it.
 */
int ec_stall_settings_open(const struct ec_stall_settings *s);

#endif
