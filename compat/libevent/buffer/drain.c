/*
 * Removing bytes: drain, copy out, make contiguous, peek.
 */
#include "buffer.h"

#include <limits.h>
#include <string.h>

/* Unlink the chunks of the first `len` bytes; the caller owns them. */
static struct le_chunk *cut_front(struct evbuffer *buf, size_t len)
{
	struct le_chunk *gone = buf->first, **end = &gone, *c;

	buf->total -= len;
	if (buf->total == 0) {
		buf->first = NULL;
		buf->last = NULL;
		return gone;
	}
	for (c = gone; len >= c->len; c = c->next) {
		len -= c->len;
		end = &c->next;
	}
	*end = NULL;
	buf->first = c;
	c->start += len;
	c->len -= len;
	return gone;
}

/* The buffer is consistent before it releases chunks, because a cleanup callback may use it. */
void le_buffer_discard(struct evbuffer *buf, size_t len)
{
	if (len > 0)
		le_chunk_put_list(cut_front(buf, len));
}

/* Within one chunk, in a buffer with none of LE_BUFFER_SLOW_IN_FRONT. False: nothing was done. */
static inline bool discard_quickly(struct evbuffer *buf, size_t len)
{
	struct le_chunk *c = buf->first;

	if (c == NULL)
		return false;
	if (len < c->len) {
		c->start += len;
		c->len -= len;
		buf->total -= len;
		return true;
	}
	if (c->next != NULL || buf->last == NULL)
		return false;
	buf->first = NULL;
	buf->last = NULL;
	buf->total = 0;
	le_chunk_put(c);
	return true;
}

/* The caller holds the lock, if there is one. This function releases it. */
static __attribute__((noinline)) int drain(struct evbuffer *buf, size_t len)
{
	int r = 0;

	if (len > buf->total)
		len = buf->total;
	/* As observed of libevent: an empty buffer may be drained even if its front is frozen. */
	if (buf->total > 0 && buf->is_front_frozen) {
		r = le_buffer_refuse(EPERM);
		len = 0;
	}
	le_buffer_discard(buf, len);
	le_buffer_leave(buf, 0, len);
	return r;
}

/* The buffer has a lock or another LE_BUFFER_… property. */
static __attribute__((noinline)) int lock_and_drain(struct evbuffer *buf, size_t len)
{
	le_buffer_lock(buf);
	if (!le_buffer_is_plain(buf, LE_BUFFER_SLOW_IN_FRONT) || !discard_quickly(buf, len))
		return drain(buf, len);
	le_buffer_unlock(buf);
	return 0;
}

int evbuffer_drain(struct evbuffer *buf, size_t len)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED | LE_BUFFER_SLOW_IN_FRONT))
		return lock_and_drain(buf, len);
	return discard_quickly(buf, len) ? 0 : drain(buf, len);
}

/* ---------------------------------------------------------------- copies */

static ssize_t copy_out(struct evbuffer *buf, const struct evbuffer_ptr *pos, void *out, size_t len)
{
	struct le_chunk *c = buf->first;
	size_t skip = 0, left = buf->total;

	if (pos != NULL) {
		if (pos->pos < 0 || (size_t)pos->pos > left || len > LE_BUFFER_MAX - (size_t)pos->pos)
			return le_buffer_refuse(EINVAL);
		c = pos->internal_.chain;
		skip = pos->internal_.pos_in_chain;
		left -= (size_t)pos->pos;
	}
	if (len > left)
		len = left;
	if (len == 0)
		return 0; /* even if the front is frozen */
	if (buf->is_front_frozen)
		return le_buffer_refuse(EPERM);
	return le_chunk_copy(c, skip, out, len);
}

ev_ssize_t evbuffer_copyout_from(struct evbuffer *buf, const struct evbuffer_ptr *pos,
				 void *data_out, size_t datlen)
{
	ssize_t num;

	le_buffer_lock(buf);
	num = copy_out(buf, pos, data_out, datlen);
	le_buffer_unlock(buf);
	return num;
}

ev_ssize_t evbuffer_copyout(struct evbuffer *buf, void *data_out, size_t datlen)
{
	return evbuffer_copyout_from(buf, NULL, data_out, datlen);
}

