/*
 * The parts of a URI reference (RFC 3986): their places in a text, and the bytes that they may
 * have.
 */
#ifndef HTTP_PARTS_H
#define HTTP_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* A part of another string. s NULL: the part is absent, which differs from empty. */
struct le_span {
	const char *s;
	size_t len;
};

struct le_uri_parts {
	struct le_span scheme, userinfo, host, path, query, fragment;
	int port;
};

/* Finds the parts of `len` bytes of text. False: it is no URI reference. */
bool le_uri_split(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret);

/*
 * As le_uri_split(), for a text that begins with a path, even if the path begins with "//". After a
 * failure *ret is undefined.
 */
bool le_uri_split_path(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret);

/* For host:port, both present: the target of CONNECT. */
bool le_uri_split_host_port(const char *text, size_t len, struct le_uri_parts *ret);

/* host[:port], or nothing: a valid value of the header Host. */
bool le_is_host_header(const char *s, size_t len);

/* Is the text valid as this part? `flags`: those of evhttp_uri_parse_with_flags(). */
bool le_uri_is_scheme(const char *s, size_t len);
bool le_uri_is_userinfo(const char *s, size_t len);
bool le_uri_is_host(const char *s, size_t len);
bool le_uri_is_path(const char *s, size_t len, unsigned flags);
bool le_uri_is_query(const char *s, size_t len, unsigned flags);
bool le_uri_is_fragment(const char *s, size_t len, unsigned flags);

#endif
