/*
 * The tools name a callback after the function of the program that it called, though libevent's own function calls
 * that: bufferevents, listeners, HTTP, RPC, DNS and event_base_once.
 */
#include "../table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/dns_struct.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/rpc.h>
#include <event2/rpc_struct.h>

#include "core/ec.h"
#include "core/observe/control.h"
#include "core/observe/stats.h"
#include "core/observe/trace_layout.h"
#include "core/sched/base.h"

static struct event_base *base;

/* ---------------------------------------------------------------- what the tools see */

/* All of one open file of the process; NULL: there is none. */
static const char *file_of(uint32_t kind, size_t *len)
{
	struct stat st;
	void *at;
	int i;

	for (i = 0; i < EC_CONTROL_FILES; i++) {
		if (ec_control.files[i].kind != kind)
			continue;
		assert_int_equal(fstat(ec_control.files[i].fd, &st), 0);
		*len = (size_t)st.st_size;
		at = mmap(NULL, *len, PROT_READ, MAP_SHARED, ec_control.files[i].fd, 0);
		assert_true(at != MAP_FAILED);
		return at;
	}
	return NULL;
}

static bool is_counted(uintptr_t fn)
{
	const struct ec_stats_file_layout *f;
	bool is_found = false;
	size_t len;
	unsigned i;

	f = (const void *)file_of(EC_OBSERVE_COUNT, &len);
	assert_non_null(f);
	for (i = 0; i < f->workers[0].sites_num; i++)
		is_found = is_found || f->workers[0].sites[i].site == fn;
	assert_int_equal(munmap((void *)(uintptr_t)f, len), 0);
	return is_found;
}

static bool is_traced(uintptr_t fn)
{
	const struct ec_trace_ring *r;
	const char *file;
	bool is_found = false;
	size_t len;
	uint64_t i;

	file = file_of(EC_OBSERVE_TRACE, &len);
	assert_non_null(file);
	r = (const void *)(file + ((const struct ec_trace_head *)(const void *)file)->rings_at);
	for (i = 0; i < r->num; i++) {
		const _Atomic(uint64_t) *words = &r->records[i * EC_TRACE_WORDS];

		is_found = is_found || ((words[0] & 0xff) == EC_TRACE_CALL && EC_TRACE_FN(words[1]) == fn);
	}
	assert_int_equal(munmap((void *)(uintptr_t)file, len), 0);
	return is_found;
}

static void assert_named(uintptr_t fn, const char *name)
{
	assert_row(is_counted(fn), name);
	assert_row(is_traced(fn), name);
}

#define ASSERT_NAMED(fn) assert_named((uintptr_t)(fn), #fn)

static int begin(void **state)
{
	(void)state;
	ec_control_own.wanted = EC_OBSERVE_COUNT | EC_OBSERVE_TRACE | EC_OBSERVE_STALL;
	base = event_base_new();
	return base == NULL ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	event_base_free(base);
	return 0;
}

/* ---------------------------------------------------------------- events */

static void on_once(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	*(bool *)arg = is_counted((uintptr_t)on_event);
}

static void events(void **state)
{
	bool is_known = true;
	struct event *ev = event_new(base, -1, 0, on_event, &is_known);

	(void)state;
	assert_int_equal(event_base_once(base, -1, EV_TIMEOUT, on_once, NULL, NULL), 0);
	event_active(ev, EV_READ, 1);
	assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_NONBLOCK), 0);
	ASSERT_NAMED(on_once);
	ASSERT_NAMED(on_event);
	assert_false(is_known);			/* as it ran for the first time */
	event_free(ev);
}

static bool has_short_ways(struct event_base *b)
{
	assert_int_equal(event_base_loop(b, EVLOOP_NO_EXIT_ON_EMPTY | EVLOOP_NONBLOCK), 0);
	return ((const struct ec_base *)(const void *)b)->fast_path != NULL;
}

