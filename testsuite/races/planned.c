/*
 * A server without colors, for plans of colors. Two connections are pairs of sockets, each with a timer of its own.
 *
 *   planned [split]		split: each connection counts for itself
 */
#include "../abi/tsan/program.h"

enum { CONNS = 2, LINES = 3 };

struct conn {
	struct event *line, *tick;
	int fds[2];
	unsigned lines, ticks;
};

static unsigned total;
static int is_split;

static void on_line(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	char byte;

	(void)what;
	CHECK(read(fd, &byte, 1) == 1);
	if (!is_split)
		total++;
	if (c->lines == 0)
		event_active(c->tick, EV_TIMEOUT, 1);
	if (++c->lines == LINES)
		CHECK(event_del(c->line) == 0);
	else
		CHECK(write(c->fds[1], "x", 1) == 1);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;

	(void)fd;
	(void)what;
	c->ticks += c->lines != 0;
}

int main(int argc, char **argv)
{
	struct event_base *base = must(event_base_new());
	struct conn conns[CONNS] = { 0 };
	unsigned i;

	is_split = argc > 1 && strcmp(argv[1], "split") == 0;
	for (i = 0; i < CONNS; i++) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, conns[i].fds) == 0);
		conns[i].line = must(event_new(base, conns[i].fds[0], EV_READ | EV_PERSIST, on_line, &conns[i]));
		conns[i].tick = must(event_new(base, -1, 0, on_tick, &conns[i]));
		CHECK(event_add(conns[i].line, NULL) == 0);
		CHECK(write(conns[i].fds[1], "x", 1) == 1);
	}
	CHECK(event_base_loop(base, 0) == 1);
	for (i = 0; i < CONNS; i++) {
		CHECK(conns[i].lines == LINES && conns[i].ticks == 1);
		event_free(conns[i].line);
		event_free(conns[i].tick);
		close(conns[i].fds[0]);
		close(conns[i].fds[1]);
	}
	CHECK(total == (is_split ? 0 : CONNS * LINES));
	event_base_free(base);
	return 0;
}
