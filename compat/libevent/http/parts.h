/* The parts of a URI reference (RFC 3986): where they lie in a text, and which bytes each may have. */
#ifndef HTTP_PARTS_H
#define HTTP_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/* A part of a text that is not its own; s NULL: absent, which is not the same as empty. */
struct le_span {
	const char *s;
	size_t len;
};

struct le_uri_parts {
	struct le_span scheme, userinfo, host, path, query, fragment;
	int port;
};

/* Where the parts of `len` bytes of text lie. False: no URI reference. */
bool le_uri_split(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret);

/*
 * Of a text that is known to begin with a path, also where that begins with "//". *ret is anything
 * if it fails.
 */
bool le_uri_split_path(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret);

/* host:port, both present: the target of CONNECT. */
bool le_uri_split_host_port(const char *text, size_t len, struct le_uri_parts *ret);

/* host[:port], or nothing: a valid value of the header Host. */
bool le_is_host_header(const char *s, size_t len);

/* May the part be these bytes? `flags` as evhttp_uri_parse_with_flags has them. */
bool le_uri_is_scheme(const char *s, size_t len);
bool le_uri_is_userinfo(const char *s, size_t len);
bool le_uri_is_host(const char *s, size_t len);
bool le_uri_is_path(const char *s, size_t len, unsigned flags);
bool le_uri_is_query(const char *s, size_t len, unsigned flags);
bool le_uri_is_fragment(const char *s, size_t len, unsigned flags);

#endif
