/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Tagged data. */
#include "sweep.h"

#include <string.h>

#include <event2/buffer.h>
#include <event2/tag.h>

static void ints(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	ev_uint32_t n;
	ev_uint64_t n64;

	while (sweep_next(s)) {
		evtag_marshal_int(buf, 1, 123456);
		evtag_marshal_int64(buf, 2, 12345678901234ULL);
		sweep_check(evtag_unmarshal_int(buf, 1, &n) >= 0);
		sweep_check(evtag_unmarshal_int64(buf, 2, &n64) >= 0);
	}
	evbuffer_free(buf);
}

static void strings(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	char *text;

	while (sweep_next(s)) {
		evtag_marshal_string(buf, 1, "a string of some length");
		sweep_check(evtag_unmarshal_string(buf, 1, &text) == 0);
		free(text);
	}
	evbuffer_free(buf);
}

static void bytes(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new(), *body = evbuffer_new(), *out = evbuffer_new();
	char data[100] = "bytes", fixed[100];
	ev_uint32_t tag;

	while (sweep_next(s)) {
		evtag_marshal(buf, 1, data, sizeof(data));
		sweep_check(evtag_unmarshal_fixed(buf, 1, fixed, sizeof(fixed)) == 0);
		evbuffer_add(body, data, sizeof(data));
		evtag_marshal_buffer(buf, 2, body);
		sweep_check(evtag_unmarshal(buf, &tag, out) == sizeof(data));
		evbuffer_drain(out, sizeof(data));
	}
	evbuffer_free(buf);
	evbuffer_free(body);
	evbuffer_free(out);
}

static void times(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	struct timeval tv = { 1234, 5678 };

	while (sweep_next(s)) {
		evtag_marshal_timeval(buf, 1, &tv);
		sweep_check(evtag_unmarshal_timeval(buf, 1, &tv) == 0);
	}
	evbuffer_free(buf);
}

static void headers(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	ev_uint32_t tag, len;

	evtag_init();
	while (sweep_next(s)) {
		evtag_marshal(buf, 7, "0123456789", 10);
		s->calls += evtag_peek(buf, &tag) + evtag_peek_length(buf, &len) + evtag_payload_length(buf, &len);
		s->calls += evtag_unmarshal_header(buf, &tag);
		evbuffer_drain(buf, 10);
		evtag_marshal(buf, 7, "0123456789", 10);
		evtag_consume(buf);
		evtag_encode_int(buf, 5);
		evtag_encode_int64(buf, 5);
		evbuffer_drain(buf, evbuffer_get_length(buf));
	}
	evbuffer_free(buf);
}

const struct sweep_pattern sweep_tag[] = {
	{ "tag/int", ints, .ops = 200 },
	{ "tag/string", strings, .ops = 200 },
	{ "tag/bytes", bytes, .ops = 100 },
	{ "tag/timeval", times, .ops = 200 },
	{ "tag/header", headers, .ops = 100 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
