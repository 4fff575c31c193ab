/*
 * Strings: allocation, comparison, conversion to numbers.
 */
#include "str.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/ec.h"
#include "libasync_number.h"
#include "msb.h"

/*
 * The memory of large strings, which a server allocates and frees for every message. libc gives the end of its heap
 * back to the kernel when 128 KB are free there, so each page of such strings would be mapped and cleared again and
 * again. So a large string is a block that the engine keeps for the next one (ec_chunk_new).
 *
 * The length tells where the memory goes: setlen() may have made it less, then the block goes to a smaller size.
 */
namespace
{

constexpr size_t LARGE_MIN = (16 << 10) + 1;
constexpr size_t LARGE_MAX = size_t(1) << EC_CHUNK_ORDER_MAX;

/* Sanitizers shall see the size of each string. */
bool is_large(size_t size)
{
	return size >= LARGE_MIN && size <= LARGE_MAX && !LIBASYNC_IS_SANITIZED;
}

/* A program may replace the allocator meanwhile, and the block be kept when it is freed: so it always has that size. */
void *large_new(size_t size)
{
	unsigned order = log2c64(size);

	return ec_chunk_recycles() ? ec_chunk_new(order) : malloc(size_t(1) << order);
}

} // namespace

namespace libasync
{

void str_misused(const char *what)
{
	fprintf(stderr, "libasync: %s\n", what);
	abort();
}

int str_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t common = a_len < b_len ? a_len : b_len;

	if (a == nullptr || b == nullptr)
		return (a != nullptr) - (b != nullptr);
	if (int r = memcmp(a, b, common))
		return r;
	return (a_len > b_len) - (a_len < b_len);
}

} // namespace libasync

strobj *strobj::alloc(size_t n)
{
	size_t size = offsetof(strobj, contents) + n + 1;
	strobj *o = nullptr;

	if (is_large(size))
		o = static_cast<strobj *>(large_new(size));
	else if (n < SIZE_MAX / 2)
		o = static_cast<strobj *>(malloc(size));
	if (o == nullptr)
		libasync::str_misused("out of memory for a string");
	o->len = n;
	o->count = 0;
	o->dat()[n] = '\0';
	return o;
}

void strobjptr::free(strobj *o)
{
	size_t size = offsetof(strobj, contents) + o->len + 1;

	if (is_large(size) && ec_chunk_recycles())
		ec_chunk_free(o, log2c64(size));
	else
		::free(o);
}

static strobj *copy(const char *buf, size_t len)
{
	strobj *o = strobj::alloc(len);

	if (len > 0)
		memcpy(o->dat(), buf, len);
	return o;
}

str::str(const char *p)
{
	if (p != nullptr)
		b = copy(p, strlen(p));
}

str::str(const char *buf, size_t len) : b(copy(buf, len))
{
}

str::str(const iovec *iov, int cnt)
{
	size_t len = iovsize(iov, cnt);
	strobj *o = strobj::alloc(len);
	char *to = o->dat();

	for (int i = 0; i < cnt; i++) {
		if (iov[i].iov_len > 0)
			memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	b = o;
}

str::str(const suio &u) : str(u.iov(), int(u.iovcnt()))
{
}

str::str(const strbuf &sb) : str(*sb.tosuio())
{
}

str &str::operator=(const char *p)
{
	return *this = str(p);
}

str &str::operator=(const strbuf &sb)
{
	return *this = str(sb);
}

str &str::operator=(mstr &m)
{
	return *this = str(m);
}

str &str::setbuf(const char *buf, size_t len)
{
	return *this = str(buf, len);
}

namespace libasync
{

bool parse_signed(const char *p, size_t len, int base, int64_t low, int64_t high, int64_t *out)
{
	char *end;
	int64_t value;

	if (len == 0 || isspace((unsigned char)p[0]))
		return false;
	int old_errno = errno;
	errno = 0;
	value = strtoll(p, &end, base);
	bool is_ok = errno == 0 && end == p + len && value >= low && value <= high;
	errno = old_errno;
	if (is_ok)
		*out = value;
	return is_ok;
}

bool parse_unsigned(const char *p, size_t len, int base, uint64_t high, uint64_t *out)
{
	char *end;
	uint64_t value;

	if (len == 0 || isspace((unsigned char)p[0]) || p[0] == '-')
		return false;
	int old_errno = errno;
	errno = 0;
	value = strtoull(p, &end, base);
	bool is_ok = errno == 0 && end == p + len && value <= high;
	errno = old_errno;
	if (is_ok)
		*out = value;
	return is_ok;
}

bool parse_double(const char *p, size_t len, double *out)
{
	char *end;
	double value;

	if (len == 0 || isspace((unsigned char)p[0]))
		return false;
	int old_errno = errno;
	errno = 0;
	value = strtod(p, &end);
	bool is_ok = end == p + len && (errno == 0 || fabs(value) < 1);
	errno = old_errno;
	if (is_ok)
		*out = value;
	return is_ok;
}

} // namespace libasync

bool str::to_int64(int64_t *out, int base) const
{
	return libasync::parse_signed(cstr(), len(), base, INT64_MIN, INT64_MAX, out);
}

bool str::to_int32(int32_t *out, int base) const
{
	int64_t value;

	if (!libasync::parse_signed(cstr(), len(), base, INT32_MIN, INT32_MAX, &value))
		return false;
	*out = int32_t(value);
	return true;
}

bool str::to_uint64(uint64_t *out, int base) const
{
	return libasync::parse_unsigned(cstr(), len(), base, UINT64_MAX, out);
}

bool str::to_uint32(uint32_t *out, int base) const
{
	uint64_t value;

	if (!libasync::parse_unsigned(cstr(), len(), base, UINT32_MAX, &value))
		return false;
	*out = uint32_t(value);
	return true;
}

bool str::to_double(double *out) const
{
	return libasync::parse_double(cstr(), len(), out);
}
