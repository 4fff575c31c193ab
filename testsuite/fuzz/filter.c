/*
 * Filters against what must come out of them. Two ends, each a filter on half of a pair: what is written
 * to one is spelled as two half bytes each on the way, and read from the other. The input says how much is
 * written and read, how far a filter goes at once, what is enabled, the watermarks, and flushes. The nth byte of a
 * direction is a function of n: whatever is read is what the model expects there, and in the end all of it.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

enum {
	OPS_MAX = 60,
	FLOW_MAX = 600,			/* bytes of one direction */
	BLOCK = 100,			/* what a filter moves in one call, at most */
	SETTLE_MAX = 600,		/* turns that must do for all that is left */
	CLOSE_MAX = 20,			/* and for the end of both ends */
};

struct end {
	struct bufferevent *bev, *half;
	size_t written, read;		/* bytes of the stream that goes out, and of the one that comes in */
	size_t step;			/* bytes that its filters move in one call; 0: all there are */
	unsigned events;
};

static struct event_base *base;
static struct end ends[2];
static const uint8_t *input;
static size_t input_left;

static unsigned next_byte(void)
{
	if (input_left == 0)
		return 0;
	input_left--;
	return *input++;
}

static uint8_t expected(const struct end *writer, size_t n)
{
	return (uint8_t)(n * 7 + n / 256 + (writer == &ends[0] ? 0 : 100));
}

/* ---------------------------------------------------------------- the filters */

static size_t limited(const struct end *e, size_t len, ev_ssize_t limit, size_t per)
{
	if (e->step != 0 && len > e->step)
		len = e->step;
	if (limit >= 0 && len * per > (size_t)limit)
		len = (size_t)limit / per;
	return len;
}

static enum bufferevent_filter_result spell(struct evbuffer *from, struct evbuffer *to, ev_ssize_t limit,
					    enum bufferevent_flush_mode mode, void *arg)
{
	size_t len = limited(arg, evbuffer_get_length(from), limit, 2), i;
	uint8_t bytes[BLOCK], halves[2 * BLOCK];

	(void)mode;
	if (len > BLOCK)
		len = BLOCK;
	FUZZ_CHECK(evbuffer_remove(from, bytes, len) == (int)len);
	for (i = 0; i < len; i++) {
		halves[2 * i] = bytes[i] >> 4;
		halves[2 * i + 1] = bytes[i] & 15;
	}
	FUZZ_CHECK(evbuffer_add(to, halves, 2 * len) == 0);
	return len == 0 ? BEV_NEED_MORE : BEV_OK;
}

/* Half a byte waits for the other half. */
static enum bufferevent_filter_result unspell(struct evbuffer *from, struct evbuffer *to, ev_ssize_t limit,
					      enum bufferevent_flush_mode mode, void *arg)
{
	size_t len = limited(arg, evbuffer_get_length(from) / 2, limit, 1), i;
	uint8_t bytes[BLOCK], halves[2 * BLOCK];

	(void)mode;
	if (len > BLOCK)
		len = BLOCK;
	FUZZ_CHECK(evbuffer_remove(from, halves, 2 * len) == (int)(2 * len));
	for (i = 0; i < len; i++) {
		FUZZ_CHECK(halves[2 * i] < 16 && halves[2 * i + 1] < 16);
		bytes[i] = (uint8_t)(halves[2 * i] << 4 | halves[2 * i + 1]);
	}
	FUZZ_CHECK(evbuffer_add(to, bytes, len) == 0);
	return len == 0 ? BEV_NEED_MORE : BEV_OK;
}

/* ---------------------------------------------------------------- operations */

static void end_write(struct end *e, size_t len)
{
	uint8_t bytes[512];
	size_t i;

	if (len > FLOW_MAX - e->written)
		len = FLOW_MAX - e->written;
	for (i = 0; i < len; i++)
		bytes[i] = expected(e, e->written + i);
	e->written += len;
	FUZZ_CHECK(bufferevent_write(e->bev, bytes, len) == 0);
}

static size_t end_read(struct end *e, size_t len)
{
	const struct end *writer = e == &ends[0] ? &ends[1] : &ends[0];
	uint8_t bytes[512];
	size_t got = bufferevent_read(e->bev, bytes, len < sizeof(bytes) ? len : sizeof(bytes)), i;

	for (i = 0; i < got; i++)
		FUZZ_CHECK(bytes[i] == expected(writer, e->read + i));
	e->read += got;
	FUZZ_CHECK(e->read <= writer->written);
	return got;
}

