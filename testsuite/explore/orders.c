/*
 * A program with something of all that makes callbacks ready inside one process: posts, timers with equal and with
 * different deadlines, sockets, bufferevents, signals, activations, shared colors and priorities. It prints a line for
 * each callback: a seed stands for all of them.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/smp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COLORS = 6, ROUNDS = 8, TIMERS = 8, READERS = 4, BYTES = 6 };

static struct event_base *base;
static struct event *timers[TIMERS], *readers[READERS], *shared[3], *on_signal;
static int fds[READERS][2], bytes[READERS];

static void must(int is_true)
{
	if (!is_true) {
		fputs("a call fails\n", stderr);
		exit(1);
	}
}

static void line(const char *what, unsigned n)
{
	struct timeval now;

	must(event_base_gettimeofday_cached(base, &now) == 0);
	printf("%s %u at %ld\n", what, n, (long)now.tv_usec);
}

static struct event *colored(int fd, short what, uint32_t color, event_callback_fn fn, unsigned n)
{
	struct event *ev = event_new(base, fd, what, fn, (void *)(uintptr_t)n);

	must(ev != NULL && event_set_color(ev, color) == 0);
	return ev;
}

static void post_fn(void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;

	line("post", n);
	if (n / COLORS >= ROUNDS)
		return;
	must(event_base_post(base, 1 + (n * 7) % COLORS, post_fn, (void *)(uintptr_t)(n + COLORS)) == 0);
	if (n % 5 == 0)
		must(write(fds[n % READERS][1], "x", 1) == 1);
	if (n == 3 * COLORS)
		must(raise(SIGUSR1) == 0);
	if (n % 11 == 0)
		event_active(shared[n % 3], EV_TIMEOUT, 1);
}

static void event_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	line((what & EV_SIGNAL) != 0 ? "signal" : "event", (unsigned)(uintptr_t)arg);
	if ((what & EV_SIGNAL) != 0)
		must(event_del(on_signal) == 0);
}

static void read_cb(evutil_socket_t fd, short what, void *arg)
{
	unsigned n = (unsigned)(uintptr_t)arg;
	char c;

	(void)what;
	must(read(fd, &c, 1) == 1);
	line("read", n);
	if (++bytes[n] == BYTES)
		must(event_del(readers[n]) == 0);
	else
		must(write(fds[(n + 1) % READERS][1], "y", 1) == 1);
}

/* ---------------------------------------------------------------- bufferevents */

static struct bufferevent *client, *server;
static unsigned echoes;

static void server_cb(struct bufferevent *bev, void *arg)
{
	(void)arg;
	line("echo", (unsigned)evbuffer_get_length(bufferevent_get_input(bev)));
	must(bufferevent_write_buffer(bev, bufferevent_get_input(bev)) == 0);
}

static void client_cb(struct bufferevent *bev, void *arg)
{
	(void)arg;
	line("reply", (unsigned)evbuffer_get_length(bufferevent_get_input(bev)));
	must(evbuffer_drain(bufferevent_get_input(bev), SIZE_MAX) == 0);
	if (++echoes < BYTES) {
		must(bufferevent_write(bev, "hello", 5) == 0);
		return;
	}
	bufferevent_disable(client, EV_READ);
	bufferevent_disable(server, EV_READ);
}

static struct bufferevent *bufferevent_at(int fd, uint32_t color, bufferevent_data_cb fn)
{
	struct bufferevent *bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);

	must(bev != NULL && evutil_make_socket_nonblocking(fd) == 0 && bufferevent_set_color(bev, color) == 0);
	bufferevent_setcb(bev, fn, NULL, NULL, NULL);
	must(bufferevent_enable(bev, EV_READ) == 0);
	return bev;
}

static void bufferevents_begin(void)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	client = bufferevent_at(pair[0], 10, client_cb);
	server = bufferevent_at(pair[1], 11, server_cb);
	must(bufferevent_write(client, "hello", 5) == 0);
}

/* ---------------------------------------------------------------- main */

static void begin(void)
{
	struct timeval in;
	unsigned i;

	for (i = 0; i < READERS; i++) {
		must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]) == 0);
		readers[i] = colored(fds[i][0], EV_READ | EV_PERSIST, 20 + i / 2, read_cb, i);
		must(event_add(readers[i], NULL) == 0 && write(fds[i][1], "z", 1) == 1);
	}
	for (i = 0; i < TIMERS; i++) {
		in = (struct timeval){ 0, i < TIMERS / 2 ? 5000 : 1000 * (int)i };
		timers[i] = colored(-1, 0, i, event_cb, 100 + i);
		must(event_priority_set(timers[i], (int)i % 2) == 0 && event_add(timers[i], &in) == 0);
	}
	for (i = 0; i < 3; i++) {
		shared[i] = event_new(base, -1, 0, event_cb, (void *)(uintptr_t)(200 + i));
		must(event_set_color_shared(shared[i], 30) == 0);
	}
	on_signal = colored(SIGUSR1, EV_SIGNAL | EV_PERSIST, 31, event_cb, 300);
	must(event_add(on_signal, NULL) == 0);
	for (i = 0; i < COLORS; i++)
		must(event_base_post(base, 1 + i, post_fn, (void *)(uintptr_t)i) == 0);
	bufferevents_begin();
}

static void end(void)
{
	unsigned i;

	for (i = 0; i < READERS; i++)
		event_free(readers[i]);
	for (i = 0; i < TIMERS; i++)
		event_free(timers[i]);
	for (i = 0; i < 3; i++)
		event_free(shared[i]);
	event_free(on_signal);
	bufferevent_free(client);
	bufferevent_free(server);
	event_base_free(base);
}

int main(void)
{
	struct event_config *cfg = event_config_new();

	must(cfg != NULL && event_config_set_workers(cfg, 4, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	must(base != NULL && event_base_priority_init(base, 2) == 0);
	event_config_free(cfg);
	begin();
	must(event_base_dispatch(base) == 1);
	end();
	return 0;
}
