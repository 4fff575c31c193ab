/*
 * Positions in a buffer, and searching: strings, ends of lines, lines.
 *
 * A position is an evbuffer_ptr: an offset, and the chunk and index there. After the last byte the
 * chunk is NULL. As in libevent, a position is invalid once the buffer changes.
 */
#include "buffer.h"

#include <string.h>

/*
 * A position while it moves, with the bytes before it. The functions that move it are inline, so it
 * stays in registers.
 */
struct cursor {
	struct le_chunk *c;		/* NULL: after the last byte */
	size_t at;			/* < c->len */
	size_t pos;
};

static const struct evbuffer_ptr nowhere = { .pos = -1 };

static struct cursor cursor_at_start(const struct evbuffer *buf)
{
	return (struct cursor){ .c = buf->last != NULL ? buf->first : NULL };
}

static struct evbuffer_ptr cursor_ptr(const struct cursor *at)
{
	struct evbuffer_ptr ptr = { .pos = (ev_ssize_t)at->pos };

	ptr.internal_.chain = at->c;
	ptr.internal_.pos_in_chain = at->at;
	return ptr;
}

/* False: the position is invalid. */
static inline bool cursor_init(struct cursor *at, const struct evbuffer *buf,
			       const struct evbuffer_ptr *start)
{
	if (start == NULL) {
		*at = cursor_at_start(buf);
		return true;
	}
	if (start->pos < 0)
		return false;
	at->c = start->internal_.chain;
	at->at = start->internal_.pos_in_chain;
	at->pos = (size_t)start->pos;
	return true;
}

static inline void cursor_next_chunk(struct cursor *at)
{
	struct le_chunk *next = at->c->next;

	at->pos += at->c->len - at->at;
	at->c = next != NULL && next->len > 0 ? next : NULL;
	at->at = 0;
}

/* False: the buffer has fewer bytes; the cursor is then after the last one. */
static inline bool cursor_advance(struct cursor *at, size_t num)
{
	struct le_chunk *c = at->c;
	size_t left = at->at + num;	/* from the chunk's first byte */

	if (c == NULL)
		return num == 0;
	at->pos += num;
	for (; left >= c->len; c = c->next) {
		left -= c->len;		/* of a spare chunk: 0 */
		if (c->next == NULL) {
			*at = (struct cursor){ .pos = at->pos - left };
			return left == 0;
		}
	}
	at->c = c;
	at->at = left;
	return true;
}

int evbuffer_ptr_set(struct evbuffer *buffer, struct evbuffer_ptr *ptr, size_t position,
		     enum evbuffer_ptr_how how)
{
	struct cursor at;
	bool is_there;

	le_buffer_lock(buffer);
	/*
	 * As in libevent, a sum that overflows leaves the position unchanged. A buffer is so much
	 * smaller that an offset in a chunk does not overflow either.
	 */
	if (how == EVBUFFER_PTR_ADD && ptr->pos >= 0 && position > SIZE_MAX - (size_t)ptr->pos) {
		le_buffer_unlock(buffer);
		return -1;
	}
	is_there = cursor_init(&at, buffer, how == EVBUFFER_PTR_ADD ? ptr : NULL);
	is_there = is_there && cursor_advance(&at, position);
	*ptr = is_there ? cursor_ptr(&at) : nowhere;
	le_buffer_unlock(buffer);
	return is_there ? 0 : -1;
}

/* ---------------------------------------------------------------- strings */

/*
 * Move to the next `byte` of the first `num` bytes. False: there is none, or the bytes cannot be
 * read.
 */
static inline bool find_byte(struct cursor *at, int byte, size_t num)
{
	struct le_chunk *c = at->c;
	size_t skip = at->at, len, left;
	const unsigned char *found;

	for (left = num; c != NULL; c = c->next) {
		if (!le_chunk_has_bytes(c))
			return false;
		len = c->len - skip;
		if (len > left)
			len = left;
		found = memchr(le_chunk_bytes(c) + skip, byte, len);
		if (found != NULL) {
			at->c = c;
			at->at = (size_t)(found - le_chunk_bytes(c));
			at->pos += num - left + at->at - skip;
			return true;
		}
		left -= len;
		if (left == 0)
			return false;
		skip = 0;
	}
	return false;
}

