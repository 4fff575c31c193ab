/*
 * An evhttp server whose connections have colors of their own: handlers of one connection never overlap,
 * its replies come in order and whole, whichever color or thread replies, and whatever is changed on the server
 * meanwhile. Clients are threads with blocking sockets.
 */
#include "stress.h"

#include <netinet/in.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/http_struct.h>

#define CLIENTS_NUM 8
#define REPLIER_COLOR 7

struct server {
	struct event_base *base;
	struct evhttp *http;
	struct sockaddr_in addr;
	unsigned requests_num;		/* each client makes */
	atomic_uint clients_left;
	atomic_uint handled, colors_seen;
	pthread_t *threads;		/* of every other handler; a base outlives who posts to it */
};

/* What belongs to one connection. Plain: handlers of one color do not overlap. */
struct visitor {
	uint32_t color;
	unsigned next;
};

static struct visitor visitors[CLIENTS_NUM];

struct reply {
	struct evhttp_request *req;
	unsigned client, n;
	bool is_streamed;
};

static void send_streamed(struct evhttp_request *req, unsigned client, unsigned n)
{
	struct evbuffer *buf = evbuffer_new();

	evhttp_send_reply_start(req, 200, "OK");
	evbuffer_add_printf(buf, "%u", client);
	evhttp_send_reply_chunk(req, buf);
	/* The buffer is the caller's again, also where the call is only on its way. */
	CHECK(evbuffer_get_length(buf) == 0);
	evbuffer_add_printf(buf, ":%u\n", n);
	evhttp_send_reply_chunk(req, buf);
	evhttp_send_reply_end(req);
	evbuffer_free(buf);
}

static void send_whole(struct evhttp_request *req, unsigned client, unsigned n)
{
	struct evbuffer *buf = evbuffer_new();

	evbuffer_add_printf(buf, "%u:%u\n", client, n);
	evhttp_send_reply(req, 200, "OK", buf);
	CHECK(evbuffer_get_length(buf) == 0);
	evbuffer_free(buf);
}

static void send_it(const struct reply *reply)
{
	if (reply->is_streamed)
		send_streamed(reply->req, reply->client, reply->n);
	else
		send_whole(reply->req, reply->client, reply->n);
}

static void reply_fn(void *arg)
{
	send_it(arg);
	free(arg);
}

static void *reply_thread(void *arg)
{
	reply_fn(arg);
	return NULL;
}

/* /client/n: from where the reply comes depends on n. */
static void handle(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;
	unsigned client, n;
	struct reply *reply;
	struct visitor *v;
	pthread_t thread;

	CHECK(sscanf(evhttp_request_get_uri(req), "/%u/%u", &client, &n) == 2 && client < CLIENTS_NUM);
	v = &visitors[client];
	if (v->next == 0)
		v->color = running_color(s->base);
	CHECK(v->color >= 0x80000000u && v->color == running_color(s->base));
	CHECK(v->next++ == n);
	atomic_fetch_add(&s->handled, 1);
	reply = malloc(sizeof(*reply));
	*reply = (struct reply){ req, client, n, n % 2 == 1 };
	switch (n / 2 % 4) {
	case 0:
		reply_fn(reply);
		break;
	case 1:
		post(s->base, REPLIER_COLOR, reply_fn, reply);
		break;
	case 2:
		post(s->base, 0, reply_fn, reply);
		break;
	default:
		thread = thread_start(reply_thread, reply);
		CHECK(pthread_detach(thread) == 0);
		break;
	}
}

/* ---------------------------------------------------------------- clients */

