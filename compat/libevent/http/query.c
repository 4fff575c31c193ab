/*
 * The query part of a URI as a list of names and values.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <event2/http.h>

#include "core/ec.h"
#include "escape.h"
#include "header.h"
#include "parts.h"

/* name "=" value. Only the value is decoded, as in libevent. */
static int parse_argument(struct evkeyvalq *headers, const char *s, size_t len)
{
	const char *equals = memchr(s, '=', len);
	size_t key_len, value_len;
	char *value;
	int r;

	if (equals == NULL || equals == s)
		return -EINVAL;
	key_len = (size_t)(equals - s);
	value_len = len - key_len - 1;
	value = ec_malloc(value_len + 1);
	if (value == NULL)
		return -ENOMEM;
	value_len = le_unescape(equals + 1, value_len, LE_PLUS_IS_SPACE, value);
	/* A value is a string: the part after a NUL would be lost without an error. */
	if (memchr(value, '\0', value_len) != NULL)
		r = -EINVAL;
	else
		r = le_header_append(headers, s, key_len, value, value_len);
	ec_free(value);
	return r;
}

static int parse_arguments(struct evkeyvalq *headers, const char *s, size_t len)
{
	const char *end = s + len, *p;
	int r;

	TAILQ_INIT(headers);
	/* The text may end with "&". An empty argument elsewhere is an error. */
	for (; s < end; s = p + 1) {
		p = memchr(s, '&', (size_t)(end - s));
		if (p == NULL)
			p = end;
		r = parse_argument(headers, s, (size_t)(p - s));
		if (r < 0) {
			evhttp_clear_headers(headers);
			return -1;
		}
	}
	return 0;
}

int evhttp_parse_query_str(const char *uri, struct evkeyvalq *headers)
{
	return parse_arguments(headers, uri, strlen(uri));
}

int evhttp_parse_query(const char *uri, struct evkeyvalq *headers)
{
	struct le_uri_parts parts;

	TAILQ_INIT(headers);
	if (!le_uri_split(uri, strlen(uri), 0, &parts))
		return -1;
	if (parts.query.s == NULL)
		return 0;
	return parse_arguments(headers, parts.query.s, parts.query.len);
}
