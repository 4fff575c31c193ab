/* What event_rpcgen.py makes of all.rpc: every kind of field as bytes and back, and asked for over evrpc. */
#include "trace.h"

#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/event_compat.h>
#include <event2/http.h>
#include <event2/rpc.h>
#include <event2/rpc_struct.h>

#include "all.gen.h"

EVRPC_HEADER(exchange, all, inner)
EVRPC_GENERATE(exchange, all, inner)

static const ev_uint8_t bytes[] = { 0, 1, 2, 255, 254 };

static void inner_fill(struct inner *in, const char *name)
{
	EVTAG_ASSIGN(in, name, name);
	EVTAG_ASSIGN(in, number, 0xffffffff);
}

/* What a complete message needs. */
static struct all *small_new(void)
{
	struct all *msg = all_new();
	struct inner *in;

	must(msg != NULL, "make a message");
	say("complete %d", all_complete(msg));
	EVTAG_ASSIGN(msg, small, 7);
	EVTAG_ASSIGN(msg, large, UINT64_C(0xfedcba9876543210));
	EVTAG_ASSIGN(msg, text, "text");
	EVTAG_ASSIGN(msg, four, bytes);
	EVTAG_ASSIGN_WITH_LEN(msg, some, bytes, sizeof(bytes));
	say("complete %d", all_complete(msg));
	must(EVTAG_GET(msg, one, &in) == 0, "get a struct");
	say("complete %d", all_complete(msg));
	EVTAG_ASSIGN(in, name, "inner");
	say("complete %d", all_complete(msg));
	return msg;
}

static void fill(struct all *msg)
{
	struct inner *in = inner_new();
	int i;

	inner_fill(in, "maybe");
	EVTAG_ASSIGN(msg, maybe_small, 0);
	EVTAG_ASSIGN(msg, maybe_large, 1);
	EVTAG_ASSIGN(msg, maybe_text, "");
	EVTAG_ASSIGN(msg, maybe_four, bytes + 1);
	EVTAG_ASSIGN_WITH_LEN(msg, maybe_some, bytes, 1);
	say("assign a struct %d", EVTAG_ASSIGN(msg, maybe_one, in));
	inner_free(in);
	for (i = 0; i < 40; i++) {
		must(EVTAG_ARRAY_ADD_VALUE(msg, smalls, (ev_uint32_t)i * 1000) != NULL, "add");
		must(EVTAG_ARRAY_ADD_VALUE(msg, larges, UINT64_C(1) << i) != NULL, "add");
		must(EVTAG_ARRAY_ADD_VALUE(msg, texts, i % 2 != 0 ? "odd" : "") != NULL, "add");
	}
	for (i = 0; i < 3; i++)
		inner_fill(EVTAG_ARRAY_ADD(msg, ones), "of several");
	say("assign to an array %d %d", all_texts_assign(msg, 39, "last"), all_texts_assign(msg, 40, "too far"));
}

static void say_inner(const char *name, struct inner *in)
{
	ev_uint32_t number = 0;
	char *text = NULL;
	int r = EVTAG_GET(in, name, &text), has_number = EVTAG_GET(in, number, &number);

	say("%s: %d <%s>, %d %u", name, r, text != NULL ? text : "none", has_number, number);
}

static void say_all(struct all *msg)
{
	ev_uint32_t small = 0, len = 0;
	ev_uint64_t large = 0;
	struct inner *in;
	ev_uint8_t *data;
	char *text = NULL;
	int i;

	say("has %d %d %d %d %d %d", EVTAG_HAS(msg, maybe_small), EVTAG_HAS(msg, maybe_large),
	    EVTAG_HAS(msg, maybe_text), EVTAG_HAS(msg, maybe_four), EVTAG_HAS(msg, maybe_some),
	    EVTAG_HAS(msg, maybe_one));
	say("maybe %d %d %d %d %d", EVTAG_GET(msg, maybe_small, &small), EVTAG_GET(msg, maybe_large, &large),
	    EVTAG_GET(msg, maybe_text, &text), EVTAG_GET(msg, maybe_four, &data),
	    EVTAG_GET_WITH_LEN(msg, maybe_some, &data, &len));
	must(EVTAG_GET(msg, small, &small) == 0 && EVTAG_GET(msg, large, &large) == 0, "get numbers");
	must(EVTAG_GET(msg, text, &text) == 0, "get a text");
	say("%u %llx <%s>", small, (unsigned long long)large, text);
	must(EVTAG_GET(msg, four, &data) == 0, "get bytes");
	say("four %d %d", data[3], memcmp(data, bytes, 4));
	must(EVTAG_GET_WITH_LEN(msg, some, &data, &len) == 0, "get bytes");
	say("some %u %d", len, memcmp(data, bytes, len));
	must(EVTAG_GET(msg, one, &in) == 0, "get a struct");
	say_inner("one", in);
	if (EVTAG_HAS(msg, maybe_one)) {
		must(EVTAG_GET(msg, maybe_one, &in) == 0, "get a struct");
		say_inner("maybe", in);
	}
	say("lengths %d %d %d %d", EVTAG_ARRAY_LEN(msg, smalls), EVTAG_ARRAY_LEN(msg, larges),
	    EVTAG_ARRAY_LEN(msg, texts), EVTAG_ARRAY_LEN(msg, ones));
	for (i = 0; i < EVTAG_ARRAY_LEN(msg, smalls); i += 13) {
		must(EVTAG_ARRAY_GET(msg, smalls, i, &small) == 0 && EVTAG_ARRAY_GET(msg, larges, i, &large) == 0 &&
		     EVTAG_ARRAY_GET(msg, texts, i, &text) == 0, "get of an array");
		say("at %d: %u %llu <%s>", i, small, (unsigned long long)large, text);
	}
	for (i = 0; i < EVTAG_ARRAY_LEN(msg, ones); i++) {
		must(EVTAG_ARRAY_GET(msg, ones, i, &in) == 0, "get of an array");
		say_inner("ones", in);
	}
	say("beyond %d %d", EVTAG_ARRAY_GET(msg, smalls, 1000, &small), EVTAG_ARRAY_GET(msg, ones, -1, &in));
}

