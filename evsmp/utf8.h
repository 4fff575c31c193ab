/*
 * Text from outside may be in any encoding, or none; what other programs read must be UTF-8 (RFC 3629).
 */
#ifndef EVSMP_UTF8_H
#define EVSMP_UTF8_H

#include <stddef.h>

/* How many bytes the character at `s` has, which is not at the end; 0: it is not UTF-8. */
size_t utf8_len(const char *s);

#endif
