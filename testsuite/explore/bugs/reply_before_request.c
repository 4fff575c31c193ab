/*
 * A client sends a request, and registers that it waits for the reply in its next callback. The reply may be there
 * before: then nobody waits for it.
 */
#include "bug.h"

enum { CLIENT = 1, SERVER, READER, WAITERS };

static int fds[2];
static struct event *server, *reader;
static int waits, is_answered;

static void deliver(void *arg)
{
	(void)arg;
	if (waits) {
		waits = 0;
		is_answered = 1;
	}
}

static void replied(evutil_socket_t fd, short what, void *arg)
{
	char reply;

	(void)what;
	(void)arg;
	must(read(fd, &reply, 1) == 1);
	event_free(reader);
	post(WAITERS, deliver, NULL);
}

static void serve(evutil_socket_t fd, short what, void *arg)
{
	char request;

	(void)what;
	(void)arg;
	must(read(fd, &request, 1) == 1 && write(fd, "!", 1) == 1);
	event_free(server);
}

static void wait_for(void *arg)
{
	(void)arg;
	waits = 1;
}

static void register_waiter(void *arg)
{
	(void)arg;
	post(WAITERS, wait_for, NULL);
}

static void send_request(void *arg)
{
	(void)arg;
	must(write(fds[0], "?", 1) == 1);
	post(CLIENT, register_waiter, NULL);
}

int main(void)
{
	begin();
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	server = on_read(fds[1], SERVER, serve, NULL);
	reader = on_read(fds[0], READER, replied, NULL);
	post(CLIENT, send_request, NULL);
	run();
	if (!is_answered)
		fail("the client waits for a reply that has come");
	return 0;
}
