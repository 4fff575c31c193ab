#include "number.h"

bool ec_number_read(const char **at, uint64_t max, uint64_t *ret)
{
	const char *s = *at;
	uint64_t n = 0, digit;

	for (; *s >= '0' && *s <= '9'; s++) {
		digit = (uint64_t)(*s - '0');
		if (digit > max || n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	if (s == *at)
		return false;
	*at = s;
	*ret = n;
	return true;
}

bool ec_number_is(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t n;

	if (!ec_number_read(&s, max, &n) || *s != '\0')
		return false;
	*ret = n;
	return true;
}
