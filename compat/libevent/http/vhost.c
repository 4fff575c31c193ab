/*
 * The names of servers (aliases and virtual hosts). Finds the server and the callback of a request.
 */
#include "http.h"

#include <string.h>
#include <strings.h>

#include "chars.h"
#include "escape.h"

enum { PATH_ON_STACK = 512 };

void le_alias_free(struct le_alias *alias)
{
	ec_list_remove(&alias->link);
	ec_free(alias->name);
	ec_free(alias);
}

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
		le_alias_free(found);
	le_http_unlock(http, was_taken);
	return found != NULL ? 0 : -1;
}

int evhttp_add_virtual_host(struct evhttp *http, const char *pattern, struct evhttp *vhost)
{
	bool was_taken;
	char *copy;

	/*
	 * A virtual host has one parent, and no sockets: a server with a socket serves all names.
	 */
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
 * "*" matches any number of characters. After a mismatch, only the last "*" needs to match one
 * character more. So a hostile name costs at most its length times the pattern's.
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
 * Finds the deepest virtual host below `http` that matches `name`. NULL: there is none. The caller
 * holds the locks of the servers above.
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

static struct evhttp *find_vhost(struct evhttp *root, struct le_request *req)
{
	const char *host = evhttp_request_get_host(&req->pub);
	struct evhttp *http = host != NULL ? find_by_name(root, host) : NULL;

	return http != NULL ? http : root;
}

static inline bool find_below(struct evhttp *root, struct le_request *req, const char *path, size_t len,
			      struct le_handler *ret)
{
	bool was_taken = le_http_lock(root), vhost_was_taken, is_found;
	struct evhttp *http = root;

	if (!ec_list_is_empty(&root->vhosts))
		http = find_vhost(root, req);
	vhost_was_taken = http != root && le_http_lock(http);
	is_found = le_paths_find(http, path, len, ret);
	if (http != root)
		le_http_unlock(http, vhost_was_taken);
	le_http_unlock(root, was_taken);
	return is_found;
}

/* The handler for a path with escapes. */
static __attribute__((noinline)) bool find_decoded(struct evhttp *http, struct le_request *req, struct le_handler *ret)
{
	const char *path = req->uri.path;
	size_t len = req->path_len;
	char room[PATH_ON_STACK];
	char *decoded = len <= sizeof(room) ? room : ec_malloc(len);
	bool is_found;

	if (decoded == NULL)
		return false;
	len = le_unescape(path, len, LE_PLUS_STAYS, decoded);
	is_found = find_below(http, req, decoded, len, ret);
	if (decoded != room)
		ec_free(decoded);
	return is_found;
}

bool le_http_dispatch(struct evhttp *http, struct le_request *req)
{
	struct le_handler handler;

	if (!(req->has_escape ? find_decoded(http, req, &handler) :
				find_below(http, req, req->uri.path, req->path_len, &handler)))
		return false;
	ec_note_call((uintptr_t)handler.fn);
	handler.fn(&req->pub, handler.arg);
	return true;
}
