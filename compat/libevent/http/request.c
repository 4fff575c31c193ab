/*
 * The request object. Programs see its fields (<event2/http_struct.h>); our fields follow them. The
 * strings of a message lie in the request's arena and are freed with it.
 */
#include "http.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <event2/buffer.h>

#include "chars.h"

enum { SPARES_MAX = 64 };		/* spare requests of a server */

/* Allocates the request and its buffers. The caller sets all other fields. */
static struct le_request *alloc_request(void)
{
	struct le_request *req = ec_malloc(sizeof(*req));

	if (req == NULL)
		return NULL;
	req->pub.input_buffer = evbuffer_new();
	if (req->pub.input_buffer == NULL)
		goto free_req;
	req->pub.output_buffer = evbuffer_new();
	if (req->pub.output_buffer == NULL)
		goto free_input;
	return req;

free_input:
	evbuffer_free(req->pub.input_buffer);
free_req:
	ec_free(req);
	return NULL;
}

void le_request_free_spare(struct le_request *req)
{
	evbuffer_free(req->pub.input_buffer);
	evbuffer_free(req->pub.output_buffer);
	ec_free(req);
}

void le_request_free_spares(struct evhttp *http)
{
	struct le_request *req;

	while ((req = http->spares) != NULL) {
		http->spares = le_request(req->pub.next.tqe_next);
		le_request_free_spare(req);
	}
}

static inline bool has_colors(const struct evhttp *http)
{
	return __atomic_load_n(&http->has_colors, __ATOMIC_RELAXED);
}

/*
 * Spare requests belong to the server, so that idle connections keep little memory. If connections
 * have colors, each connection has its own spare request instead: a list of the server would be a
 * bottleneck for the threads.
 */
static struct le_request *take_spare(struct evhttp_connection *conn)
{
	struct evhttp *http = conn->server;
	struct le_request *req = conn->spare;
	bool was_taken;

	if (req != NULL || http == NULL || has_colors(http)) {
		conn->spare = NULL;
		return req;
	}
	was_taken = le_http_lock(http);
	req = http->spares;
	if (req != NULL) {
		http->spares = le_request(req->pub.next.tqe_next);
		http->spares_num--;
	}
	le_http_unlock(http, was_taken);
	return req;
}

/* False: there are enough spare requests. */
static bool keep_spare(struct le_request *req, struct evhttp_connection *conn)
{
	struct evhttp *http = conn->server;
	bool was_taken, is_kept;

	if (has_colors(http)) {
		is_kept = conn->spare == NULL;
		if (is_kept)
			conn->spare = req;
		return is_kept;
	}
	was_taken = le_http_lock(http);
	is_kept = http->spares_num < SPARES_MAX;
	if (is_kept) {
		req->pub.next.tqe_next = http->spares != NULL ? &http->spares->pub : NULL;
		http->spares = req;
		http->spares_num++;
	}
	le_http_unlock(http, was_taken);
	return is_kept;
}

struct le_request *le_request_new(struct evhttp_connection *conn)
{
	struct le_request *req = conn != NULL ? take_spare(conn) : NULL;
	struct evbuffer *input, *output;

	if (req == NULL)
		req = alloc_request();
	if (req == NULL)
		return NULL;
	input = req->pub.input_buffer;
	output = req->pub.output_buffer;
	ec_clear(req, offsetof(struct le_request, room));
	req->pub.input_buffer = input;
	req->pub.output_buffer = output;
	TAILQ_INIT(&req->input_headers);
	TAILQ_INIT(&req->output_headers);
	req->pub.input_headers = &req->input_headers;
	req->pub.output_headers = &req->output_headers;
	req->pub.kind = EVHTTP_RESPONSE;
	req->uri.port = -1;
	req->refs = 1;
	le_arena_init(&req->arena, req->room, sizeof(req->room));
	return req;
}

