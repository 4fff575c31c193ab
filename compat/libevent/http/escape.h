/* Percent escapes. */
#ifndef HTTP_ESCAPE_H
#define HTTP_ESCAPE_H

#include <stddef.h>

enum le_plus {
	LE_PLUS_STAYS,
	LE_PLUS_IS_SPACE,
	LE_PLUS_IS_SPACE_IN_QUERY,	/* only after the first question mark */
};

/*
 * Writes at most `len` bytes, without a NUL, and returns their number. It copies an incomplete
 * escape unchanged.
 */
size_t le_unescape(const char *s, size_t len, enum le_plus plus, char *to);

#endif
