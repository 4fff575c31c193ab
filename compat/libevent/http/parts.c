#include "parts.h"

#include <string.h>
#include <sys/socket.h>

#include <event2/http.h>
#include <event2/util.h>

#include "chars.h"

enum { PORT_MAX = 65535,
       IPV6_TEXT_MAX = 64 };

/* Delimiters of the parts of a URI, as bits of a set. */
enum {
	COLON = 0x01,
	AT = 0x02,
	SLASH = 0x04,
	QUESTION = 0x08,
	HASH = 0x10,
};

static const unsigned char delimiters[256] = {
	[':'] = COLON, ['@'] = AT, ['/'] = SLASH, ['?'] = QUESTION, ['#'] = HASH,
};

static inline bool is_any(char c, unsigned which)
{
	return (delimiters[(unsigned char)c] & which) != 0;
}

static bool is_escape(const char *s, const char *end)
{
	return end - s >= 3 && s[0] == '%' && le_char_is(s[1], LE_CHAR_HEX) &&
	       le_char_is(s[2], LE_CHAR_HEX);
}

/* True: only unreserved characters, sub-delimiters, escapes, and the delimiters `more`. */
static bool is_made_of(const char *s, size_t len, unsigned more)
{
	const char *end = s + len;

	for (;;) {
		s += le_chars_span(s, (size_t)(end - s), LE_CHAR_UNRESERVED | LE_CHAR_SUB_DELIM);
		if (s == end)
			return true;
		if (is_any(*s, more))
			s++;
		else if (is_escape(s, end))
			s += 3;
		else
			return false;
	}
}

bool le_uri_is_scheme(const char *s, size_t len)
{
	if (len == 0 || !le_char_is(*s, LE_CHAR_ALPHA))
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!le_char_is(s[i], LE_CHAR_SCHEME))
			return false;
	}
	return true;
}

/* IPvFuture (RFC 3986): "v", hex digits, ".", and characters of a host. */
static bool is_ip_future(const char *s, size_t len)
{
	size_t i = 1;

	if (len == 0 || *s != 'v')
		return false;
	while (i < len && le_char_is(s[i], LE_CHAR_HEX))
		i++;
	if (i == 1 || i == len || s[i] != '.')
		return false;
	return memchr(s + i, '%', len - i) == NULL && is_made_of(s + i, len - i, COLON);
}

