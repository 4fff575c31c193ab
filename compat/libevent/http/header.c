#include "header.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include <event2/http.h>

#include "chars.h"
#include "core/ec.h"

/* Small headers come from the engine's blocks of this size, which are reused. */
enum { ORDER = EC_CHUNK_ORDER_MIN };

/* True: the header has no memory to free. */
static inline bool is_in_arena(const struct evkeyval *header)
{
	if (__builtin_expect(!le_header_is_ours(header), 0))
		return false;
	return __builtin_expect(le_header_has_our_value(header), 1) &&
	       __builtin_expect(le_header(header)->memory == LE_HEADER_IN_ARENA, 1);
}

static void free_header(struct evkeyval *header)
{
	if (!le_header_is_ours(header)) {
		ec_free(header->key);
		ec_free(header->value);
		ec_free(header);
		return;
	}
	if (!le_header_has_our_value(header))
		ec_free(header->value);
	if (le_header(header)->memory == LE_HEADER_IN_CHUNK)
		ec_chunk_free(header, ORDER);
	else if (le_header(header)->memory == LE_HEADER_ON_HEAP)
		ec_free(header);
}

static inline int append(struct evkeyvalq *headers, const char *key, size_t key_len, const char *value,
			 size_t value_len)
{
	size_t size = le_header_size(key_len, value_len);
	bool is_small = size <= (size_t)1 << ORDER;
	struct le_header *p = is_small ? ec_chunk_new(ORDER) : ec_malloc(size);
	enum le_header_memory memory = is_small ? LE_HEADER_IN_CHUNK : LE_HEADER_ON_HEAP;

	if (p == NULL)
		return -ENOMEM;
	memcpy(le_header_place(p, headers, memory, key, key_len, value_len), value, value_len);
	return 0;
}

int le_header_append(struct evkeyvalq *headers, const char *key, size_t key_len, const char *value,
		     size_t value_len)
{
	return append(headers, key, key_len, value, value_len);
}

/* Gives the last header room for a longer value, and keeps its text. NULL: no memory. */
static struct le_header *grow_last(struct le_arena *arena, struct evkeyvalq *headers,
				   struct le_header_lens lens, size_t value_len)
{
	struct evkeyval *last = TAILQ_LAST(headers, evkeyvalq);
	size_t size = le_header_size(lens.key, value_len);
	struct le_header *p;
	char *value;

	/* The program may have added its own header meanwhile, or changed this one. */
	if (le_header_is_ours(last) && le_header_has_our_value(last) &&
	    le_header(last)->memory == LE_HEADER_IN_ARENA &&
	    le_arena_extend(arena, last, le_header_size(lens.key, lens.value), size))
		return (struct le_header *)(void *)last;
	p = le_arena_get_growing(arena, size);
	if (p == NULL)
		return NULL;
	TAILQ_REMOVE(headers, last, next);
	value = le_header_place(p, headers, LE_HEADER_IN_ARENA, last->key, lens.key, value_len);
	memcpy(value, last->value, lens.value);
	free_header(last);
	return p;
}

int le_header_extend_last(struct le_arena *arena, struct evkeyvalq *headers, const char *more,
			  size_t len)
{
	struct le_header_lens lens = le_header_lens(TAILQ_LAST(headers, evkeyvalq));
	size_t value_len = lens.value + 1 + len;
	struct le_header *p = grow_last(arena, headers, lens, value_len);

	if (p == NULL)
		return -ENOMEM;
	p->lens.value = value_len;
	p->pub.value[lens.value] = ' ';
	memcpy(p->pub.value + lens.value + 1, more, len);
	p->pub.value[value_len] = '\0';
	return 0;
}

static struct evkeyval *find(const struct evkeyvalq *headers, const char *key)
{
	struct evkeyval *header;
	char first = le_lower(key[0]);

	TAILQ_FOREACH(header, headers, next) {
		if (le_lower(header->key[0]) == first && strcasecmp(header->key, key) == 0)
			return header;
	}
	return NULL;
}

const char *evhttp_find_header(const struct evkeyvalq *headers, const char *key)
{
	const struct evkeyval *header = find(headers, key);

	return header != NULL ? header->value : NULL;
}

int evhttp_remove_header(struct evkeyvalq *headers, const char *key)
{
	struct evkeyval *header = find(headers, key);

	if (header == NULL)
		return -1;
	TAILQ_REMOVE(headers, header, next);
	free_header(header);
	return 0;
}

/* A line end in a name or value would begin another header or message. */
static bool is_one_line(const char *s, size_t len)
{
	if (le_is_text(s, len))
		return true;
	return memchr(s, '\r', len) == NULL && memchr(s, '\n', len) == NULL;
}

int evhttp_add_header(struct evkeyvalq *headers, const char *key, const char *value)
{
	size_t key_len = strlen(key), value_len = strlen(value);

	if (!is_one_line(key, key_len) || !is_one_line(value, value_len)) {
		ec_log(EC_LOG_DEBUG, "%s: dropping illegal header", __func__);
		return -1;
	}
	return append(headers, key, key_len, value, value_len) < 0 ? -1 : 0;
}

void evhttp_clear_headers(struct evkeyvalq *headers)
{
	struct evkeyval *header, *next;

	for (header = TAILQ_FIRST(headers); header != NULL; header = next) {
		next = TAILQ_NEXT(header, next);
		if (!is_in_arena(header))
			free_header(header);
	}
	TAILQ_INIT(headers);
}