/* A base that is observed no more takes the short ways again, also while another one is still observed. */
static void the_end_leaves_nothing(void **state)
{
	struct event_base *other = event_base_new();

	(void)state;
	ec_control_own.trace[1] |= EC_CONTROL_TRACE_OBJECTS;
	assert_false(has_short_ways(base));
	assert_false(has_short_ways(other));
	ec_control_own.wanted = 0;
	assert_true(has_short_ways(base));
	assert_true(has_short_ways(other));
	event_base_free(other);
}

/* ---------------------------------------------------------------- a server of bufferevents */

static void on_input(struct bufferevent *bev, void *arg)
{
	(void)arg;
	(void)bufferevent_write_buffer(bev, bufferevent_get_input(bev));
}

static void on_end(struct bufferevent *bev, short what, void *arg)
{
	(void)what;
	(void)arg;
	bufferevent_free(bev);
	event_base_loopbreak(base);
}

static void on_accept(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct bufferevent *served;

	(void)lev;
	(void)addr;
	(void)len;
	(void)arg;
	served = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(served, on_input, NULL, on_end, NULL);
	bufferevent_enable(served, EV_READ);
}

static void on_output(struct bufferevent *bev, void *arg)
{
	(void)arg;
	if (evbuffer_get_length(bufferevent_get_input(bev)) != 0)
		bufferevent_free(bev);
}

static void on_connect(struct bufferevent *bev, short what, void *arg)
{
	(void)arg;
	assert_int_equal(what, BEV_EVENT_CONNECTED);
	bufferevent_enable(bev, EV_READ);
	(void)bufferevent_write(bev, "ping", 4);
}

static void bufferevents(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct evconnlistener *lev;
	struct bufferevent *client;
	socklen_t len = sizeof(at);

	(void)state;
	lev = evconnlistener_new_bind(base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE, -1, (struct sockaddr *)&at,
				      sizeof(at));
	assert_non_null(lev);
	assert_int_equal(getsockname(evconnlistener_get_fd(lev), (struct sockaddr *)&at, &len), 0);
	client = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(client, on_output, NULL, on_connect, NULL);
	assert_int_equal(bufferevent_socket_connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(event_base_dispatch(base), 0);
	ASSERT_NAMED(on_accept);
	ASSERT_NAMED(on_input);
	ASSERT_NAMED(on_end);
	ASSERT_NAMED(on_output);
	ASSERT_NAMED(on_connect);
	evconnlistener_free(lev);
}

/* ---------------------------------------------------------------- HTTP and RPC */

static struct evhttp *http;
static unsigned answers_left;
static ev_uint16_t port;

static void on_path(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_reply(req, HTTP_OK, "OK", NULL);
}

static void on_other(struct evhttp_request *req, void *arg)
{
	(void)arg;
	evhttp_send_error(req, HTTP_NOTFOUND, NULL);
}

static void on_answer(struct evhttp_request *req, void *arg)
{
	(void)arg;
	assert_non_null(req);
	if (--answers_left == 0)
		event_base_loopbreak(base);
}

static void server_begin(void)
{
	struct evhttp_bound_socket *bound;
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	http = evhttp_new(base);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	assert_non_null(bound);
	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&at, &len), 0);
	port = ntohs(at.sin_port);
}

static void ask(struct evhttp_connection *conn, const char *path)
{
	assert_int_equal(evhttp_make_request(conn, evhttp_request_new(on_answer, NULL), EVHTTP_REQ_GET, path), 0);
}

static void servers(void **state)
{
	struct evhttp_connection *conn;

	(void)state;
	server_begin();
	assert_int_equal(evhttp_set_cb(http, "/path", on_path, NULL), 0);
	evhttp_set_gencb(http, on_other, NULL);
	conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", port);
	answers_left = 2;
	ask(conn, "/path");
	ask(conn, "/other");
	assert_int_equal(event_base_dispatch(base), 0);
	ASSERT_NAMED(on_path);
	ASSERT_NAMED(on_other);
	ASSERT_NAMED(on_answer);
	evhttp_connection_free(conn);
	evhttp_free(http);
}

static void *message_new(void *arg)
{
	(void)arg;
	return &port;
}

static void message_free(void *msg)
{
	(void)msg;
}

static int message_read(void *msg, struct evbuffer *buf)
{
	(void)msg;
	(void)buf;
	return 0;
}

