/*
 * Reads a body: of a known length, chunked, or until the connection ends.
 */
#ifndef HTTP_BODY_H
#define HTTP_BODY_H

#include <stdbool.h>
#include <stdint.h>

#include "parse.h"

struct evbuffer;

enum le_body_state {
	LE_BODY_DATA,			/* `left` bytes, or all until the end */
	LE_BODY_CHUNK_SIZE,
	LE_BODY_CHUNK_DATA,		/* `left` bytes */
	LE_BODY_CHUNK_END,		/* the CRLF after them */
	LE_BODY_TRAILERS,
	LE_BODY_DONE,
};

struct le_body {
	enum le_body_state state;
	bool is_until_close;
	bool is_short_chunk;		/* the program gets it in one piece */
	uint64_t left;
	uint64_t max;			/* limit of further bytes of content */
	uint64_t lines_max;		/* limit of further bytes of chunk lines and trailers */
};

enum le_body_result {
	LE_BODY_MORE,			/* needs more input */
	LE_BODY_CHUNK,			/* a chunk is complete; call again for the next one */
	LE_BODY_END,
	LE_BODY_TOO_LONG,
	LE_BODY_MALFORMED,
	LE_BODY_NO_MEMORY,
};

/* lines_max: limit of the bytes of chunk lines and trailers. */
void le_body_init(struct le_body *body, enum le_framing framing, uint64_t length, uint64_t max,
		  uint64_t lines_max);

/* Has some of a short chunk come, but not all of its data? */
static inline bool le_body_is_in_short_chunk(const struct le_body *body)
{
	return body->state == LE_BODY_CHUNK_DATA && body->is_short_chunk;
}

/* Moves content from `in` to `out`, and drops the framing. */
enum le_body_result le_body_read(struct le_body *body, struct evbuffer *in, struct evbuffer *out);

#endif
