/*
 * Lists of names and values. evkeyvalq is public: programs walk and build such lists themselves, so a
 * list has no place for a mark of whose memory its members are. A member tells by itself: of ours the
 * name lies right behind it at an odd address, where no allocator puts anything, and between are the lengths
 * and whether it is an allocation or lies in an arena. Of a program's own all three parts are allocations.
 */
#ifndef HTTP_HEADER_H
#define HTTP_HEADER_H

#include <stddef.h>
#include <sys/queue.h>

#include <event2/keyvalq_struct.h>

#include "http_arena.h"

struct le_header_lens {
	size_t key, value;
};

struct le_header_lens le_header_lens(const struct evkeyval *header);

/* Append a copy; -ENOMEM. Of the first two the value may hold anything but NUL. */
int le_header_append(struct evkeyvalq *headers, const char *key, size_t key_len, const char *value, size_t value_len);
int le_header_append_in(struct le_arena *arena, struct evkeyvalq *headers, const char *key, size_t key_len,
			const char *value, size_t value_len);

/* The last header goes on in another line (obs-fold): one space between. Its memory is the arena's. */
int le_header_extend_last(struct le_arena *arena, struct evkeyvalq *headers, const char *more, size_t len);

#endif