static void say_bytes(struct evbuffer *buf)
{
	size_t len = evbuffer_get_length(buf), i;
	const unsigned char *p = evbuffer_pullup(buf, -1);

	printf("%zu bytes:", len);
	for (i = 0; i < len; i++)
		printf(" %02x", p[i]);
	printf("\n");
}

static int reads_back(const unsigned char *p, size_t len, size_t *left)
{
	struct evbuffer *buf = evbuffer_new();
	struct all *msg = all_new();
	int r;

	evbuffer_add(buf, p, len);
	r = all_unmarshal(msg, buf);
	*left = evbuffer_get_length(buf);
	all_free(msg);
	evbuffer_free(buf);
	return r;
}

/* Cut off after each byte, and with each byte another one. */
static void damage(struct evbuffer *buf)
{
	size_t len = evbuffer_get_length(buf), i, left;
	unsigned char *p = malloc(len);
	int r;

	must(p != NULL, "allocate");
	evbuffer_copyout(buf, p, len);
	section("cut off");
	for (i = 0; i < len; i++) {
		r = reads_back(p, i, &left);
		printf(" %d/%zu", r, left);
	}
	printf("\n");
	section("altered");
	for (i = 0; i < len; i++) {
		p[i] ^= 0x15;
		r = reads_back(p, len, &left);
		printf(" %d/%zu", r, left);
		p[i] ^= 0x15;
	}
	printf("\n");
	free(p);
}

static void there_and_back(struct all *msg, int is_damaged)
{
	struct evbuffer *buf = evbuffer_new(), *copy = evbuffer_new();
	struct all *back = all_new();

	all_marshal(buf, msg);
	say_bytes(buf);
	evbuffer_add_buffer_reference(copy, buf);
	say("back %d, left %zu", all_unmarshal(back, copy), evbuffer_get_length(copy));
	say_all(back);
	if (is_damaged)
		damage(buf);
	evtag_marshal_all(copy, 77, back);
	all_clear(back);
	say("other tag %d", evtag_unmarshal_all(copy, 78, back));
	evbuffer_drain(copy, evbuffer_get_length(copy));
	evtag_marshal_all(copy, 77, msg);
	all_clear(back);
	say("cleared, complete %d", all_complete(back));
	say("tagged %d, left %zu", evtag_unmarshal_all(copy, 77, back), evbuffer_get_length(copy));
	say("length %d", EVTAG_ARRAY_LEN(back, texts));
	all_free(back);
	evbuffer_free(copy);
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- over evrpc */

static void serve(EVRPC_STRUCT(exchange) * rpc, void *arg)
{
	struct all *msg = rpc->request;
	char *text;

	must(EVTAG_GET(msg, text, &text) == 0, "get a text");
	say("  server: <%s>, arg %s", text, (const char *)arg);
	say_all(msg);
	inner_fill(rpc->reply, "reply");
	EVRPC_REQUEST_DONE(rpc);
}

static void answered(struct evrpc_status *status, struct all *request, struct inner *reply, void *arg)
{
	(void)request;
	say("  client: error %d", status->error);
	say_inner("  reply", reply);
	event_base_loopbreak(arg);
}

static void exchange(struct all *msg)
{
	struct event_base *base = event_init();
	struct evhttp *http = evhttp_new(base);
	struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	struct evrpc_base *rpcs = evrpc_init(http);
	struct evrpc_pool *pool = evrpc_pool_new(NULL);
	struct inner *reply = inner_new();
	struct evhttp_connection *conn;
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	section("exchanged");
	must(bound != NULL, "bind");
	must(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&sin, &len) == 0, "ask for the port");
	say("register %d", EVRPC_REGISTER(rpcs, exchange, all, inner, serve, (void *)(uintptr_t)"arg"));
	conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", ntohs(sin.sin_port));
	evrpc_pool_add_connection(pool, conn);
	say("request %d", EVRPC_MAKE_REQUEST(exchange, pool, msg, reply, answered, base));
	event_base_dispatch(base);
	say("unregister %d", EVRPC_UNREGISTER(rpcs, exchange));
	inner_free(reply);
	evrpc_pool_free(pool);
	evrpc_free(rpcs);
	evhttp_free(http);
	event_base_free(base);
}

static void log_message(int severity, const char *text)
{
	(void)severity;
	printf(" [%s]", text);
}

int main(void)
{
	struct all *msg;

	event_set_log_callback(log_message);
	section("what is required");
	msg = small_new();
	there_and_back(msg, 0);
	exchange(msg);
	section("all there is");
	fill(msg);
	there_and_back(msg, 1);
	exchange(msg);
	all_free(msg);
	return 0;
}