int evbuffer_remove(struct evbuffer *buf, void *data, size_t datlen)
{
	ssize_t num;

	if (datlen > INT_MAX)
		datlen = INT_MAX;	/* as many as the return value can express */
	le_buffer_lock(buf);
	num = copy_out(buf, NULL, data, datlen);
	if (num > 0)
		le_buffer_discard(buf, (size_t)num);
	le_buffer_leave(buf, 0, num > 0 ? (size_t)num : 0);
	return (int)num;
}

/* ---------------------------------------------------------------- contiguous */

static void push_front(struct evbuffer *buf, struct le_chunk *c)
{
	c->next = buf->first;
	buf->first = c;
	if (buf->last == NULL)
		buf->last = c;
	buf->total += c->len;
}

/* The first chunk has room for `more` bytes of the next chunks. */
static struct le_chunk *extend_first(struct evbuffer *buf, size_t more)
{
	struct le_chunk *first = buf->first, *gone;

	if (le_chunk_copy(first->next, 0, le_chunk_tail(first), more) != (ssize_t)more)
		return NULL;
	buf->first = first->next;
	buf->total -= first->len;
	gone = cut_front(buf, more);
	first->len += more;
	push_front(buf, first);
	le_chunk_put_list(gone);
	return first;
}

/* Replace the first `len` bytes by a new chunk. */
static struct le_chunk *replace_front(struct evbuffer *buf, size_t len)
{
	struct le_chunk *c = le_chunk_new(len), *gone;

	if (c == NULL)
		return NULL;
	if (le_chunk_copy(buf->first, 0, c->data, len) != (ssize_t)len) {
		le_chunk_put(c);
		return NULL;
	}
	c->len = len;
	gone = cut_front(buf, len);
	push_front(buf, c);
	le_chunk_put_list(gone);
	return c;
}

static unsigned char *pull_up(struct evbuffer *buf, size_t len)
{
	struct le_chunk *c = buf->first;
	size_t more;

	if (len == 0)
		return NULL;
	if (c->len < len) {
		more = len - c->len;
		c = !c->is_fixed && le_chunk_room(c) >= more ? extend_first(buf, more) :
							       replace_front(buf, len);
	}
	return c != NULL && le_chunk_has_bytes(c) ? le_chunk_bytes(c) : NULL;
}

unsigned char *evbuffer_pullup(struct evbuffer *buf, ev_ssize_t size)
{
	unsigned char *bytes;
	size_t len;

	le_buffer_lock(buf);
	len = size < 0 ? buf->total : (size_t)size;
	bytes = len <= buf->total ? pull_up(buf, len) : NULL;
	le_buffer_unlock(buf);
	return bytes;
}

/* ---------------------------------------------------------------- in place */

/*
 * Fill `vec` with extents from offset `skip` of `c` on: at least `len` bytes, or all there are, or,
 * with is_filling, as many extents as fit. Returns the number of extents needed. NULL vec: only
 * count.
 */
static int extents(struct le_chunk *c, size_t skip, size_t len, bool is_filling,
		   struct evbuffer_iovec *vec, int num)
{
	size_t sum = 0;
	int n = 0;

	for (; c != NULL && c->len > 0 && sum < len; c = c->next) {
		if (is_filling && vec != NULL && n >= num)
			break;
		if (n < num && vec != NULL) {
			if (!le_chunk_has_bytes(c))
				break;
			vec[n].iov_base = le_chunk_bytes(c) + skip;
			vec[n].iov_len = c->len - skip;
		}
		sum += c->len - skip;
		skip = 0;
		n++;
	}
	return n;
}

int evbuffer_peek(struct evbuffer *buf, ev_ssize_t len, struct evbuffer_ptr *start_at,
		  struct evbuffer_iovec *vec_out, int n_vec)
{
	bool is_filling = len < 0;
	struct le_chunk *c;
	size_t skip = 0;
	int n = 0;

	le_buffer_lock(buf);
	c = buf->first;
	if (start_at != NULL) {
		c = start_at->pos >= 0 ? start_at->internal_.chain : NULL;
		skip = start_at->internal_.pos_in_chain;
	}
	if (n_vec == 0)
		vec_out = NULL;
	if (c != NULL)
		n = extents(c, skip, is_filling ? SIZE_MAX : (size_t)len, is_filling, vec_out,
			    n_vec);
	le_buffer_unlock(buf);
	return n;
}
