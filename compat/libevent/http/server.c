/*
 * struct evhttp: its life, its lock and its settings.
 *
 * Connections of all colors use a server, so it has a lock. A virtual host is a server with a lock
 * of its own. A thread takes the lock of a server before those of the virtual hosts below it.
 */
#include "http.h"

#include <errno.h>
#include <string.h>

#include <event2/http_compat.h>
#include <event2/listener.h>

/* ---------------------------------------------------------------- life */

struct evhttp *evhttp_new(struct event_base *base)
{
	/* glibc's calloc does not use its per-thread cache of free blocks. */
	struct evhttp *http = ec_malloc(sizeof(*http));

	if (http == NULL) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
		return NULL;
	}
	memset(http, 0, sizeof(*http));
	http->base = base;
	ec_list_init(&http->vhosts);
	ec_list_init(&http->aliases);
	ec_list_init(&http->sockets);
	ec_list_init(&http->conns);
	ec_list_init(&http->lingers);
	http->max_headers_size = EV_SIZE_MAX;
	http->max_body_size = UINT64_MAX;
	http->timeout = (struct timeval){ LE_HTTP_TIMEOUT_S, 0 };
	http->allowed_methods = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
				EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE;
	http->default_content_type = "text/html; charset=ISO-8859-1";
	return http;
}

struct evhttp *evhttp_start(const char *address, ev_uint16_t port)
{
	struct evhttp *http = evhttp_new((struct event_base *)(void *)ec_current_base());

	if (http != NULL && evhttp_bind_socket(http, address, port) < 0) {
		evhttp_free(http);
		return NULL;
	}
	return http;
}

static void free_server(struct evhttp *http)
{
	le_http_free_sockets(http);
	while (!ec_list_is_empty(&http->conns))
		le_conn_close(ec_container_of(http->conns.next, struct evhttp_connection, link));
	le_linger_free_all(http);
	le_paths_free(http);
	le_request_free_spares(http);
	while (!ec_list_is_empty(&http->vhosts)) {
		struct evhttp *vhost =
			ec_container_of(http->vhosts.next, struct evhttp, vhost_link);

		ec_list_remove(&vhost->vhost_link);
		free_server(vhost);
	}
	while (!ec_list_is_empty(&http->aliases))
		le_alias_free(ec_container_of(http->aliases.next, struct le_alias, link));
	ec_free(http->vhost_pattern);
	ec_free(http);
}

void evhttp_free(struct evhttp *http)
{
	struct event_base *base = http->base;
	/* This closes connections of other colors. Pause, so that none of their callbacks runs. */
	bool is_paused = http->has_colors && le_color_pause(base);

	free_server(http);
	if (is_paused)
		le_color_resume(base);
}

/* ---------------------------------------------------------------- settings */

void evhttp_set_max_headers_size(struct evhttp *http, ev_ssize_t max_headers_size)
{
	bool was_taken = le_http_lock(http);

	http->max_headers_size = max_headers_size < 0 ? EV_SIZE_MAX : (size_t)max_headers_size;
	le_http_unlock(http, was_taken);
}

void evhttp_set_max_body_size(struct evhttp *http, ev_ssize_t max_body_size)
{
	bool was_taken = le_http_lock(http);

	http->max_body_size = max_body_size < 0 ? UINT64_MAX : (uint64_t)max_body_size;
	le_http_unlock(http, was_taken);
}

void evhttp_set_default_content_type(struct evhttp *http, const char *content_type)
{
	__atomic_store_n(&http->default_content_type, content_type, __ATOMIC_RELEASE);
}

void evhttp_set_allowed_methods(struct evhttp *http, ev_uint16_t methods)
{
	__atomic_store_n(&http->allowed_methods, methods, __ATOMIC_RELAXED);
}

void evhttp_set_timeout_tv(struct evhttp *http, const struct timeval *tv)
{
	bool was_taken = le_http_lock(http);

	http->timeout = tv != NULL ? *tv : (struct timeval){ LE_HTTP_TIMEOUT_S, 0 };
	le_http_unlock(http, was_taken);
}

void evhttp_set_timeout(struct evhttp *http, int timeout_in_secs)
{
	struct timeval tv = { timeout_in_secs, 0 };

	evhttp_set_timeout_tv(http, timeout_in_secs == -1 ? NULL : &tv);
}

int evhttp_set_flags(struct evhttp *http, int flags)
{
	bool was_taken;

	if ((flags & ~EVHTTP_SERVER_LINGERING_CLOSE) != 0)
		return 1;
	was_taken = le_http_lock(http);
	http->flags = flags;
	le_http_unlock(http, was_taken);
	return 0;
}

void evhttp_set_bevcb(struct evhttp *http, struct bufferevent *(*cb)(struct event_base *, void *),
		      void *arg)
{
	bool was_taken = le_http_lock(http);

	http->bevcb = cb;
	http->bevcb_arg = arg;
	le_http_unlock(http, was_taken);
}

void evhttp_set_gencb(struct evhttp *http, void (*cb)(struct evhttp_request *, void *), void *arg)
{
	bool was_taken = le_http_lock(http);

	http->gencb = cb;
	http->gencb_arg = arg;
	le_http_unlock(http, was_taken);
}
