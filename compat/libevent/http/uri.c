#include "uri.h"

#include <stdio.h>
#include <string.h>

#include <event2/http.h>

#include "core/ec.h"
#include "parts.h"

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

/* Text that is being joined. */
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

/* False: a part did not fit, or the path would become part of the host. */
static bool join_all(struct joiner *j, const struct evhttp_uri *uri)
{
	if (uri->scheme != NULL) {
		join(j, uri->scheme);
		join(j, ":");
	}
	if (uri->host != NULL) {
		join_authority(j, uri);
		/* Without a "/" the path would extend the host. */
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
	/* Each part has at most two bytes of delimiters. 16: the port and the NUL. */
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

/* Sets a part to a copy of the value; NULL clears it. Without memory the old value stays. */
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
	if (scheme != NULL && !le_uri_is_scheme(scheme, strlen(scheme)))
		return -1;
	return replace(&uri->scheme, scheme);
}

int evhttp_uri_set_userinfo(struct evhttp_uri *uri, const char *userinfo)
{
	if (userinfo != NULL && !le_uri_is_userinfo(userinfo, strlen(userinfo)))
		return -1;
	return replace(&uri->userinfo, userinfo);
}

int evhttp_uri_set_host(struct evhttp_uri *uri, const char *host)
{
	if (host != NULL && !le_uri_is_host(host, strlen(host)))
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
	if (path != NULL && !le_uri_is_path(path, strlen(path), uri->flags))
		return -1;
	return replace(&uri->path, path);
}

int evhttp_uri_set_query(struct evhttp_uri *uri, const char *query)
{
	if (query != NULL && !le_uri_is_query(query, strlen(query), uri->flags))
		return -1;
	return replace(&uri->query, query);
}

int evhttp_uri_set_fragment(struct evhttp_uri *uri, const char *fragment)
{
	if (fragment != NULL && !le_uri_is_fragment(fragment, strlen(fragment), uri->flags))
		return -1;
	return replace(&uri->fragment, fragment);
}
