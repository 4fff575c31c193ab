/*
 * A chat server: what one client writes, all clients read. `/nick NAME` changes a client's name.
 *
 *   chat [PORT]		(default 7008, on the loopback; 0: any, which is printed)
 */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

#define LINE_LEN 1000
#define TEXT_LEN (LINE_LEN + 64)

struct client {
	struct bufferevent *bev;
	char name[16];
	LIST_ENTRY(client) entry;
};

static struct event_base *base;
static struct evconnlistener *listener;
static struct event *stopping;
static LIST_HEAD(, client) room;
static unsigned guests;

static void tell_all(const char *text)
{
	struct client *client;

	LIST_FOREACH(client, &room, entry)
		bufferevent_write(client->bev, text, strlen(text));
}

static void client_close(struct client *client)
{
	char text[TEXT_LEN];

	snprintf(text, sizeof(text), "* %s leaves\n", client->name);
	LIST_REMOVE(client, entry);
	bufferevent_free(client->bev);
	free(client);
	tell_all(text);
}

static void on_line(struct client *client, const char *line)
{
	char text[TEXT_LEN];

	if (strncmp(line, "/nick ", 6) == 0) {
		snprintf(text, sizeof(text), "* %s is now %.15s\n", client->name, line + 6);
		snprintf(client->name, sizeof(client->name), "%.15s", line + 6);
	} else {
		snprintf(text, sizeof(text), "%s: %s\n", client->name, line);
	}
	tell_all(text);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(bev);
	char *line;

	while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF)) != NULL) {
		on_line(arg, line);
		free(line);
	}
	if (evbuffer_get_length(input) > LINE_LEN)
		client_close(arg);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
		client_close(arg);
}

static void on_accept(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct client *client = calloc(1, sizeof(*client));
	struct bufferevent *bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	char text[TEXT_LEN];

	(void)from, (void)addr, (void)len, (void)arg;
	if (client == NULL || bev == NULL)
		abort();	/* no memory */
	client->bev = bev;
	bufferevent_setcb(bev, on_read, NULL, on_event, client);
	bufferevent_enable(bev, EV_READ);
	snprintf(client->name, sizeof(client->name), "guest%u", ++guests);
	LIST_INSERT_HEAD(&room, client, entry);
	snprintf(text, sizeof(text), "* %s joins\n", client->name);
	tell_all(text);
}

/* Without a listener, a signal event and clients, the loop has nothing to wait for, and ends. */
static void on_stop(evutil_socket_t sig, short what, void *arg)
{
	(void)sig, (void)what, (void)arg;
	evconnlistener_free(listener);
	event_free(stopping);
	while (!LIST_EMPTY(&room))
		client_close(LIST_FIRST(&room));
}

static void listen_on(unsigned short port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof(addr);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, -1,
					   (struct sockaddr *)&addr, sizeof(addr));
	if (listener == NULL || getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&addr, &len) < 0) {
		perror("chat: cannot listen");
		exit(1);
	}
	printf("port %u\n", ntohs(addr.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	listen_on((unsigned short)(argc > 1 ? atoi(argv[1]) : 7008));
	stopping = evsignal_new(base, SIGTERM, on_stop, NULL);
	event_add(stopping, NULL);
	event_base_dispatch(base);
	event_base_free(base);
	return 0;
}
