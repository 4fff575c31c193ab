/*
 * Filters: how often and with what the filter functions are called, watermarks, flushing, what writes
 * itself from inside, what the underlying one is left with.
 */
#include "trace.h"

#include <signal.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>

static struct event_base *base;
static struct bufferevent *inner[2], *outer[2];

static void show(const char *name, struct bufferevent *bev)
{
	say("  %s: in %zu out %zu enabled %x", name, evbuffer_get_length(bufferevent_get_input(bev)),
	    evbuffer_get_length(bufferevent_get_output(bev)), (unsigned)bufferevent_get_enabled(bev));
}

static void readcb(struct bufferevent *bev, void *arg)
{
	(void)arg;
	say("%s readcb, %zu bytes", bev == outer[0] ? "left" : "right",
	    evbuffer_get_length(bufferevent_get_input(bev)));
}

static void writecb(struct bufferevent *bev, void *arg)
{
	(void)arg;
	say("%s writecb, %zu bytes", bev == outer[0] ? "left" : "right",
	    evbuffer_get_length(bufferevent_get_output(bev)));
}

static void eventcb(struct bufferevent *bev, short what, void *arg)
{
	(void)arg;
	say("%s eventcb %x", bev == outer[0] ? "left" : "right", (unsigned)what & 0xffff);
}

static int calls, self_write, fail_after, is_quiet;

static enum bufferevent_filter_result copy(const char *name, struct evbuffer *src, struct evbuffer *dst,
					   ev_ssize_t limit,
					   enum bufferevent_flush_mode mode)
{
	size_t len = evbuffer_get_length(src);

	calls++;
	if (!is_quiet)
		say("%s filter: %zu bytes, limit %ld, mode %d, at the other end %zu", name, len, (long)limit, (int)mode,
		    evbuffer_get_length(dst));
	if (fail_after != 0 && calls > fail_after)
		return BEV_ERROR;
	if (len == 0)
		return BEV_NEED_MORE;
	if (limit >= 0 && len > (size_t)limit)
		len = (size_t)limit;
	evbuffer_remove_buffer(src, dst, len);
	if (self_write != 0 && calls == 1)
		say("write inside: %d", bufferevent_write(outer[0], "-", 1));
	return BEV_OK;
}

static enum bufferevent_filter_result in(struct evbuffer *src, struct evbuffer *dst, ev_ssize_t limit,
					 enum bufferevent_flush_mode mode, void *ctx)
{
	return copy(ctx == &outer[0] ? "left in" : "right in", src, dst, limit, mode);
}

static enum bufferevent_filter_result out(struct evbuffer *src, struct evbuffer *dst, ev_ssize_t limit,
					  enum bufferevent_flush_mode mode, void *ctx)
{
	return copy(ctx == &outer[0] ? "left out" : "right out", src, dst, limit, mode);
}

static void free_context(void *ctx)
{
	say("free_context %s", ctx == &outer[0] ? "left" : "right");
}