/* The body of one reply that is known to come whole or in chunks, without its framing. */
static void read_reply(FILE *in, char *body, size_t size)
{
	bool is_chunked = false;
	size_t len = 0, used = 0;
	char line[512];

	CHECK(fgets(line, sizeof(line), in) != NULL && strcmp(line, "HTTP/1.1 200 OK\r\n") == 0);
	while (fgets(line, sizeof(line), in) != NULL && strcmp(line, "\r\n") != 0) {
		if (strcmp(line, "Transfer-Encoding: chunked\r\n") == 0)
			is_chunked = true;
		else if (strncmp(line, "Content-Length: ", 16) == 0)
			len = (size_t)atoi(line + 16);
	}
	do {
		if (is_chunked) {
			CHECK(fgets(line, sizeof(line), in) != NULL);
			len = (size_t)strtoul(line, NULL, 16);
		}
		CHECK(used + len < size && fread(body + used, 1, len, in) == len);
		used += len;
		if (is_chunked)
			CHECK(fgets(line, sizeof(line), in) != NULL && strcmp(line, "\r\n") == 0);
	} while (is_chunked && len > 0);
	body[used] = '\0';
}

struct client {
	struct server *server;
	unsigned id;
};

static void *client_main(void *arg)
{
	struct client *c = arg;
	struct server *s = c->server;
	char text[256], want[64], got[64];
	unsigned n, ahead;
	FILE *in;
	int fd;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&s->addr, sizeof(s->addr)) == 0);
	in = fdopen(fd, "r");
	CHECK(in != NULL);
	/* Up to three at once, so that some wait in the connection while another is replied to. */
	for (n = 0; n < s->requests_num; n += ahead) {
		ahead = n % 3 + 1 <= s->requests_num - n ? n % 3 + 1 : 1;
		for (unsigned i = 0; i < ahead; i++) {
			int len = snprintf(text, sizeof(text), "GET /%u/%u HTTP/1.1\r\nHost: h\r\n\r\n", c->id, n + i);

			CHECK(write(fd, text, (size_t)len) == len);
		}
		for (unsigned i = 0; i < ahead; i++) {
			read_reply(in, got, sizeof(got));
			snprintf(want, sizeof(want), "%u:%u\n", c->id, n + i);
			CHECK(strcmp(got, want) == 0);
		}
	}
	fclose(in);
	if (atomic_fetch_sub(&s->clients_left, 1) == 1)
		event_base_loopexit(s->base, NULL);
	return NULL;
}

static void never(struct evhttp_request *req, void *arg)
{
	(void)req;
	(void)arg;
	CHECK(false);
}

/* The tables change under the connections' feet. */
static void *changer_main(void *arg)
{
	struct server *s = arg;
	char path[32];

	for (unsigned i = 0; atomic_load(&s->clients_left) > 0; i++) {
		snprintf(path, sizeof(path), "/never/%u", i % 100);
		CHECK(evhttp_set_cb(s->http, path, never, NULL) == 0);
		CHECK(evhttp_add_server_alias(s->http, path) == 0);
		evhttp_set_max_body_size(s->http, (ev_ssize_t)i);
		evhttp_set_default_content_type(s->http, i % 2 ? "text/plain" : "text/html");
		CHECK(evhttp_remove_server_alias(s->http, path) == 0);
		CHECK(evhttp_del_cb(s->http, path) == 0);
	}
	return NULL;
}

