/*
 * struct evhttp: what a server knows, and whom a request is for.
 *
 * Connections of all colors look things up here, so it has a lock; a handler is found under it and
 * called without it. A virtual host is a server as well, with its own lock; locks are taken from
 * the server that was bound downwards.
 */
#include "http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <event2/http_compat.h>
#include <event2/listener.h>

#include "chars.h"
#include "escape.h"

enum { CALLBACKS_SIZE_FIRST = 16, PATH_ON_STACK = 512 };

/* One registered path, in the chain of its hash. */
struct le_callback {
	struct le_callback *next;
	void (*fn)(struct evhttp_request *req, void *arg);
	void *arg;
	size_t len;
	char path[];
};

bool le_http_lock(struct evhttp *http)
{
	/* With a policy other threads may come before the first colored connection does. */
	if (!__atomic_load_n(&http->has_colors, __ATOMIC_RELAXED) &&
	    !le_color_is_shared(http->base))
		return false;
	pthread_mutex_lock(&http->lock);
	return true;
}

void le_http_unlock(struct evhttp *http, bool was_taken)
{
	if (was_taken)
		pthread_mutex_unlock(&http->lock);
}

/* ---------------------------------------------------------------- life */

struct evhttp *evhttp_new(struct event_base *base)
{
	struct evhttp *http = ec_calloc(1, sizeof(*http));

	if (http == NULL) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
		return NULL;
	}
	http->base = base;
	pthread_mutex_init(&http->lock, NULL);
	ec_list_init(&http->vhosts);
	ec_list_init(&http->aliases);
	ec_list_init(&http->sockets);
	ec_list_init(&http->conns);
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

static void free_callbacks(struct evhttp *http)
{
	struct le_callback *cb;

	for (size_t i = 0; i < http->callbacks_size; i++) {
		while ((cb = http->callbacks[i]) != NULL) {
			http->callbacks[i] = cb->next;
			ec_free(cb);
		}
	}
	ec_free(http->callbacks);
}

static void free_alias(struct le_alias *alias)
{
	ec_list_remove(&alias->link);
	ec_free(alias->name);
	ec_free(alias);
}

static void free_server(struct evhttp *http)
{
	le_http_free_sockets(http);
	while (!ec_list_is_empty(&http->conns))
		le_conn_close(ec_container_of(http->conns.next, struct evhttp_connection, link));
	free_callbacks(http);
	while (!ec_list_is_empty(&http->vhosts)) {
		struct evhttp *vhost =
			ec_container_of(http->vhosts.next, struct evhttp, vhost_link);

		ec_list_remove(&vhost->vhost_link);
		free_server(vhost);
	}
	while (!ec_list_is_empty(&http->aliases))
		free_alias(ec_container_of(http->aliases.next, struct le_alias, link));
	ec_free(http->vhost_pattern);
	pthread_mutex_destroy(&http->lock);
	ec_free(http);
}

