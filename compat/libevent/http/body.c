#include "body.h"

#include <event2/buffer.h>

#include "chars.h"

/*
 * CHUNK_LINE_MAX: a size has at most 16 digits. The rest is extensions, and only attackers send
 * long ones.
 */
enum { CHUNK_LINE_MAX = 1024, COPY_MAX = 512, SHORT_CHUNK_MAX = 1024 * 1024 };

void le_body_init(struct le_body *body, enum le_framing framing, uint64_t length, uint64_t max,
		  uint64_t lines_max)
{
	*body = (struct le_body){ .left = length, .max = max, .lines_max = lines_max };
	if (framing == LE_FRAMING_CHUNKED)
		body->state = LE_BODY_CHUNK_SIZE;
	else if (framing == LE_FRAMING_NO_BODY)
		body->state = LE_BODY_DONE;
	else
		body->state = LE_BODY_DATA;
	body->is_until_close = framing == LE_FRAMING_UNTIL_CLOSE;
}

/*
 * Copies short data instead of moving its memory, which is larger than the data. Otherwise a sender
 * of single bytes could make the library keep a whole block of memory for each byte.
 */
static int move(struct evbuffer *in, struct evbuffer *out, size_t len)
{
	char copy[COPY_MAX];

	if (len <= sizeof(copy)) {
		evbuffer_copyout(in, copy, len);
		return evbuffer_add(out, copy, len) < 0 ? -1 : evbuffer_drain(in, len);
	}
	if (len == evbuffer_get_length(in))
		return evbuffer_add_buffer(out, in);
	return evbuffer_remove_buffer(in, out, len) == (int)len ? 0 : -1;
}

/* At most INT_MAX at a time, because evbuffer_remove_buffer() returns an int. */
static enum le_body_result read_data(struct le_body *body, struct evbuffer *in,
				     struct evbuffer *out)
{
	size_t len = evbuffer_get_length(in);

	if (!body->is_until_close && len > body->left)
		len = (size_t)body->left;
	if (len > INT32_MAX)
		len = INT32_MAX;
	if (len == 0)
		return LE_BODY_MORE;
	if (len > body->max)
		return LE_BODY_TOO_LONG;
	if (move(in, out, len) < 0)
		return LE_BODY_NO_MEMORY;
	body->max -= len;
	if (!body->is_until_close)
		body->left -= len;
	return LE_BODY_CHUNK;
}

/*
 * Finds a line that ends in CRLF, in place. MORE: it is not complete. The caller drains len + 2
 * bytes.
 */
static enum le_body_result peek_line(struct le_body *body, struct evbuffer *in, uint64_t max,
				     const char **line, size_t *len)
{
	struct evbuffer_ptr eol;

	if (max > body->lines_max)
		max = body->lines_max;
	eol = evbuffer_search_eol(in, NULL, NULL, EVBUFFER_EOL_LF);
	if (eol.pos < 0)
		return evbuffer_get_length(in) > max ? LE_BODY_MALFORMED : LE_BODY_MORE;
	if (eol.pos < 1 || (uint64_t)eol.pos > max)
		return LE_BODY_MALFORMED;
	*line = (const char *)evbuffer_pullup(in, eol.pos + 1);
	if (*line == NULL)
		return LE_BODY_NO_MEMORY;
	*len = (size_t)eol.pos - 1;
	if ((*line)[*len] != '\r')
		return LE_BODY_MALFORMED;
	body->lines_max -= (uint64_t)eol.pos;
	return LE_BODY_CHUNK;
}

