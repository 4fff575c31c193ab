/*
 * Moving bytes without a copy: from one buffer to another, shared by both, or from the program's
 * own memory.
 */
#include "buffer.h"

#include <limits.h>

void le_buffer_append_chunk(struct evbuffer *buf, struct le_chunk *c)
{
	le_buffer_trim(buf);
	le_buffer_set_spare(buf, c);
	c->next = NULL;
	buf->last = c;
	buf->total += c->len;
}

/* Do both buffers allow the change, and is the sum not too large? */
static int check_move(const struct evbuffer *to, bool is_to_frozen, const struct evbuffer *from,
		      size_t len)
{
	if (is_to_frozen || le_buffer_is_front_frozen(from))
		return le_buffer_refuse(EPERM);
	if (len > LE_BUFFER_MAX - to->total)
		return le_buffer_refuse(ENOMEM);
	return 0;
}

static void forget_all(struct evbuffer *buf)
{
	buf->first = NULL;
	buf->last = NULL;
	buf->total = 0;
}

/* `len` bytes went from one buffer to the other. The callbacks of the first may free the second. */
static inline __attribute__((always_inline)) void leave_both(struct evbuffer *first,
							     struct evbuffer *second,
							     bool is_first_from, size_t len)
{
	bool is_kept = le_buffer_has_callbacks(first);

	if (is_kept)
		second->refs++;
	le_buffer_leave(first, is_first_from ? 0 : len, is_first_from ? len : 0);
	le_buffer_leave(second, is_first_from ? len : 0, is_first_from ? 0 : len);
	if (is_kept)
		le_buffer_put(second);
}

/* Append all chunks with bytes to `to`, which has no spare ones. */
static inline void append_to_end(struct evbuffer *to, struct evbuffer *from)
{
	le_buffer_set_spare(to, from->first);
	to->last = from->last;
	to->total += from->total;
	forget_all(from);
}

static void append_all(struct evbuffer *to, struct evbuffer *from)
{
	le_buffer_trim(to);
	append_to_end(to, from);
}

static __attribute__((noinline)) int add_buffer_slowly(struct evbuffer *outbuf, struct evbuffer *inbuf)
{
	size_t len;
	int r;

	le_buffer_lock_two(inbuf, outbuf);
	len = inbuf->total;
	r = len > 0 ? check_move(outbuf, le_buffer_is_back_frozen(outbuf), inbuf, len) : 0;
	if (len > 0 && r == 0)
		append_all(outbuf, inbuf);
	leave_both(inbuf, outbuf, true, r == 0 ? len : 0);
	return r;
}

/* `ignored`: properties that make no difference. */
static inline bool add_is_plain(const struct evbuffer *outbuf, const struct evbuffer *inbuf, unsigned ignored)
{
	return le_buffer_is_plain(inbuf, (LE_BUFFER_LOCKED | LE_BUFFER_SLOW_IN_FRONT) & ~ignored) &&
	       le_buffer_is_plain(outbuf, (LE_BUFFER_LOCKED | LE_BUFFER_SLOW_BEHIND) & ~ignored) &&
	       inbuf->total + outbuf->total <= LE_BUFFER_MAX && le_buffer_spare(outbuf) == NULL;
}

static inline void add_plain(struct evbuffer *outbuf, struct evbuffer *inbuf)
{
	size_t len = inbuf->total;

	if (len == 0)
		return;
	append_to_end(outbuf, inbuf);
	le_buffer_notify_owner(outbuf, len);
}

/* As a rule both buffers are of one bufferevent, so one lock is for both. */
static __attribute__((noinline)) int lock_and_add_buffer(struct evbuffer *outbuf, struct evbuffer *inbuf)
{
	if (outbuf->lock != inbuf->lock || !le_buffer_is_plain(inbuf, LE_BUFFER_SLOW_IN_FRONT) ||
	    !le_buffer_is_plain(outbuf, LE_BUFFER_SLOW_BEHIND))
		return add_buffer_slowly(outbuf, inbuf);
	le_buffer_lock(outbuf);
	if (!add_is_plain(outbuf, inbuf, LE_BUFFER_LOCKED)) {
		le_buffer_unlock(outbuf);
		return add_buffer_slowly(outbuf, inbuf);
	}
	add_plain(outbuf, inbuf);
	le_buffer_unlock(outbuf);
	return 0;
}