static int message_check(void *msg)
{
	(void)msg;
	return 0;
}

static void message_write(struct evbuffer *buf, void *msg)
{
	(void)msg;
	(void)evbuffer_add(buf, "x", 1);
}

static void on_rpc(struct evrpc_req_generic *req, void *arg)
{
	(void)arg;
	evrpc_request_done(req);
}

static void on_result(struct evrpc_status *status, void *request, void *reply, void *arg)
{
	(void)request;
	(void)reply;
	(void)arg;
	assert_int_equal(status->error, EVRPC_STATUS_ERR_NONE);
	event_base_loopbreak(base);
}

static void rpcs(void **state)
{
	struct evhttp_connection *conn;
	struct evrpc_base *server;
	struct evrpc_pool *pool;
	struct evrpc_request_wrapper *w;

	(void)state;
	server_begin();
	server = evrpc_init(http);
	assert_int_equal(evrpc_register_generic(server, "echo", on_rpc, NULL, message_new, NULL, message_free,
						message_read, message_new, NULL, message_free, message_check,
						message_write), 0);
	pool = evrpc_pool_new(base);
	conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", port);
	evrpc_pool_add_connection(pool, conn);
	w = evrpc_make_request_ctx(pool, &port, &port, "echo", message_write, message_free, message_read, on_result,
				   NULL);
	assert_int_equal(evrpc_make_request(w), 0);
	assert_int_equal(event_base_dispatch(base), 0);
	ASSERT_NAMED(on_rpc);
	ASSERT_NAMED(on_result);
	evrpc_pool_free(pool);
	evrpc_free(server);
	evhttp_free(http);
}

/* ---------------------------------------------------------------- DNS */

static void on_question(struct evdns_server_request *req, void *arg)
{
	ev_uint32_t address = htonl(INADDR_LOOPBACK);
	int i;

	(void)arg;
	for (i = 0; i < req->nquestions; i++) {
		if (req->questions[i]->type == EVDNS_TYPE_A)
			(void)evdns_server_request_add_a_reply(req, req->questions[i]->name, 1, &address, 5);
	}
	assert_int_equal(evdns_server_request_respond(req, 0), 0);
}

static void on_resolved(int result, char type, int num, int ttl, void *addresses, void *arg)
{
	(void)type;
	(void)num;
	(void)ttl;
	(void)addresses;
	(void)arg;
	assert_int_equal(result, DNS_ERR_NONE);
	if (--answers_left == 0)
		event_base_loopbreak(base);
}

static void on_addresses(int result, struct evutil_addrinfo *list, void *arg)
{
	(void)arg;
	assert_int_equal(result, 0);
	evutil_freeaddrinfo(list);
	if (--answers_left == 0)
		event_base_loopbreak(base);
}

static void resolvers(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct evutil_addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	struct evdns_server_port *server;
	socklen_t len = sizeof(at);
	struct evdns_base *dns;

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	server = evdns_add_server_port_with_base(base, fd, 0, on_question, NULL);
	dns = evdns_base_new(base, 0);
	assert_int_equal(evdns_base_nameserver_sockaddr_add(dns, (struct sockaddr *)&at, len, 0), 0);
	answers_left = 2;
	assert_non_null(evdns_base_resolve_ipv4(dns, "a.example", DNS_QUERY_NO_SEARCH, on_resolved, NULL));
	assert_non_null(evdns_getaddrinfo(dns, "b.example", "80", &hints, on_addresses, NULL));
	assert_int_equal(event_base_dispatch(base), 0);
	ASSERT_NAMED(on_question);
	ASSERT_NAMED(on_resolved);
	ASSERT_NAMED(on_addresses);
	evdns_base_free(dns, 0);
	evdns_close_server_port(server);
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	close(fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events, begin, end),
		cmocka_unit_test_setup_teardown(the_end_leaves_nothing, begin, end),
		cmocka_unit_test_setup_teardown(bufferevents, begin, end),
		cmocka_unit_test_setup_teardown(servers, begin, end),
		cmocka_unit_test_setup_teardown(rpcs, begin, end),
		cmocka_unit_test_setup_teardown(resolvers, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
