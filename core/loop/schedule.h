/*
 * Schedules as files: the steps at which a color other than the first one ran (policy.h). A text: a line that names the
 * format, then a line with three numbers for each such step, in any order. Lines that begin with # are comments.
 *
 *	libevent-smp schedule 1
 *	17 3 5		at step 17, of 5 ready colors the one with the index 3 ran
 */
#ifndef EC_SCHEDULE_H
#define EC_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "policy.h"

enum { EC_SCHEDULE_SIZE_MAX = 1 << 26 };	/* bytes of a file */

/*
 * Reads the text; *ret is by step, and for ec_free. -EINVAL: it is no schedule, see *line, which counts from 1, or a
 * step has two lines; -ENOMEM.
 */
int ec_schedule_parse(const char *text, size_t len, struct ec_switch **ret, size_t *num, size_t *line);

/* The same of a file: also -EFBIG, or the -errno of a system call; -ENOTSUP: not a regular file. */
int ec_schedule_read(const char *path, struct ec_switch **ret, size_t *num, size_t *line);

/* Makes the file, which must not exist yet, for the owner alone. Its descriptor, or -errno. */
int ec_schedule_create(const char *path);

/* What a color runs next; of the clock, fn is NULL. */
struct ec_due {
	uint32_t color;
	const void *fn;
};

/*
 * Writes `s`, below a comment: `ran` ran, and by order it would have been `first`. At once: the program may crash in
 * the callback that follows. 0 or -errno.
 */
int ec_schedule_write(int fd, const struct ec_switch *s, const struct ec_due *ran, const struct ec_due *first);

#endif
