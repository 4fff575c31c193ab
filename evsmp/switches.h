/*
 * The switches of a schedule, as the engine writes and reads them: see core/loop/schedule.h.
 */
#ifndef EVSMP_SWITCHES_H
#define EVSMP_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "say.h"

struct one_switch {
	uint64_t step;
	uint32_t choice, num;
	char *note;			/* the comment above it, without # and blank; "" */
};

struct switches {
	struct one_switch *at;
	size_t num;
	bool is_known;			/* the file was there */
};

/* Ends the process if the file is damaged. */
struct switches switches_read(const char *path);

/* `note`: lines of comments, each with its end, or "". Ends the process if it cannot be written. */
void switches_write(const char *path, const struct switches *s, const char *note);

/* The same into a new file; false: the name is taken. */
bool switches_write_new(const char *path, const struct switches *s, const char *note);

/* All but [from, to). */
struct switches switches_without(const struct switches *s, size_t from, size_t to);
void switches_free(struct switches *s);

#endif
