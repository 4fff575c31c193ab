/* URI references as RFC 3986 has them, split into parts; the struct behind evhttp_uri. */
#ifndef HTTP_URI_H
#define HTTP_URI_H

#include <stdbool.h>
#include <stddef.h>

struct evhttp_uri {
	unsigned flags;			/* EVHTTP_URI_… */
	int port;			/* -1: none */
	char *scheme;			/* each NULL where the URI has no such part */
	char *userinfo;
	char *host;
	char *path;
	char *query;
	char *fragment;
};

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

/* host:port, both of them there: what CONNECT names. */
bool le_uri_split_host_port(const char *text, size_t len, struct le_uri_parts *ret);

/* host[:port], or nothing: what the header Host may say. */
bool le_is_host_header(const char *s, size_t len);

#endif
