/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* evrpc: a call over loopback. */
#include "sweep.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/rpc.h>
#include <event2/rpc_struct.h>
#include <event2/tag.h>

/* A message: one string. */
struct text {
	char s[32];
};

static void *text_new(void *arg)
{
	(void)arg;
	return calloc(1, sizeof(struct text));
}

static void text_free(void *msg)
{
	free(msg);
}

static void text_clear(void *msg)
{
	((struct text *)msg)->s[0] = '\0';
}

static int text_complete(void *msg)
{
	(void)msg;
	return 0;
}

static void text_marshal(struct evbuffer *buf, void *msg)
{
	evtag_marshal_string(buf, 1, ((struct text *)msg)->s);
}

static int text_unmarshal(void *msg, struct evbuffer *buf)
{
	char *s;

	if (evtag_unmarshal_string(buf, 1, &s) < 0)
		return -1;
	snprintf(((struct text *)msg)->s, sizeof(((struct text *)msg)->s), "%s", s);
	free(s);
	return 0;
}

static void handle(struct evrpc_req_generic *req, void *arg)
{
	struct text *question = evrpc_get_request(req), *answer = evrpc_get_reply(req);

	(void)arg;
	*answer = *question;
	evrpc_request_done(req);
}

static void answered(struct evrpc_status *status, void *request, void *reply, void *arg)
{
	struct sweep *s = arg;

	(void)request;
	(void)reply;
	sweep_check(status->error == EVRPC_STATUS_ERR_NONE);
	s->calls++;
}

static int on_hook(void *ctx, struct evhttp_request *req, struct evbuffer *buf, void *arg)
{
	struct sweep *s = arg;
	void *data = NULL;
	size_t len = 0;

	(void)req;
	(void)buf;
	evrpc_hook_add_meta(ctx, "key", "value", 5);
	s->calls += 1000 * (evrpc_hook_find_meta(ctx, "key", &data, &len) == 0);
	return EVRPC_CONTINUE;
}

struct rpc {
	struct evhttp *http;
	struct evrpc_base *base;
	struct evrpc_pool *pool;
};

static void rpc_open(struct sweep *s, struct rpc *rpc)
{
	struct evhttp_bound_socket *bound;
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	sweep_base(s);
	rpc->http = evhttp_new(s->base);
	bound = evhttp_bind_socket_with_handle(rpc->http, "127.0.0.1", 0);
	sweep_check(bound != NULL);
	sweep_check(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&addr, &len) == 0);
	rpc->base = evrpc_init(rpc->http);
	sweep_check(evrpc_register_generic(rpc->base, "echo", handle, s, text_new, NULL, text_free, text_unmarshal,
					   text_new, NULL, text_free, text_complete, text_marshal) == 0);
	rpc->pool = evrpc_pool_new(NULL);
	evrpc_pool_add_connection(rpc->pool,
				  evhttp_connection_base_new(s->base, NULL, "127.0.0.1", ntohs(addr.sin_port)));
}

static void rpc_close(struct sweep *s, struct rpc *rpc)
{
	evrpc_pool_free(rpc->pool);
	evrpc_unregister_rpc(rpc->base, "echo");
	evrpc_free(rpc->base);
	evhttp_free(rpc->http);
	sweep_poll(s->base);
	event_base_free(s->base);
}

static void call_with(struct sweep *s, bool has_hook)
{
	struct text question = { "a question" }, answer;
	struct rpc rpc;
	void *hook = NULL;
	int calls;

	rpc_open(s, &rpc);
	if (has_hook)
		hook = evrpc_add_hook(rpc.pool, EVRPC_OUTPUT, on_hook, s);
	while (sweep_next(s)) {
		calls = s->calls % 1000;
		sweep_check(evrpc_send_request_generic(rpc.pool, &question, &answer, answered, s, "echo", text_marshal,
						       text_clear, text_unmarshal) == 0);
		while (s->calls % 1000 == calls)
			sweep_poll(s->base);
	}
	if (hook != NULL)
		evrpc_remove_hook(rpc.pool, EVRPC_OUTPUT, hook);
	rpc_close(s, &rpc);
}

static void call(struct sweep *s)
{
	call_with(s, false);
}

static void call_hook(struct sweep *s)
{
	call_with(s, true);
}

static void pool_new_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct evrpc_pool *pool = evrpc_pool_new(NULL);
		struct evhttp_connection *conn = evhttp_connection_base_new(s->base, NULL, "127.0.0.1", 80);

		evrpc_pool_set_timeout(pool, 5);
		evrpc_pool_add_connection(pool, conn);
		evrpc_pool_remove_connection(pool, conn);
		evhttp_connection_free(conn);
		evrpc_pool_free(pool);
		sweep_poll(s->base);
	}
	event_base_free(s->base);
}

static void register_free(struct sweep *s)
{
	sweep_base(s);
	while (sweep_next(s)) {
		struct evhttp *http = evhttp_new(s->base);
		struct evrpc_base *rpcs = evrpc_init(http);

		evrpc_register_generic(rpcs, "echo", handle, s, text_new, NULL, text_free, text_unmarshal, text_new,
				       NULL, text_free, text_complete, text_marshal);
		evrpc_unregister_rpc(rpcs, "echo");
		evrpc_free(rpcs);
		evhttp_free(http);
	}
	event_base_free(s->base);
}

const struct sweep_pattern sweep_rpc[] = {
	{ "rpc/call", call, .ops = 30 },
	{ "rpc/call-hook", call_hook, .ops = 30 },
	{ "rpc/pool-new-free", pool_new_free, .ops = 50 },
	{ "rpc/register-free", register_free, .ops = 50 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