/* 1*HEX [";" text] */
static bool parse_chunk_size(const char *line, size_t len, uint64_t *ret)
{
	uint64_t size = 0;
	size_t i = 0;

	for (; i < len && le_char_is(line[i], LE_CHAR_HEX); i++) {
		if (size > INT64_MAX >> 4)
			return false;
		size = size << 4 | le_hex_value(line[i]);
	}
	if (i == 0)
		return false;
	*ret = size;
	/* Some old senders write space before an extension, or at the end of the line. */
	while (i < len && (line[i] == ' ' || line[i] == '\t'))
		i++;
	if (i < len && line[i] != ';')
		return false;
	for (; i < len; i++) {
		if (!le_char_is(line[i], LE_CHAR_TEXT))
			return false;
	}
	return true;
}

static enum le_body_result read_chunk_size(struct le_body *body, struct evbuffer *in)
{
	enum le_body_result result;
	const char *line;
	size_t len;

	result = peek_line(body, in, CHUNK_LINE_MAX, &line, &len);
	if (result != LE_BODY_CHUNK)
		return result;
	if (!parse_chunk_size(line, len, &body->left))
		return LE_BODY_MALFORMED;
	if (body->left > body->max)
		return LE_BODY_TOO_LONG;
	evbuffer_drain(in, len + 2);
	/* The line of a chunk with data does not count: the limit is for lines without content. */
	if (body->left > 0)
		body->lines_max += len + 1;
	body->is_short_chunk = body->left <= SHORT_CHUNK_MAX;
	body->state = body->left > 0 ? LE_BODY_CHUNK_DATA : LE_BODY_TRAILERS;
	return LE_BODY_CHUNK;
}

static enum le_body_result read_chunk_end(struct le_body *body, struct evbuffer *in)
{
	size_t len = evbuffer_get_length(in);
	char end[2];

	if (len == 0)
		return LE_BODY_MORE;
	evbuffer_copyout(in, end, 2);
	if (end[0] != '\r' || (len > 1 && end[1] != '\n'))
		return LE_BODY_MALFORMED;
	if (len < 2)
		return LE_BODY_MORE;
	evbuffer_drain(in, 2);
	body->state = LE_BODY_CHUNK_SIZE;
	return LE_BODY_CHUNK;
}

/*
 * Checks a trailer and drops it. A proxy checks the headers before it forwards a request, but not
 * the trailers. So trailers must not appear among the headers.
 */
static enum le_body_result read_trailer(struct le_body *body, struct evbuffer *in)
{
	enum le_body_result result;
	struct le_span key, value;
	const char *line;
	size_t len;

	result = peek_line(body, in, UINT64_MAX, &line, &len);
	if (result != LE_BODY_CHUNK)
		return result;
	if (len > 0 && !le_parse_header_line(line, len, &key, &value))
		return LE_BODY_MALFORMED;
	evbuffer_drain(in, len + 2);
	if (len > 0)
		return LE_BODY_CHUNK;
	body->state = LE_BODY_DONE;
	return LE_BODY_END;
}

enum le_body_result le_body_read(struct le_body *body, struct evbuffer *in, struct evbuffer *out)
{
	enum le_body_result result = LE_BODY_CHUNK;

	while (result == LE_BODY_CHUNK) {
		switch (body->state) {
		case LE_BODY_DATA:
			result = read_data(body, in, out);
			if (result == LE_BODY_CHUNK && body->left == 0 && !body->is_until_close)
				body->state = LE_BODY_DONE;
			break;
		case LE_BODY_CHUNK_SIZE:
			result = read_chunk_size(body, in);
			break;
		case LE_BODY_CHUNK_DATA:
			result = read_data(body, in, out);
			if (result == LE_BODY_CHUNK && body->left == 0)
				body->state = LE_BODY_CHUNK_END;
			break;
		case LE_BODY_CHUNK_END:
			result = read_chunk_end(body, in);
			/* The caller reports this chunk before the next one is added to `out`. */
			if (result == LE_BODY_CHUNK)
				return result;
			break;
		case LE_BODY_TRAILERS:
			result = read_trailer(body, in);
			break;
		case LE_BODY_DONE:
			return LE_BODY_END;
		}
	}
	return result;
}
