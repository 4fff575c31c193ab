#include "uri.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/http.h>
#include <event2/util.h>

#include "chars.h"
#include "core/ec.h"

enum { PORT_MAX = 65535, IPV6_TEXT_MAX = 64 };

static bool is_escape(const char *s, const char *end)
{
	return end - s >= 3 && s[0] == '%' && le_char_is(s[1], LE_CHAR_HEX) &&
	       le_char_is(s[2], LE_CHAR_HEX);
}

/* Only unreserved characters, sub-delimiters, escapes, and those of `more`. */
static bool is_made_of(const char *s, size_t len, const char *more)
{
	const char *end = s + len;

	while (s < end) {
		if (le_char_is(*s, LE_CHAR_UNRESERVED | LE_CHAR_SUB_DELIM) ||
		    (*s != '\0' && strchr(more, *s) != NULL))
			s++;
		else if (is_escape(s, end))
			s += 3;
		else
			return false;
	}
	return true;
}

static bool is_scheme(const char *s, size_t len)
{
	if (len == 0 || !le_char_is(*s, LE_CHAR_ALPHA))
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!le_char_is(s[i], LE_CHAR_SCHEME))
			return false;
	}
	return true;
}

/* "v" HEX... "." and what a host may have: an address of a version yet to come. */
static bool is_ip_future(const char *s, size_t len)
{
	size_t i = 1;

	if (len == 0 || *s != 'v')
		return false;
	while (i < len && le_char_is(s[i], LE_CHAR_HEX))
		i++;
	if (i == 1 || i == len || s[i] != '.')
		return false;
	return memchr(s + i, '%', len - i) == NULL && is_made_of(s + i, len - i, ":");
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

static bool is_host(const char *s, size_t len)
{
	if (len == 0 || *s != '[')
		return is_made_of(s, len, "");
	if (len < 2 || s[len - 1] != ']')
		return false;
	return is_ip_future(s + 1, len - 2) || is_ipv6(s + 1, len - 2);
}

static bool is_userinfo(const char *s, size_t len)
{
	return is_made_of(s, len, ":");
}

static bool is_path(const char *s, size_t len, unsigned flags)
{
	if ((flags & EVHTTP_URI_NONCONFORMANT) != 0)
		return memchr(s, '?', len) == NULL && memchr(s, '#', len) == NULL;
	return is_made_of(s, len, ":@/");
}

static bool is_query(const char *s, size_t len, unsigned flags)
{
	if ((flags & EVHTTP_URI_NONCONFORMANT) != 0)
		return memchr(s, '#', len) == NULL;
	return is_made_of(s, len, ":@/?");
}

static bool is_fragment(const char *s, size_t len, unsigned flags)
{
	return (flags & EVHTTP_URI_NONCONFORMANT) != 0 || is_made_of(s, len, ":@/?");
}

/* An empty port is none. */
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
		if (!is_userinfo(s, ret->userinfo.len))
			return false;
		s = at + 1;
	}
	for (p = end; p > s && le_char_is(p[-1], LE_CHAR_DIGIT); p--)
		;
	/* Of an address in brackets the last colon is its own, and digits do not end it. */
	if (p > s && p[-1] == ':') {
		if (!split_port(p, (size_t)(end - p), &ret->port))
			return false;
		end = p - 1;
	}
	ret->host = (struct le_span){ s, (size_t)(end - s) };
	return is_host(s, ret->host.len);
}

/* The first of "?#", or `end`: the same, but for the one that is looked for in every request. */
static const char *find_path_end(const char *s, const char *end)
{
	while (s < end && *s != '?' && *s != '#')
		s++;
	return s;
}

/* The first of `chars` from `s` on, or `end`. */
static const char *find_any(const char *s, const char *end, const char *chars)
{
	while (s < end && (*s == '\0' || strchr(chars, *s) == NULL))
		s++;
	return s;
}

/* [path][?query][#fragment] */
static bool split_rest(const char *s, const char *end, unsigned flags, struct le_uri_parts *ret)
{
	const char *p = find_path_end(s, end);
	/* How the parts were found leaves nothing else to be wrong with them. */
	bool is_strict = (flags & EVHTTP_URI_NONCONFORMANT) == 0;

	ret->path = (struct le_span){ s, (size_t)(p - s) };
	/* Else its beginning would pass for a scheme. */
	if (ret->scheme.s == NULL && ret->host.s == NULL && s < p && *s != '/' &&
	    memchr(s, ':', (size_t)(find_any(s, p, "/") - s)) != NULL)
		return false;
	if (is_strict && !is_path(s, ret->path.len, flags))
		return false;
	if (p < end && *p == '?') {
		s = p + 1;
		p = find_any(s, end, "#");
		ret->query = (struct le_span){ s, (size_t)(p - s) };
		if (is_strict && !is_query(s, ret->query.len, flags))
			return false;
	}
	if (p < end) {
		s = p + 1;
		ret->fragment = (struct le_span){ s, (size_t)(end - s) };
		if (!is_fragment(s, ret->fragment.len, flags))
			return false;
	}
	return true;
}

