#include "chars.h"

#include <stdint.h>
#include <string.h>

/* Sets of LE_CHAR_…, in rows of 8 characters. test_parts.c spells out each class. */
const unsigned char le_chars[256] = {
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x40, 0x70, 0x40, 0x60, 0x70, 0x60, 0x70, 0x70,
	0x50, 0x50, 0x70, 0xf0, 0x50, 0xe8, 0xe8, 0x40,
	0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee,
	0xee, 0xee, 0x40, 0x50, 0x40, 0x50, 0x40, 0x40,
	0x40, 0xed, 0xed, 0xed, 0xed, 0xed, 0xed, 0xe9,
	0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9,
	0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9,
	0xe9, 0xe9, 0xe9, 0x40, 0x40, 0x40, 0x60, 0x68,
	0x60, 0xed, 0xed, 0xed, 0xed, 0xed, 0xed, 0xe9,
	0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9,
	0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9, 0xe9,
	0xe9, 0xe9, 0xe9, 0x40, 0x60, 0x40, 0x68, 0x00,
	[0x80 ... 0xff] = LE_CHAR_TEXT,
};

enum tabs { WITH_TABS, WITHOUT_TABS };

static inline bool is_text_slow(const char *s, size_t len, enum tabs tabs)
{
	for (size_t i = 0; i < len; i++) {
		if (!le_char_is(s[i], LE_CHAR_TEXT) || (tabs == WITHOUT_TABS && s[i] == '\t'))
			return false;
	}
	return true;
}

#define EVERY(byte) (UINT64_C(0x0101010101010101) * (byte))

/*
 * True: no byte is below 0x20, and none is 0x7f. The test finds such bytes by their top bit:
 *
 *   1. A byte with a clear top bit is below 0x20 if subtracting 0x20 sets the top bit by a borrow.
 *   2. byte ^ 0x7f is 0 only for 0x7f; subtracting 1 then sets the top bit in the same way.
 *   3. `~word` excludes bytes whose top bit was set before.
 *
 * A borrow from the byte below can cause a false alarm, and the table then decides. It never hides
 * a byte.
 */
static inline bool is_text_word(uint64_t word)
{
	return (((word - EVERY(0x20)) | ((word ^ EVERY(0x7f)) - EVERY(1))) & ~word & EVERY(0x80)) == 0;
}

static inline bool is_text_at(const char *s, enum tabs tabs)
{
	uint64_t word;

	memcpy(&word, s, sizeof(word));
	return is_text_word(word) || is_text_slow(s, sizeof(word), tabs);
}

/* The last word of eight bytes may overlap with the one before it. */
static inline bool is_text(const char *s, size_t len, enum tabs tabs)
{
	uint32_t head, tail;
	const char *last;

	if (len < sizeof(head))
		return is_text_slow(s, len, tabs);
	if (len < sizeof(uint64_t)) {
		memcpy(&head, s, sizeof(head));
		memcpy(&tail, s + len - sizeof(tail), sizeof(tail));
		return is_text_word((uint64_t)head << 32 | tail) || is_text_slow(s, len, tabs);
	}
	for (last = s + len - sizeof(uint64_t); s < last; s += sizeof(uint64_t)) {
		if (!is_text_at(s, tabs))
			return false;
	}
	return is_text_at(last, tabs);
}

bool le_is_text(const char *s, size_t len)
{
	return is_text(s, len, WITH_TABS);
}

bool le_is_text_without_tab(const char *s, size_t len)
{
	return is_text(s, len, WITHOUT_TABS);
}
