/*
 * Room after a buffer's bytes: making it, lending it to the program, and committing the bytes that
 * the program wrote there.
 */
#include "buffer.h"

#include <string.h>

enum { COPY_MAX = 4096 };		/* up to so many bytes are copied to make room contiguous */

void le_buffer_trim(struct evbuffer *buf)
{
	struct le_chunk *spare = le_buffer_spare(buf);

	if (spare == NULL)
		return;
	le_buffer_set_spare(buf, NULL);
	le_chunk_put_list(spare);
}

void le_buffer_fill(struct evbuffer *buf, struct le_chunk *c, size_t len)
{
	if (len == 0)
		return;
	c->len += len;
	buf->total += len;
	buf->last = c;
}

struct le_chunk *le_buffer_new_chunk(const struct evbuffer *buf, size_t len)
{
	const struct le_chunk *last = buf->last;
	size_t size;

	if (last != NULL && last->kind == LE_CHUNK_PLAIN) {
		size = 2 * (last->cap + LE_CHUNK_HEAD);
		if (size > LE_CHUNK_GROWN)
			size = LE_CHUNK_GROWN;
		if (size - LE_CHUNK_HEAD > len)
			len = size - LE_CHUNK_HEAD;
	}
	return le_chunk_new(len);
}

/* Replace the only chunk with bytes, which is small, by a bigger one. */
static struct le_chunk *replace_only(struct evbuffer *buf, size_t len)
{
	struct le_chunk *old = buf->first;
	struct le_chunk *c = le_chunk_new(old->len + len);

	if (c == NULL)
		return NULL;
	le_copy(c->data, le_chunk_bytes(old), old->len);
	c->len = old->len;
	buf->first = c;
	buf->last = c;
	le_chunk_put_list(old);
	return c;
}

struct le_chunk *le_buffer_room(struct evbuffer *buf, size_t len)
{
	struct le_chunk *last = buf->last, *spare, *c;

	if (len > LE_BUFFER_MAX - buf->total) {
		errno = ENOMEM;
		return NULL;
	}
	if (last != NULL && le_chunk_room(last) >= len)
		return last;
	spare = le_buffer_spare(buf);
	if (spare != NULL && spare->cap >= len)
		return spare;
	if (last != NULL && le_chunk_move(last, len))
		return last;
	if (last != NULL && last == buf->first && !last->is_fixed && last->len <= COPY_MAX)
		return replace_only(buf, len);

	c = le_buffer_new_chunk(buf, len);
	if (c == NULL)
		return NULL;
	le_buffer_trim(buf);
	le_buffer_set_spare(buf, c);
	return c;
}

int evbuffer_expand(struct evbuffer *buf, size_t datlen)
{
	struct le_chunk *c;

	le_buffer_lock(buf);
	c = le_buffer_room(buf, datlen);
	le_buffer_unlock(buf);
	return c != NULL ? 0 : -1;
}

/* ---------------------------------------------------------------- lending */

static void lend(struct evbuffer_iovec *vec, struct le_chunk *c)
{
	vec->iov_base = le_chunk_tail(c);
	vec->iov_len = le_chunk_room(c);
}

/*
 * Lend the present room, in at most `num` pieces. Returns their number; *ret is their size, *end
 * the last chunk.
 */
static int lend_present(struct evbuffer *buf, size_t size, struct evbuffer_iovec *vec, int num,
			size_t *ret, struct le_chunk **end)
{
	struct le_chunk *c = buf->last;
	size_t sum = 0;
	int n = 0;

	if (c == NULL || le_chunk_room(c) == 0)
		c = le_buffer_spare(buf);
	*end = buf->last;
	for (; c != NULL && n < num && sum < size; c = c->next) {
		lend(&vec[n++], c);
		sum += le_chunk_room(c);
		*end = c;
	}
	*ret = sum;
	return n;
}

