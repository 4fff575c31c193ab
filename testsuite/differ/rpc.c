/* evrpc over loopback: results and errors of both sides, hooks, pauses, meta data, queueing. */
#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/event_compat.h>
#include <event2/http.h>
#include <event2/rpc.h>
#include <event2/rpc_struct.h>
#include <event2/tag.h>

/* A message: one string. "bad" is not complete, and "junk" is marshalled to what no message is. */
struct text {
	char s[32];
};

static struct event_base *base;
static struct evhttp *http;
static struct evrpc_base *rpcs;
static struct evrpc_pool *pool;
static struct evhttp_connection *conn;
static uint16_t port;

static void *text_new(void *arg)
{
	say("  new, arg %s", arg != NULL ? (const char *)arg : "NULL");
	return calloc(1, sizeof(struct text));
}

static void text_free(void *msg)
{
	say("  free <%s>", ((struct text *)msg)->s);
	free(msg);
}

static void text_clear(void *msg)
{
	say("  clear <%s>", ((struct text *)msg)->s);
	((struct text *)msg)->s[0] = '\0';
}

static int text_complete(void *msg)
{
	return strcmp(((struct text *)msg)->s, "bad") == 0 ? -1 : 0;
}

static void text_marshal(struct evbuffer *buf, void *msg)
{
	const struct text *t = msg;

	if (strcmp(t->s, "junk") == 0)
		evbuffer_add(buf, "\xff\xff", 2);
	else
		evtag_marshal_string(buf, 1, t->s);
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

static struct evrpc_req_generic *held;

/* Replies with what it was asked; "hold" is answered later. */
static void handle(struct evrpc_req_generic *req, void *arg)
{
	struct text *q = evrpc_get_request(req), *a = evrpc_get_reply(req);

	say("  server got <%s>, arg %s", q->s, (const char *)arg);
	memcpy(a->s, q->s, sizeof(a->s));
	if (strcmp(q->s, "hold") == 0)
		held = req;
	else
		evrpc_request_done(req);
}

static int answers;

static void answered(struct evrpc_status *status, void *request, void *reply, void *arg)
{
	say("  client: error %d, http %s %d, request <%s>, reply <%s>, arg %s", status->error,
	    status->http_req != NULL ? "yes" : "no",
	    status->http_req != NULL ? evhttp_request_get_response_code(status->http_req) : 0,
	    ((struct text *)request)->s, ((struct text *)reply)->s, (const char *)arg);
	if (--answers == 0)
		event_base_loopbreak(base);
}

static int send_text(struct text *q, struct text *a, const char *name)
{
	return evrpc_send_request_generic(pool, q, a, answered, (void *)(uintptr_t)"cbarg", name, text_marshal,
					  text_clear, text_unmarshal);
}

static void ask(const char *what, const char *name)
{
	struct text q = { "" }, a = { "before" };

	say("- ask %s: %s", name, what);
	snprintf(q.s, sizeof(q.s), "%s", what);
	answers = 1;
	say("  send %d", send_text(&q, &a, name));
	if (answers != 0)
		event_base_dispatch(base);
	say("  then <%s>", a.s);
}

static void pool_open(void)
{
	pool = evrpc_pool_new(NULL);
	conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", port);
	evrpc_pool_add_connection(pool, conn);
}

static int result;

static int hook(void *ctx, struct evhttp_request *req, struct evbuffer *buf, void *arg)
{
	void *data = NULL;
	size_t len = 0;
	int r = evrpc_hook_find_meta(ctx, "key", &data, &len);

	say("  hook %s: conn %s, body %zu, uri %s, meta %d %.*s", (const char *)arg,
	    evrpc_hook_get_connection(ctx) != NULL ? "yes" : "no", evbuffer_get_length(buf),
	    evhttp_request_get_uri(req) != NULL ? evhttp_request_get_uri(req) : "none", r, (int)len,
	    data != NULL ? (const char *)data : "");
	evrpc_hook_add_meta(ctx, "key", arg, strlen(arg));
	return result;
}

static void hooks(const char *name, void *vbase, enum EVRPC_HOOK_TYPE type)
{
	void *one = evrpc_add_hook(vbase, type, hook, (void *)(uintptr_t)"one");
	void *two = evrpc_add_hook(vbase, type, hook, (void *)(uintptr_t)"two");
	int i;

	section(name);
	for (i = 0; i >= -1; i--) {
		result = i;
		say("- result %d", i);
		ask("hello", "echo");
	}
	say("remove two: %d", evrpc_remove_hook(vbase, type, two));
	say("again: %d", evrpc_remove_hook(vbase, type, two));
	say("other type: %d", evrpc_remove_hook(vbase, type == EVRPC_INPUT ? EVRPC_OUTPUT : EVRPC_INPUT, one));
	result = 0;
	ask("hello", "echo");
	say("remove one: %d", evrpc_remove_hook(vbase, type, one));
	ask("hello", "echo");
}

struct paused {
	void *vbase;
	void *ctx;
	enum EVRPC_HOOK_RESULT res;
};

static void resume(evutil_socket_t fd, short what, void *arg)
{
	struct paused *p = arg;

	(void)fd;
	(void)what;
	say("  resume with %d: %d", p->res, evrpc_resume_request(p->vbase, p->ctx, p->res));
}

static int hook_pause(void *ctx, struct evhttp_request *req, struct evbuffer *buf, void *arg)
{
	static const struct timeval now;
	struct paused *p = arg;

	(void)req;
	say("  pause: body %zu", evbuffer_get_length(buf));
	p->ctx = ctx;
	event_base_once(base, -1, EV_TIMEOUT, resume, p, &now);
	return EVRPC_PAUSE;
}

static void pauses(const char *name, void *vbase, enum EVRPC_HOOK_TYPE type)
{
	struct paused p = { vbase, NULL, EVRPC_CONTINUE };
	void *first = evrpc_add_hook(vbase, type, hook_pause, &p);
	void *second = evrpc_add_hook(vbase, type, hook, (void *)(uintptr_t)"after");

	section(name);
	result = 0;
	ask("hello", "echo");
	p.res = EVRPC_TERMINATE;
	ask("hello", "echo");
	say("not paused: %d", evrpc_resume_request(vbase, &p, EVRPC_CONTINUE));
	evrpc_remove_hook(vbase, type, first);
	evrpc_remove_hook(vbase, type, second);
}

static void raw_done(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(req);

	(void)arg;
	say("  %d %s, type %s, body %zu", evhttp_request_get_response_code(req),
	    evhttp_request_get_response_code_line(req),
	    evhttp_find_header(evhttp_request_get_input_headers(req), "Content-Type"), evbuffer_get_length(body));
	event_base_loopbreak(base);
}

static void raw(const char *name, enum evhttp_cmd_type type, const char *body, size_t len, const char *uri)
{
	struct evhttp_connection *c = evhttp_connection_base_new(base, NULL, "127.0.0.1", port);
	struct evhttp_request *req = evhttp_request_new(raw_done, NULL);

	section(name);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Host", "somehost");
	evbuffer_add(evhttp_request_get_output_buffer(req), body, len);
	evhttp_make_request(c, req, type, uri);
	event_base_dispatch(base);
	evhttp_connection_free(c);
}

static void queue(void)
{
	struct text q[3] = { { "a" }, { "b" }, { "c" } }, a[3] = { { "" }, { "" }, { "" } };
	int i;

	section("queued on one connection");
	answers = 3;
	for (i = 0; i < 3; i++)
		say("  send %d", send_text(&q[i], &a[i], "echo"));
	event_base_dispatch(base);
}

static void timeout(void)
{
	section("timeout");
	evrpc_pool_set_timeout(pool, 1);
	ask("hold", "echo");
	evrpc_request_done(held);
	evrpc_pool_set_timeout(pool, 0);
	ask("hello", "echo");
}

/* Which of two connections gives up first tells which timeout it has: that of the pool, or its own. */
static void gave_up(struct evhttp_request *req, void *arg)
{
	say("  %s gave up, request %s", (const char *)arg, req != NULL ? "yes" : "no");
	if (--answers == 0)
		event_base_loopbreak(base);
}

/* `ms` -1: no timeout of its own. */
static struct evhttp_connection *conn_with(int ms)
{
	struct evhttp_connection *c = evhttp_connection_base_new(base, NULL, "127.0.0.1", port);
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	must(c != NULL, "make a connection");
	if (ms >= 0)
		evhttp_connection_set_timeout_tv(c, &tv);
	return c;
}

static void wait_on(struct evhttp_connection *c, const char *name)
{
	struct evhttp_request *req = evhttp_request_new(gave_up, (void *)(uintptr_t)name);

	answers++;
	say("  %s asks: %d", name, evhttp_make_request(c, req, EVHTTP_REQ_GET, "/nothing-comes"));
}

static void hold_request(struct evhttp_request *req, void *arg)
{
	(void)req;
	(void)arg;
}

static void connection_timeouts(void)
{
	struct evrpc_pool *p = evrpc_pool_new(NULL);
	struct evhttp_connection *before = conn_with(5000), *none = conn_with(-1), *own = conn_with(2000),
				 *other = conn_with(1500);

	section("timeouts of a pool's connections");
	evhttp_set_cb(http, "/nothing-comes", hold_request, NULL);
	evrpc_pool_add_connection(p, before);
	evrpc_pool_set_timeout(p, 1);
	evrpc_pool_add_connection(p, none);
	evrpc_pool_add_connection(p, own);
	answers = 0;
	/* Which of these two is first has no order. */
	wait_on(before, "with the pool's 1");
	wait_on(none, "with the pool's 1");
	wait_on(own, "with 2 behind the pool's 1");
	wait_on(other, "with 1.5 in no pool");
	event_base_dispatch(base);
	evrpc_pool_free(p);
	evhttp_connection_free(other);
}

/* As an own struct evrpc, which is the base's then. */
static void given(void)
{
	struct evrpc *rpc = calloc(1, sizeof(*rpc));

	section("a struct of the program's");
	must(rpc != NULL, "allocate");
	rpc->uri = strdup("given");
	rpc->request_new = rpc->reply_new = text_new;
	rpc->request_free = rpc->reply_free = text_free;
	rpc->request_unmarshal = text_unmarshal;
	rpc->reply_complete = text_complete;
	rpc->reply_marshal = text_marshal;
	say("register %d", evrpc_register_rpc(rpcs, rpc, handle, (void *)(uintptr_t)"given"));
	say("uri %s, base %s", rpc->uri, rpc->base == rpcs ? "same" : "other");
	ask("hello", "given");
	say("unregister %d", evrpc_unregister_rpc(rpcs, "given"));
	ask("hello", "given");
}

static void context(void)
{
	struct text q = { "q" }, a = { "" };
	struct evrpc_request_wrapper *ctx;

	section("context");
	ctx = evrpc_make_request_ctx(pool, &q, &a, "echo", text_marshal, text_clear, text_unmarshal, NULL, NULL);
	say("pool %s", evrpc_request_get_pool(ctx) == pool ? "same" : "other");
	evrpc_request_set_pool(ctx, NULL);
	say("pool %s", evrpc_request_get_pool(ctx) == NULL ? "none" : "other");
	evrpc_request_set_pool(ctx, pool);
	evrpc_request_set_cb(ctx, answered, (void *)(uintptr_t)"set");
	answers = 1;
	say("make %d", evrpc_make_request(ctx));
	event_base_dispatch(base);
}

static int registered(const char *name)
{
	return evrpc_register_generic(rpcs, name, handle, (void *)(uintptr_t)"handler", text_new,
				      (void *)(uintptr_t)"q", text_free, text_unmarshal, text_new,
				      (void *)(uintptr_t)"a", text_free, text_complete, text_marshal);
}

int main(void)
{
	struct evhttp_bound_socket *sock;
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	base = event_init();
	http = evhttp_new(base);
	sock = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	must(sock != NULL, "bind");
	must(getsockname(evhttp_bound_socket_get_fd(sock), (struct sockaddr *)&sin, &len) == 0, "ask for the port");
	port = ntohs(sin.sin_port);
	rpcs = evrpc_init(http);

	section("registering");
	say("register %d", registered("echo"));
	say("unknown: %d", evrpc_unregister_rpc(rpcs, "nobody"));

	raw("not a POST", EVHTTP_REQ_GET, "", 0, "/.rpc.echo");
	raw("no body", EVHTTP_REQ_POST, "", 0, "/.rpc.echo");
	raw("nonsense", EVHTTP_REQ_POST, "Some Nonsense", 13, "/.rpc.echo");
	raw("good", EVHTTP_REQ_POST, "\x01\x02hi", 4, "/.rpc.echo");

	pool_open();
	section("answers");
	ask("hello", "echo");
	ask("bad", "echo");
	ask("junk", "echo");
	ask("", "echo");
	ask("hello", "nobody");
	queue();
	hooks("server input", rpcs, EVRPC_INPUT);
	hooks("server output", rpcs, EVRPC_OUTPUT);
	hooks("pool input", pool, EVRPC_INPUT);
	hooks("pool output", pool, EVRPC_OUTPUT);
	pauses("server input paused", rpcs, EVRPC_INPUT);
	pauses("server output paused", rpcs, EVRPC_OUTPUT);
	pauses("pool input paused", pool, EVRPC_INPUT);
	pauses("pool output paused", pool, EVRPC_OUTPUT);
	context();
	timeout();
	given();
	connection_timeouts();

	section("removing");
	evrpc_pool_remove_connection(pool, conn);
	evhttp_connection_free(conn);
	evrpc_pool_free(pool);
	say("unregister: %d", evrpc_unregister_rpc(rpcs, "echo"));
	say("unregister: %d", evrpc_unregister_rpc(rpcs, "echo"));
	evrpc_free(rpcs);
	evhttp_free(http);
	event_base_free(base);
	return 0;
}