bool le_uri_split(const char *text, size_t len, unsigned flags, struct le_uri_parts *ret)
{
	const char *s = text, *end = text + len, *p;
	struct le_uri_parts parts = { .port = -1 };

	if (len > 0 && *s != '/') {
		p = find_any(s, end, ":/?#");
		if (p < end && *p == ':' && is_scheme(s, (size_t)(p - s))) {
			parts.scheme = (struct le_span){ s, (size_t)(p - s) };
			s = p + 1;
		}
	}
	if (end - s >= 2 && s[0] == '/' && s[1] == '/') {
		s += 2;
		p = find_any(s, end, "/?#");
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

/* An address in brackets; of a link-local one clients send the interface along (RFC 6874). */
static bool is_bracketed_host(const char *s, size_t len)
{
	const char *zone = memchr(s, '%', len), *end = s + len - 1;

	if (zone == NULL)
		return is_host(s, len);
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
	const char *p = s;
	int port;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	/* Of four digits none is too large. */
	return p == end && (end - s <= 4 || split_port(s, (size_t)(end - s), &port));
}

bool le_is_host_header(const char *s, size_t len)
{
	const char *end = s + len, *p = s + le_chars_span(s, len, LE_CHAR_UNRESERVED);

	/* Almost all there are. */
	if (p == end)
		return true;
	if (*p == ':')
		return is_port(p + 1, end);
	p = memrchr(s, ':', len);
	/* Of an address in brackets without a port the last colon is its own. */
	if (p != NULL && end[-1] != ']') {
		if (!is_port(p + 1, end))
			return false;
		len = (size_t)(p - s);
	}
	if (*s == '[')
		return is_bracketed_host(s, len);
	/* A name may have a comma, but so have two values that someone made one of. */
	return memchr(s, ',', len) == NULL && is_made_of(s, len, "");
}

/* ---------------------------------------------------------------- as objects */

struct evhttp_uri *evhttp_uri_new(void)
{
	struct evhttp_uri *uri = ec_calloc(1, sizeof(*uri));

	if (uri != NULL)
		uri->port = -1;
	return uri;
}

void evhttp_uri_free(struct evhttp_uri *uri)
{
	ec_free(uri->scheme);
	ec_free(uri->userinfo);
	ec_free(uri->host);
	ec_free(uri->path);
	ec_free(uri->query);
	ec_free(uri->fragment);
	ec_free(uri);
}

void evhttp_uri_set_flags(struct evhttp_uri *uri, unsigned flags)
{
	uri->flags = flags;
}

/* False: no memory. An absent span stays NULL. */
static bool take_span(char **ret, struct le_span span)
{
	if (span.s == NULL)
		return true;
	*ret = ec_malloc(span.len + 1);
	if (*ret == NULL)
		return false;
	memcpy(*ret, span.s, span.len);
	(*ret)[span.len] = '\0';
	return true;
}

struct evhttp_uri *evhttp_uri_parse_with_flags(const char *source_uri, unsigned flags)
{
	struct le_uri_parts parts;
	struct evhttp_uri *uri;

	if (!le_uri_split(source_uri, strlen(source_uri), flags, &parts))
		return NULL;
	uri = evhttp_uri_new();
	if (uri == NULL)
		return NULL;
	uri->flags = flags;
	uri->port = parts.port;
	if (take_span(&uri->scheme, parts.scheme) && take_span(&uri->userinfo, parts.userinfo) &&
	    take_span(&uri->host, parts.host) && take_span(&uri->path, parts.path) &&
	    take_span(&uri->query, parts.query) && take_span(&uri->fragment, parts.fragment))
		return uri;
	evhttp_uri_free(uri);
	return NULL;
}

struct evhttp_uri *evhttp_uri_parse(const char *source_uri)
{
	return evhttp_uri_parse_with_flags(source_uri, 0);
}

/* Room that is left, and whether something did not fit. */
struct joiner {
	char *at;
	size_t left;
	bool is_full;
};

static void join(struct joiner *j, const char *s)
{
	size_t len = strlen(s);

	if (len >= j->left) {
		j->is_full = true;
		return;
	}
	memcpy(j->at, s, len + 1);
	j->at += len;
	j->left -= len;
}

static void join_authority(struct joiner *j, const struct evhttp_uri *uri)
{
	char port[16];

	join(j, "//");
	if (uri->userinfo != NULL) {
		join(j, uri->userinfo);
		join(j, "@");
	}
	join(j, uri->host);
	if (uri->port >= 0) {
		snprintf(port, sizeof(port), ":%d", uri->port);
		join(j, port);
	}
}

/* Nothing is written where it does not fit as a whole. */
static bool join_all(struct joiner *j, const struct evhttp_uri *uri)
{
	if (uri->scheme != NULL) {
		join(j, uri->scheme);
		join(j, ":");
	}
	if (uri->host != NULL) {
		join_authority(j, uri);
		/* It would run into the host. */
		if (uri->path != NULL && uri->path[0] != '/' && uri->path[0] != '\0')
			return false;
	}
	if (uri->path != NULL)
		join(j, uri->path);
	if (uri->query != NULL) {
		join(j, "?");
		join(j, uri->query);
	}
	if (uri->fragment != NULL) {
		join(j, "#");
		join(j, uri->fragment);
	}
	return !j->is_full;
}

static size_t part_len(const char *s)
{
	return s != NULL ? strlen(s) + 2 : 0;
}

char *evhttp_uri_join(struct evhttp_uri *uri, char *buf, size_t limit)
{
	struct joiner j;
	size_t size;
	char *text;

	if (uri == NULL || buf == NULL || limit == 0)
		return NULL;
	/* Two bytes of delimiters for each part, the port, and the end. */
	size = part_len(uri->scheme) + part_len(uri->userinfo) + part_len(uri->host) +
	       part_len(uri->path) + part_len(uri->query) + part_len(uri->fragment) + 16;
	text = ec_malloc(size);
	if (text == NULL)
		return NULL;
	text[0] = '\0';
	j = (struct joiner){ .at = text, .left = size };
	if (!join_all(&j, uri) || (size_t)(j.at - text) >= limit)
		buf = NULL;
	else
		memcpy(buf, text, (size_t)(j.at - text) + 1);
	ec_free(text);
	return buf;
}

const char *evhttp_uri_get_scheme(const struct evhttp_uri *uri)
{
	return uri->scheme;
}

const char *evhttp_uri_get_userinfo(const struct evhttp_uri *uri)
{
	return uri->userinfo;
}

const char *evhttp_uri_get_host(const struct evhttp_uri *uri)
{
	return uri->host;
}

int evhttp_uri_get_port(const struct evhttp_uri *uri)
{
	return uri->port;
}

const char *evhttp_uri_get_path(const struct evhttp_uri *uri)
{
	return uri->path;
}

const char *evhttp_uri_get_query(const struct evhttp_uri *uri)
{
	return uri->query;
}

const char *evhttp_uri_get_fragment(const struct evhttp_uri *uri)
{
	return uri->fragment;
}

/* Without memory the old value stays. NULL clears. */
static int replace(char **part, const char *value)
{
	char *copy = NULL;

	if (value != NULL) {
		copy = ec_strdup(value);
		if (copy == NULL)
			return -1;
	}
	ec_free(*part);
	*part = copy;
	return 0;
}

int evhttp_uri_set_scheme(struct evhttp_uri *uri, const char *scheme)
{
	if (scheme != NULL && !is_scheme(scheme, strlen(scheme)))
		return -1;
	return replace(&uri->scheme, scheme);
}

int evhttp_uri_set_userinfo(struct evhttp_uri *uri, const char *userinfo)
{
	if (userinfo != NULL && !is_userinfo(userinfo, strlen(userinfo)))
		return -1;
	return replace(&uri->userinfo, userinfo);
}

int evhttp_uri_set_host(struct evhttp_uri *uri, const char *host)
{
	if (host != NULL && !is_host(host, strlen(host)))
		return -1;
	return replace(&uri->host, host);
}

int evhttp_uri_set_port(struct evhttp_uri *uri, int port)
{
	if (port < -1)
		return -1;
	uri->port = port;
	return 0;
}

int evhttp_uri_set_path(struct evhttp_uri *uri, const char *path)
{
	if (path != NULL && !is_path(path, strlen(path), uri->flags))
		return -1;
	return replace(&uri->path, path);
}

int evhttp_uri_set_query(struct evhttp_uri *uri, const char *query)
{
	if (query != NULL && !is_query(query, strlen(query), uri->flags))
		return -1;
	return replace(&uri->query, query);
}

int evhttp_uri_set_fragment(struct evhttp_uri *uri, const char *fragment)
{
	if (fragment != NULL && !is_fragment(fragment, strlen(fragment), uri->flags))
		return -1;
	return replace(&uri->fragment, fragment);
}