/* Lend room for `size` bytes in up to `num` pieces, num > 1. Returns their number, or -1. */
static int lend_pieces(struct evbuffer *buf, size_t size, struct evbuffer_iovec *vec, int num)
{
	struct le_chunk *c, *end;
	size_t sum;
	int n = lend_present(buf, size, vec, num, &sum, &end);

	if (sum >= size && n > 0)
		return n;
	if (n == num) {
		/* Too many small pieces: one big chunk replaces the spare ones. */
		n = buf->last != NULL && le_chunk_room(buf->last) > 0;
		sum = n > 0 ? le_chunk_room(buf->last) : 0;
		c = le_buffer_new_chunk(buf, size - sum);
		if (c == NULL)
			return -1;
		le_buffer_trim(buf);
		le_buffer_set_spare(buf, c);
	} else {
		c = le_buffer_new_chunk(buf, size - sum);
		if (c == NULL)
			return -1;
		if (end != NULL)
			end->next = c;
		else
			buf->first = c;
	}
	lend(&vec[n], c);
	return n + 1;
}

static int reserve(struct evbuffer *buf, size_t size, struct evbuffer_iovec *vec, int num)
{
	struct le_chunk *c;

	if (le_buffer_is_back_frozen(buf))
		return le_buffer_refuse(EPERM);
	if (num < 1)
		return le_buffer_refuse(EINVAL);
	if (size > LE_BUFFER_MAX - buf->total)
		return le_buffer_refuse(ENOMEM);
	/* As in libevent, a reservation of no bytes gets one byte if `num` is 1, else no piece. */
	if (num > 1)
		return size == 0 ? 0 : lend_pieces(buf, size, vec, num);
	if (size == 0)
		size = 1;
	c = le_buffer_room(buf, size);
	if (c == NULL)
		return -1;
	lend(vec, c);
	return 1;
}

int evbuffer_reserve_space(struct evbuffer *buf, ev_ssize_t size, struct evbuffer_iovec *vec,
			   int n_vec)
{
	int n;

	le_buffer_lock(buf);
	n = size >= 0 ? reserve(buf, (size_t)size, vec, n_vec) : le_buffer_refuse(EINVAL);
	le_buffer_unlock(buf);
	return n;
}

/* ---------------------------------------------------------------- taking back */

/* The chunk whose room begins at the first piece, or NULL. */
static struct le_chunk *find_lent(struct evbuffer *buf, const struct evbuffer_iovec *vec)
{
	struct le_chunk *c = buf->last;

	if (c != NULL && le_chunk_room(c) > 0 && le_chunk_tail(c) == vec->iov_base)
		return c;
	for (c = le_buffer_spare(buf); c != NULL; c = c->next)
		if (le_chunk_tail(c) == vec->iov_base)
			return c;
	return NULL;
}

static bool are_lent(const struct le_chunk *c, const struct evbuffer_iovec *vec, int num)
{
	int i;

	for (i = 0; i < num; i++, c = c->next)
		if (c == NULL || le_chunk_tail(c) != vec[i].iov_base ||
		    vec[i].iov_len > le_chunk_room(c))
			return false;
	return true;
}

/*
 * The program did not use the spare chunk before `c`. Free it, because no chunk before `last` may
 * be empty.
 */
static void drop_spare_before(struct evbuffer *buf, struct le_chunk *c)
{
	struct le_chunk *spare;

	while ((spare = le_buffer_spare(buf)) != c) {
		le_buffer_set_spare(buf, spare->next);
		le_chunk_put(spare);
	}
}

static int commit(struct evbuffer *buf, const struct evbuffer_iovec *vec, int num)
{
	struct le_chunk *c, *next;
	int i;

	if (le_buffer_is_back_frozen(buf))
		return le_buffer_refuse(EPERM);
	if (num <= 0)
		return 0;
	c = find_lent(buf, vec);
	if (c == NULL || !are_lent(c, vec, num))
		return le_buffer_refuse(EINVAL);
	for (i = 0; i < num; i++, c = next) {
		next = c->next;
		if (vec[i].iov_len == 0)
			continue;
		if (c != buf->last)
			drop_spare_before(buf, c);
		le_buffer_fill(buf, c, vec[i].iov_len);
	}
	return 0;
}

int evbuffer_commit_space(struct evbuffer *buf, struct evbuffer_iovec *vec, int n_vecs)
{
	size_t before;
	int r;

	le_buffer_lock(buf);
	before = buf->total;
	r = commit(buf, vec, n_vecs);
	le_buffer_leave(buf, buf->total - before, 0);
	return r;
}
