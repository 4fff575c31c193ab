/*
 * A reader handles a message in two callbacks: the header, then the body. If the connection's timer fires between them,
 * its color takes the buffer away.
 */
#include "bug.h"

enum { READER = 1, TIMER, PEER };

static int fds[2];
static struct event *reader;
static char storage[16], *buffer = storage;

static void read_body(void *arg)
{
	(void)arg;
	if (buffer == NULL)
		fail("the buffer is gone in the middle of a message");
	must(read(fds[0], buffer + 1, 1) == 1);
}

static void read_header(evutil_socket_t fd, short what, void *arg)
{
	(void)what;
	(void)arg;
	event_free(reader);
	if (buffer == NULL)
		return;
	must(read(fd, buffer, 1) == 1);
	post(READER, read_body, NULL);
}

static void timed_out(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	buffer = NULL;
}

static void peer_writes(void *arg)
{
	(void)arg;
	must(write(fds[1], "hb", 2) == 2);
}

int main(void)
{
	begin();
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	reader = on_read(fds[0], READER, read_header, NULL);
	after(20, TIMER, timed_out, NULL);
	post(PEER, peer_writes, NULL);
	run();
	return 0;
}
