/*
 * Listeners: what is accepted when, enabled, disabled, without a callback; errors; ends.
 */
#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/listener.h>
#include <event2/util.h>

static struct event_base *base;
static struct evconnlistener *lev;
static struct sockaddr_in address;
static int clients[8], clients_num, accepted;
static char one[] = "one", other[] = "other";

static void show_fd(int fd)
{
	int flags = fcntl(fd, F_GETFL), fd_flags = fcntl(fd, F_GETFD);

	say("  nonblocking %d cloexec %d", (flags & O_NONBLOCK) != 0, (fd_flags & FD_CLOEXEC) != 0);
}

static void acceptcb(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	say("accepted %s, listener %d, family %d, length %d", (char *)arg, l == lev, sa->sa_family == AF_INET, len);
	accepted++;
	show_fd(fd);
	close(fd);
}

static void disabling(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	acceptcb(l, fd, sa, len, arg);
	say("disable %d", evconnlistener_disable(l));
}

static void freeing(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int len, void *arg)
{
	acceptcb(l, fd, sa, len, arg);
	evconnlistener_free(l);
	lev = NULL;
}

static void errorcb(struct evconnlistener *l, void *arg)
{
	say("error %s, listener %d, %s", (char *)arg, l == lev, strerror(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(l);
}

static void run(void)
{
	int i;

	for (i = 0; i < 4; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void start(evconnlistener_cb cb, unsigned flags)
{
	socklen_t len = sizeof(address);

	base = event_base_new();
	memset(&address, 0, sizeof(address));
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lev = evconnlistener_new_bind(base, cb, one, flags | LEV_OPT_CLOSE_ON_FREE, -1,
				      (struct sockaddr *)&address, sizeof(address));
	say("new %d", lev != NULL);
	getsockname(evconnlistener_get_fd(lev), (struct sockaddr *)&address, &len);
	show_fd(evconnlistener_get_fd(lev));
	accepted = clients_num = 0;
}

static void stop(void)
{
	if (lev != NULL)
		evconnlistener_free(lev);
	lev = NULL;
	event_base_free(base);
	while (clients_num > 0)
		close(clients[--clients_num]);
}

static void client(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	say("client %d", connect(fd, (struct sockaddr *)&address, sizeof(address)));
	clients[clients_num++] = fd;
}

static int option(int level, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	if (getsockopt(evconnlistener_get_fd(lev), level, name, &value, &len) < 0)
		return -1;
	return value != 0;
}

static void flags(unsigned which)
{
	say("-- flags %x", which);
	start(acceptcb, which);
	say("keepalive %d reuse %d %d listening %d", option(SOL_SOCKET, SO_KEEPALIVE), option(SOL_SOCKET, SO_REUSEADDR),
	    option(SOL_SOCKET, SO_REUSEPORT), option(SOL_SOCKET, SO_ACCEPTCONN));
	say("base %d", evconnlistener_get_base(lev) == base);
	client();
	client();
	run();
	say("accepted %d", accepted);
	say("enable %d", evconnlistener_enable(lev));
	run();
	say("accepted %d", accepted);
	stop();
}

static void switching(void)
{
	say("-- switching");
	start(acceptcb, 0);
	say("disable %d %d", evconnlistener_disable(lev), evconnlistener_disable(lev));
	client();
	run();
	say("enable %d %d", evconnlistener_enable(lev), evconnlistener_enable(lev));
	run();
	evconnlistener_set_cb(lev, acceptcb, other);
	client();
	run();
	evconnlistener_set_cb(lev, NULL, other);
	client();
	run();
	say("loop %d", event_base_loop(base, EVLOOP_NONBLOCK));
	evconnlistener_set_cb(lev, acceptcb, one);
	client();
	run();
	say("disabled in the callback");
	evconnlistener_set_cb(lev, disabling, one);
	client();
	client();
	run();
	evconnlistener_enable(lev);
	run();
	evconnlistener_enable(lev);
	stop();

	say("-- no callback");
	start(NULL, 0);
	client();
	say("loop %d", event_base_loop(base, EVLOOP_NONBLOCK));
	evconnlistener_set_cb(lev, acceptcb, other);
	run();
	say("accepted %d", accepted);
	stop();

	say("-- freed in the callback");
	start(freeing, 0);
	client();
	client();
	run();
	say("accepted %d", accepted);
	stop();
}

static void errors(void)
{
	struct sockaddr_in taken;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	say("-- errors");
	start(acceptcb, LEV_OPT_DISABLED);
	say("backlog 0: %d", evconnlistener_new_bind(base, acceptcb, one, 0, 0, (struct sockaddr *)&address,
						     sizeof(address)) == NULL);
	taken = address;
	say("taken: %d", evconnlistener_new_bind(base, acceptcb, one, 0, 5, (struct sockaddr *)&taken,
						 sizeof(taken)) == NULL);
	say("no socket: %d", evconnlistener_new(base, acceptcb, one, 0, 5, -1) == NULL);
	stop();

	base = event_base_new();
	/* Not bound and not listening: accept fails. */
	lev = evconnlistener_new(base, acceptcb, one, LEV_OPT_DISABLED, 0, fd);
	say("new %d", lev != NULL);
	evconnlistener_set_error_cb(lev, errorcb);
	evutil_make_socket_nonblocking(fd);
	evconnlistener_enable(lev);
	event_base_active_by_fd(base, fd, EV_READ);
	run();
	evconnlistener_free(lev);
	lev = NULL;
	say("still open %d", fcntl(fd, F_GETFD) >= 0);
	event_base_free(base);
	close(fd);
}

int main(void)
{
	flags(0);
	flags(LEV_OPT_LEAVE_SOCKETS_BLOCKING | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE);
	flags(LEV_OPT_REUSEABLE_PORT);
	flags(LEV_OPT_DISABLED);
	flags(LEV_OPT_THREADSAFE);
	switching();
	errors();
	return 0;
}
