/*
 * The server's end of evrpc: a POST to /.rpc.NAME whose body is a marshalled request. The body of
 * the reply is a marshalled reply. Errors are answered with 503.
 *
 * A request lives from request_arrived() until the reply is sent, in the color of its connection.
 * The base keeps only paused requests. So without pauses, requests of different colors need no
 * common lock. Registering is done before run.
 */
#include "rpc.h"

#include <string.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/rpc_struct.h>

struct evrpc_base {
	struct le_rpc_hooks hooks;	/* first, see rpc.h */
	struct evhttp *http;
	TAILQ_HEAD(, evrpc) rpcs;
};

/* The first members are those of EVRPC_STRUCT, which programs use. */
struct evrpc_req_generic {
	struct evrpc_hook_meta *hook_meta;	/* unused: `ctx` has it */
	void *request;
	void *reply;
	struct evrpc *rpc;
	struct evhttp_request *http_req;
	struct evbuffer *rpc_data;		/* the marshalled reply */

	struct le_rpc_ctx ctx;
};

struct evrpc_base *evrpc_init(struct evhttp *server)
{
	struct evrpc_base *base = ec_malloc(sizeof(*base));

	if (base == NULL)
		return NULL;
	le_rpc_hooks_init(&base->hooks);
	base->http = server;
	TAILQ_INIT(&base->rpcs);
	return base;
}

void evrpc_free(struct evrpc_base *base)
{
	struct evrpc *rpc;

	while ((rpc = TAILQ_FIRST(&base->rpcs)) != NULL)
		(void)evrpc_unregister_rpc(base, rpc->uri);
	le_rpc_hooks_fini(&base->hooks);
	ec_free(base);
}

/* ---------------------------------------------------------------- requests */

static void messages_free(struct evrpc_req_generic *req)
{
	if (req->request != NULL)
		req->rpc->request_free(req->request);
	if (req->reply != NULL)
		req->rpc->reply_free(req->reply);
	req->request = NULL;
	req->reply = NULL;
}

static void req_free(struct evrpc_req_generic *req)
{
	messages_free(req);
	if (req->rpc_data != NULL)
		evbuffer_free(req->rpc_data);
	le_rpc_ctx_fini(&req->rpc->base->hooks, &req->ctx);
	ec_free(req);
}

static void req_fail(struct evrpc_req_generic *req)
{
	struct evhttp_request *http_req = req->http_req;

	req_free(req);
	evhttp_send_error(http_req, HTTP_SERVUNAVAIL, NULL);
}

/* Called after the output hooks. */
static void reply_send(struct le_rpc_ctx *ctx, enum EVRPC_HOOK_RESULT res)
{
	struct evrpc_req_generic *req = ec_container_of(ctx, struct evrpc_req_generic, ctx);
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req->http_req);

	if (res != EVRPC_CONTINUE) {
		req_fail(req);
		return;
	}
	if (evhttp_find_header(headers, "Content-Type") == NULL)
		(void)evhttp_add_header(headers, "Content-Type", "application/octet-stream");
	evhttp_send_reply(req->http_req, HTTP_OK, "OK", req->rpc_data);
	req_free(req);
}

void evrpc_request_done(struct evrpc_req_generic *req)
{
	const struct evrpc *rpc = req->rpc;
	enum EVRPC_HOOK_RESULT res;

	if (req->reply == NULL || rpc->reply_complete(req->reply) < 0)
		goto fail;
	req->rpc_data = evbuffer_new();
	if (req->rpc_data == NULL)
		goto fail;
	rpc->reply_marshal(req->rpc_data, req->reply);
	req->ctx.go_on = reply_send;
	res = le_rpc_hooks_run(&rpc->base->hooks, EVRPC_OUTPUT, &req->ctx,
			       evhttp_request_get_connection(req->http_req), req->http_req,
			       req->rpc_data);
	if (res == EVRPC_PAUSE)
		messages_free(req);
	else
		reply_send(&req->ctx, res);
	return;
fail:
	req_fail(req);
}

/* Called after the input hooks. */
static void request_handle(struct le_rpc_ctx *ctx, enum EVRPC_HOOK_RESULT res)
{
	struct evrpc_req_generic *req = ec_container_of(ctx, struct evrpc_req_generic, ctx);
	const struct evrpc *rpc = req->rpc;
	struct evbuffer *body;

	if (res != EVRPC_CONTINUE)
		goto fail;
	req->request = rpc->request_new(rpc->request_new_arg);
	if (req->request == NULL)
		goto fail;
	body = evhttp_request_get_input_buffer(req->http_req);
	if (rpc->request_unmarshal(req->request, body) < 0)
		goto fail;
	req->reply = rpc->reply_new(rpc->reply_new_arg);
	if (req->reply == NULL)
		goto fail;
	ec_note_call((uintptr_t)rpc->cb);
	rpc->cb(req, rpc->cb_arg);
	return;
fail:
	req_fail(req);
}