/*
 * Keeps the request for later use if a server's connection is open and this is its color. Otherwise
 * frees it. If the program has added callbacks to the request's buffers, or frozen them, the
 * request is not used again.
 */
static void free_memory(struct le_request *req, struct evhttp_connection *conn)
{
	bool is_good = conn != NULL && conn->server != NULL && !conn->is_closed &&
		       le_color_is_own(conn) && le_buffer_renew(req->pub.input_buffer) &&
		       le_buffer_renew(req->pub.output_buffer);

	if (!is_good || !keep_spare(req, conn))
		le_request_free_spare(req);
	if (conn != NULL)
		le_conn_put(conn);
}

void le_request_put(struct le_request *req)
{
	if (!ec_ref_put(&req->refs))
		return;
	evhttp_clear_headers(&req->input_headers);
	evhttp_clear_headers(&req->output_headers);
	/* A server's URI is in the arena. A client's is a string on the heap. */
	if (req->pub.uri_elems == NULL)
		ec_free(req->pub.uri);
	le_arena_fini(&req->arena);
	free_memory(req, req->conn);
}

void le_request_bind(struct le_request *req, struct evhttp_connection *conn)
{
	if (req->conn != conn) {
		le_conn_get(conn);
		if (req->conn != NULL)
			le_conn_put(req->conn);
		req->conn = conn;
	}
	req->is_released = false;
	__atomic_store_n(&req->pub.evcon, conn, __ATOMIC_RELEASE);
	TAILQ_INSERT_TAIL(&conn->requests, &req->pub, next);
}

static void unlink_request(struct le_request *req)
{
	struct evhttp_connection *conn = req->pub.evcon;

	if (conn == NULL)
		return;
	TAILQ_REMOVE(&conn->requests, &req->pub, next);
	__atomic_store_n(&req->pub.evcon, NULL, __ATOMIC_RELEASE);
}

void le_request_release(struct le_request *req)
{
	unlink_request(req);
	req->is_released = true;
	if ((req->pub.flags & EVHTTP_USER_OWNED) == 0)
		le_request_put(req);
}

struct evhttp_request *evhttp_request_new(void (*cb)(struct evhttp_request *, void *), void *arg)
{
	struct le_request *req = le_request_new(NULL);

	if (req == NULL) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
		return NULL;
	}
	req->pub.cb = cb;
	req->pub.cb_arg = arg;
	return &req->pub;
}

struct free_args {
	struct le_request *req;
};

/* The last put drops the reference of the call. The put before frees the request. */
static void free_call(struct evhttp_connection *conn, void *args)
{
	struct le_request *req = ((struct free_args *)args)->req;
	bool is_owned = (req->pub.flags & EVHTTP_USER_OWNED) != 0;
	bool is_puttable = is_owned || !req->is_released;

	if (req->pub.evcon == conn)
		is_puttable = conn->ops->abandon(conn, req);
	if (is_puttable)
		le_request_put(req);
	le_request_put(req);
}

static void free_request(struct le_request *req)
{
	struct free_args args = { req };

	if (evhttp_request_get_connection(&req->pub) == NULL) {
		le_request_put(req);
		return;
	}
	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	if (le_color_call(req->conn, free_call, &args, sizeof(args)) < 0) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "evhttp_request_free");
		le_request_put(req);
	}
}

/*
 * A callback may pass the request to another thread of the program, which may free it while the
 * callback still runs. So evhttp_request_free() must know the thread that runs the callback: only
 * there the free waits for the end of the callback.
 */
void le_request_enter(struct le_request *req)
{
	__atomic_add_fetch(&req->refs, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&req->callback_thread, (uintptr_t)pthread_self(), __ATOMIC_RELAXED);
	req->callbacks_num++;
}

void le_request_leave(struct le_request *req)
{
	if (--req->callbacks_num == 0) {
		__atomic_store_n(&req->callback_thread, 0, __ATOMIC_RELAXED);
		if (req->is_freed) {
			req->is_freed = false;
			free_request(req);
		}
	}
	le_request_put(req);
}