int evbuffer_add_buffer(struct evbuffer *outbuf, struct evbuffer *inbuf)
{
	if (inbuf == outbuf)
		return 0;
	if (!add_is_plain(outbuf, inbuf, 0))
		return lock_and_add_buffer(outbuf, inbuf);
	add_plain(outbuf, inbuf);
	return 0;
}

static void prepend_all(struct evbuffer *to, struct evbuffer *from)
{
	struct le_chunk *rest = to->first;

	le_buffer_trim(from);
	if (to->last == NULL)
		to->last = from->last;
	from->last->next = rest;
	to->first = from->first;
	to->total += from->total;
	forget_all(from);
}

int evbuffer_prepend_buffer(struct evbuffer *dst, struct evbuffer *src)
{
	size_t len;
	int r;

	if (src == dst)
		return 0;
	le_buffer_lock_two(src, dst);
	len = src->total;
	r = len > 0 ? check_move(dst, le_buffer_is_front_frozen(dst), src, len) : 0;
	if (len > 0 && r == 0)
		prepend_all(dst, src);
	leave_both(src, dst, true, r == 0 ? len : 0);
	return r;
}

/* ---------------------------------------------------------------- a part */

/* How many of the first `len` bytes are in chunks that move whole; *end is the last such chunk. */
static size_t whole_chunks(const struct evbuffer *from, size_t len, struct le_chunk **end)
{
	struct le_chunk *c;
	size_t sum = 0;

	*end = NULL;
	for (c = from->first; c != NULL && c->len <= len - sum; c = c->next) {
		sum += c->len;
		*end = c;
		if (sum == len)
			break;
	}
	return sum;
}

/* Less than all: whole chunks move, and a part of the last one is copied. */
static int move_part(struct evbuffer *to, struct evbuffer *from, size_t len)
{
	struct le_chunk *end, *part, *first = from->first;
	size_t whole = whole_chunks(from, len, &end), left = len - whole;

	part = end != NULL ? end->next : first;
	if (left > 0 && !le_chunk_has_bytes(part))
		return -1;
	if (end != NULL) {
		/* The copy needs memory. It is allocated before anything changes. */
		struct le_chunk *copy = left > 0 ? le_buffer_new_chunk(to, left) : NULL;

		if (left > 0 && copy == NULL)
			return -1;
		le_buffer_trim(to);
		le_buffer_set_spare(to, first);
		to->last = end;
		to->total += whole;
		end->next = copy;
		from->first = part;
		from->total -= whole;
	}
	if (left > 0 && le_buffer_append(to, le_chunk_bytes(part), left) < 0)
		return -1;
	le_buffer_discard(from, left);
	return 0;
}

static int remove_part(struct evbuffer *src, struct evbuffer *dst, size_t len)
{
	if (check_move(dst, le_buffer_is_back_frozen(dst), src, len) < 0)
		return -1;
	if (len == 0)
		return 0;
	if (len == src->total)
		append_all(dst, src);
	else if (move_part(dst, src, len) < 0)
		return -1;
	return (int)len;
}

int evbuffer_remove_buffer(struct evbuffer *src, struct evbuffer *dst, size_t datlen)
{
	bool is_all;
	int num;

	if (src == dst || datlen == 0)
		return 0;
	le_buffer_lock_two(src, dst);
	if (datlen > src->total)
		datlen = src->total;
	if (datlen > INT_MAX)
		datlen = INT_MAX;	/* as many as the return value can express */
	is_all = datlen == src->total;
	num = remove_part(src, dst, datlen);
	/* In libevent's order: to move all is evbuffer_add_buffer. */
	if (is_all)
		leave_both(src, dst, true, num > 0 ? (size_t)num : 0);
	else
		leave_both(dst, src, false, num > 0 ? (size_t)num : 0);
	return num;
}

