/*
 * Bufferevents over sockets: what is told when, in every order that a caller can see; connecting;
 * ends of the stream; options; the setters and getters.
 */
#include "trace.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_compat.h>
#include <event2/bufferevent_struct.h>
#include <event2/event_compat.h>
#include <event2/util.h>

static struct event_base *base;
static struct bufferevent *bev;
static int peer;

static void readcb(struct bufferevent *b, void *arg)
{
	(void)arg;
	say("readcb, %zu bytes", evbuffer_get_length(bufferevent_get_input(b)));
}

static void writecb(struct bufferevent *b, void *arg)
{
	(void)arg;
	say("writecb, %zu bytes", evbuffer_get_length(bufferevent_get_output(b)));
}

static void eventcb(struct bufferevent *b, short what, void *arg)
{
	(void)arg;
	say("eventcb %x, enabled %x, errno %s", (unsigned)what & 0xffff, (unsigned)bufferevent_get_enabled(b),
	    (what & BEV_EVENT_ERROR) != 0 ? strerror(EVUTIL_SOCKET_ERROR()) : "-");
}

static void run(void)
{
	int i;

	for (i = 0; i < 5; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void start(int options)
{
	int fds[2];

	base = event_base_new();
	evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	evutil_make_socket_nonblocking(fds[0]);
	evutil_make_socket_nonblocking(fds[1]);
	peer = fds[1];
	bev = bufferevent_socket_new(base, fds[0], options | BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(bev, readcb, writecb, eventcb, NULL);
}

static void stop(void)
{
	bufferevent_free(bev);
	run();
	event_base_free(base);
	if (peer >= 0)
		close(peer);
}

static void peer_read(void)
{
	char text[1000];
	ssize_t n = read(peer, text, sizeof(text));

	say("peer reads %d", (int)n);
}

static void talk(int options)
{
	char text[20];

	say("-- talk %x", (unsigned)options);
	start(options);
	say("enabled %x pending %d %d", (unsigned)bufferevent_get_enabled(bev),
	    event_pending(&bev->ev_read, EV_READ, NULL),
	    event_pending(&bev->ev_write, EV_WRITE, NULL));
	run();
	say("enable read");
	bufferevent_enable(bev, EV_READ);
	run();
	say("enable write");
	bufferevent_enable(bev, EV_WRITE);
	run();
	say("write %d", bufferevent_write(bev, "hello", 5));
	run();
	peer_read();
	say("write twice");
	bufferevent_write(bev, "hello", 5);
	bufferevent_write(bev, "hello", 5);
	run();
	peer_read();
	say("peer writes");
	(void)!write(peer, "abc", 3);
	run();
	(void)!write(peer, "abc", 3);
	run();
	say("disabled for reading");
	bufferevent_disable(bev, EV_READ);
	(void)!write(peer, "abc", 3);
	run();
	bufferevent_enable(bev, EV_READ);
	run();
	say("disabled for writing");
	bufferevent_disable(bev, EV_WRITE);
	bufferevent_write(bev, "x", 1);
	run();
	say("out %zu", evbuffer_get_length(bufferevent_get_output(bev)));
	bufferevent_enable(bev, EV_WRITE);
	run();
	say("read %zu", bufferevent_read(bev, text, 4));
	say("watermarks");
	/* Stock calls readcb without end where a high watermark is reached and stays so. */
	bufferevent_setwatermark(bev, EV_READ, 10, 40);
	(void)!write(peer, "defg", 4);
	run();
	(void)!write(peer, "hijkl", 5);
	run();
	evbuffer_drain(bufferevent_get_input(bev), 10);
	run();
	say("in %zu", evbuffer_get_length(bufferevent_get_input(bev)));
	say("the peer ends");
	close(peer);
	peer = -1;
	run();
	stop();
}

static void broken(void)
{
	int i;

	say("-- a write that fails");
	start(0);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	run();
	bufferevent_disable(bev, EV_READ);
	close(peer);
	peer = -1;
	bufferevent_write(bev, "hello", 5);
	run();
	say("out %zu", evbuffer_get_length(bufferevent_get_output(bev)));
	stop();

	say("-- a socket that takes no more");
	start(0);
	bufferevent_setwatermark(bev, EV_WRITE, 100, 0);
	for (i = 0; i < 400; i++) {
		char block[4096] = { 0 };

		bufferevent_write(bev, block, sizeof(block));
	}
	event_base_loop(base, EVLOOP_NONBLOCK);
	say("pending %d", event_pending(&bev->ev_write, EV_WRITE, NULL));
	stop();
}

static void timeouts(void)
{
	struct timeval tv = { 0, 20000 };

	say("-- timeouts");
	start(0);
	say("set %d", bufferevent_set_timeouts(bev, &tv, &tv));
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	event_base_dispatch(base);
	say("enabled %x", (unsigned)bufferevent_get_enabled(bev));
	bufferevent_settimeout(bev, 0, 0);
	bufferevent_enable(bev, EV_READ);
	event_base_loop(base, EVLOOP_NONBLOCK);
	say("pending %d", event_pending(&bev->ev_read, EV_READ | EV_TIMEOUT, NULL));
	bufferevent_set_timeouts(bev, &tv, NULL);
	say("pending %x", (unsigned)event_pending(&bev->ev_read, EV_READ | EV_TIMEOUT, NULL));
	bufferevent_set_timeouts(bev, NULL, NULL);
	say("pending %x", (unsigned)event_pending(&bev->ev_read, EV_READ | EV_TIMEOUT, NULL));
	stop();
}

static void setters(void)
{
	struct event_base *other = event_base_new();
	int fds[2], old;

	say("-- setters");
	start(0);
	event_base_priority_init(base, 3);
	event_base_priority_init(other, 3);
	say("priority %d", bufferevent_get_priority(bev));
	say("priority %d %d", bufferevent_priority_set(bev, 2), bufferevent_get_priority(bev));
	say("priority %d %d", bufferevent_priority_set(bev, 7), bufferevent_get_priority(bev));
	say("base_set %d %d", bufferevent_base_set(other, bev), bufferevent_get_base(bev) == other);
	say("priority %d", bufferevent_get_priority(bev));
	say("base_set %d", bufferevent_base_set(base, bev));
	bufferevent_enable(bev, EV_READ);
	say("base_set while pending %d", bufferevent_base_set(other, bev));
	say("base_set back %d", bufferevent_base_set(base, bev));
	old = bufferevent_getfd(bev);
	evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	evutil_make_socket_nonblocking(fds[0]);
	bufferevent_setfd(bev, fds[0]);
	say("setfd %d", bufferevent_getfd(bev) == fds[0]);
	(void)!write(fds[1], "abc", 3);
	(void)!write(peer, "abcde", 5);
	run();
	say("user may not: %d %d", evbuffer_add(bufferevent_get_input(bev), "x", 1),
	    evbuffer_drain(bufferevent_get_output(bev), 0));
	bufferevent_setfd(bev, -1);
	say("setfd %d", bufferevent_getfd(bev));
	bufferevent_write(bev, "x", 1);
	run();
	say("underlying %d flush %d dns %d", bufferevent_get_underlying(bev) == NULL,
	    bufferevent_flush(bev, EV_READ, BEV_FLUSH),
	    bufferevent_socket_get_dns_error(bev));
	say("to move %ld %ld", (long)bufferevent_get_max_to_read(bev), (long)bufferevent_get_max_to_write(bev));
	close(fds[0]);
	close(fds[1]);
	close(old);
	stop();
	event_base_free(other);
	say("unlocked without deferred: %d", bufferevent_socket_new(NULL, -1, BEV_OPT_UNLOCK_CALLBACKS) == NULL);
}

static int listening(struct sockaddr_in *sin, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*sin);

	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)sin, len) < 0 || (backlog != 0 && listen(fd, backlog) < 0))
		say("no socket: %s", strerror(errno));
	getsockname(fd, (struct sockaddr *)sin, &len);
	return fd;
}