static bool is_here(struct cursor at, const char *what, size_t len)
{
	size_t num;

	if (len <= at.c->len - at.at)
		return memcmp(le_chunk_bytes(at.c) + at.at, what, len) == 0;
	for (; len > 0; cursor_next_chunk(&at)) {
		if (at.c == NULL || !le_chunk_has_bytes(at.c))
			return false;
		num = at.c->len - at.at;
		if (num > len)
			num = len;
		if (memcmp(le_chunk_bytes(at.c) + at.at, what, num) != 0)
			return false;
		what += num;
		len -= num;
	}
	return true;
}

/*
 * Moves to the next place where `what` begins and that ends at `end` or before. False: there is
 * none.
 */
static inline bool find(struct cursor *at, const char *what, size_t len, size_t end)
{
	if (len > end)
		return false;
	end -= len;			/* it begins there or before */
	while (at->pos <= end && find_byte(at, (unsigned char)what[0], end - at->pos + 1)) {
		if (is_here(*at, what, len))
			return true;
		(void)cursor_advance(at, 1);
	}
	return false;
}

struct evbuffer_ptr evbuffer_search_range(struct evbuffer *buffer, const char *what, size_t len,
					  const struct evbuffer_ptr *start,
					  const struct evbuffer_ptr *end)
{
	struct evbuffer_ptr ret = nowhere;
	struct cursor at;
	size_t stop;

	le_buffer_lock(buffer);
	stop = end != NULL && end->pos >= 0 ? (size_t)end->pos : buffer->total;
	if (cursor_init(&at, buffer, start) && (len == 0 || find(&at, what, len, stop)))
		ret = cursor_ptr(&at);
	le_buffer_unlock(buffer);
	return ret;
}

struct evbuffer_ptr evbuffer_search(struct evbuffer *buffer, const char *what, size_t len,
				    const struct evbuffer_ptr *start)
{
	return evbuffer_search_range(buffer, what, len, start, NULL);
}

unsigned char *evbuffer_find(struct evbuffer *buffer, const unsigned char *what, size_t len)
{
	unsigned char *bytes = NULL;
	struct evbuffer_ptr ptr;

	le_buffer_lock(buffer);
	ptr = evbuffer_search(buffer, (const char *)what, len, NULL);
	if (ptr.pos >= 0)
		bytes = evbuffer_pullup(buffer, ptr.pos + (ev_ssize_t)len);
	le_buffer_unlock(buffer);
	return bytes != NULL ? bytes + ptr.pos : NULL;
}

/* ---------------------------------------------------------------- ends of lines */

static inline bool is_eol_byte(unsigned char byte)
{
	return byte == '\r' || byte == '\n';
}

/* A buffer with many CR and no LF must not be searched for LF to its end for each line. */
enum { EOL_PIECE = 1024 };

/* The first CR or LF, or NULL. */
static inline const unsigned char *first_eol(const unsigned char *from, size_t left)
{
	const unsigned char *lf, *cr;
	size_t num;

	for (; left > 0; from += num, left -= num) {
		num = left < EOL_PIECE ? left : EOL_PIECE;
		lf = memchr(from, '\n', num);
		cr = memchr(from, '\r', lf != NULL ? (size_t)(lf - from) : num);
		if (cr != NULL)
			return cr;
		if (lf != NULL)
			return lf;
	}
	return NULL;
}

/* How many CR and LF follow. */
static inline size_t eol_run(struct cursor at)
{
	const unsigned char *bytes;
	size_t num = 0;

	for (; at.c != NULL && at.c->len > 0; at.c = at.c->next, at.at = 0) {
		if (!le_chunk_has_bytes(at.c))
			break;
		bytes = le_chunk_bytes(at.c);
		for (; at.at < at.c->len; at.at++, num++)
			if (!is_eol_byte(bytes[at.at]))
				return num;
	}
	return num;
}

/* Move to the next run of CR and LF. Returns its length, or 0. */
static size_t find_eol_any(struct cursor *at)
{
	const unsigned char *from, *found;

	for (; at->c != NULL; cursor_next_chunk(at)) {
		if (!le_chunk_has_bytes(at->c))
			return 0;
		from = le_chunk_bytes(at->c) + at->at;
		found = first_eol(from, at->c->len - at->at);
		if (found == NULL)
			continue;
		at->at += (size_t)(found - from);
		at->pos += (size_t)(found - from);
		return eol_run(*at);
	}
	return 0;
}

