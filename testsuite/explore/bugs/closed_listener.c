/*
 * A server shuts down soon after its clients are connected. But they are so before it has accepted them.
 */
#include "bug.h"

#include <event2/listener.h>
#include <string.h>
#include <sys/un.h>

enum { CLIENTS = 1, SHUTDOWN };

enum { CLIENTS_NUM = 2 };

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static struct evconnlistener *listener;
static int connected, accepted;

static void accept_one(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *from, int len, void *arg)
{
	(void)l;
	(void)from;
	(void)len;
	(void)arg;
	accepted++;
	close(fd);
}

static void shut_down(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	evconnlistener_free(listener);
}

static void connect_one(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)arg;
	must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	close(fd);
	if (++connected == CLIENTS_NUM)
		after(10, SHUTDOWN, shut_down, NULL);
	else
		post(CLIENTS, connect_one, NULL);
}

int main(void)
{
	begin();
	/* A name that begins with 0 is in no directory. */
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "libevent-smp-listener-%ld", (long)getpid());
	listener = evconnlistener_new_bind(base, accept_one, NULL, LEV_OPT_CLOSE_ON_FREE, 8,
					   (struct sockaddr *)&address, sizeof(address));
	must(listener != NULL);
	post(CLIENTS, connect_one, NULL);
	run();
	if (accepted != CLIENTS_NUM)
		fail("the listener was closed before the last client was accepted");
	return 0;
}
