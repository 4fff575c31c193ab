/*
 * Tagged data, as event_rpcgen.py writes and reads it:
 *
 *   record  = tag length payload
 *   tag     = seven bits a byte, the least significant first; the top bit is set if more follow
 *   length, and payloads that are integers
 *           = nibbles: their number less one; then the nibbles, the least significant first; the
 *             last byte is padded with zero
 *
 * The format was derived from the bytes that libevent 2.1 produces. Input comes from a peer: every
 * length is checked before it is used, and an incomplete record is an error.
 */
#include <event2/tag.h>

#include <limits.h>
#include <string.h>

#include <event2/buffer.h>

#include "event/le.h"

enum {
	TAG_MAX = 5,			/* maximum for 32 bits, seven bits a byte */
	INT_MAX_BYTES = 9,		/* maximum: 17 nibbles */
	NIBBLES_32 = 8,
	NIBBLES_64 = 16,
};

/* A record's header. The payload follows it. */
struct head {
	ev_uint32_t tag;
	ev_uint32_t len;		/* of the payload */
	size_t tag_len;			/* bytes of the tag */
	size_t int_len;			/* bytes of the length; 0: incomplete or too large */
};

/* No header declares these functions, but libevent's tests declare and call them. */
int evtag_encode_tag(struct evbuffer *evbuf, ev_uint32_t tag);
int evtag_decode_tag(ev_uint32_t *ptag, struct evbuffer *evbuf);
int evtag_decode_int(ev_uint32_t *pnumber, struct evbuffer *evbuf);
int evtag_decode_int64(ev_uint64_t *pnumber, struct evbuffer *evbuf);

void evtag_init(void)
{
}

/* ---------------------------------------------------------------- encoding */

static size_t tag_encode(unsigned char *to, ev_uint32_t tag)
{
	size_t n = 0;

	while (tag > 0x7f) {
		to[n++] = (unsigned char)(tag | 0x80);
		tag >>= 7;
	}
	to[n++] = (unsigned char)tag;
	return n;
}

static size_t int_encode(unsigned char *to, ev_uint64_t number)
{
	unsigned num = number == 0 ? 1 : (unsigned)(67 - __builtin_clzll(number)) / 4, i;

	to[0] = (unsigned char)((num - 1) << 4);
	for (i = 1; i <= num; i++, number >>= 4) {
		if ((i & 1) != 0)
			to[i / 2] = (unsigned char)(to[i / 2] | (number & 0xf));
		else
			to[i / 2] = (unsigned char)((number & 0xf) << 4);
	}
	return num / 2 + 1;
}

static size_t head_encode(unsigned char *to, ev_uint32_t tag, ev_uint32_t len)
{
	size_t n = tag_encode(to, tag);

	return n + int_encode(to + n, len);
}

/*
 * Adds everything or nothing: the callers cannot report a failure, but a reader can skip a complete
 * record.
 */
static void add_whole(struct evbuffer *to, const void *head, size_t head_len, const void *data,
		      size_t len)
{
	evbuffer_lock(to);
	if (len <= SIZE_MAX - head_len && evbuffer_expand(to, head_len + len) == 0) {
		(void)evbuffer_add(to, head, head_len);
		(void)evbuffer_add(to, data, len);
	}
	evbuffer_unlock(to);
}

/* Returns the number of the tag's bytes; as in stock, even if there was no memory to add them. */
int evtag_encode_tag(struct evbuffer *evbuf, ev_uint32_t tag)
{
	unsigned char to[TAG_MAX];
	size_t n = tag_encode(to, tag);

	(void)evbuffer_add(evbuf, to, n);
	return (int)n;
}

void evtag_encode_int(struct evbuffer *evbuf, ev_uint32_t number)
{
	evtag_encode_int64(evbuf, number);
}

void evtag_encode_int64(struct evbuffer *evbuf, ev_uint64_t number)
{
	unsigned char to[INT_MAX_BYTES];

	(void)evbuffer_add(evbuf, to, int_encode(to, number));
}