/* ---------------------------------------------------------------- shared */

/* Makes another view of the bytes of `c`. */
static struct le_chunk *share(struct le_chunk *c)
{
	struct le_chunk_share *view = le_chunk_new_view(LE_CHUNK_SHARE);

	if (view == NULL)
		return NULL;
	le_chunk_fix(c);
	ec_ref_get(&c->refs);
	view->of = c;
	view->chunk.data = le_chunk_bytes(c);
	view->chunk.cap = c->len;
	view->chunk.len = c->len;
	return &view->chunk;
}

/*
 * Views of all bytes of `from`, as a list; *end is the last one. NULL: out of memory, or a chunk
 * that cannot be shared.
 */
static struct le_chunk *share_all(const struct evbuffer *from, struct le_chunk **end)
{
	struct le_chunk *list = NULL, **link = &list, *c, *view;

	for (c = from->first; c != NULL && c->len > 0; c = c->next) {
		if (c->kind == LE_CHUNK_SHARE || c->kind == LE_CHUNK_FILE) {
			errno = EINVAL;
			goto put_list;
		}
		view = share(c);
		if (view == NULL)
			goto put_list;
		*link = view;
		link = &view->next;
		*end = view;
	}
	return list;

put_list:
	le_chunk_put_list(list);
	return NULL;
}

static int add_shared(struct evbuffer *out, struct evbuffer *in)
{
	struct le_chunk *list, *end = NULL;

	if (in->total == 0)
		return 0; /* even if the end is frozen */
	if (le_buffer_is_back_frozen(out))
		return le_buffer_refuse(EPERM);
	if (in->total > LE_BUFFER_MAX - out->total)
		return le_buffer_refuse(ENOMEM);
	list = share_all(in, &end);
	if (list == NULL)
		return -1;
	le_buffer_trim(out);
	le_buffer_set_spare(out, list);
	out->last = end;
	out->total += in->total;
	return 0;
}

int evbuffer_add_buffer_reference(struct evbuffer *outbuf, struct evbuffer *inbuf)
{
	size_t len;
	int r;

	if (inbuf == outbuf)
		return evbuffer_get_length(inbuf) == 0 ? 0 : le_buffer_refuse(EINVAL);
	le_buffer_lock_two(inbuf, outbuf);
	len = inbuf->total;
	r = add_shared(outbuf, inbuf);
	le_buffer_unlock(inbuf);
	le_buffer_leave(outbuf, r == 0 ? len : 0, 0);
	return r;
}

/* ---------------------------------------------------------------- the program's memory */

static int add_reference(struct evbuffer *buf, const void *data, size_t len,
			 evbuffer_ref_cleanup_cb cleanup, void *arg)
{
	struct le_chunk_ref *ref;

	if (le_buffer_is_back_frozen(buf))
		return le_buffer_refuse(EPERM);
	if (len > LE_BUFFER_MAX - buf->total)
		return le_buffer_refuse(ENOMEM);
	if (len == 0) {
		/* Nothing is added, so nothing would ever be drained. */
		if (cleanup != NULL)
			cleanup(data, len, arg);
		return 0;
	}
	ref = le_chunk_new_view(LE_CHUNK_REF);
	if (ref == NULL)
		return -1;
	ref->chunk.data = (unsigned char *)(uintptr_t)data;
	ref->chunk.cap = len;
	ref->chunk.len = len;
	ref->cleanup = cleanup;
	ref->cleanup_arg = arg;
	le_buffer_append_chunk(buf, &ref->chunk);
	return 0;
}

int evbuffer_add_reference(struct evbuffer *outbuf, const void *data, size_t datlen,
			   evbuffer_ref_cleanup_cb cleanupfn, void *cleanupfn_arg)
{
	int r;

	le_buffer_lock(outbuf);
	r = add_reference(outbuf, data, datlen, cleanupfn, cleanupfn_arg);
	le_buffer_leave(outbuf, r == 0 ? datlen : 0, 0);
	return r;
}