void evhttp_request_free(struct evhttp_request *pub)
{
	struct le_request *req = le_request(pub);

	if ((pub->flags & EVHTTP_REQ_DEFER_FREE) != 0)
		pub->flags |= EVHTTP_REQ_NEEDS_FREE;
	else if (__atomic_load_n(&req->callback_thread, __ATOMIC_RELAXED) ==
		 (uintptr_t)pthread_self())
		req->is_freed = true;
	else
		free_request(req);
}

void evhttp_request_own(struct evhttp_request *req)
{
	req->flags |= EVHTTP_USER_OWNED;
}

int evhttp_request_is_owned(struct evhttp_request *req)
{
	return (req->flags & EVHTTP_USER_OWNED) != 0;
}

struct evhttp_connection *evhttp_request_get_connection(struct evhttp_request *req)
{
	return __atomic_load_n(&req->evcon, __ATOMIC_ACQUIRE);
}

void evhttp_request_set_chunked_cb(struct evhttp_request *req,
				   void (*cb)(struct evhttp_request *, void *))
{
	req->chunk_cb = cb;
}

void evhttp_request_set_header_cb(struct evhttp_request *req,
				  int (*cb)(struct evhttp_request *, void *))
{
	req->header_cb = cb;
}

void evhttp_request_set_error_cb(struct evhttp_request *req,
				 void (*cb)(enum evhttp_request_error, void *))
{
	req->error_cb = cb;
}

void evhttp_request_set_on_complete_cb(struct evhttp_request *req,
				       void (*cb)(struct evhttp_request *, void *), void *cb_arg)
{
	req->on_complete_cb = cb;
	req->on_complete_cb_arg = cb_arg;
}

const char *evhttp_request_get_uri(const struct evhttp_request *req)
{
	return req->uri;
}

const struct evhttp_uri *evhttp_request_get_evhttp_uri(const struct evhttp_request *req)
{
	return req->uri_elems;
}

enum evhttp_cmd_type evhttp_request_get_command(const struct evhttp_request *req)
{
	return req->type;
}

int evhttp_request_get_response_code(const struct evhttp_request *req)
{
	return req->response_code;
}

const char *evhttp_request_get_response_code_line(const struct evhttp_request *req)
{
	return req->response_code_line;
}

struct evkeyvalq *evhttp_request_get_input_headers(struct evhttp_request *req)
{
	return req->input_headers;
}

struct evkeyvalq *evhttp_request_get_output_headers(struct evhttp_request *req)
{
	return req->output_headers;
}

struct evbuffer *evhttp_request_get_input_buffer(struct evhttp_request *req)
{
	return req->input_buffer;
}

struct evbuffer *evhttp_request_get_output_buffer(struct evhttp_request *req)
{
	return req->output_buffer;
}

/* The length of "host" in "host" or "host:port". */
static size_t host_len(const char *s)
{
	size_t len = strlen(s), end = len;

	while (end > 0 && le_char_is(s[end - 1], LE_CHAR_DIGIT))
		end--;
	return end > 0 && s[end - 1] == ':' ? end - 1 : len;
}

const char *evhttp_request_get_host(struct evhttp_request *req)
{
	const char *host;

	if (req->host_cache != NULL)
		return req->host_cache;
	if (req->uri_elems != NULL && req->uri_elems->host != NULL) {
		req->host_cache = req->uri_elems->host;
		return req->host_cache;
	}
	host = evhttp_find_header(req->input_headers, "Host");
	if (host == NULL)
		return NULL;
	req->host_cache = le_arena_copy(&le_request(req)->arena, host, host_len(host));
	return req->host_cache;
}

/* ---------------------------------------------------------------- first lines */

/* False: no memory. An absent part stays NULL. */
static bool copy_part(struct le_request *req, char **ret, struct le_span span)
{
	if (span.s == NULL)
		return true;
	*ret = le_arena_copy(&req->arena, span.s, span.len);
	return *ret != NULL;
}