void evtag_marshal(struct evbuffer *evbuf, ev_uint32_t tag, const void *data, ev_uint32_t len)
{
	unsigned char head[TAG_MAX + INT_MAX_BYTES];

	add_whole(evbuf, head, head_encode(head, tag, len), data, len);
}

/* Moves the data, unless it is too long for a record. */
void evtag_marshal_buffer(struct evbuffer *evbuf, ev_uint32_t tag, struct evbuffer *data)
{
	unsigned char head[TAG_MAX + INT_MAX_BYTES];
	size_t len = evbuffer_get_length(data);

	if (len > UINT32_MAX)
		return;
	if (evbuffer_add(evbuf, head, head_encode(head, tag, (ev_uint32_t)len)) == 0)
		(void)evbuffer_add_buffer(evbuf, data);
}

void evtag_marshal_int(struct evbuffer *evbuf, ev_uint32_t tag, ev_uint32_t integer)
{
	evtag_marshal_int64(evbuf, tag, integer);
}

void evtag_marshal_int64(struct evbuffer *evbuf, ev_uint32_t tag, ev_uint64_t integer)
{
	unsigned char payload[INT_MAX_BYTES];

	evtag_marshal(evbuf, tag, payload, (ev_uint32_t)int_encode(payload, integer));
}

void evtag_marshal_string(struct evbuffer *buf, ev_uint32_t tag, const char *string)
{
	size_t len = strlen(string);

	if (len <= UINT32_MAX)
		evtag_marshal(buf, tag, string, (ev_uint32_t)len);
}

/* Two 32-bit integers, as in libevent: times before 1970 or after 2106 are lost. */
void evtag_marshal_timeval(struct evbuffer *evbuf, ev_uint32_t tag, struct timeval *tv)
{
	unsigned char payload[2 * INT_MAX_BYTES];
	size_t n = int_encode(payload, (ev_uint32_t)tv->tv_sec);

	n += int_encode(payload + n, (ev_uint32_t)tv->tv_usec);
	evtag_marshal(evbuf, tag, payload, (ev_uint32_t)n);
}

/* ---------------------------------------------------------------- decoding */

/* Number of bytes read; 0: incomplete, or more than 32 bits. */
static size_t tag_decode(ev_uint32_t *ret, const unsigned char *from, size_t len)
{
	ev_uint32_t tag = 0;
	size_t n;

	for (n = 0; n < len && n < TAG_MAX; n++) {
		if (n == TAG_MAX - 1 && from[n] > 0xf)
			return 0;
		tag |= (ev_uint32_t)(from[n] & 0x7f) << 7 * n;
		if ((from[n] & 0x80) == 0) {
			*ret = tag;
			return n + 1;
		}
	}
	return 0;
}

/* Number of bytes read; 0: incomplete, or more than `max` nibbles. */
static size_t int_decode(ev_uint64_t *ret, const unsigned char *from, size_t len, unsigned max)
{
	unsigned num, i;
	ev_uint64_t number = 0;

	if (len == 0)
		return 0;
	num = (from[0] >> 4) + 1U;
	if (num > max || len < num / 2 + 1)
		return 0;
	for (i = 1; i <= num; i++) {
		unsigned nibble = (i & 1) != 0 ? from[i / 2] & 0xfU : from[i / 2] >> 4;

		number |= (ev_uint64_t)nibble << 4 * (i - 1);
	}
	*ret = number;
	return num / 2 + 1;
}

/* Removes a tag, and returns the number of its bytes. -1: there is none, and nothing is removed. */
int evtag_decode_tag(ev_uint32_t *ptag, struct evbuffer *evbuf)
{
	unsigned char from[TAG_MAX];
	ev_uint32_t tag;
	ev_ssize_t got;
	size_t n = 0;

	evbuffer_lock(evbuf);
	got = evbuffer_copyout(evbuf, from, sizeof(from));
	if (got > 0)
		n = tag_decode(&tag, from, (size_t)got);
	evbuffer_drain(evbuf, n);
	evbuffer_unlock(evbuf);
	if (n == 0)
		return -1;
	if (ptag != NULL)
		*ptag = tag;
	return (int)n;
}

/*
 * 0: the number was removed. -1: there is no number of at most `nibbles`, and nothing is removed.
 */