static void server_init(struct server *s, unsigned workers)
{
	struct evhttp_bound_socket *bound;
	socklen_t len = sizeof(s->addr);

	memset(s, 0, sizeof(*s));
	memset(visitors, 0, sizeof(visitors));
	s->base = base_new(workers);
	s->http = evhttp_new(s->base);
	CHECK(s->http != NULL);
	CHECK(evhttp_set_color_policy(s->http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	bound = evhttp_bind_socket_with_handle(s->http, "127.0.0.1", 0);
	CHECK(bound != NULL);
	CHECK(getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&s->addr, &len) == 0);
	evhttp_set_gencb(s->http, handle, s);
	s->requests_num = rounds(400);
	atomic_init(&s->clients_left, CLIENTS_NUM);
	atomic_init(&s->handled, 0);
}

static void run(unsigned workers)
{
	struct client clients[CLIENTS_NUM];
	pthread_t threads[CLIENTS_NUM], changer;
	struct server s;

	server_init(&s, workers);
	for (unsigned i = 0; i < CLIENTS_NUM; i++) {
		clients[i] = (struct client){ &s, i };
		threads[i] = thread_start(client_main, &clients[i]);
	}
	changer = thread_start(changer_main, &s);
	CHECK(event_base_dispatch(s.base) == 0);
	for (unsigned i = 0; i < CLIENTS_NUM; i++)
		thread_join(threads[i]);
	thread_join(changer);
	CHECK(atomic_load(&s.handled) == CLIENTS_NUM * s.requests_num);
	evhttp_free(s.http);
	event_base_free(s.base);
}

static void connections_have_colors_of_their_own(void **state)
{
	(void)state;
	run(2);
	run(4);
}

/* ---------------------------------------------------------------- ends */

static void leave_fn(void *arg)
{
	struct evhttp_request *req = arg;
	struct evhttp_connection *conn = evhttp_request_get_connection(req);

	/* From another color; the request waits there, so that one goes with it. */
	if (conn != NULL)
		evhttp_connection_free(conn);
}

static void handle_by_leaving(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;

	atomic_fetch_add(&s->handled, 1);
	post(s->base, REPLIER_COLOR, leave_fn, req);
}

static void free_fn(void *arg)
{
	evhttp_request_free(arg);
}

static void *free_main(void *arg)
{
	free_fn(arg);
	return NULL;
}

/* What is freed without a reply ends its connection, there. */
static void handle_by_freeing(struct evhttp_request *req, void *arg)
{
	struct server *s = arg;
	unsigned n = atomic_fetch_add(&s->handled, 1);

	if (n % 2 == 0)
		post(s->base, REPLIER_COLOR, free_fn, req);
	else
		s->threads[n / 2] = thread_start(free_main, req);
}

static void *left_main(void *arg)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
	struct client *c = arg;
	struct server *s = c->server;
	char byte;

	for (unsigned n = 0; n < s->requests_num; n++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&s->addr, sizeof(s->addr)) == 0);
		CHECK(write(fd, text, sizeof(text) - 1) == sizeof(text) - 1);
		/* Half of them do not wait for what comes. */
		if (n % 2 == 0)
			CHECK(read(fd, &byte, 1) <= 0);
		close(fd);
	}
	if (atomic_fetch_sub(&s->clients_left, 1) == 1)
		event_base_loopexit(s->base, NULL);
	return NULL;
}

static void run_clients_that_are_left(void (*handler)(struct evhttp_request *req, void *arg))
{
	struct client clients[CLIENTS_NUM];
	pthread_t threads[CLIENTS_NUM];
	struct server s;

	server_init(&s, 4);
	s.requests_num = rounds(100);
	s.threads = calloc(CLIENTS_NUM * s.requests_num, sizeof(*s.threads));
	CHECK(s.threads != NULL);
	evhttp_set_gencb(s.http, handler, &s);
	for (unsigned i = 0; i < CLIENTS_NUM; i++) {
		clients[i] = (struct client){ &s, i };
		threads[i] = thread_start(left_main, &clients[i]);
	}
	CHECK(event_base_dispatch(s.base) == 0);
	for (unsigned i = 0; i < CLIENTS_NUM; i++)
		thread_join(threads[i]);
	for (unsigned i = 0; handler == handle_by_freeing && i < atomic_load(&s.handled) / 2; i++)
		thread_join(s.threads[i]);
	free(s.threads);
	evhttp_free(s.http);
	event_base_free(s.base);
}

static void connections_are_freed_from_other_colors(void **state)
{
	(void)state;
	run_clients_that_are_left(handle_by_leaving);
}

static void requests_are_freed_from_other_colors(void **state)
{
	(void)state;
	run_clients_that_are_left(handle_by_freeing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connections_have_colors_of_their_own),
		cmocka_unit_test(connections_are_freed_from_other_colors),
		cmocka_unit_test(requests_are_freed_from_other_colors),
	};

	signal(SIGPIPE, SIG_IGN);
	alarm(500);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
