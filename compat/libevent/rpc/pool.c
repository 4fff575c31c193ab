/*
 * The client's end of evrpc: a pool of connections, each with one request at a time.
 *
 *            evrpc_make_request         a connection is idle          the answer, or none
 *   (made) ----------------------> queued ------------------> started ------------------> (freed)
 *
 * From evrpc_make_request() to its callback, a request is in one list of the pool. A pool, its
 * connections and its requests belong to one color.
 */
#include "rpc.h"

#include <limits.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_compat.h>
#include <event2/rpc_struct.h>

#include "http/http.h"

struct conn {
	struct ec_list link;
	struct evhttp_connection *evcon;
	bool is_busy;
	bool is_removed;		/* removed from the pool while it was busy */
};

struct evrpc_pool {
	struct le_rpc_hooks hooks;	/* first, see rpc.h */
	struct event_base *base;	/* or NULL: that of each connection */
	int timeout_s;			/* for each request; 0: none; -1: not set */
	struct ec_list conns;
	struct ec_list queued;
	struct ec_list started;
	unsigned refs;			/* the program's, and one for each running callback */
	bool is_freed;			/* by the program, in one of those callbacks */
};

struct evrpc_request_wrapper {
	struct le_rpc_ctx ctx;
	struct ec_list link;
	struct evrpc_pool *pool;
	struct conn *conn;		/* once started */
	struct evhttp_request *http_req;	/* from the start until evhttp frees it */
	bool owns_http_req;
	struct event timeout;
	bool is_timed;			/* `timeout` was added */
	char *name;
	void *request;
	void *reply;
	void (*request_marshal)(struct evbuffer *, void *);
	void (*reply_clear)(void *);
	int (*reply_unmarshal)(void *, struct evbuffer *);
	void (*cb)(struct evrpc_status *, void *request, void *reply, void *arg);
	void *cb_arg;
};

static void pool_schedule(struct evrpc_pool *pool);

/* ---------------------------------------------------------------- the pool */

