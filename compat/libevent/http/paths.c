/*
 * A server's callbacks by path: a hash table under the server's lock. The lookup ends before the
 * callback runs, because no lock is held while it does.
 */
#include "http.h"

#include <errno.h>
#include <string.h>

enum { CALLBACKS_SIZE_FIRST = 16 };

/* One registered path, in the chain of its bucket. */
struct le_callback {
	struct le_callback *next;
	void (*fn)(struct evhttp_request *req, void *arg);
	void *arg;
	size_t len;
	char path[];
};

void le_paths_free(struct evhttp *http)
{
	struct le_callback *cb;

	for (size_t i = 0; http->callbacks_num > 0 && i < http->callbacks_size; i++) {
		while ((cb = http->callbacks[i]) != NULL) {
			http->callbacks[i] = cb->next;
			http->callbacks_num--;
			ec_free(cb);
		}
	}
	ec_free(http->callbacks);
}

/* FNV-1a */
static size_t hash_path(const char *path, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 0x100000001b3u;
	return (size_t)(hash ^ hash >> 32);
}

/*
 * Returns the place of the pointer to the callback; without one, the place to add it. The table
 * must not be empty.
 */
static struct le_callback **find_callback(struct evhttp *http, const char *path, size_t len)
{
	struct le_callback **at =
		&http->callbacks[hash_path(path, len) & (http->callbacks_size - 1)];

	while (*at != NULL && ((*at)->len != len || memcmp((*at)->path, path, len) != 0))
		at = &(*at)->next;
	return at;
}

/* Keeps chains about one entry long. If a larger table gets no memory, the old one stays. */
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

bool le_paths_find(struct evhttp *http, const char *path, size_t len, struct le_handler *ret)
{
	struct le_callback *cb = http->callbacks_num > 0 ? *find_callback(http, path, len) : NULL;

	if (cb != NULL)
		*ret = (struct le_handler){ cb->fn, cb->arg };
	else
		*ret = (struct le_handler){ http->gencb, http->gencb_arg };
	return ret->fn != NULL;
}

static struct le_callback *only_path(struct evhttp *http)
{
	size_t i;

	for (i = 0; http->callbacks_num == 1 && i < http->callbacks_size; i++) {
		if (http->callbacks[i] != NULL)
			return http->callbacks[i];
	}
	return NULL;
}

bool le_http_subject(struct evhttp *http, struct ec_subject *s)
{
	bool was_taken = le_http_lock(http), is_known;
	const struct le_callback *only = only_path(http);

	is_known = http->gencb != NULL || only != NULL;
	if (is_known)
		s->fn = (uintptr_t)(http->gencb != NULL ? http->gencb : only->fn);
	le_http_unlock(http, was_taken);
	return is_known;
}