/*
 * Move to the next LF, or to the CR right before it. Returns the length of both. The search goes
 * chunk by chunk and remembers the last byte of the chunk before.
 */
static size_t find_eol_crlf(struct cursor *at)
{
	struct cursor before = { NULL, 0, 0 };
	size_t from, left;

	for (; at->c != NULL; cursor_next_chunk(at)) {
		const unsigned char *bytes, *lf;

		if (!le_chunk_has_bytes(at->c))
			return 0;
		bytes = le_chunk_bytes(at->c);
		from = at->at;
		left = at->c->len - from;
		lf = memchr(bytes + from, '\n', left);
		if (lf == NULL) {
			before = (struct cursor){ at->c, from + left - 1, at->pos + left - 1 };
			continue;
		}
		if (lf > bytes + from) {
			at->pos += (size_t)(lf - bytes) - from;
			at->at = (size_t)(lf - bytes);
			if (lf[-1] != '\r')
				return 1;
			at->at--;
			at->pos--;
			return 2;
		}
		if (before.c == NULL || le_chunk_bytes(before.c)[before.at] != '\r')
			return 1;
		*at = before;
		return 2;
	}
	return 0;
}

/* Move to the next end of a line. Returns its length, or 0. */
static size_t find_eol(struct cursor *at, size_t total, enum evbuffer_eol_style style)
{
	switch (style) {
	case EVBUFFER_EOL_ANY:
		return find_eol_any(at);
	case EVBUFFER_EOL_CRLF:
		return find_eol_crlf(at);
	case EVBUFFER_EOL_CRLF_STRICT:
		return find(at, "\r\n", 2, total) ? 2 : 0;
	case EVBUFFER_EOL_LF:
		return find_byte(at, '\n', SIZE_MAX);
	case EVBUFFER_EOL_NUL:
		return find_byte(at, '\0', SIZE_MAX);
	}
	return 0;
}

struct evbuffer_ptr evbuffer_search_eol(struct evbuffer *buffer, struct evbuffer_ptr *start,
					size_t *eol_len_out, enum evbuffer_eol_style eol_style)
{
	struct evbuffer_ptr ret = nowhere;
	struct cursor at;
	size_t len = 0;

	le_buffer_lock(buffer);
	if (cursor_init(&at, buffer, start))
		len = find_eol(&at, buffer->total, eol_style);
	if (len > 0)
		ret = cursor_ptr(&at);
	le_buffer_unlock(buffer);
	if (eol_len_out != NULL)
		*eol_len_out = len;
	return ret;
}

/* ---------------------------------------------------------------- lines */

/* Copy the first `len` bytes into a string that the program frees. */
static char *copy_line(struct evbuffer *buf, size_t len)
{
	char *line = ec_malloc(len + 1);

	if (line == NULL) {
		errno = ENOMEM;
		ec_log(EC_LOG_WARN, "evbuffer_readln: out of memory");
		return NULL;
	}
	if (len > 0 && le_chunk_copy(buf->first, 0, line, len) != (ssize_t)len) {
		ec_free(line);
		return NULL;
	}
	line[len] = '\0';
	return line;
}

char *evbuffer_readln(struct evbuffer *buffer, size_t *n_read_out,
		      enum evbuffer_eol_style eol_style)
{
	struct cursor at;
	size_t eol, gone = 0;
	char *line = NULL;

	le_buffer_lock(buffer);
	at = cursor_at_start(buffer);
	if (!le_buffer_is_front_frozen(buffer)) {
		eol = find_eol(&at, buffer->total, eol_style);
		if (eol > 0)
			line = copy_line(buffer, at.pos);
		if (line != NULL)
			gone = at.pos + eol;
	}
	if (n_read_out != NULL)
		*n_read_out = line != NULL ? at.pos : 0;
	le_buffer_discard(buffer, gone);
	le_buffer_leave(buffer, 0, gone);
	return line;
}

char *evbuffer_readline(struct evbuffer *buffer)
{
	return evbuffer_readln(buffer, NULL, EVBUFFER_EOL_ANY);
}
