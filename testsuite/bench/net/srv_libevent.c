/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/*
 * Servers on libevent's API: one program, run on stock and on ours.
 *
 *	srv_libevent PORT echo			bufferevents: what comes goes back
 *	srv_libevent PORT http [WORK_NS]	evhttp: "hello world", after so much work
 *	srv_libevent PORT crypto [TIMES]	for 8 bytes 16 KB, so often AES-256-GCM
 *
 * BENCH_COLORS=1 gives each connection a color of its own (libevent-smp only; EVENT_WORKERS says
 * how many threads run them).
 */
#define EVENT_SMP_WEAK
#include "../colored/work.h"
#include "../util.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/smp.h>
#include <openssl/evp.h>

enum { REQUEST_LEN = 8, CHUNK_LEN = 16384 };

static struct event_base *base;
static bool has_colors;
static uint64_t work;		/* steps */
static long times;

/* ---------------------------------------------------------------- echo */

static void echo(struct bufferevent *bev, void *arg)
{
	(void)arg;
	bufferevent_write_buffer(bev, bufferevent_get_input(bev));
}

/* ---------------------------------------------------------------- crypto */

/* One for each connection, which is of one color. */
struct cipher {
	EVP_CIPHER_CTX *ctx;
	unsigned char iv[12];
	unsigned char out[CHUNK_LEN + 64];
};

static const unsigned char plain[CHUNK_LEN];

static struct cipher *cipher_new(void)
{
	static const unsigned char key[32];
	struct cipher *c = bench_alloc(1, sizeof(*c));

	c->ctx = EVP_CIPHER_CTX_new();
	if (c->ctx == NULL || EVP_EncryptInit_ex(c->ctx, EVP_aes_256_gcm(), NULL, key, NULL) != 1)
		bench_die("no cipher");
	return c;
}

static void encrypt(struct cipher *c)
{
	int len, rest;

	for (long i = 0; i < times; i++) {
		if (EVP_EncryptInit_ex(c->ctx, NULL, NULL, NULL, c->iv) != 1 ||
		    EVP_EncryptUpdate(c->ctx, c->out, &len, plain, CHUNK_LEN) != 1 ||
		    EVP_EncryptFinal_ex(c->ctx, c->out + len, &rest) != 1)
			bench_die("encryption failed");
	}
}

static void answer_encrypted(struct bufferevent *bev, void *arg)
{
	struct evbuffer *in = bufferevent_get_input(bev);
	struct cipher *c = arg;

	while (evbuffer_get_length(in) >= REQUEST_LEN) {
		evbuffer_drain(in, REQUEST_LEN);
		encrypt(c);
		bufferevent_write(bev, c->out, CHUNK_LEN);
	}
}

/* ---------------------------------------------------------------- connections */

static void end(struct bufferevent *bev, short what, void *arg)
{
	struct cipher *c = arg;

	(void)what;
	if (c != NULL) {
		EVP_CIPHER_CTX_free(c->ctx);
		free(c);
	}
	bufferevent_free(bev);
}

/* With a color policy this runs in the connection's color already. */
static void start(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *sa, int len,
		  void *arg)
{
	bool is_crypto = arg != NULL;
	struct bufferevent *bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	ev_uint32_t color;
	int on = 1;

	(void)listener;
	(void)sa;
	(void)len;
	if (bev == NULL)
		bench_die("no bufferevent");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	bufferevent_setcb(bev, is_crypto ? answer_encrypted : echo, NULL, end,
			  is_crypto ? cipher_new() : NULL);
	if (has_colors && (event_base_get_running_color(base, &color) != 0 ||
			   bufferevent_set_color(bev, color) != 0))
		bench_die("bufferevent_set_color failed");
	bufferevent_enable(bev, EV_READ | EV_WRITE);
}

static void listen_for_bufferevents(uint16_t port, bool is_crypto)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct evconnlistener *listener;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, start, is_crypto ? base : NULL,
					   LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 4096,
					   (struct sockaddr *)&addr, sizeof(addr));
	if (listener == NULL)
		bench_die("port %u is not free", port);
	if (has_colors &&
	    evconnlistener_set_color_policy(listener, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) != 0)
		bench_die("evconnlistener_set_color_policy failed");
}

/* ---------------------------------------------------------------- HTTP */

static void hello(struct evhttp_request *req, void *arg)
{
	(void)arg;
	work_steps((uintptr_t)req, work);
	evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type", "text/plain");
	evbuffer_add(evhttp_request_get_output_buffer(req), "hello world\n", 12);
	evhttp_send_reply(req, 200, "OK", NULL);
}

static void listen_for_http(uint16_t port)
{
	struct evhttp *http = evhttp_new(base);

	if (http == NULL || evhttp_bind_socket(http, "127.0.0.1", port) != 0)
		bench_die("port %u is not free", port);
	evhttp_set_gencb(http, hello, NULL);
	if (has_colors &&
	    evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) != 0)
		bench_die("evhttp_set_color_policy failed");
}

/* ---------------------------------------------------------------- main */

static void stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

int main(int argc, char **argv)
{
	struct event *interrupt;
	uint16_t port;

	if (argc < 3)
		bench_die("srv_libevent PORT echo|http|crypto [NUMBER]");
	bench_raise_fd_limit();
	signal(SIGPIPE, SIG_IGN);
	has_colors = bench_setting("BENCH_COLORS", 0) != 0;
	if (has_colors && event_set_color == NULL)
		bench_skip("this libevent has no colors");
	base = event_base_new();
	interrupt = base != NULL ? evsignal_new(base, SIGINT, stop, base) : NULL;
	if (interrupt == NULL || event_add(interrupt, NULL) != 0)
		bench_die("no event base");
	port = (uint16_t)bench_number(argv[1]);
	times = argc > 3 ? bench_number(argv[3]) : 1;
	if (strcmp(argv[2], "http") == 0) {
		work = argc > 3 ? work_steps_of((double)times) : 0;
		listen_for_http(port);
	} else {
		listen_for_bufferevents(port, strcmp(argv[2], "crypto") == 0);
	}
	return event_base_dispatch(base) < 0;
}