static void request_arrived(struct evhttp_request *http_req, void *arg)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(http_req);
	struct evrpc_req_generic *req;
	struct evrpc *rpc = arg;
	enum EVRPC_HOOK_RESULT res;

	if (evhttp_request_get_command(http_req) != EVHTTP_REQ_POST ||
	    evbuffer_get_length(body) == 0)
		goto fail;
	req = ec_calloc(1, sizeof(*req));
	if (req == NULL)
		goto fail;
	req->rpc = rpc;
	req->http_req = http_req;
	req->ctx.go_on = request_handle;
	res = le_rpc_hooks_run(&rpc->base->hooks, EVRPC_INPUT, &req->ctx,
			       evhttp_request_get_connection(http_req), http_req, body);
	if (res != EVRPC_PAUSE)
		request_handle(&req->ctx, res);
	return;
fail:
	evhttp_send_error(http_req, HTTP_SERVUNAVAIL, NULL);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	(void)what;
	return s->fn == (uintptr_t)request_arrived && ec_subject_calls(s, 0);
}

EC_SUBJECT(subject)

void *evrpc_get_request(struct evrpc_req_generic *req)
{
	return req->request;
}

void *evrpc_get_reply(struct evrpc_req_generic *req)
{
	return req->reply;
}

/* ---------------------------------------------------------------- registering */

/*
 * The base owns `rpc` and its uri from now on; evrpc_unregister_rpc() frees both. The name is the
 * end of the path that the server stores, so unregistering needs no memory.
 */
int evrpc_register_rpc(struct evrpc_base *base, struct evrpc *rpc,
		       void (*cb)(struct evrpc_req_generic *, void *), void *cb_arg)
{
	char *path = le_rpc_uri(rpc->uri);

	if (path == NULL)
		return -1;
	rpc->base = base;
	rpc->cb = cb;
	rpc->cb_arg = cb_arg;
	if (evhttp_set_cb(base->http, path, request_arrived, rpc) < 0) {
		ec_free(path);
		return -1;
	}
	ec_free((char *)(uintptr_t)rpc->uri);
	rpc->uri = path + sizeof(LE_RPC_PREFIX) - 1;
	TAILQ_INSERT_TAIL(&base->rpcs, rpc, next);
	return 0;
}

int evrpc_register_generic(struct evrpc_base *base, const char *name,
			   void (*callback)(struct evrpc_req_generic *, void *), void *cbarg,
			   void *(*req_new)(void *), void *req_new_arg, void (*req_free_fn)(void *),
			   int (*req_unmarshal)(void *, struct evbuffer *),
			   void *(*rpl_new)(void *), void *rpl_new_arg, void (*rpl_free)(void *),
			   int (*rpl_complete)(void *),
			   void (*rpl_marshal)(struct evbuffer *, void *))
{
	struct evrpc *rpc = ec_malloc(sizeof(*rpc));

	if (rpc == NULL)
		return -1;
	*rpc = (struct evrpc){
		.uri = ec_strdup(name),
		.request_new = req_new,
		.request_new_arg = req_new_arg,
		.request_free = req_free_fn,
		.request_unmarshal = req_unmarshal,
		.reply_new = rpl_new,
		.reply_new_arg = rpl_new_arg,
		.reply_free = rpl_free,
		.reply_complete = rpl_complete,
		.reply_marshal = rpl_marshal,
	};
	if (rpc->uri == NULL)
		goto free_rpc;
	if (evrpc_register_rpc(base, rpc, callback, cbarg) < 0)
		goto free_uri;
	return 0;
free_uri:
	ec_free((char *)(uintptr_t)rpc->uri);
free_rpc:
	ec_free(rpc);
	return -1;
}

int evrpc_unregister_rpc(struct evrpc_base *base, const char *name)
{
	struct evrpc *rpc;
	char *path;

	TAILQ_FOREACH(rpc, &base->rpcs, next) {
		if (strcmp(rpc->uri, name) == 0)
			break;
	}
	if (rpc == NULL)
		return -1;
	path = (char *)(uintptr_t)rpc->uri - (sizeof(LE_RPC_PREFIX) - 1);
	(void)evhttp_del_cb(base->http, path);
	TAILQ_REMOVE(&base->rpcs, rpc, next);
	ec_free(path);
	ec_free(rpc);
	return 0;
}
