/* Classes of bytes, in one table for URIs (RFC 3986) and HTTP (RFC 9110). */
#ifndef HTTP_CHARS_H
#define HTTP_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	LE_CHAR_ALPHA = 0x01,
	LE_CHAR_DIGIT = 0x02,
	LE_CHAR_HEX = 0x04,
	LE_CHAR_UNRESERVED = 0x08,	/* of a URI: needs no escape anywhere */
	LE_CHAR_SUB_DELIM = 0x10,
	LE_CHAR_TOKEN = 0x20,		/* in a header's name or a method */
	/* in a header's value: visible, space, tab, 0x80 and above */
	LE_CHAR_TEXT = 0x40,
	LE_CHAR_SCHEME = 0x80,
};

extern const unsigned char le_chars[256];

static inline bool le_char_is(char c, unsigned which)
{
	return (le_chars[(unsigned char)c] & which) != 0;
}

/* The number of bytes at the beginning of `s` that are of the class. Looks for the end once for four of them. */
static inline size_t le_chars_span(const char *s, size_t len, unsigned which)
{
	const char *p = s, *end = s + len;

	for (size_t fours = len / 4; fours > 0; fours--, p += 4) {
		if (!le_char_is(p[0], which))
			return (size_t)(p - s);
		if (!le_char_is(p[1], which))
			return (size_t)(p - s) + 1;
		if (!le_char_is(p[2], which))
			return (size_t)(p - s) + 2;
		if (!le_char_is(p[3], which))
			return (size_t)(p - s) + 3;
	}
	while (p < end && le_char_is(*p, which))
		p++;
	return (size_t)(p - s);
}

/* 0 to 15. `c` must be LE_CHAR_HEX. */
static inline unsigned le_hex_value(char c)
{
	unsigned u = (unsigned char)c;

	return u <= '9' ? u - '0' : (u | 0x20) - 'a' + 10;
}

/* Space or tab? Most characters are above both, so that one test decides. */
static inline bool le_is_blank(char c)
{
	return (unsigned char)c <= ' ' && (c == ' ' || c == '\t');
}

static inline char le_lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* Are all bytes LE_CHAR_TEXT? Checks eight at a time, because most parsed bytes are values. */
bool le_is_text(const char *s, size_t len);
/* As le_is_text, and without a tab. */
bool le_is_text_without_tab(const char *s, size_t len);

/*
 * Do `len` bytes at `s` equal `word`, ignoring case? `word` has only lower case letters, digits and
 * "-". All of these have the bit 0x20, so the function sets it in the bytes of `s`. That folds
 * upper case letters. A control character that would match then is in no header.
 *
 * Inline, because the length of a literal is known and almost always differs. The function compares
 * eight bytes at a time; the last eight may overlap with those before.
 */
static inline bool le_equals_lower(const char *s, size_t len, const char *word)
{
	uint64_t a, b;
	size_t i;

	if (len != strlen(word))
		return false;
	for (i = 0; len >= sizeof(a) && i < len; i += sizeof(a)) {
		size_t at = i + sizeof(a) <= len ? i : len - sizeof(a);

		memcpy(&a, s + at, sizeof(a));
		memcpy(&b, word + at, sizeof(b));
		if ((a | UINT64_C(0x2020202020202020)) != b)
			return false;
	}
	for (; i < len; i++) {
		if ((s[i] | 0x20) != word[i])
			return false;
	}
	return true;
}

#endif