static void connecting(int options, int backlog)
{
	struct sockaddr_in sin;
	int fd = listening(&sin, backlog), i;

	say("-- connect %x, %s", (unsigned)options, backlog != 0 ? "accepted" : "refused");
	base = event_base_new();
	peer = -1;
	bev = bufferevent_socket_new(base, -1, options | BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(bev, readcb, writecb, eventcb, NULL);
	bufferevent_enable(bev, EV_READ);
	bufferevent_write(bev, "hello", 5);
	say("connect %d", bufferevent_socket_connect(bev, (struct sockaddr *)&sin, sizeof(sin)));
	say("fd %d", bufferevent_getfd(bev) >= 0);
	for (i = 0; i < 3; i++)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	if (backlog != 0) {
		peer = accept(fd, NULL, NULL);
		peer_read();
		close(peer);
		peer = -1;
		event_base_loop(base, EVLOOP_ONCE);
	}
	say("enabled %x", (unsigned)bufferevent_get_enabled(bev));
	stop();
	close(fd);
}

/* The result is reported though nothing may be written. What was written before waits. */
static void connecting_without_writing(int backlog, int is_limited)
{
	struct timeval tick = { 3000, 0 };
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(100, 100, 100, 100, &tick);
	struct sockaddr_in sin;
	int fd = listening(&sin, backlog), i;

	say("-- connect, %s, writing is %s", backlog != 0 ? "accepted" : "refused",
	    is_limited ? "limited" : "disabled");
	base = event_base_new();
	peer = -1;
	bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(bev, readcb, writecb, eventcb, NULL);
	if (is_limited) {
		bufferevent_set_rate_limit(bev, cfg);
		bufferevent_decrement_write_limit(bev, 1000);
	} else {
		bufferevent_disable(bev, EV_WRITE);
	}
	bufferevent_write(bev, "hello", 5);
	say("connect %d", bufferevent_socket_connect(bev, (struct sockaddr *)&sin, sizeof(sin)));
	for (i = 0; i < 3; i++)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	say("enabled %x, output %zu", (unsigned)bufferevent_get_enabled(bev),
	    evbuffer_get_length(bufferevent_get_output(bev)));
	if (backlog != 0) {
		peer = accept(fd, NULL, NULL);
		evutil_make_socket_nonblocking(peer);
		peer_read();
		if (is_limited)
			bufferevent_decrement_write_limit(bev, -1000);
		bufferevent_enable(bev, EV_WRITE);
		run();
		peer_read();
	}
	stop();
	ev_token_bucket_cfg_free(cfg);
	close(fd);
}

static void wrong_addresses(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_un_like {
		sa_family_t family;
		char path[20];
	} un = { AF_UNIX, "/nonexistent" };

	say("-- addresses");
	base = event_base_new();
	peer = -1;
	bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(bev, readcb, writecb, eventcb, NULL);
	say("none: %d", bufferevent_socket_connect(bev, NULL, 0));
	run();
	say("too short: %d", bufferevent_socket_connect(bev, (struct sockaddr *)&sin, 2));
	run();
	say("no file: %d", bufferevent_socket_connect(bev, (struct sockaddr *)&un, sizeof(un)));
	run();
	say("family: %d", bufferevent_socket_connect_hostname(bev, NULL, AF_UNIX, "127.0.0.1", 1));
	say("port: %d", bufferevent_socket_connect_hostname(bev, NULL, AF_INET, "127.0.0.1", 0));
	say("port: %d", bufferevent_socket_connect_hostname(bev, NULL, AF_INET, "127.0.0.1", 65536));
	run();
	say("numeric only for IPv6: %d", bufferevent_socket_connect_hostname(bev, NULL, AF_INET6, "127.0.0.1", 80));
	run();
	say("dns error %d", bufferevent_socket_get_dns_error(bev));
	stop();
}

static void by_name(void)
{
	struct sockaddr_in sin;
	int fd = listening(&sin, 5), i;

	say("-- by name");
	base = event_base_new();
	bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(bev, readcb, writecb, eventcb, NULL);
	say("connect %d", bufferevent_socket_connect_hostname(bev, NULL, AF_INET, "127.0.0.1", ntohs(sin.sin_port)));
	for (i = 0; i < 3; i++)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	say("dns error %d", bufferevent_socket_get_dns_error(bev));
	peer = accept(fd, NULL, NULL);
	bufferevent_write(bev, "hello", 5);
	event_base_loop(base, EVLOOP_ONCE);
	peer_read();
	stop();
	close(fd);
}

static void old_style(void)
{
	int fds[2];

	say("-- bufferevent_new");
	base = event_init();
	evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	evutil_make_socket_nonblocking(fds[0]);
	peer = fds[1];
	bev = bufferevent_new(fds[0], readcb, writecb, eventcb, NULL);
	say("base %d", bufferevent_get_base(bev) == base);
	say("base %d", bufferevent_get_base(bev) == NULL);
	bufferevent_settimeout(bev, 5, 6);
	say("%ld %ld", (long)bev->timeout_read.tv_sec, (long)bev->timeout_write.tv_sec);
	bufferevent_enable(bev, EV_READ);
	bufferevent_write(bev, "hello", 5);
	(void)!write(peer, "abc", 3);
	run();
	peer_read();
	stop();
	close(fds[0]);
}

/* A deferred callback reports that it is connected, then data, and then all other events at once. */
static void together(void)
{
	static const short others[] = { BEV_EVENT_READING | BEV_EVENT_EOF, BEV_EVENT_READING | BEV_EVENT_ERROR,
					BEV_EVENT_WRITING | BEV_EVENT_TIMEOUT };
	unsigned i, data;

	for (i = 0; i < 3; i++) {
		for (data = 0; data < 4; data++) {
			say("-- together %x, data %u", (unsigned)others[i], data);
			start(BEV_OPT_DEFER_CALLBACKS);
			if (data != 0)
				bufferevent_trigger(bev, (short)(data << 1), BEV_TRIG_IGNORE_WATERMARKS);
			bufferevent_trigger_event(bev, others[i], 0);
			bufferevent_trigger_event(bev, BEV_EVENT_CONNECTED, 0);
			bufferevent_trigger_event(bev, others[i] ^ (BEV_EVENT_READING | BEV_EVENT_WRITING), 0);
			run();
			stop();
		}
	}
}

enum { OUT_LEN = 1000000 };

static char out[OUT_LEN];

static void write_cb(evutil_socket_t fd, short what, void *arg)
{
	size_t *len = arg;

	(void)fd;
	(void)what;
	if (*len == OUT_LEN)
		peer_read();
	(void)!write(peer, "hello", 5);
	close(peer);
	peer = -1;
	if (*len < OUT_LEN)
		bufferevent_write(bev, out, *len);
}

/*
 * The peer sends something and closes, and then output is written, or the rest of much output. (With
 * much output and deferred callbacks, ours reports the ends of both directions in one call.)
 */
static void input_before_error(int options, size_t len)
{
	struct timeval now = { 0, 0 };

	say("-- input before error, options %x, output %zu", (unsigned)options, len);
	start(options);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	run();
	if (len == OUT_LEN)
		bufferevent_write(bev, out, len);
	run();
	event_base_once(base, -1, EV_TIMEOUT, write_cb, &len, &now);
	run();
	stop();
}

/* Which ends of its buffers are open to the program. */
static void show_ends(const char *when)
{
	struct evbuffer *input = bufferevent_get_input(bev), *output = bufferevent_get_output(bev);
	int added = evbuffer_add(input, "x", 1), prepended = evbuffer_prepend(output, "y", 1);

	say("%s: input add %d, output prepend %d drain %d, lengths %zu %zu", when, added, prepended,
	    evbuffer_drain(output, 1), evbuffer_get_length(input), evbuffer_get_length(output));
}

/* bufferevent_setfd opens them, up to the next read or write: old output can be dropped before the next connection. */
static void ends(int options)
{
	evutil_socket_t fd;

	say("-- ends, options %x", (unsigned)options);
	start(options);
	fd = bufferevent_getfd(bev);
	bufferevent_write(bev, "abcdef", 6);
	bufferevent_disable(bev, EV_WRITE);
	show_ends("new");
	bufferevent_setfd(bev, -1);
	show_ends("without a descriptor");
	bufferevent_setfd(bev, fd);
	show_ends("with one");
	bufferevent_enable(bev, EV_WRITE);
	run();
	show_ends("written");
	bufferevent_enable(bev, EV_READ);
	(void)!write(peer, "hello", 5);
	run();
	show_ends("read");
	stop();
}

struct enabling {
	int left;			/* so often */
	bool is_toggling;		/* disable it before */
};

static void enabling_cb(struct bufferevent *b, void *arg)
{
	struct enabling *e = arg;

	say("writecb, %d left", e->left);
	if (e->left-- == 0)
		return;
	if (e->is_toggling)
		bufferevent_disable(b, EV_WRITE);
	bufferevent_enable(b, EV_WRITE);
}

/* A write callback that enables writing, with nothing to write, is called again. */
static void enabled_in_writecb(int options, bool is_toggling)
{
	struct enabling e = { 3, is_toggling };

	say("-- enabled in the write callback, options %x, %s", (unsigned)options,
	    is_toggling ? "toggled" : "plain");
	start(options);
	bufferevent_setcb(bev, NULL, enabling_cb, eventcb, &e);
	bufferevent_write(bev, "abc", 3);
	run();
	peer_read();
	e.left = 2;
	bufferevent_enable(bev, EV_WRITE);
	run();
	e.left = 0;
	bufferevent_write(bev, "abc", 3);
	run();
	peer_read();
	stop();
}

/* The kernel sends it, so it may change until then. */
static void file_that_changes(void)
{
	char path[] = "/tmp/bev_sockXXXXXX";
	int fd = mkstemp(path);

	must(fd >= 0, "make a file");
	unlink(path);
	say("-- a file that changes");
	start(0);
	must(write(fd, "before", 6) == 6, "write a file");
	say("add_file %d", evbuffer_add_file(bufferevent_get_output(bev), dup(fd), 0, 6));
	must(pwrite(fd, "after!", 6, 0) == 6, "write a file");
	run();
	peer_read();
	say("add_file %d", evbuffer_add_file(bufferevent_get_output(bev), dup(fd), 0, 6));
	must(ftruncate(fd, 0) == 0, "cut a file");
	run();
	say("left %zu", evbuffer_get_length(bufferevent_get_output(bev)));
	close(fd);
	stop();
}

static void answer_and_break(struct bufferevent *b, void *arg)
{
	readcb(b, arg);
	evbuffer_drain(bufferevent_get_input(b), 100);
	bufferevent_write(b, "answer", 6);
	event_base_loopbreak(base);
}

/* What is written before the loop is broken waits for the next loop. */
static void broken_in_readcb(int options)
{
	say("-- loopbreak in readcb, options %d", options);
	start(options);
	bufferevent_setcb(bev, answer_and_break, writecb, eventcb, NULL);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	run();
	must(write(peer, "ask", 3) == 3, "write to a socket");
	say("loop %d", event_base_dispatch(base));
	say("left %zu", evbuffer_get_length(bufferevent_get_output(bev)));
	peer_read();
	run();
	peer_read();
	stop();
}

int main(void)
{
	int i;

	signal(SIGPIPE, SIG_IGN);
	together();
	input_before_error(0, 3);
	input_before_error(0, OUT_LEN);
	input_before_error(BEV_OPT_DEFER_CALLBACKS, 3);
	talk(0);
	talk(BEV_OPT_DEFER_CALLBACKS);
	broken();
	timeouts();
	setters();
	connecting(0, 5);
	connecting(BEV_OPT_DEFER_CALLBACKS, 5);
	connecting(0, 0);
	connecting(BEV_OPT_DEFER_CALLBACKS, 0);
	for (i = 0; i < 4; i++)
		connecting_without_writing(i / 2 == 0 ? 5 : 0, i % 2);
	wrong_addresses();
	by_name();
	old_style();
	ends(0);
	ends(BEV_OPT_DEFER_CALLBACKS);
	file_that_changes();
	broken_in_readcb(0);
	broken_in_readcb(BEV_OPT_DEFER_CALLBACKS);
	enabled_in_writecb(0, false);
	enabled_in_writecb(0, true);
	enabled_in_writecb(BEV_OPT_DEFER_CALLBACKS, false);
	enabled_in_writecb(BEV_OPT_DEFER_CALLBACKS, true);
	return 0;
}
