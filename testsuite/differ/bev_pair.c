/*
 * Pairs: what moves when, which callbacks come and in which order, flushing, timeouts, ends, and
 * the calls that every kind of bufferevent has.
 */
#include "trace.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_compat.h>
#include <event2/bufferevent_struct.h>

static struct event_base *base;
static struct bufferevent *pair[2];

static const char *name(const struct bufferevent *bev)
{
	return bev == pair[0] ? "left" : "right";
}

static void show(struct bufferevent *bev)
{
	say("  %s: in %zu out %zu enabled %x", name(bev), evbuffer_get_length(bufferevent_get_input(bev)),
	    evbuffer_get_length(bufferevent_get_output(bev)), (unsigned)bufferevent_get_enabled(bev));
}

static void readcb(struct bufferevent *bev, void *arg)
{
	say("%s readcb, %zu bytes, %s", name(bev), evbuffer_get_length(bufferevent_get_input(bev)), (const char *)arg);
}

static void writecb(struct bufferevent *bev, void *arg)
{
	say("%s writecb, %zu bytes, %s", name(bev), evbuffer_get_length(bufferevent_get_output(bev)),
	    (const char *)arg);
}

static void eventcb(struct bufferevent *bev, short what, void *arg)
{
	say("%s eventcb %x, %s", name(bev), (unsigned)what & 0xffff, (const char *)arg);
}

static char left_arg[] = "a", right_arg[] = "b";

static void start(int options)
{
	base = event_base_new();
	say("pair_new %d", bufferevent_pair_new(base, options, pair));
	bufferevent_setcb(pair[0], readcb, writecb, eventcb, left_arg);
	bufferevent_setcb(pair[1], readcb, writecb, eventcb, right_arg);
}

