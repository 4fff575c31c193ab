/*
 * Bytes as text: digits of 5 or 6 bits, the most significant first.
 */
#include "serial.h"

#include <assert.h>
#include <string.h>

namespace
{

struct alphabet {
	const char *digits;
	unsigned bits;
	unsigned padded; /* to a multiple of so many characters, 1: none */
	signed char values[256];

	constexpr alphabet(const char *d, unsigned b, unsigned p) : digits(d), bits(b), padded(p), values()
	{
		for (signed char &v : values)
			v = -1;
		for (unsigned i = 0; i < 1u << b; i++)
			values[static_cast<unsigned char>(d[i])] = static_cast<signed char>(i);
	}

	str armor(const void *p, size_t len) const;
	str dearmor(const char *p, ssize_t len) const;
};

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

constexpr alphabet base32("abcdefghijkmnpqrstuvwxyz23456789", 5, 1);
constexpr alphabet base64(LETTERS "+/", 6, 4);
constexpr alphabet base64a(LETTERS "+-", 6, 1);
constexpr alphabet base64x(LETTERS "-_", 6, 1);

str alphabet::armor(const void *p, size_t len) const
{
	const unsigned char *from = static_cast<const unsigned char *>(p);
	unsigned have = 0, buffer = 0;

	if (p == nullptr)
		return str();
	if (len > SIZE_MAX / 16)
		libasync::str_misused("armor: more bytes than memory");
	size_t digits_num = (len * 8 + bits - 1) / bits;
	size_t padding = (padded - digits_num % padded) % padded;
	mstr m(digits_num + padding);
	char *to = m.cstr();
	assert(to != nullptr);

	for (size_t i = 0; i < len; i++) {
		buffer = buffer << 8 | from[i];
		have += 8;
		while (have >= bits) {
			have -= bits;
			*to++ = digits[buffer >> have & ((1u << bits) - 1)];
		}
	}
	if (have > 0)
		*to++ = digits[buffer << (bits - have) & ((1u << bits) - 1)];
	memset(to, '=', padding);
	return m;
}

str alphabet::dearmor(const char *p, ssize_t len) const
{
	unsigned have = 0, buffer = 0, padding = 0;

	if (p == nullptr)
		return str();
	size_t digits_num = len < 0 ? strlen(p) : size_t(len);
	if (digits_num % padded != 0)
		return str();
	while (padding + 1 < padded && digits_num > 0 && p[digits_num - 1] == '=') {
		padding++;
		digits_num--;
	}
	size_t bytes = digits_num / 8 * bits + digits_num % 8 * bits / 8;
	if ((bytes * 8 + bits - 1) / bits != digits_num)
		return str();
	mstr m(bytes);
	char *to = m.cstr();
	assert(to != nullptr);

	for (size_t i = 0; i < digits_num; i++) {
		unsigned value = static_cast<unsigned char>(values[static_cast<unsigned char>(p[i])]);

		if (value >= 1u << bits)		/* -1: no digit */
			return str();
		buffer = buffer << bits | value;
		have += bits;
		if (have >= 8) {
			have -= 8;
			*to++ = char(buffer >> have);
		}
	}
	if ((buffer & ((1u << have) - 1)) != 0)
		return str();
	return m;
}

} // namespace

str armor32(const void *p, size_t len)
{
	return base32.armor(p, len);
}

str dearmor32(const char *p, ssize_t len)
{
	return base32.dearmor(p, len);
}

str armor64(const void *p, size_t len)
{
	return base64.armor(p, len);
}

str dearmor64(const char *p, ssize_t len)
{
	return base64.dearmor(p, len);
}

str armor64A(const void *s, size_t len)
{
	return base64a.armor(s, len);
}

str dearmor64A(const char *s, ssize_t len)
{
	return base64a.dearmor(s, len);
}

str armor64X(const void *s, size_t len)
{
	return base64x.armor(s, len);
}

str dearmor64X(const char *s, ssize_t len)
{
	return base64x.dearmor(s, len);
}

str hex2bytes(str asc)
{
	if (!asc || asc.len() % 2 != 0)
		return str();
	mstr m(asc.len() / 2);

	for (size_t i = 0; i < m.len(); i++) {
		int high, low;

		if (!hexconv(high, asc[ptrdiff_t(2 * i)]) || !hexconv(low, asc[ptrdiff_t(2 * i + 1)]))
			return str();
		m.cstr()[i] = char(high << 4 | low);
	}
	return m;
}