/* As a program does that reads in its callback, if it is told to. */
static void readable(struct bufferevent *bev, void *arg)
{
	struct end *e = arg;

	FUZZ_CHECK(bev == e->bev);
	if (e->events % 2 == 0)
		(void)end_read(e, 64);
	e->events++;
}

static void told(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)arg;
	/* Nobody ended anything. */
	FUZZ_CHECK((what & (BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT)) == 0);
}

static void enable(struct end *e, unsigned what)
{
	(void)bufferevent_disable(e->bev, (short)((what & 1 ? 0 : EV_READ) | (what & 2 ? 0 : EV_WRITE)));
	FUZZ_CHECK(bufferevent_enable(e->bev, (short)((what & 1 ? EV_READ : 0) | (what & 2 ? EV_WRITE : 0))) == 0);
}

static void flush(struct end *e, unsigned what)
{
	(void)bufferevent_flush(e->bev, what & 1 ? EV_READ : EV_WRITE, what & 2 ? BEV_FLUSH : BEV_NORMAL);
}

static void operate(void)
{
	unsigned op = next_byte(), arg = next_byte();
	struct end *e = &ends[op & 1];

	switch (op >> 1 & 7) {
	case 0:
		end_write(e, arg * 2);
		break;
	case 1:
		(void)end_read(e, arg * 2);
		break;
	case 2:
		(void)event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
		break;
	case 3:
		enable(e, arg);
		break;
	case 4:
		bufferevent_setwatermark(e->bev, EV_READ, arg & 15, arg & 128 ? (arg & 112) + 16u : 0);
		break;
	case 5:
		bufferevent_setwatermark(e->half, EV_WRITE, 0, arg & 128 ? (arg & 127) + 2 : 0);
		break;
	case 6:
		e->step = arg & 63;
		break;
	case 7:
		flush(e, arg);
		break;
	}
}

/* Nothing holds anything up any more. */
static void settle(void)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		ends[i].step = 0;
		bufferevent_setwatermark(ends[i].bev, EV_READ, 0, 0);
		bufferevent_setwatermark(ends[i].half, EV_WRITE, 0, 0);
		enable(&ends[i], 3);
	}
	for (i = 0; i < SETTLE_MAX && (ends[0].read < ends[1].written || ends[1].read < ends[0].written); i++) {
		(void)event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
		while (end_read(&ends[0], 512) + end_read(&ends[1], 512) != 0)
			;
	}
	FUZZ_CHECK(ends[0].read == ends[1].written);
	FUZZ_CHECK(ends[1].read == ends[0].written);
}

static void ends_open(int options)
{
	struct bufferevent *half[2];
	int i;

	FUZZ_CHECK(bufferevent_pair_new(base, options, half) == 0);
	for (i = 0; i < 2; i++) {
		ends[i] = (struct end){ .half = half[i] };
		ends[i].bev = bufferevent_filter_new(half[i], unspell, spell, options, NULL, &ends[i]);
		FUZZ_CHECK(ends[i].bev != NULL);
		bufferevent_setcb(ends[i].bev, readable, NULL, told, &ends[i]);
		enable(&ends[i], 3);
	}
}

/* One base for all inputs: what frees ends later has done so before the next one begins. */
static void ends_close(void)
{
	int i;

	bufferevent_free(ends[0].bev);
	bufferevent_free(ends[1].bev);
	for (i = 0; i < CLOSE_MAX && event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE) > 0; i++)
		(void)event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	FUZZ_CHECK(event_base_get_num_events(base, EVENT_BASE_COUNT_ACTIVE | EVENT_BASE_COUNT_ADDED) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int i;

	input = data;
	input_left = size;
	if (base == NULL)
		base = event_base_new();
	FUZZ_CHECK(base != NULL);
	ends_open(BEV_OPT_CLOSE_ON_FREE | (next_byte() & 1 ? BEV_OPT_DEFER_CALLBACKS : 0));
	for (i = 0; i < OPS_MAX && input_left != 0; i++)
		operate();
	settle();
	ends_close();
	return 0;
}
