/* RPCs and tags of libevent 1.4's time: <evrpc.h>, <evhttp.h>, messages as event_rpcgen.py wrote them. */
#include <sys/types.h>
#include <sys/queue.h>

#include <evhttp.h>
#include <evrpc.h>

#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* What the generator declares for each message: new, free, clear, marshal, unmarshal, complete. */
struct note {
	char *text;
	ev_uint32_t number;
};

static struct note *note_new(void)
{
	return calloc(1, sizeof(struct note));
}

static void note_clear(struct note *n)
{
	free(n->text);
	n->text = NULL;
	n->number = 0;
}

static void note_free(struct note *n)
{
	note_clear(n);
	free(n);
}

static void note_marshal(struct evbuffer *buf, const struct note *n)
{
	evtag_marshal_string(buf, 1, n->text);
	evtag_marshal_int(buf, 2, n->number);
}

static int note_unmarshal(struct note *n, struct evbuffer *buf)
{
	return evtag_unmarshal_string(buf, 1, &n->text) < 0 || evtag_unmarshal_int(buf, 2, &n->number) < 0 ? -1 : 0;
}

static int note_complete(struct note *n)
{
	return n->text == NULL ? -1 : 0;
}

static struct note *note_new_with_arg(void *arg)
{
	(void)arg;
	return note_new();
}

EVRPC_HEADER(Echo, note, note)
EVRPC_GENERATE(Echo, note, note)

static void serve(EVRPC_STRUCT(Echo) * rpc, void *arg)
{
	say("  server: <%s> %u, arg %s", rpc->request->text, rpc->request->number, (const char *)arg);
	if (rpc->request->number != 0) {
		rpc->reply->text = strdup(rpc->request->text);
		rpc->reply->number = rpc->request->number + 1;
	}
	EVRPC_REQUEST_DONE(rpc);
}

static void answered(struct evrpc_status *status, struct note *request, struct note *reply, void *arg)
{
	say("  client: error %d, <%s> %u, arg %s", status->error, reply->text != NULL ? reply->text : "none",
	    reply->number, (const char *)arg);
	(void)request;
	event_loopexit(NULL);
}

static void ask(struct evrpc_pool *pool, const char *text, ev_uint32_t number)
{
	struct note *request = note_new(), *reply = note_new();

	request->text = strdup(text);
	request->number = number;
	say("ask %d", EVRPC_MAKE_REQUEST(Echo, pool, request, reply, answered, (void *)(uintptr_t)"arg"));
	event_dispatch();
	note_free(request);
	note_free(reply);
}

static void tags(void)
{
	struct evbuffer *buf = evbuffer_new(), *data = evbuffer_new();
	ev_uint32_t number = 0, tag = 0, len = 0;
	struct timeval tv = { 12, 345678 };
	char fixed[4] = "";
	char *text = NULL;

	section("tags");
	evtag_init();
	encode_int(buf, 0x12345);
	say("integer of %zu bytes", EVBUFFER_LENGTH(buf));
	evbuffer_drain(buf, EVBUFFER_LENGTH(buf));
	evbuffer_add(data, "data", 4);
	evtag_marshal(buf, 1, "raw", 3);
	evtag_marshal_buffer(buf, 2, data);
	evtag_marshal_int(buf, 3, 77);
	evtag_marshal_string(buf, 4, "text");
	evtag_marshal_timeval(buf, 5, &tv);
	say("marshalled %zu", EVBUFFER_LENGTH(buf));
	say("peek %d", evtag_peek(buf, &tag));
	say("tag %u", tag);
	say("length %d", evtag_peek_length(buf, &len));
	say("length %u", len);
	say("payload %d", evtag_payload_length(buf, &len));
	say("length %u", len);
	say("fixed %d", evtag_unmarshal_fixed(buf, 1, fixed, 3));
	say("<%s>", fixed);
	say("consume %d", evtag_consume(buf));
	say("wrong %d", evtag_unmarshal_int(buf, 9, &number));
	say("left %zu", EVBUFFER_LENGTH(buf));
	say("string %d", evtag_unmarshal_string(buf, 4, &text));
	say("<%s>", text != NULL ? text : "none");
	free(text);
	memset(&tv, 0, sizeof(tv));
	say("time %d", evtag_unmarshal_timeval(buf, 5, &tv));
	say("%ld %ld", (long)tv.tv_sec, (long)tv.tv_usec);
	evbuffer_free(data);
	evbuffer_free(buf);
}

int main(void)
{
	struct event_base *base = event_init();
	struct evhttp *http = evhttp_new(NULL);
	struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	struct evrpc_base *rpcs = evrpc_init(http);
	struct evrpc_pool *pool = evrpc_pool_new(NULL);
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	must(bound != NULL, "bind");
	must(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&sin, &len) == 0, "ask for the port");
	tags();
	section("rpcs");
	EVRPC_REGISTER(rpcs, Echo, note, note, serve, (void *)(uintptr_t)"served");
	evrpc_pool_add_connection(pool, evhttp_connection_new("127.0.0.1", ntohs(sin.sin_port)));
	ask(pool, "hello", 1);
	ask(pool, "nothing comes back", 0);
	ask(pool, "again", 41);
	say("unregister %d", EVRPC_UNREGISTER(rpcs, Echo));
	ask(pool, "nobody is there", 1);
	evrpc_pool_free(pool);
	evrpc_free(rpcs);
	evhttp_free(http);
	event_base_free(base);
	return 0;
}
