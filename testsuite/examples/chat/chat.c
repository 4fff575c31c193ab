/*
 * A chat server: what one client writes, all clients read. `/nick NAME` changes a client's name.
 *
 *   chat [PORT [MILLISECONDS [PEM-FILE]]]
 *
 * PORT is on the loopback (default 7008; 0: any, which is printed). Every MILLISECONDS (default 60000) the room says
 * how many clients there are. A client that is silent ten times as long is disconnected. With a PEM-FILE, which holds
 * a certificate and its key, the server speaks TLS. At its end it prints what the workers have done.
 */
#include "chat.h"

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/listener.h>

struct event_base *base;
static struct evconnlistener *listener;
static struct event *stopping;
static struct timeval period, idle_limit;
static SSL_CTX *tls;

/* A call of fn(client, text) on its way to a color. */
struct message {
	client_fn fn;
	struct client *client;
	char text[];
};

static void message_run(void *arg)
{
	struct message *message = arg;

	message->fn(message->client, message->text);
	free(message);
}

void post(ev_uint32_t color, client_fn fn, struct client *client, const char *text)
{
	struct message *message = malloc(sizeof(*message) + strlen(text) + 1);

	if (message == NULL)
		abort();	/* no memory */
	message->fn = fn;
	message->client = client;
	strcpy(message->text, text);
	if (event_base_post(base, color, message_run, message) < 0)
		abort();
}

void client_tell(struct client *client, const char *text)
{
	if (client->bev != NULL)
		bufferevent_write(client->bev, text, strlen(text));
}

/* The client's memory stays until the room has forgotten it: room_leave(). */
void client_close(struct client *client, const char *unused)
{
	(void)unused;
	if (client->bev == NULL)
		return;
	bufferevent_free(client->bev);
	client->bev = NULL;
	post(ROOM_COLOR, room_leave, client, "");
}

void client_free(struct client *client, const char *unused)
{
	(void)unused;
	free(client);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(bev);
	char *line;

	while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF)) != NULL) {
		post(ROOM_COLOR, room_line, arg, line);
		free(line);
	}
	if (evbuffer_get_length(input) > LINE_LEN)
		client_close(arg, "");
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
		client_close(arg, "");
}

/* Runs in the fresh color of the connection. So a TLS handshake, which begins here, has that color, too. */
static void on_accept(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct client *client = calloc(1, sizeof(*client));
	struct bufferevent *bev;

	(void)from, (void)addr, (void)len, (void)arg;
	if (tls != NULL)
		bev = bufferevent_openssl_socket_new(base, fd, SSL_new(tls), BUFFEREVENT_SSL_ACCEPTING,
						     BEV_OPT_CLOSE_ON_FREE);
	else
		bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (client == NULL || bev == NULL || event_base_get_running_color(base, &client->color) < 0 ||
	    bufferevent_set_color(bev, client->color) < 0)
		abort();	/* no memory */
	client->bev = bev;
	bufferevent_setcb(bev, on_read, NULL, on_event, client);
	bufferevent_set_timeouts(bev, &idle_limit, NULL);
	bufferevent_enable(bev, EV_READ);
	post(ROOM_COLOR, room_join, client, "");
}

/* Has the room's color. Without a listener, events and clients the loop has nothing to wait for, and ends. */
static void on_stop(evutil_socket_t sig, short what, void *arg)
{
	(void)sig, (void)what, (void)arg;
	evconnlistener_free(listener);
	event_free(stopping);
	room_close();
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
		perror("chat: cannot listen");
		exit(1);
	}
	printf("port %u\n", ntohs(addr.sin_port));
	fflush(stdout);
}

static void use_tls(const char *pem)
{
	tls = SSL_CTX_new(TLS_server_method());
	if (tls == NULL || SSL_CTX_use_certificate_chain_file(tls, pem) != 1 ||
	    SSL_CTX_use_PrivateKey_file(tls, pem, SSL_FILETYPE_PEM) != 1) {
		fprintf(stderr, "chat: %s holds no certificate and key\n", pem);
		exit(1);
	}
}

static void print_stats(void)
{
	struct event_worker_stats stats;

	for (unsigned i = 0; event_base_get_stats(base, i, &stats, sizeof(stats)) == 0; i++)
		printf("worker %u: %llu callbacks, %llu of them posts, %llu us, %llu colors stolen\n", i,
		       (unsigned long long)stats.callbacks, (unsigned long long)stats.posts,
		       (unsigned long long)stats.busy_ns / 1000, (unsigned long long)stats.stolen_colors);
}

int main(int argc, char **argv)
{
	long milliseconds = argc > 2 ? atol(argv[2]) : 60000;

	period = (struct timeval){ milliseconds / 1000, milliseconds % 1000 * 1000 };
	idle_limit = (struct timeval){ milliseconds / 100, milliseconds % 100 * 10000 };
	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	if (argc > 3)
		use_tls(argv[3]);
	listen_on((unsigned short)(argc > 1 ? atoi(argv[1]) : 7008));
	stopping = evsignal_new(base, SIGTERM, on_stop, NULL);
	event_set_color(stopping, ROOM_COLOR);
	event_add(stopping, NULL);
	room_start_clock(&period);
	event_base_dispatch(base);
	print_stats();
	event_base_free(base);
	SSL_CTX_free(tls);
	return 0;
}
