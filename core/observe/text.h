/*
 * A text that grows in a buffer of fixed size. What has no room is left out.
 */
#ifndef EC_TEXT_H
#define EC_TEXT_H

#include <stddef.h>

#include "ec.h"

struct ec_text {
	char *at;
	size_t len, cap;		/* at[len] is 0 */
};

static inline void ec_text_init(struct ec_text *t, char *buf, size_t cap)
{
	*t = (struct ec_text){ .at = buf, .cap = cap };
	buf[0] = '\0';
}

void ec_text_add(struct ec_text *t, const char *fmt, ...) EC_PRINTF(2, 3);

/* A string of JSON, in quotes. Bytes above 126 count as Latin-1. */
void ec_text_add_json(struct ec_text *t, const char *s);

#endif