static void run(void)
{
	int i;

	for (i = 0; i < 6; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void start(int options)
{
	base = event_base_new();
	bufferevent_pair_new(base, 0, inner);
	outer[0] = bufferevent_filter_new(inner[0], in, out, options, free_context, &outer[0]);
	outer[1] = bufferevent_filter_new(inner[1], in, out, options, free_context, &outer[1]);
	bufferevent_setcb(outer[0], readcb, writecb, eventcb, NULL);
	bufferevent_setcb(outer[1], readcb, writecb, eventcb, NULL);
	calls = self_write = fail_after = 0;
}

static void stop(int options)
{
	bufferevent_free(outer[0]);
	bufferevent_free(outer[1]);
	if ((options & BEV_OPT_CLOSE_ON_FREE) == 0) {
		show("inner left, after", inner[0]);
		bufferevent_free(inner[0]);
		bufferevent_free(inner[1]);
	}
	run();
	event_base_free(base);
}

static void plain(int options)
{
	say("-- plain %x", (unsigned)options);
	start(options);
	show("left", outer[0]);
	show("inner left", inner[0]);
	say("underlying %d, fd %d, base %d", bufferevent_get_underlying(outer[0]) == inner[0],
	    (int)bufferevent_getfd(outer[0]),
	    bufferevent_get_base(outer[0]) == base);
	say("priority %d %d", bufferevent_priority_set(outer[0], 0), bufferevent_get_priority(outer[0]));
	bufferevent_enable(outer[1], EV_READ);
	say("write %d", bufferevent_write(outer[0], "hello", 5));
	show("left", outer[0]);
	run();
	show("right", outer[1]);
	bufferevent_disable(outer[1], EV_READ);
	bufferevent_write(outer[0], "again", 5);
	run();
	show("right", outer[1]);
	show("inner right", inner[1]);
	bufferevent_enable(outer[1], EV_READ);
	run();
	show("right", outer[1]);
	stop(options);
}

static void from_inside(void)
{
	say("-- a filter writes itself");
	start(BEV_OPT_CLOSE_ON_FREE);
	self_write = 1;
	fail_after = 1;
	bufferevent_enable(outer[1], EV_READ);
	bufferevent_write(outer[0], "hello", 5);
	show("left", outer[0]);
	run();
	show("left", outer[0]);
	show("right", outer[1]);
	stop(BEV_OPT_CLOSE_ON_FREE);
}

static void watermarks(void)
{
	char block[100] = { 0 };

	say("-- watermarks");
	start(BEV_OPT_CLOSE_ON_FREE);
	/* Stock spins in a loop where a high watermark for reading is reached. */
	bufferevent_setwatermark(outer[1], EV_READ, 10, 0);
	bufferevent_setwatermark(inner[0], EV_WRITE, 0, 40);
	bufferevent_enable(outer[1], EV_READ);
	bufferevent_write(outer[0], block, sizeof(block));
	run();
	show("left", outer[0]);
	show("inner left", inner[0]);
	show("inner right", inner[1]);
	show("right", outer[1]);
	stop(BEV_OPT_CLOSE_ON_FREE);
}

static void flushing(enum bufferevent_flush_mode mode)
{
	say("-- flush %d", (int)mode);
	start(BEV_OPT_CLOSE_ON_FREE);
	bufferevent_disable(outer[0], EV_WRITE);
	bufferevent_write(outer[0], "hello", 5);
	show("left", outer[0]);
	say("flush write: %d", bufferevent_flush(outer[0], EV_WRITE, mode));
	run();
	show("left", outer[0]);
	show("inner right", inner[1]);
	say("flush read: %d", bufferevent_flush(outer[1], EV_READ, mode));
	run();
	show("right", outer[1]);
	stop(BEV_OPT_CLOSE_ON_FREE);
}

static void timeouts(void)
{
	struct timeval tv = { 0, 20000 };

	say("-- timeouts");
	start(BEV_OPT_CLOSE_ON_FREE);
	bufferevent_set_timeouts(outer[0], &tv, NULL);
	bufferevent_enable(outer[0], EV_READ);
	event_base_dispatch(base);
	show("left", outer[0]);
	say("write timeout, nothing to write");
	bufferevent_set_timeouts(outer[0], NULL, &tv);
	bufferevent_enable(outer[0], EV_WRITE);
	event_base_dispatch(base);
	show("left", outer[0]);
	say("write timeout, something to write");
	bufferevent_write(outer[0], "x", 1);
	event_base_dispatch(base);
	show("left", outer[0]);
	stop(BEV_OPT_CLOSE_ON_FREE);
}

/* The peer sent something and closed while output was sent. */
static void input_before_error(size_t len)
{
	static char text[1000000];
	int fds[2];

	say("-- input before error, output %zu", len);
	base = event_base_new();
	evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	evutil_make_socket_nonblocking(fds[0]);
	inner[0] = bufferevent_socket_new(base, fds[0], BEV_OPT_CLOSE_ON_FREE);
	is_quiet = 1;
	outer[0] = bufferevent_filter_new(inner[0], in, out, BEV_OPT_CLOSE_ON_FREE, NULL, &outer[0]);
	bufferevent_setcb(outer[0], readcb, NULL, eventcb, NULL);
	bufferevent_enable(outer[0], EV_READ | EV_WRITE);
	bufferevent_write(outer[0], text, len);
	if (len > 3)
		run();
	(void)!write(fds[1], "hello", 5);
	close(fds[1]);
	run();
	bufferevent_free(outer[0]);
	run();
	event_base_free(base);
	is_quiet = 0;
}

static enum bufferevent_filter_result wait_for_more(struct evbuffer *src, struct evbuffer *dst, ev_ssize_t limit,
						    enum bufferevent_flush_mode mode, void *ctx)
{
	(void)src;
	(void)dst;
	(void)limit;
	(void)mode;
	(void)ctx;
	return BEV_NEED_MORE;
}

/* All ends of a filter's buffers are open to the program. */
static void ends(void)
{
	struct evbuffer *input, *output;
	int i, r[4];

	say("-- ends");
	base = event_base_new();
	inner[0] = bufferevent_socket_new(base, -1, 0);
	outer[0] = bufferevent_filter_new(inner[0], wait_for_more, wait_for_more, BEV_OPT_CLOSE_ON_FREE, NULL, NULL);
	input = bufferevent_get_input(outer[0]);
	output = bufferevent_get_output(outer[0]);
	for (i = 0; i < 3; i++) {
		bufferevent_write(outer[0], "abc", 3);
		r[0] = evbuffer_add(input, "x", 1);
		r[1] = evbuffer_prepend(input, "x", 1);
		r[2] = evbuffer_prepend(output, "y", 1);
		r[3] = evbuffer_drain(output, 2);
		say("%d %d %d %d, lengths %zu %zu", r[0], r[1], r[2], r[3], evbuffer_get_length(input),
		    evbuffer_get_length(output));
		if (i == 0)
			bufferevent_enable(outer[0], EV_READ | EV_WRITE);
		else
			bufferevent_flush(outer[0], EV_READ | EV_WRITE, BEV_FLUSH);
		run();
	}
	bufferevent_free(outer[0]);
	run();
	event_base_free(base);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	ends();
	input_before_error(3);
	input_before_error(1000000);
	plain(0);
	plain(BEV_OPT_CLOSE_ON_FREE);
	plain(BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	from_inside();
	watermarks();
	flushing(BEV_NORMAL);
	flushing(BEV_FLUSH);
	flushing(BEV_FINISHED);
	timeouts();
	return 0;
}