struct evrpc_pool *evrpc_pool_new(struct event_base *base)
{
	struct evrpc_pool *pool = ec_calloc(1, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	le_rpc_hooks_init(&pool->hooks);
	pool->base = base;
	pool->timeout_s = -1;
	pool->refs = 1;
	ec_list_init(&pool->conns);
	ec_list_init(&pool->queued);
	ec_list_init(&pool->started);
	return pool;
}

static void pool_put(struct evrpc_pool *pool)
{
	if (--pool->refs != 0)
		return;
	le_rpc_hooks_fini(&pool->hooks);
	ec_free(pool);
}

static void wrapper_free(struct evrpc_request_wrapper *w)
{
	le_rpc_ctx_fini(w->pool != NULL ? &w->pool->hooks : NULL, &w->ctx);
	ec_free(w->name);
	ec_free(w);
}

static void conn_rest(struct evrpc_request_wrapper *w)
{
	struct conn *c = w->conn;

	if (c == NULL)
		return;
	w->conn = NULL;
	c->is_busy = false;
	if (c->is_removed)
		ec_free(c);
}

static void timeout_end(struct evrpc_request_wrapper *w)
{
	if (w->is_timed)
		(void)event_del(&w->timeout);
	w->is_timed = false;
}

/* Its callback is not called. */
static void request_drop(struct evrpc_request_wrapper *w)
{
	ec_list_remove(&w->link);
	timeout_end(w);
	if (w->http_req != NULL && w->owns_http_req)
		evhttp_request_free(w->http_req);
	else if (w->http_req != NULL)
		evhttp_cancel_request(w->http_req);
	conn_rest(w);
	wrapper_free(w);
}

static void requests_drop(struct ec_list *list)
{
	while (!ec_list_is_empty(list))
		request_drop(ec_container_of(list->next, struct evrpc_request_wrapper, link));
}

/* Drops its requests and frees its connections. */
void evrpc_pool_free(struct evrpc_pool *pool)
{
	struct conn *c;

	requests_drop(&pool->queued);
	requests_drop(&pool->started);
	while (!ec_list_is_empty(&pool->conns)) {
		c = ec_container_of(pool->conns.next, struct conn, link);
		ec_list_remove(&c->link);
		evhttp_connection_free(c->evcon);
		ec_free(c);
	}
	pool->is_freed = true;
	pool_put(pool);
}

void evrpc_pool_add_connection(struct evrpc_pool *pool, struct evhttp_connection *evcon)
{
	struct conn *c = ec_calloc(1, sizeof(*c));

	if (c == NULL) {
		ec_log(EC_LOG_WARN, "evrpc_pool_add_connection: out of memory");
		return;
	}
	c->evcon = evcon;
	if (pool->base != NULL && evhttp_connection_get_base(evcon) == NULL)
		evhttp_connection_set_base(evcon, pool->base);
	if (pool->timeout_s >= 0 && !evcon->has_timeout)
		evhttp_connection_set_timeout(evcon, pool->timeout_s);
	ec_list_push_back(&pool->conns, &c->link);
	pool_schedule(pool);
}

/* The connection's present request continues. */
void evrpc_pool_remove_connection(struct evrpc_pool *pool, struct evhttp_connection *evcon)
{
	struct ec_list *at;

	for (at = pool->conns.next; at != &pool->conns; at = at->next) {
		struct conn *c = ec_container_of(at, struct conn, link);

		if (c->evcon != evcon)
			continue;
		ec_list_remove(&c->link);
		if (c->is_busy)
			c->is_removed = true;
		else
			ec_free(c);
		return;
	}
}

void evrpc_pool_set_timeout(struct evrpc_pool *pool, int timeout_in_secs)
{
	struct ec_list *at;

	for (at = pool->conns.next; at != &pool->conns; at = at->next)
		evhttp_connection_set_timeout(ec_container_of(at, struct conn, link)->evcon, timeout_in_secs);
	pool->timeout_s = timeout_in_secs;
}

/* ---------------------------------------------------------------- the end of a request */

/* The callback may free the pool, or make new requests. */
static void request_finish(struct evrpc_request_wrapper *w, int error)
{
	struct evrpc_status status = { .error = error, .http_req = w->http_req };
	struct evrpc_pool *pool = w->pool;
	struct evhttp_request *owned = w->owns_http_req ? w->http_req : NULL;

	timeout_end(w);
	ec_list_remove(&w->link);
	conn_rest(w);
	if (error != EVRPC_STATUS_ERR_NONE && error != EVRPC_STATUS_ERR_UNSTARTED)
		w->reply_clear(w->reply);
	pool->refs++;
	ec_note_call((uintptr_t)w->cb);
	w->cb(&status, w->request, w->reply, w->cb_arg);
	if (owned != NULL)
		evhttp_request_free(owned);
	wrapper_free(w);
	if (!pool->is_freed && error != EVRPC_STATUS_ERR_UNSTARTED)
		pool_schedule(pool);
	pool_put(pool);
}

static void timed_out(evutil_socket_t fd, short what, void *arg)
{
	struct evrpc_request_wrapper *w = arg;
	struct evhttp_request *http_req = w->http_req;

	(void)fd;
	(void)what;
	w->http_req = NULL;
	evhttp_cancel_request(http_req);
	request_finish(w, EVRPC_STATUS_ERR_TIMEOUT);
}

/* Called after the input hooks. */
static void reply_handle(struct le_rpc_ctx *ctx, enum EVRPC_HOOK_RESULT res)
{
	struct evrpc_request_wrapper *w = ec_container_of(ctx, struct evrpc_request_wrapper, ctx);
	int error = EVRPC_STATUS_ERR_NONE;

	if (res != EVRPC_CONTINUE)
		error = EVRPC_STATUS_ERR_HOOKABORTED;
	else if (w->reply_unmarshal(w->reply, evhttp_request_get_input_buffer(w->http_req)) < 0)
		error = EVRPC_STATUS_ERR_BADPAYLOAD;
	request_finish(w, error);
}

/* NULL: the connection failed. */
static void reply_arrived(struct evhttp_request *http_req, void *arg)
{
	struct evrpc_request_wrapper *w = arg;
	enum EVRPC_HOOK_RESULT res;

	timeout_end(w);
	w->http_req = http_req;
	if (http_req == NULL) {
		request_finish(w, EVRPC_STATUS_ERR_TIMEOUT);
		return;
	}
	if (evhttp_request_get_response_code(http_req) != HTTP_OK) {
		request_finish(w, EVRPC_STATUS_ERR_BADPAYLOAD);
		return;
	}
	w->ctx.go_on = reply_handle;
	res = le_rpc_hooks_run(&w->pool->hooks, EVRPC_INPUT, &w->ctx, w->conn->evcon, http_req,
			       evhttp_request_get_input_buffer(http_req));
	if (res != EVRPC_PAUSE) {
		reply_handle(&w->ctx, res);
		return;
	}
	evhttp_request_own(http_req);
	w->owns_http_req = true;
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	(void)what;
	return s->fn == (uintptr_t)reply_arrived && ec_subject_calls(s, 0);
}

EC_SUBJECT(subject)

/* ---------------------------------------------------------------- the start of a request */

static int timeout_begin(struct evrpc_request_wrapper *w)
{
	struct timeval tv = { .tv_sec = w->pool->timeout_s };
	struct event_base *base = w->pool->base;

	if (tv.tv_sec <= 0)
		return 0;
	if (base == NULL)
		base = evhttp_connection_get_base(w->conn->evcon);
	if (le_event_assign(&w->timeout, base, -1, 0, timed_out, w) < 0 || event_add(&w->timeout, &tv) < 0)
		return -1;
	w->is_timed = true;
	return 0;
}

/*
 * Called after the output hooks. The connection takes over the HTTP request, and frees it on
 * failure.
 */
static int request_send(struct evrpc_request_wrapper *w)
{
	struct evhttp_request *http_req = w->http_req;
	char *uri = le_rpc_uri(w->name);
	int r;

	w->http_req = NULL;
	w->owns_http_req = false;
	if (uri == NULL || timeout_begin(w) < 0) {
		ec_free(uri);
		evhttp_request_free(http_req);
		return -1;
	}
	r = evhttp_make_request(w->conn->evcon, http_req, EVHTTP_REQ_POST, uri);
	ec_free(uri);
	if (r == 0)
		w->http_req = http_req;
	return r;
}

static void request_resumed(struct le_rpc_ctx *ctx, enum EVRPC_HOOK_RESULT res)
{
	struct evrpc_request_wrapper *w = ec_container_of(ctx, struct evrpc_request_wrapper, ctx);
	struct evrpc_pool *pool = w->pool;

	if (res != EVRPC_CONTINUE) {
		evhttp_request_free(w->http_req);
		w->http_req = NULL;
		w->owns_http_req = false;
	}
	if (res == EVRPC_CONTINUE && request_send(w) == 0)
		return;
	pool->refs++;
	w->owns_http_req = false;
	request_finish(w, EVRPC_STATUS_ERR_UNSTARTED);
	if (!pool->is_freed)
		pool_schedule(pool);
	pool_put(pool);
}

/* -1: it could not be started, and has lost its HTTP request. */
static int request_start(struct evrpc_request_wrapper *w)
{
	struct evbuffer *body;
	enum EVRPC_HOOK_RESULT res;

	w->http_req = evhttp_request_new(reply_arrived, w);
	if (w->http_req == NULL)
		return -1;
	w->owns_http_req = true;	/* until the connection owns it */
	body = evhttp_request_get_output_buffer(w->http_req);
	w->request_marshal(body, w->request);
	w->ctx.go_on = request_resumed;
	res = le_rpc_hooks_run(&w->pool->hooks, EVRPC_OUTPUT, &w->ctx, w->conn->evcon, w->http_req, body);
	if (res == EVRPC_PAUSE)
		return 0;
	if (res == EVRPC_CONTINUE)
		return request_send(w);
	evhttp_request_free(w->http_req);
	w->http_req = NULL;
	return -1;
}

static struct conn *conn_idle(struct evrpc_pool *pool)
{
	struct ec_list *at;