void evhttp_free(struct evhttp *http)
{
	struct event_base *base = http->base;
	/* Connections of other colors are closed from here: nothing of theirs may run meanwhile. */
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

/* ---------------------------------------------------------------- callbacks by path */

/* FNV-1a */
static size_t hash_path(const char *path, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 0x100000001b3u;
	return (size_t)(hash ^ hash >> 32);
}

/*
 * Where the pointer to it is; of one that is not there, where it would be added. The table is not
 * empty.
 */
static struct le_callback **find_callback(struct evhttp *http, const char *path, size_t len)
{
	struct le_callback **at =
		&http->callbacks[hash_path(path, len) & (http->callbacks_size - 1)];

	while (*at != NULL && ((*at)->len != len || memcmp((*at)->path, path, len) != 0))
		at = &(*at)->next;
	return at;
}

/* Chains stay about one long. An old table that cannot be made larger serves on. */
static int grow_callbacks(struct evhttp *http)
{
	size_t size = http->callbacks_size > 0 ? 2 * http->callbacks_size : CALLBACKS_SIZE_FIRST;
	struct le_callback **old = http->callbacks, *cb;
	size_t old_size = http->callbacks_size;

	if (http->callbacks_num < old_size)
		return 0;
	http->callbacks = ec_calloc(size, sizeof(*http->callbacks));
	if (http->callbacks == NULL) {
		http->callbacks = old;
		return old != NULL ? 0 : -ENOMEM;
	}
	http->callbacks_size = size;
	for (size_t i = 0; i < old_size; i++) {
		while ((cb = old[i]) != NULL) {
			struct le_callback **at =
				&http->callbacks[hash_path(cb->path, cb->len) & (size - 1)];

			old[i] = cb->next;
			cb->next = *at;
			*at = cb;
		}
	}
	ec_free(old);
	return 0;
}

static struct le_callback *new_callback(const char *path,
					void (*fn)(struct evhttp_request *, void *), void *arg)
{
	size_t len = strlen(path);
	struct le_callback *cb = ec_malloc(sizeof(*cb) + len + 1);

	if (cb == NULL)
		return NULL;
	cb->next = NULL;
	cb->fn = fn;
	cb->arg = arg;
	cb->len = len;
	memcpy(cb->path, path, len + 1);
	return cb;
}

int evhttp_set_cb(struct evhttp *http, const char *path,
		  void (*cb)(struct evhttp_request *, void *), void *cb_arg)
{
	struct le_callback *added = new_callback(path, cb, cb_arg), **at;
	bool was_taken;
	int ret = -2;

	if (added == NULL)
		return -2;
	was_taken = le_http_lock(http);
	if (grow_callbacks(http) < 0)
		goto unlock;
	at = find_callback(http, path, added->len);
	ret = -1;
	if (*at != NULL)
		goto unlock;
	*at = added;
	http->callbacks_num++;
	added = NULL;
	ret = 0;
unlock:
	le_http_unlock(http, was_taken);
	ec_free(added);
	return ret;
}

int evhttp_del_cb(struct evhttp *http, const char *path)
{
	struct le_callback **at, *cb = NULL;
	bool was_taken = le_http_lock(http);

	if (http->callbacks_num > 0) {
		at = find_callback(http, path, strlen(path));
		cb = *at;
		if (cb != NULL) {
			*at = cb->next;
			http->callbacks_num--;
		}
	}
	le_http_unlock(http, was_taken);
	ec_free(cb);
	return cb != NULL ? 0 : -1;
}

/* ---------------------------------------------------------------- names */

int evhttp_add_server_alias(struct evhttp *http, const char *alias)
{
	struct le_alias *added = ec_malloc(sizeof(*added));
	bool was_taken;

	if (added == NULL)
		return -1;
	added->name = ec_strdup(alias);
	if (added->name == NULL) {
		ec_free(added);
		return -1;
	}
	was_taken = le_http_lock(http);
	ec_list_push_back(&http->aliases, &added->link);
	le_http_unlock(http, was_taken);
	return 0;
}

/* The caller holds the lock. */
static struct le_alias *find_alias(struct evhttp *http, const char *name)
{
	struct ec_list *node;

	for (node = http->aliases.next; node != &http->aliases; node = node->next) {
		struct le_alias *alias = ec_container_of(node, struct le_alias, link);

		if (strcasecmp(alias->name, name) == 0)
			return alias;
	}
	return NULL;
}

int evhttp_remove_server_alias(struct evhttp *http, const char *alias)
{
	bool was_taken = le_http_lock(http);
	struct le_alias *found = find_alias(http, alias);

	if (found != NULL)
		free_alias(found);
	le_http_unlock(http, was_taken);
	return found != NULL ? 0 : -1;
}

int evhttp_add_virtual_host(struct evhttp *http, const char *pattern, struct evhttp *vhost)
{
	bool was_taken;
	char *copy;

	/* It can have one parent, and no sockets: who is bound to one answers for all names. */
	if (vhost->parent != NULL || !ec_list_is_empty(&vhost->sockets))
		return -1;
	copy = ec_strdup(pattern);
	if (copy == NULL)
		return -1;
	was_taken = le_http_lock(http);
	vhost->parent = http;
	vhost->vhost_pattern = copy;
	ec_list_push_back(&http->vhosts, &vhost->vhost_link);
	le_http_unlock(http, was_taken);
	return 0;
}

int evhttp_remove_virtual_host(struct evhttp *http, struct evhttp *vhost)
{
	bool was_taken;
	char *pattern;

	if (vhost->parent != http)
		return -1;
	was_taken = le_http_lock(http);
	ec_list_remove(&vhost->vhost_link);
	vhost->parent = NULL;
	pattern = vhost->vhost_pattern;
	vhost->vhost_pattern = NULL;
	le_http_unlock(http, was_taken);
	ec_free(pattern);
	return 0;
}

/*
 * "*" stands for any number of any characters. After a mismatch only the last one passed needs to
 * take more, so a hostile name costs no more than its length times the pattern's.
 */
static bool matches_pattern(const char *pattern, const char *name)
{
	const char *star = NULL, *retry = NULL;

	while (*name != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			retry = name;
		} else if (le_lower(*pattern) == le_lower(*name)) {
			pattern++;
			name++;
		} else if (star != NULL) {
			pattern = star + 1;
			name = ++retry;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

/*
 * The virtual host below `http` for `name`, however deep; else NULL. Locks of those above it are
 * held.
 */
static struct evhttp *find_by_pattern(struct evhttp *http, const char *name)
{
	struct ec_list *node;

	for (node = http->vhosts.next; node != &http->vhosts; node = node->next) {
		struct evhttp *vhost = ec_container_of(node, struct evhttp, vhost_link), *deeper;
		bool was_taken;

		if (!matches_pattern(vhost->vhost_pattern, name))
			continue;
		was_taken = le_http_lock(vhost);
		deeper = find_by_pattern(vhost, name);
		le_http_unlock(vhost, was_taken);
		return deeper != NULL ? deeper : vhost;
	}
	return NULL;
}

static struct evhttp *find_by_alias(struct evhttp *http, const char *name)
{
	struct ec_list *node;

	if (find_alias(http, name) != NULL)
		return http;
	for (node = http->vhosts.next; node != &http->vhosts; node = node->next) {
		struct evhttp *vhost = ec_container_of(node, struct evhttp, vhost_link), *found;
		bool was_taken = le_http_lock(vhost);

		found = find_by_alias(vhost, name);
		le_http_unlock(vhost, was_taken);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static struct evhttp *find_by_name(struct evhttp *http, const char *name)
{
	struct evhttp *found = find_by_pattern(http, name);

	return found != NULL ? found : find_by_alias(http, name);
}

bool le_http_serves_host(struct evhttp *http, const char *host)
{
	bool was_taken = le_http_lock(http);
	bool is_ours = find_by_name(http, host) != NULL;

	le_http_unlock(http, was_taken);
	return is_ours;
}

/* ---------------------------------------------------------------- dispatch */

struct handler {
	void (*fn)(struct evhttp_request *req, void *arg);
	void *arg;
};

/* The caller holds the lock. */
static bool find_handler(struct evhttp *http, const char *path, size_t len, struct handler *ret)
{
	struct le_callback *cb = http->callbacks_num > 0 ? *find_callback(http, path, len) : NULL;

	if (cb != NULL)
		*ret = (struct handler){ cb->fn, cb->arg };
	else
		*ret = (struct handler){ http->gencb, http->gencb_arg };
	return ret->fn != NULL;
}

static struct evhttp *find_vhost(struct evhttp *root, struct le_request *req)
{
	const char *host = evhttp_request_get_host(&req->pub);
	struct evhttp *http = host != NULL ? find_by_name(root, host) : NULL;

	return http != NULL ? http : root;
}

static bool find_below(struct evhttp *root, struct le_request *req, const char *path, size_t len,
		       struct handler *ret)
{
	bool was_taken = le_http_lock(root), vhost_was_taken, is_found;
	struct evhttp *http = root;

	if (!ec_list_is_empty(&root->vhosts))
		http = find_vhost(root, req);
	vhost_was_taken = http != root && le_http_lock(http);
	is_found = find_handler(http, path, len, ret);
	if (http != root)
		le_http_unlock(http, vhost_was_taken);
	le_http_unlock(root, was_taken);
	return is_found;
}

bool le_http_dispatch(struct evhttp *http, struct le_request *req)
{
	const char *path = req->uri.path;
	size_t len = req->path_len;
	char room[PATH_ON_STACK];
	struct handler handler;
	char *decoded = NULL;

	if (req->has_escape) {
		decoded = len <= sizeof(room) ? room : ec_malloc(len);
		if (decoded == NULL)
			return false;
		len = le_unescape(path, len, LE_PLUS_STAYS, decoded);
		path = decoded;
	}
	if (!find_below(http, req, path, len, &handler))
		handler.fn = NULL;
	if (decoded != room)
		ec_free(decoded);
	if (handler.fn == NULL)
		return false;
	handler.fn(&req->pub, handler.arg);
	return true;
}
