/*
 * Tagged data from a peer: whatever the bytes are, each reader takes at most the record, and
 * what one can read the others agree on. The buffer is in two pieces, at a place the input says.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/tag.h>

static struct evbuffer *fill(const uint8_t *data, size_t size)
{
	struct evbuffer *buf = evbuffer_new();
	size_t cut = size == 0 ? 0 : data[0] % size;

	FUZZ_CHECK(buf != NULL);
	FUZZ_CHECK(evbuffer_add_reference(buf, data, cut, NULL, NULL) == 0);
	FUZZ_CHECK(evbuffer_add_reference(buf, data + cut, size - cut, NULL, NULL) == 0);
	return buf;
}

/* The number of bytes of the record, by its head; 0: it is not whole. */
static size_t check_head(struct evbuffer *buf)
{
	size_t left = evbuffer_get_length(buf);
	ev_uint32_t tag, len, total;
	int tag_len = evtag_peek(buf, &tag);

	FUZZ_CHECK(tag_len == -1 || (tag_len >= 1 && tag_len <= 5 && (size_t)tag_len <= left));
	FUZZ_CHECK(evbuffer_get_length(buf) == left);
	if (evtag_payload_length(buf, &len) < 0) {
		FUZZ_CHECK(evtag_peek_length(buf, &total) < 0);
		return 0;
	}
	FUZZ_CHECK(tag_len > 0);
	if (evtag_peek_length(buf, &total) < 0)
		return 0;
	FUZZ_CHECK(total > len && total - len <= 5 + 9);
	return total <= left ? total : 0;
}

/* Every reader on a copy: all or nothing, never more than the record. */
static void check_readers(const uint8_t *data, size_t size, ev_uint32_t tag, size_t total)
{
	struct evbuffer *to = evbuffer_new(), *buf;
	unsigned char fixed[4];
	struct timeval tv;
	ev_uint32_t n, got;
	ev_uint64_t n64;
	char *s = NULL;
	int r;

	FUZZ_CHECK(to != NULL);
	buf = fill(data, size);
	r = evtag_unmarshal(buf, &got, to);
	FUZZ_CHECK((r >= 0) == (total != 0));
	FUZZ_CHECK(r < 0 || (got == tag && evbuffer_get_length(to) == (size_t)r));
	FUZZ_CHECK(r < 0 || evbuffer_get_length(buf) == size - total);
	evbuffer_free(buf);

	buf = fill(data, size);
	r = evtag_unmarshal_int(buf, tag, &n);
	evbuffer_free(buf);
	buf = fill(data, size);
	FUZZ_CHECK(evtag_unmarshal_int64(buf, tag, &n64) == r || r < 0);
	FUZZ_CHECK(r < 0 || n == n64);
	evbuffer_free(buf);

	buf = fill(data, size);
	if (evtag_unmarshal_string(buf, tag, &s) == 0)
		FUZZ_CHECK(strlen(s) <= evbuffer_get_length(to));
	free(s);
	evbuffer_free(buf);

	buf = fill(data, size);
	(void)evtag_unmarshal_fixed(buf, tag, fixed, sizeof(fixed));
	evbuffer_free(buf);
	buf = fill(data, size);
	(void)evtag_unmarshal_timeval(buf, tag, &tv);
	evbuffer_free(buf);
	evbuffer_free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evbuffer *buf = fill(data, size);
	size_t total = check_head(buf);
	ev_uint32_t tag = 0;

	if (evtag_peek(buf, &tag) >= 0 && total <= INT32_MAX)
		check_readers(data, size, tag, total);
	while (evtag_consume(buf) == 0)
		;
	evbuffer_free(buf);
	return 0;
}