static void run(void)
{
	int i;

	for (i = 0; i < 4; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void stop(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (pair[i] != NULL)
			bufferevent_free(pair[i]);
	}
	run();
	event_base_free(base);
}

static void getters(void)
{
	bufferevent_data_cb r, w;
	bufferevent_event_cb e;
	size_t low = 7, high = 7;
	void *arg;

	bufferevent_getcb(pair[0], &r, &w, &e, &arg);
	say("getcb %d %d %d %d", r == readcb, w == writecb, e == eventcb, arg == left_arg);
	bufferevent_getcb(pair[0], NULL, NULL, NULL, NULL);
	say("getfd %d setfd %d", (int)bufferevent_getfd(pair[0]), bufferevent_setfd(pair[0], 0));
	say("underlying %d base %d", bufferevent_get_underlying(pair[0]) == NULL,
	    bufferevent_get_base(pair[0]) == base);
	say("partner %d %d", bufferevent_pair_get_partner(pair[0]) == pair[1],
	    bufferevent_pair_get_partner(pair[1]) == pair[0]);
	say("priority_set %d get %d", bufferevent_priority_set(pair[0], 0), bufferevent_get_priority(pair[0]));
	say("base_set %d", bufferevent_base_set(base, pair[0]));
	say("watermark %d", bufferevent_getwatermark(pair[0], EV_READ, &low, &high));
	say("%zu %zu", low, high);
	bufferevent_setwatermark(pair[0], EV_WRITE, 3, 4);
	say("watermark %d", bufferevent_getwatermark(pair[0], EV_WRITE, &low, &high));
	say("%zu %zu", low, high);
	say("watermark of both %d of none %d", bufferevent_getwatermark(pair[0], EV_READ | EV_WRITE, &low, &high),
	    bufferevent_getwatermark(pair[0], 0, NULL, NULL));
	say("dns error %d", 0);
	say("single %ld %ld", (long)bufferevent_get_max_single_read(pair[0]),
	    (long)bufferevent_get_max_single_write(pair[0]));
	say("set %d %d", bufferevent_set_max_single_read(pair[0], 100), bufferevent_set_max_single_write(pair[0], 200));
	say("single %ld %ld", (long)bufferevent_get_max_single_read(pair[0]),
	    (long)bufferevent_get_max_single_write(pair[0]));
	say("set %d %d", bufferevent_set_max_single_read(pair[0], 0),
	    bufferevent_set_max_single_write(pair[0], (size_t)-1));
	say("single %ld %ld", (long)bufferevent_get_max_single_read(pair[0]),
	    (long)bufferevent_get_max_single_write(pair[0]));
	say("to move %ld %ld", (long)bufferevent_get_max_to_read(pair[0]), (long)bufferevent_get_max_to_write(pair[0]));
	say("limit %d %d cfg %d", bufferevent_get_read_limit(pair[0]) == EV_SSIZE_MAX,
	    bufferevent_get_write_limit(pair[0]) == EV_SSIZE_MAX, bufferevent_get_token_bucket_cfg(pair[0]) == NULL);
}

static void talk(int options)
{
	char text[100];
	struct evbuffer *buf = evbuffer_new();

	say("-- talk %x", (unsigned)options);
	start(options);
	getters();
	show(pair[0]);
	say("write %d", bufferevent_write(pair[0], "hello", 5));
	show(pair[0]);
	run();
	say("enable %d", bufferevent_enable(pair[1], EV_READ));
	show(pair[0]);
	show(pair[1]);
	run();
	say("read %zu", bufferevent_read(pair[1], text, 3));
	say("read %zu", bufferevent_read(pair[1], text, sizeof(text)));
	say("read %zu", bufferevent_read(pair[1], text, sizeof(text)));
	run();
	evbuffer_add(buf, "0123456789", 10);
	say("write_buffer %d, left %zu", bufferevent_write_buffer(pair[0], buf), evbuffer_get_length(buf));
	say("write %d", bufferevent_write(pair[0], "more", 4));
	run();
	say("read_buffer %d, got %zu", bufferevent_read_buffer(pair[1], buf), evbuffer_get_length(buf));
	say("user may not: %d %d", evbuffer_add(bufferevent_get_input(pair[1]), "x", 1),
	    evbuffer_drain(bufferevent_get_output(pair[0]), 1));
	evbuffer_free(buf);
	stop();
}

static void watermarks(void)
{
	char block[100] = { 0 };

	say("-- watermarks");
	start(0);
	/* Stock calls readcb without end where a high watermark is reached and stays so. */
	bufferevent_setwatermark(pair[1], EV_READ, 20, 0);
	bufferevent_setwatermark(pair[0], EV_WRITE, 60, 0);
	bufferevent_enable(pair[1], EV_READ);
	bufferevent_write(pair[0], block, 10);
	run();
	show(pair[1]);
	bufferevent_write(pair[0], block, sizeof(block));
	run();
	show(pair[0]);
	show(pair[1]);
	say("trigger");
	bufferevent_trigger(pair[1], EV_READ, 0);
	bufferevent_trigger(pair[1], EV_READ, BEV_TRIG_IGNORE_WATERMARKS);
	bufferevent_trigger(pair[0], EV_READ | EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
	bufferevent_trigger_event(pair[0], BEV_EVENT_EOF, 0);
	bufferevent_trigger_event(pair[0], BEV_EVENT_READING | BEV_EVENT_CONNECTED, BEV_TRIG_DEFER_CALLBACKS);
	say("triggered");
	run();
	stop();
}

static void flushing(enum bufferevent_flush_mode mode)
{
	say("-- flush %d", (int)mode);
	start(0);
	bufferevent_write(pair[0], "hello", 5);
	say("flush %d", bufferevent_flush(pair[0], EV_WRITE, mode));
	show(pair[0]);
	show(pair[1]);
	run();
	say("flush %d", bufferevent_flush(pair[1], EV_READ, mode));
	run();
	say("flush both %d", bufferevent_flush(pair[1], EV_READ | EV_WRITE, mode));
	run();
	stop();
}

/* Below the high watermark of the reader, at it, and with nothing in its input. */
static void flushing_to_a_full_one(void)
{
	static const char text[] = "0123456789";
	size_t have;

	for (have = 0; have <= 9; have += 3) {
		say("-- flush with %zu of 6 bytes in the input", have);
		start(0);
		bufferevent_enable(pair[1], EV_READ);
		if (have != 0)
			bufferevent_write(pair[0], text, have);
		bufferevent_setwatermark(pair[1], EV_READ, 0, 6);
		bufferevent_disable(pair[1], EV_READ);
		bufferevent_write(pair[0], text, 10);
		show(pair[1]);
		say("flush %d", bufferevent_flush(pair[0], EV_WRITE, BEV_FLUSH));
		show(pair[0]);
		show(pair[1]);
		stop();
	}
}

static void ends(void)
{
	say("-- ends");
	start(0);
	bufferevent_enable(pair[1], EV_READ);
	bufferevent_write(pair[0], "hello", 5);
	bufferevent_incref(pair[0]);
	say("decref %d", bufferevent_decref(pair[0]));
	bufferevent_lock(pair[0]);
	bufferevent_unlock(pair[0]);
	bufferevent_free(pair[0]);
	pair[0] = NULL;
	run();
	say("partner %d", bufferevent_pair_get_partner(pair[1]) == NULL);
	run();
	say("write %d flush %d", bufferevent_write(pair[1], "x", 1), bufferevent_flush(pair[1], EV_WRITE, BEV_FLUSH));
	show(pair[1]);
	run();
	stop();
}

static void timeouts(void)
{
	struct timeval tv = { 0, 20000 };

	say("-- timeouts");
	start(0);
	say("set %d", bufferevent_set_timeouts(pair[0], &tv, &tv));
	bufferevent_enable(pair[0], EV_READ);
	event_base_dispatch(base);
	show(pair[0]);
	bufferevent_write(pair[0], "x", 1);
	event_base_dispatch(base);
	show(pair[0]);
	bufferevent_enable(pair[0], EV_WRITE);
	event_base_dispatch(base);
	show(pair[0]);
	bufferevent_settimeout(pair[0], 0, 0);
	bufferevent_enable(pair[0], EV_READ | EV_WRITE);
	event_base_dispatch(base);
	bufferevent_settimeout(pair[1], 1, 2);
	say("%d %d %d %d", (int)pair[1]->timeout_read.tv_sec, (int)pair[1]->timeout_read.tv_usec,
	    (int)pair[1]->timeout_write.tv_sec, (int)pair[1]->timeout_write.tv_usec);
	stop();
}

int main(void)
{
	talk(0);
	talk(BEV_OPT_DEFER_CALLBACKS);
	watermarks();
	flushing(BEV_NORMAL);
	flushing(BEV_FLUSH);
	flushing(BEV_FINISHED);
	flushing_to_a_full_one();
	ends();
	timeouts();
	return 0;
}
