/*
 * Tagged data: the bytes that are written, and what the readers make of good and of bad ones.
 * Not compared: what libevent leaves in a timeval that it could not read (ours is as before), and
 * evtag_peek_length() of a record beyond 2^32 bytes (it wraps there, and fails here).
 */
#include "trace.h"

#include <event2/buffer.h>
#include <event2/tag.h>

static struct evbuffer *buf;

static void say_bytes(const char *name)
{
	size_t len = evbuffer_get_length(buf), i;
	unsigned char *p = evbuffer_pullup(buf, -1);
	char line[256] = "";

	for (i = 0; i < len && i < 80; i++)
		sprintf(line + 3 * i, " %02x", p[i]);
	say("%s:%s", name, line);
	evbuffer_drain(buf, len);
}

static void written(void)
{
	static const ev_uint64_t numbers[] = { 0, 1, 8, 15, 16, 0x12, 255, 256, 0x1234, 0x12345, 0xdeadbeef, 0xffffffff,
					       0x123456789abcdef0, UINT64_MAX };
	static const ev_uint32_t tags[] = { 0, 1, 0x7f, 0x80, 0x1234, 0x0fffffff, 0xffffffff };
	struct timeval tv = { 1000, 20 }, before = { -1, -2 };
	struct evbuffer *data = evbuffer_new();
	char name[64];
	size_t i;

	section("written");
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		snprintf(name, sizeof(name), "%#llx", (unsigned long long)numbers[i]);
		evtag_encode_int(buf, (ev_uint32_t)numbers[i]);
		say_bytes(name);
		evtag_encode_int64(buf, numbers[i]);
		say_bytes(name);
		evtag_marshal_int(buf, 5, (ev_uint32_t)numbers[i]);
		say_bytes(name);
		evtag_marshal_int64(buf, 5, numbers[i]);
		say_bytes(name);
	}
	for (i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		evtag_marshal(buf, tags[i], "ab", 2);
		say_bytes("tag");
	}
	evtag_marshal(buf, 1, NULL, 0);
	say_bytes("empty");
	evtag_marshal_string(buf, 5, "hello");
	say_bytes("string");
	evtag_marshal_timeval(buf, 5, &tv);
	say_bytes("time");
	evtag_marshal_timeval(buf, 5, &before);
	say_bytes("time before");
	evbuffer_add(data, "xyz", 3);
	evtag_marshal_buffer(buf, 7, data);
	say_bytes("buffer");
	say("left %zu", evbuffer_get_length(data));
	evbuffer_free(data);
}

static unsigned char input[64];
static size_t input_len;

static void fill(void)
{
	evbuffer_drain(buf, evbuffer_get_length(buf));
	evbuffer_add(buf, input, input_len);
}

#define SAY(...)                                                                                   \
	do {                                                                                       \
		char line_[200];                                                                   \
		snprintf(line_, sizeof(line_), __VA_ARGS__);                                       \
		say("  %s, left %zu", line_, evbuffer_get_length(buf));                             \
		fill();                                                                            \
	} while (0)

static void heads(bool is_huge)
{
	ev_uint32_t tag = 77, len = 77;
	struct evbuffer *to = evbuffer_new();
	int r;

	r = evtag_peek(buf, &tag);
	SAY("peek %d %x", r, tag);
	r = evtag_peek(buf, NULL);
	SAY("peek without a place %d", r);
	if (!is_huge) {
		r = evtag_peek_length(buf, &len);
		SAY("peek length %d %x", r, len);
	}
	len = 77;
	r = evtag_payload_length(buf, &len);
	SAY("payload length %d %x", r, len);
	tag = 77;
	r = evtag_unmarshal_header(buf, &tag);
	SAY("header %d %x", r, tag);
	r = evtag_consume(buf);
	SAY("consume %d", r);
	tag = 77;
	r = evtag_unmarshal(buf, &tag, to);
	SAY("unmarshal %d %x %zu", r, tag, evbuffer_get_length(to));
	evbuffer_free(to);
}

static void values(ev_uint32_t tag)
{
	struct timeval tv = { 7, 7 };
	ev_uint32_t n = 77;
	ev_uint64_t n64 = 77;
	char fixed[8] = "......", *s = NULL;
	int r;

	r = evtag_unmarshal_int(buf, tag, &n);
	SAY("int %d %x", r, n);
	r = evtag_unmarshal_int64(buf, tag, &n64);
	SAY("int64 %d %llx", r, (unsigned long long)n64);
	r = evtag_unmarshal_fixed(buf, tag, fixed, 3);
	SAY("fixed %d %02x%02x%02x%02x", r, fixed[0], fixed[1], fixed[2], fixed[3]);
	r = evtag_unmarshal_string(buf, tag, &s);
	SAY("string %d %zu", r, s != NULL ? strlen(s) : 0);
	free(s);
	r = evtag_unmarshal_timeval(buf, tag, &tv);
	SAY("time %d %ld %ld", r, r == 0 ? (long)tv.tv_sec : 0, r == 0 ? (long)tv.tv_usec : 0);
}

static void read_back(const char *bytes, bool is_huge)
{
	unsigned byte;
	int used;

	section(bytes);
	for (input_len = 0; sscanf(bytes, "%x%n", &byte, &used) == 1; bytes += used)
		input[input_len++] = (unsigned char)byte;
	fill();
	heads(is_huge);
	say(" right tag");
	values(5);
	say(" wrong tag");
	values(6);
}

int main(void)
{
	static const char *const inputs[] = {
		"", "05", "05 03", "05 03 34", "05 03 34 32 10", "05 04 34 32 10 aa", "05 02 34 32", "05 01 04",
		"05 00", "80 80 80 80 80 01 01 00",
		"ff ff ff ff 0f 01 04", "ff ff ff ff 1f 01 04", "80 00 01 04", "05 81 00",
		"05 04 28 e3 14 10", "05 03 28 e3 14", "05 05 28 e3 14 10 00", "05 09 8f ff ff ff f1 aa aa aa aa",
		"05 09 81 ff ff ff ff ff ff ff ff", "05 0a f1 ff ff ff ff ff ff ff ff aa",
		"05 f1 00 00 00 00 00 00 00 01",
		"05 03 61 00 62",
	};
	size_t i;

	evtag_init();
	buf = evbuffer_new();
	must(buf != NULL, "make a buffer");
	written();
	for (i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
		read_back(inputs[i], false);
	read_back("05 7f ff ff ff f0", true);
	read_back("05 77 ff ff ff f0", true);
	evbuffer_free(buf);
	return 0;
}
