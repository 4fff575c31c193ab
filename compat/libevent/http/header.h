/*
 * Lists of names and values. evkeyvalq is public: programs walk and build such lists themselves. So
 * a list cannot record the owner of each member's memory. The name's address distinguishes them. In
 * one of our members the name follows the struct at an odd address, which no allocator returns. The
 * lengths and the kind of memory lie between. In a program's own member all three parts are
 * allocations.
 *
 * Some functions are inline: the names of the headers that we add are literals, so the compiler
 * knows their lengths.
 */
#ifndef HTTP_HEADER_H
#define HTTP_HEADER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/keyvalq_struct.h>

#include "arena.h"

struct le_header_lens {
	size_t key, value;
};

enum le_header_memory { LE_HEADER_IN_ARENA, LE_HEADER_IN_CHUNK, LE_HEADER_ON_HEAP };

struct le_header {
	struct evkeyval pub;		/* first */
	struct le_header_lens lens;
	char memory;			/* enum le_header_memory; makes the key's address odd */
	/* key, NUL, space, value, NUL: with a colon for the first NUL, the line as it is sent */
	char text[];
};

static inline size_t le_header_size(size_t key_len, size_t value_len)
{
	return offsetof(struct le_header, text) + key_len + value_len + 3;
}

static inline const struct le_header *le_header(const struct evkeyval *header)
{
	return (const struct le_header *)(const void *)header;
}

static inline bool le_header_is_ours(const struct evkeyval *header)
{
	return header->key == le_header(header)->text;
}

/* A program may replace the library's value by its own. */
static inline bool le_header_has_our_value(const struct evkeyval *header)
{
	return header->value == header->key + le_header(header)->lens.key + 2;
}

static inline struct le_header_lens le_header_lens(const struct evkeyval *header)
{
	if (__builtin_expect(le_header_is_ours(header), 1) &&
	    __builtin_expect(le_header_has_our_value(header), 1))
		return le_header(header)->lens;
	return (struct le_header_lens){ strlen(header->key), strlen(header->value) };
}

/* Appends the header to the list. The caller writes the text. */
static inline void le_header_link(struct le_header *p, struct evkeyvalq *headers,
				  enum le_header_memory memory, size_t key_len, size_t value_len)
{
	p->lens = (struct le_header_lens){ key_len, value_len };
	p->memory = (char)memory;
	p->pub.key = p->text;
	p->pub.value = p->text + key_len + 2;
	TAILQ_INSERT_TAIL(headers, &p->pub, next);
}

/* Writes the bytes after the key and after the value. */
static inline void le_header_end_parts(struct le_header *p)
{
	p->text[p->lens.key] = '\0';
	p->text[p->lens.key + 1] = ' ';
	p->pub.value[p->lens.value] = '\0';
}

/* Appends the header to the list. The caller writes the value's bytes. */
static inline char *le_header_place(struct le_header *p, struct evkeyvalq *headers,
				    enum le_header_memory memory, const char *key, size_t key_len,
				    size_t value_len)
{
	le_header_link(p, headers, memory, key_len, value_len);
	memcpy(p->text, key, key_len);
	le_header_end_parts(p);
	return p->pub.value;
}

/* Appends a copy. -ENOMEM: no memory. The value may have any bytes but NUL. */
int le_header_append(struct evkeyvalq *headers, const char *key, size_t key_len, const char *value,
		     size_t value_len);

static inline int le_header_append_in(struct le_arena *arena, struct evkeyvalq *headers,
				      const char *key, size_t key_len, const char *value,
				      size_t value_len)
{
	struct le_header *p = le_arena_get(arena, le_header_size(key_len, value_len));

	if (p == NULL)
		return -ENOMEM;
	memcpy(le_header_place(p, headers, LE_HEADER_IN_ARENA, key, key_len, value_len), value,
	       value_len);
	return 0;
}

/*
 * As le_header_append_in, for a line that was read. If one space follows the colon, the function
 * copies the line as a whole, because our headers have the same shape.
 */
static inline int le_header_append_line(struct le_arena *arena, struct evkeyvalq *headers, const char *key,
					size_t key_len, const char *value, size_t value_len)
{
	size_t gap = (size_t)(value - key) - key_len;
	struct le_header *p = le_arena_get(arena, le_header_size(key_len, value_len));

	if (p == NULL)
		return -ENOMEM;
	le_header_link(p, headers, LE_HEADER_IN_ARENA, key_len, value_len);
	if (gap == 2) {
		memcpy(p->text, key, key_len + 2 + value_len);
	} else {
		memcpy(p->text, key, key_len);
		memcpy(p->pub.value, value, value_len);
	}
	le_header_end_parts(p);
	return 0;
}

/*
 * Appends a space and the text of a continuation line (obs-fold) to the last header, whose memory
 * must be in the arena.
 */
int le_header_extend_last(struct le_arena *arena, struct evkeyvalq *headers, const char *more,
			  size_t len);

#endif