static int int_take(struct evbuffer *buf, unsigned nibbles, ev_uint64_t *ret)
{
	unsigned char from[INT_MAX_BYTES];
	ev_ssize_t got;
	size_t n = 0;

	evbuffer_lock(buf);
	got = evbuffer_copyout(buf, from, sizeof(from));
	if (got > 0)
		n = int_decode(ret, from, (size_t)got, nibbles);
	evbuffer_drain(buf, n);
	evbuffer_unlock(buf);
	return n == 0 ? -1 : 0;
}

int evtag_decode_int(ev_uint32_t *pnumber, struct evbuffer *evbuf)
{
	ev_uint64_t number;

	if (int_take(evbuf, NIBBLES_32, &number) < 0)
		return -1;
	*pnumber = (ev_uint32_t)number;
	return 0;
}

int evtag_decode_int64(ev_uint64_t *pnumber, struct evbuffer *evbuf)
{
	return int_take(evbuf, NIBBLES_64, pnumber);
}

/* -1: not even the tag is complete. */
static int head_peek(struct evbuffer *buf, struct head *ret)
{
	unsigned char from[TAG_MAX + INT_MAX_BYTES];
	ev_ssize_t got = evbuffer_copyout(buf, from, sizeof(from));
	ev_uint64_t len = 0;

	if (got <= 0)
		return -1;
	ret->tag_len = tag_decode(&ret->tag, from, (size_t)got);
	if (ret->tag_len == 0)
		return -1;
	ret->int_len =
		int_decode(&len, from + ret->tag_len, (size_t)got - ret->tag_len, NIBBLES_32);
	ret->len = (ev_uint32_t)len;
	return 0;
}

int evtag_peek(struct evbuffer *evbuf, ev_uint32_t *ptag)
{
	struct head h;

	if (head_peek(evbuf, &h) < 0)
		return -1;
	if (ptag != NULL)
		*ptag = h.tag;
	return (int)h.tag_len;
}

/* The length of the whole record. */
int evtag_peek_length(struct evbuffer *evbuf, ev_uint32_t *plength)
{
	struct head h;

	if (head_peek(evbuf, &h) < 0 || h.int_len == 0 ||
	    h.len > UINT32_MAX - (TAG_MAX + INT_MAX_BYTES))
		return -1;
	*plength = h.len + (ev_uint32_t)(h.tag_len + h.int_len);
	return 0;
}

int evtag_payload_length(struct evbuffer *evbuf, ev_uint32_t *plength)
{
	struct head h;

	if (head_peek(evbuf, &h) < 0 || h.int_len == 0)
		return -1;
	*plength = h.len;
	return 0;
}

/*
 * Removes the tag and the length as far as they are valid, as libevent does: a stream with an
 * invalid record cannot be read further.
 */
static int header_take(struct evbuffer *buf, ev_uint32_t *ptag)
{
	struct head h;

	if (head_peek(buf, &h) < 0)
		return -1;
	evbuffer_drain(buf, h.tag_len + h.int_len);
	if (ptag != NULL)
		*ptag = h.tag;
	if (h.int_len == 0 || h.len > INT_MAX || evbuffer_get_length(buf) < h.len)
		return -1;
	return (int)h.len;
}

int evtag_unmarshal_header(struct evbuffer *evbuf, ev_uint32_t *ptag)
{
	int len;

	evbuffer_lock(evbuf);
	len = header_take(evbuf, ptag);
	evbuffer_unlock(evbuf);
	return len;
}

int evtag_consume(struct evbuffer *evbuf)
{
	int len;

	evbuffer_lock(evbuf);
	len = header_take(evbuf, NULL);
	if (len >= 0)
		evbuffer_drain(evbuf, (size_t)len);
	evbuffer_unlock(evbuf);
	return len < 0 ? -1 : 0;
}

int evtag_unmarshal(struct evbuffer *src, ev_uint32_t *ptag, struct evbuffer *dst)
{
	int len;

	evbuffer_lock(src);
	len = header_take(src, ptag);
	if (len > 0 && evbuffer_remove_buffer(src, dst, (size_t)len) != len)
		len = -1;
	evbuffer_unlock(src);
	return len;
}

