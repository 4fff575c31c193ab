#include "http_header.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include <event2/http.h>

#include "core/ec.h"
#include "http_chars.h"

enum { IN_ARENA, ON_HEAP };

struct own_header {
	struct evkeyval header;
	struct le_header_lens lens;
	char where;			/* and so the key's address is odd */
	char text[];			/* key, NUL, value, NUL */
};

static const struct own_header *own(const struct evkeyval *header)
{
	return (const struct own_header *)(const void *)header;
}

static bool is_own(const struct evkeyval *header)
{
	return header->key == own(header)->text;
}

/* A program may put a value of its own in the place of ours. */
static bool has_own_value(const struct evkeyval *header)
{
	return header->value == header->key + own(header)->lens.key + 1;
}

struct le_header_lens le_header_lens(const struct evkeyval *header)
{
	if (is_own(header) && has_own_value(header))
		return own(header)->lens;
	return (struct le_header_lens){ strlen(header->key), strlen(header->value) };
}

static void free_header(struct evkeyval *header)
{
	if (!is_own(header)) {
		ec_free(header->key);
		ec_free(header->value);
		ec_free(header);
		return;
	}
	if (!has_own_value(header))
		ec_free(header->value);
	if (own(header)->where == ON_HEAP)
		ec_free(header);
}

static size_t size_of(size_t key_len, size_t value_len)
{
	return offsetof(struct own_header, text) + key_len + value_len + 2;
}

/* The value's bytes are the caller's to write. */
static struct evkeyval *fill(struct own_header *p, char where, const char *key, size_t key_len, size_t value_len)
{
	p->lens = (struct le_header_lens){ key_len, value_len };
	p->where = where;
	p->header.key = p->text;
	memcpy(p->text, key, key_len);
	p->text[key_len] = '\0';
	p->header.value = p->text + key_len + 1;
	p->header.value[value_len] = '\0';
	return &p->header;
}

int le_header_append(struct evkeyvalq *headers, const char *key, size_t key_len, const char *value, size_t value_len)
{
	struct own_header *p = ec_malloc(size_of(key_len, value_len));

	if (p == NULL)
		return -ENOMEM;
	fill(p, ON_HEAP, key, key_len, value_len);
	memcpy(p->header.value, value, value_len);
	TAILQ_INSERT_TAIL(headers, &p->header, next);
	return 0;
}

int le_header_append_in(struct le_arena *arena, struct evkeyvalq *headers, const char *key, size_t key_len,
			const char *value, size_t value_len)
{
	struct own_header *p = le_arena_get(arena, size_of(key_len, value_len));

	if (p == NULL)
		return -ENOMEM;
	fill(p, IN_ARENA, key, key_len, value_len);
	memcpy(p->header.value, value, value_len);
	TAILQ_INSERT_TAIL(headers, &p->header, next);
	return 0;
}

int le_header_extend_last(struct le_arena *arena, struct evkeyvalq *headers, const char *more, size_t len)
{
	struct evkeyval *last = TAILQ_LAST(headers, evkeyvalq), *header;
	size_t key_len = le_header_lens(last).key, old_len = le_header_lens(last).value;
	struct own_header *p = le_arena_get(arena, size_of(key_len, old_len + 1 + len));

	if (p == NULL)
		return -ENOMEM;
	header = fill(p, IN_ARENA, last->key, key_len, old_len + 1 + len);
	memcpy(header->value, last->value, old_len);
	header->value[old_len] = ' ';
	memcpy(header->value + old_len + 1, more, len);
	TAILQ_REMOVE(headers, last, next);
	TAILQ_INSERT_TAIL(headers, header, next);
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

/* A line's end within either would begin a header, or a message, that the program did not mean. */
static bool is_one_line(const char *s, size_t len)
{
	return memchr(s, '\r', len) == NULL && memchr(s, '\n', len) == NULL;
}

int evhttp_add_header(struct evkeyvalq *headers, const char *key, const char *value)
{
	size_t key_len = strlen(key), value_len = strlen(value);

	if (!is_one_line(key, key_len) || !is_one_line(value, value_len)) {
		ec_log(EC_LOG_DEBUG, "%s: dropping illegal header", __func__);
		return -1;
	}
	return le_header_append(headers, key, key_len, value, value_len) < 0 ? -1 : 0;
}

void evhttp_clear_headers(struct evkeyvalq *headers)
{
	struct evkeyval *header, *next;

	for (header = TAILQ_FIRST(headers); header != NULL; header = next) {
		next = TAILQ_NEXT(header, next);
		free_header(header);
	}
	TAILQ_INIT(headers);
}