static bool is_http_scheme(struct le_span scheme)
{
	return le_equals_lower(scheme.s, scheme.len, "http") ||
	       le_equals_lower(scheme.s, scheme.len, "https");
}

/*
 * Splits a target in one of the four forms of RFC 9112, 3.2. A target that begins with "//" is a
 * path, not a host. A target with neither path nor scheme is refused: appended to "http://host", it
 * would change the host.
 */
static bool split_target(enum evhttp_cmd_type type, const char *s, size_t len,
			 struct le_uri_parts *ret)
{
	if (type == EVHTTP_REQ_CONNECT)
		return le_uri_split_host_port(s, len, ret);
	if (*s == '/')
		return le_uri_split_path(s, len, EVHTTP_URI_NONCONFORMANT, ret);
	if (*s == '*' && len == 1 && type == EVHTTP_REQ_OPTIONS)
		return le_uri_split_path(s, len, EVHTTP_URI_NONCONFORMANT, ret);
	return le_uri_split(s, len, EVHTTP_URI_NONCONFORMANT, ret) && ret->scheme.s != NULL &&
	       (ret->host.len > 0 || !is_http_scheme(ret->scheme));
}

static int take_parts(struct le_request *req, const struct le_uri_parts *parts)
{
	req->uri.port = parts->port;
	if (copy_part(req, &req->uri.scheme, parts->scheme) &&
	    copy_part(req, &req->uri.userinfo, parts->userinfo) &&
	    copy_part(req, &req->uri.host, parts->host) &&
	    copy_part(req, &req->uri.path, parts->path) &&
	    copy_part(req, &req->uri.query, parts->query) &&
	    copy_part(req, &req->uri.fragment, parts->fragment))
		return 0;
	return -ENOMEM;
}

static int take_target(struct le_request *req, struct le_span target)
{
	struct le_uri_parts parts;

	req->pub.uri = le_arena_copy(&req->arena, target.s, target.len);
	if (req->pub.uri == NULL)
		return -ENOMEM;
	req->pub.uri_elems = &req->uri;
	req->uri.flags = EVHTTP_URI_NONCONFORMANT;
	if (!split_target(req->pub.type, req->pub.uri, target.len, &parts))
		return -EINVAL;
	if (parts.path.s == NULL)
		parts.path = (struct le_span){ "", 0 };
	req->path_len = parts.path.len;
	req->has_escape = memchr(parts.path.s, '%', parts.path.len) != NULL;
	if (parts.path.len == target.len) {
		req->uri.path = req->pub.uri;
		return 0;
	}
	return take_parts(req, &parts);
}

static int take_request_line(struct le_request *req, const char *line, size_t len)
{
	struct le_request_line parsed;

	if (!le_parse_request_line(line, len, &parsed))
		return -EINVAL;
	req->pub.type = (enum evhttp_cmd_type)le_method_by_name(parsed.method.s, parsed.method.len);
	req->pub.major = parsed.major;
	req->pub.minor = parsed.minor;
	return take_target(req, parsed.target);
}

static int take_status_line(struct le_request *req, const char *line, size_t len)
{
	struct le_status_line parsed;

	if (!le_parse_status_line(line, len, &parsed))
		return -EINVAL;
	req->pub.major = parsed.major;
	req->pub.minor = parsed.minor;
	req->pub.response_code = parsed.code;
	req->pub.response_code_line =
		le_arena_copy(&req->arena, parsed.reason.s, parsed.reason.len);
	return req->pub.response_code_line != NULL ? 0 : -ENOMEM;
}

/* -EINVAL: malformed; -ENOMEM. */
int le_request_take_first_line(struct le_request *req, const char *line, size_t len)
{
	req->has_first_line = true;
	if (req->pub.kind == EVHTTP_REQUEST)
		return take_request_line(req, line, len);
	return take_status_line(req, line, len);
}