/* Removes `taken` bytes of payload, and stores as many as `data` has room for. */
static size_t payload_take(struct evbuffer *buf, int taken, void *data, size_t max)
{
	size_t len = (size_t)taken < max ? (size_t)taken : max;

	(void)evbuffer_copyout(buf, data, len);
	evbuffer_drain(buf, (size_t)taken);
	return len;
}

/* If the tag is another one, only the tag is removed: length and payload stay. */
static int unmarshal_int(struct evbuffer *buf, ev_uint32_t need_tag, unsigned nibbles,
			 ev_uint64_t *ret)
{
	unsigned char payload[INT_MAX_BYTES];
	size_t used = 0;
	struct head h;
	int taken;

	evbuffer_lock(buf);
	if (head_peek(buf, &h) < 0)
		goto out;
	if (h.tag != need_tag) {
		evbuffer_drain(buf, h.tag_len);
		goto out;
	}
	taken = header_take(buf, NULL);
	if (taken >= 0)
		used = int_decode(ret, payload, payload_take(buf, taken, payload, sizeof(payload)),
				  nibbles);
out:
	evbuffer_unlock(buf);
	return used == 0 ? -1 : (int)used;
}

int evtag_unmarshal_int(struct evbuffer *evbuf, ev_uint32_t need_tag, ev_uint32_t *pinteger)
{
	ev_uint64_t number;
	int used = unmarshal_int(evbuf, need_tag, NIBBLES_32, &number);

	if (used >= 0)
		*pinteger = (ev_uint32_t)number;
	return used;
}

int evtag_unmarshal_int64(struct evbuffer *evbuf, ev_uint32_t need_tag, ev_uint64_t *pinteger)
{
	return unmarshal_int(evbuf, need_tag, NIBBLES_64, pinteger);
}

int evtag_unmarshal_fixed(struct evbuffer *src, ev_uint32_t need_tag, void *data, size_t len)
{
	ev_uint32_t tag = 0;
	int taken, r = -1;

	evbuffer_lock(src);
	taken = header_take(src, &tag);
	if (taken >= 0 && tag == need_tag && (size_t)taken == len) {
		(void)evbuffer_remove(src, data, len);
		r = 0;
	}
	evbuffer_unlock(src);
	return r;
}

/* The caller frees *pstring. */
int evtag_unmarshal_string(struct evbuffer *evbuf, ev_uint32_t need_tag, char **pstring)
{
	ev_uint32_t tag = 0;
	int taken, r = -1;
	char *s;

	evbuffer_lock(evbuf);
	taken = header_take(evbuf, &tag);
	if (taken < 0 || tag != need_tag)
		goto out;
	s = ec_malloc((size_t)taken + 1);
	if (s == NULL) {
		ec_log(EC_LOG_WARN, "evtag_unmarshal_string: out of memory for %d bytes", taken);
		goto out;
	}
	(void)evbuffer_remove(evbuf, s, (size_t)taken);
	s[taken] = '\0';
	*pstring = s;
	r = 0;
out:
	evbuffer_unlock(evbuf);
	return r;
}

int evtag_unmarshal_timeval(struct evbuffer *evbuf, ev_uint32_t need_tag, struct timeval *ptv)
{
	unsigned char payload[2 * INT_MAX_BYTES];
	ev_uint64_t sec = 0, usec = 0;
	size_t len = 0, n = 0, m = 0;
	ev_uint32_t tag = 0;
	int taken;

	evbuffer_lock(evbuf);
	taken = header_take(evbuf, &tag);
	if (taken >= 0)
		len = payload_take(evbuf, taken, payload, sizeof(payload));
	evbuffer_unlock(evbuf);
	if (taken < 0 || tag != need_tag)
		return -1;
	n = int_decode(&sec, payload, len, NIBBLES_32);
	if (n != 0)
		m = int_decode(&usec, payload + n, len - n, NIBBLES_32);
	if (m == 0)
		return -1;
	ptv->tv_sec = (time_t)sec;
	ptv->tv_usec = (suseconds_t)usec;
	return 0;
}
