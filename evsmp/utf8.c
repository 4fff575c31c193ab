#include "utf8.h"

#include <stdint.h>

size_t utf8_len(const char *s)
{
	static const uint32_t shortest[] = { [2] = 0x80, [3] = 0x800, [4] = 0x10000 };
	const unsigned char *c = (const unsigned char *)s;
	size_t len = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2, i;
	uint32_t value;

	if (c[0] < 0x80)
		return 1;
	if (c[0] < 0xc0 || c[0] >= 0xf8)
		return 0;
	value = c[0] & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (c[i] & 0x3f);
	}
	if (value < shortest[len] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	return len;
}