static bool is_ipv6(const char *s, size_t len)
{
	char text[IPV6_TEXT_MAX], addr[16];

	if (len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	return evutil_inet_pton(AF_INET6, text, addr) == 1;
}

bool le_uri_is_host(const char *s, size_t len)
{
	if (len == 0 || *s != '[')
		return is_made_of(s, len, 0);
	if (len < 2 || s[len - 1] != ']')
		return false;
	return is_ip_future(s + 1, len - 2) || is_ipv6(s + 1, len - 2);
}

bool le_uri_is_userinfo(const char *s, size_t len)
{
	return is_made_of(s, len, COLON);
}

bool le_uri_is_path(const char *s, size_t len, unsigned flags)
{
	if ((flags & EVHTTP_URI_NONCONFORMANT) != 0)
		return memchr(s, '?', len) == NULL && memchr(s, '#', len) == NULL;
	return is_made_of(s, len, COLON | AT | SLASH);
}

bool le_uri_is_query(const char *s, size_t len, unsigned flags)
{
	if ((flags & EVHTTP_URI_NONCONFORMANT) != 0)
		return memchr(s, '#', len) == NULL;
	return is_made_of(s, len, COLON | AT | SLASH | QUESTION);
}

bool le_uri_is_fragment(const char *s, size_t len, unsigned flags)
{
	return (flags & EVHTTP_URI_NONCONFORMANT) != 0 || is_made_of(s, len, COLON | AT | SLASH | QUESTION);
}

/* An empty port counts as no port. */
static bool split_port(const char *s, size_t len, int *ret)
{
	int port = 0;

	if (len == 0)
		return true;
	for (size_t i = 0; i < len; i++) {
		if (!le_char_is(s[i], LE_CHAR_DIGIT))
			return false;
		port = port * 10 + (s[i] - '0');
		if (port > PORT_MAX)
			return false;
	}
	*ret = port;
	return true;
}

/* [userinfo@]host[:port] */
static bool split_authority(const char *s, size_t len, struct le_uri_parts *ret)
{
	const char *at = memchr(s, '@', len), *end = s + len, *p;

	if (at != NULL) {
		ret->userinfo = (struct le_span){ s, (size_t)(at - s) };
		if (!le_uri_is_userinfo(s, ret->userinfo.len))
			return false;
		s = at + 1;
	}
	for (p = end; p > s && le_char_is(p[-1], LE_CHAR_DIGIT); p--)
		;
	/* A colon within brackets is not found: "]" is no digit, so the loop stops after it. */
	if (p > s && p[-1] == ':') {
		if (!split_port(p, (size_t)(end - p), &ret->port))
			return false;
		end = p - 1;
	}
	ret->host = (struct le_span){ s, (size_t)(end - s) };
	return le_uri_is_host(s, ret->host.len);
}

/* The first delimiter of the set `which` at or after `s`; else `end`. */
static inline const char *find_any(const char *s, const char *end, unsigned which)
{
	for (; end - s >= 4; s += 4) {
		if (is_any(s[0], which))
			return s;
		if (is_any(s[1], which))
			return s + 1;
		if (is_any(s[2], which))
			return s + 2;
		if (is_any(s[3], which))
			return s + 3;
	}
	while (s < end && !is_any(*s, which))
		s++;
	return s;
}

/* [path][?query][#fragment] */
static bool split_rest(const char *s, const char *end, unsigned flags, struct le_uri_parts *ret)
{
	const char *p = find_any(s, end, QUESTION | HASH);
	/* With NONCONFORMANT, every part found this way is valid. */
	bool is_strict = (flags & EVHTTP_URI_NONCONFORMANT) == 0;

	ret->path = (struct le_span){ s, (size_t)(p - s) };
	/* A colon in the first segment of a relative path would make it look like a scheme. */
	if (ret->scheme.s == NULL && ret->host.s == NULL && s < p && *s != '/' &&
	    memchr(s, ':', (size_t)(find_any(s, p, SLASH) - s)) != NULL)
		return false;
	if (is_strict && !le_uri_is_path(s, ret->path.len, flags))
		return false;
	if (p < end && *p == '?') {
		s = p + 1;
		p = find_any(s, end, HASH);
		ret->query = (struct le_span){ s, (size_t)(p - s) };
		if (is_strict && !le_uri_is_query(s, ret->query.len, flags))
			return false;
	}
	if (p < end) {
		s = p + 1;
		ret->fragment = (struct le_span){ s, (size_t)(end - s) };
		if (!le_uri_is_fragment(s, ret->fragment.len, flags))
			return false;
	}
	return true;
}

bool le_uri_split(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret)
{
	const char *s = text, *end = text + len, *p;
	struct le_uri_parts parts = { .port = -1 };

	if (len > 0 && *s != '/') {
		p = find_any(s, end, COLON | SLASH | QUESTION | HASH);
		if (p < end && *p == ':' && le_uri_is_scheme(s, (size_t)(p - s))) {
			parts.scheme = (struct le_span){ s, (size_t)(p - s) };
			s = p + 1;
		}
	}
	if (end - s >= 2 && s[0] == '/' && s[1] == '/') {
		s += 2;
		p = find_any(s, end, SLASH | QUESTION | HASH);
		if (!split_authority(s, (size_t)(p - s), &parts))
			return false;
		s = p;
	}
	if (!split_rest(s, end, flags, &parts))
		return false;
	*ret = parts;
	return true;
}

bool le_uri_split_path(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret)
{
	*ret = (struct le_uri_parts){ .port = -1 };
	return split_rest(text, text + len, flags, ret);
}

bool le_uri_split_host_port(const char *text, size_t len, struct le_uri_parts *ret)
{
	struct le_uri_parts parts = { .port = -1 };

	if (memchr(text, '@', len) != NULL || !split_authority(text, len, &parts) ||
	    parts.host.len == 0 || parts.port <= 0)
		return false;
	*ret = parts;
	return true;
}

/* An address in brackets. For a link-local one, clients may send the interface, too (RFC 6874). */
static bool is_bracketed_host(const char *s, size_t len)
{
	const char *zone = memchr(s, '%', len), *end = s + len - 1;

	if (zone == NULL)
		return le_uri_is_host(s, len);
	if (s[len - 1] != ']' || zone + 1 == end || !is_ipv6(s + 1, (size_t)(zone - s - 1)))
		return false;
	while (++zone < end) {
		if (!le_char_is(*zone, LE_CHAR_UNRESERVED) && *zone != '%')
			return false;
	}
	return true;
}

static bool is_port(const char *s, const char *end)
{
	size_t len = (size_t)(end - s);
	int port;

	/* A port of up to four digits is never too large. */
	return le_chars_span(s, len, LE_CHAR_DIGIT) == len && (len <= 4 || split_port(s, len, &port));
}

/* As le_is_host_header, for a host with other characters than unreserved ones. */
static __attribute__((noinline)) bool is_rare_host(const char *s, size_t len)
{
	const char *end = s + len, *p = memrchr(s, ':', len);

	/* If the text ends in "]", the last colon belongs to the address: there is no port. */
	if (p != NULL && end[-1] != ']') {
		if (!is_port(p + 1, end))
			return false;
		len = (size_t)(p - s);
	}
	if (*s == '[')
		return is_bracketed_host(s, len);
	/* RFC 3986 allows a comma, but a proxy may have joined two Host headers with it. */
	return memchr(s, ',', len) == NULL && is_made_of(s, len, 0);
}

bool le_is_host_header(const char *s, size_t len)
{
	size_t host_len = le_chars_span(s, len, LE_CHAR_UNRESERVED);

	/* Almost all host headers end here. */
	if (host_len == len)
		return true;
	if (s[host_len] == ':')
		return is_port(s + host_len + 1, s + len);
	return is_rare_host(s, len);
}