	for (at = pool->conns.next; at != &pool->conns; at = at->next) {
		struct conn *c = ec_container_of(at, struct conn, link);

		if (!c->is_busy)
			return c;
	}
	return NULL;
}

static void pool_schedule(struct evrpc_pool *pool)
{
	struct evrpc_request_wrapper *w;
	struct conn *c;

	pool->refs++;
	while (!pool->is_freed && !ec_list_is_empty(&pool->queued) && (c = conn_idle(pool)) != NULL) {
		w = ec_container_of(pool->queued.next, struct evrpc_request_wrapper, link);
		ec_list_remove(&w->link);
		ec_list_push_back(&pool->started, &w->link);
		w->conn = c;
		c->is_busy = true;
		if (request_start(w) < 0) {
			w->owns_http_req = false;
			request_finish(w, EVRPC_STATUS_ERR_UNSTARTED);
		}
	}
	pool_put(pool);
}

/* ---------------------------------------------------------------- requests */

struct evrpc_request_wrapper *evrpc_make_request_ctx(struct evrpc_pool *pool, void *request, void *reply,
						     const char *rpcname,
						     void (*req_marshal)(struct evbuffer *, void *),
						     void (*rpl_clear)(void *),
						     int (*rpl_unmarshal)(void *, struct evbuffer *),
						     void (*cb)(struct evrpc_status *, void *, void *, void *),
						     void *cbarg)
{
	struct evrpc_request_wrapper *w = ec_calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->name = ec_strdup(rpcname);
	if (w->name == NULL) {
		ec_free(w);
		return NULL;
	}
	w->pool = pool;
	w->request = request;
	w->reply = reply;
	w->request_marshal = req_marshal;
	w->reply_clear = rpl_clear;
	w->reply_unmarshal = rpl_unmarshal;
	w->cb = cb;
	w->cb_arg = cbarg;
	return w;
}

/* The pool owns the context from now on. It waits if no connection is idle. */
int evrpc_make_request(struct evrpc_request_wrapper *ctx)
{
	struct evrpc_pool *pool = ctx->pool;

	ec_list_push_back(&pool->queued, &ctx->link);
	pool_schedule(pool);
	return 0;
}

int evrpc_send_request_generic(struct evrpc_pool *pool, void *request, void *reply,
			       void (*cb)(struct evrpc_status *, void *, void *, void *), void *cb_arg,
			       const char *rpcname, void (*req_marshal)(struct evbuffer *, void *),
			       void (*rpl_clear)(void *), int (*rpl_unmarshal)(void *, struct evbuffer *))
{
	struct evrpc_request_wrapper *ctx;

	ctx = evrpc_make_request_ctx(pool, request, reply, rpcname, req_marshal, rpl_clear, rpl_unmarshal, cb, cb_arg);
	return ctx == NULL ? -1 : evrpc_make_request(ctx);
}

struct evrpc_pool *evrpc_request_get_pool(struct evrpc_request_wrapper *ctx)
{
	return ctx->pool;
}

void evrpc_request_set_pool(struct evrpc_request_wrapper *ctx, struct evrpc_pool *pool)
{
	ctx->pool = pool;
}

void evrpc_request_set_cb(struct evrpc_request_wrapper *ctx,
			  void (*cb)(struct evrpc_status *, void *request, void *reply, void *arg), void *cb_arg)
{
	ctx->cb = cb;
	ctx->cb_arg = cb_arg;
}
