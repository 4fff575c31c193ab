/*
 * A connection logs its lines in another color. At its end it is reaped, also in another color. A line that is not
 * logged yet then reads a connection that is gone.
 */
#include "bug.h"

enum { CONNECTION = 1, LOG, REAPER, PEER };

struct connection {
	struct event *ev;
	int is_open;
};

static struct connection conn = { .is_open = 1 };
static int fds[2];

static void log_line(void *arg)
{
	struct connection *c = arg;

	if (!c->is_open)
		fail("the log reads a connection that is closed");
}

static void reap(void *arg)
{
	struct connection *c = arg;

	c->is_open = 0;
	event_free(c->ev);
	close(fds[0]);
}

static void readable(evutil_socket_t fd, short what, void *arg)
{
	struct connection *c = arg;
	char line[16];

	(void)what;
	if (read(fd, line, sizeof(line)) > 0) {
		post(LOG, log_line, c);
		return;
	}
	must(event_del(c->ev) == 0);
	post(REAPER, reap, c);
}

static void peer_closes(void *arg)
{
	(void)arg;
	close(fds[1]);
}

static void peer_writes(void *arg)
{
	(void)arg;
	must(write(fds[1], "line", 4) == 4);
	post(PEER, peer_closes, NULL);
}

int main(void)
{
	begin();
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	conn.ev = on_read(fds[0], CONNECTION, readable, &conn);
	post(PEER, peer_writes, NULL);
	run();
	return 0;
}
