/*
 * Lists of names and values. evkeyvalq is public: programs walk and build such lists themselves, so
 * a list has no place for a mark of whose memory its members are. A member tells by itself: of ours
 * the name lies right behind it at an odd address, where no allocator puts anything, and between
 * are the lengths and what its memory is. Of a program's own all three parts are allocations.
 *
 * Some of it is inline: a request takes half a dozen headers, of which the names of those that we
 * add are literals, and their lengths known then.
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
	char memory;			/* enum le_header_memory; and so the key's address is odd */
	/* key, NUL, space, value, NUL: but for one byte as it is sent */
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

/* A program may put a value of its own in the place of ours. */
static inline bool le_header_has_our_value(const struct evkeyval *header)
{
	return header->value == header->key + le_header(header)->lens.key + 2;
}

static inline struct le_header_lens le_header_lens(const struct evkeyval *header)
{
	if (le_header_is_ours(header) && le_header_has_our_value(header))
		return le_header(header)->lens;
	return (struct le_header_lens){ strlen(header->key), strlen(header->value) };
}

/* Into the list. The text is not written yet. */
static inline void le_header_link(struct le_header *p, struct evkeyvalq *headers,
				  enum le_header_memory memory, size_t key_len, size_t value_len)
{
	p->lens = (struct le_header_lens){ key_len, value_len };
	p->memory = (char)memory;
	p->pub.key = p->text;
	p->pub.value = p->text + key_len + 2;
	TAILQ_INSERT_TAIL(headers, &p->pub, next);
}

/* The text is there but for the ends of its two parts. */
static inline void le_header_end_parts(struct le_header *p)
{
	p->text[p->lens.key] = '\0';
	p->text[p->lens.key + 1] = ' ';
	p->pub.value[p->lens.value] = '\0';
}

/* All but the bytes of the value, which are the caller's to write; into the list. */
static inline char *le_header_place(struct le_header *p, struct evkeyvalq *headers,
				    enum le_header_memory memory, const char *key, size_t key_len,
				    size_t value_len)
{
	le_header_link(p, headers, memory, key_len, value_len);
	memcpy(p->text, key, key_len);
	le_header_end_parts(p);
	return p->pub.value;
}

/*
 * As le_header_append_in, of a line that was read. Mostly one space stands between the colon and the
 * value: then a line is copied as a whole, because a header of ours has the same shape.
 */
int le_header_append_line(struct le_arena *arena, struct evkeyvalq *headers, const char *key,
			  size_t key_len, const char *value, size_t value_len);

/* Append a copy; -ENOMEM. The value may hold anything but NUL. */
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
 * The last header goes on in another line (obs-fold): one space between. Its memory is the arena's.
 */
int le_header_extend_last(struct le_arena *arena, struct evkeyvalq *headers, const char *more,
			  size_t len);

#endif
