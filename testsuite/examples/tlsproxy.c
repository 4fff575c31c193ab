/*
 * A TLS proxy: clients speak TLS to it, and it speaks plain TCP to a server behind it.
 *
 *   tlsproxy PEM-FILE BACKEND-PORT [PORT]	(all on the loopback; default 7010; 0: any, which is printed)
 *
 * PEM-FILE holds a certificate and its key. Each client has a color of its own, for both of its connections: so
 * handshakes and encryption run on all cores, and a pair of connections needs no lock.
 */
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/smp.h>

#define WAITING_MAX 262144u	/* bytes that one side may be ahead of the other */

struct pair {
	struct bufferevent *client, *backend;	/* NULL: closed */
};

static struct event_base *base;
static struct evconnlistener *listener;
static struct event *stopping;
static struct sockaddr_in backend_addr = { .sin_family = AF_INET };
static SSL_CTX *tls;

static void on_read(struct bufferevent *from, void *arg);
static void on_drained(struct bufferevent *to, void *arg);
static void on_event(struct bufferevent *bev, short what, void *arg);

static struct bufferevent *other(const struct pair *pair, const struct bufferevent *bev)
{
	return bev == pair->client ? pair->backend : pair->client;
}

/* One side has ended. The other one ends when it has sent what is left. */
static void side_close(struct pair *pair, struct bufferevent *bev)
{
	struct bufferevent *rest = other(pair, bev);

	if (bev == pair->client)
		pair->client = NULL;
	else
		pair->backend = NULL;
	bufferevent_free(bev);
	if (rest == NULL) {
		free(pair);
		return;
	}
	bufferevent_disable(rest, EV_READ);
	bufferevent_setwatermark(rest, EV_WRITE, 0, 0);
	if (evbuffer_get_length(bufferevent_get_output(rest)) == 0)
		side_close(pair, rest);
}

static void on_read(struct bufferevent *from, void *arg)
{
	struct bufferevent *to = other(arg, from);

	if (to == NULL)
		return;
	evbuffer_add_buffer(bufferevent_get_output(to), bufferevent_get_input(from));
	if (evbuffer_get_length(bufferevent_get_output(to)) > WAITING_MAX)
		bufferevent_disable(from, EV_READ);	/* on_drained() enables it */
}

/* At most half of WAITING_MAX is left to send, or nothing if the other side has ended. */
static void on_drained(struct bufferevent *to, void *arg)
{
	struct bufferevent *from = other(arg, to);

	if (from != NULL)
		bufferevent_enable(from, EV_READ);
	else if (evbuffer_get_length(bufferevent_get_output(to)) == 0)
		side_close(arg, to);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		on_read(bev, arg);	/* what came before the end */
		side_close(arg, bev);
	}
}

static void side_start(struct pair *pair, struct bufferevent *bev, ev_uint32_t color)
{
	if (bev == NULL || bufferevent_set_color(bev, color) < 0)
		abort();	/* no memory */
	bufferevent_setcb(bev, on_read, on_drained, on_event, pair);
	bufferevent_setwatermark(bev, EV_WRITE, WAITING_MAX / 2, 0);
	bufferevent_enable(bev, EV_READ);
}

/* Runs in the fresh color of the client, and so does the handshake, which begins here. */
static void on_accept(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	ev_uint32_t color;

	(void)from, (void)addr, (void)len, (void)arg;
	if (pair == NULL || event_base_get_running_color(base, &color) < 0)
		abort();
	pair->client = bufferevent_openssl_socket_new(base, fd, SSL_new(tls), BUFFEREVENT_SSL_ACCEPTING,
						      BEV_OPT_CLOSE_ON_FREE);
	side_start(pair, pair->client, color);
	pair->backend = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	side_start(pair, pair->backend, color);
	if (bufferevent_socket_connect(pair->backend, (struct sockaddr *)&backend_addr, sizeof(backend_addr)) < 0)
		side_close(pair, pair->backend);
}

/* The loop ends with the last pair. */
static void on_stop(evutil_socket_t sig, short what, void *arg)
{
	(void)sig, (void)what, (void)arg;
	evconnlistener_free(listener);
	event_free(stopping);
}

static void listen_on(unsigned short port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, -1,
					   (struct sockaddr *)&addr, sizeof(addr));
	if (listener == NULL || getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&addr, &len) < 0 ||
	    evconnlistener_set_color_policy(listener, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) < 0) {
		perror("tlsproxy: cannot listen");
		exit(1);
	}
	printf("port %u\n", ntohs(addr.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: tlsproxy PEM-FILE BACKEND-PORT [PORT]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	backend_addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	backend_addr.sin_port = htons((unsigned short)atoi(argv[2]));
	tls = SSL_CTX_new(TLS_server_method());
	if (tls == NULL || SSL_CTX_use_certificate_chain_file(tls, argv[1]) != 1 ||
	    SSL_CTX_use_PrivateKey_file(tls, argv[1], SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "tlsproxy: %s holds no certificate and key\n", argv[1]);
		return 1;
	}
	base = event_base_new();
	listen_on((unsigned short)(argc > 3 ? atoi(argv[3]) : 7010));
	stopping = evsignal_new(base, SIGTERM, on_stop, NULL);
	if (event_add(stopping, NULL) < 0)
		return 1;
	event_base_dispatch(base);
	event_base_free(base);
	SSL_CTX_free(tls);
	return 0;
}
