/*
 * The struct of an evbuffer, for the files that implement it. The first section has functions for
 * owners of evbuffers (bufferevents), beyond the public ones.
 *
 * A buffer is a list of chunks. Chunks with bytes come first; `last` is the last of them. After it
 * come spare chunks, which are empty; a reservation made them. No chunk before `last` is empty:
 *
 *   first -> … -> last -> spare -> … -> NULL	or	first, spare -> … -> NULL, last NULL
 *   total == the sum of the chunks' len
 *
 * A chunk's bytes are data[start … start + len), in memory of size `cap`. The memory after them
 * may be filled, and bytes may be prepended before them, unless other buffers share the memory
 * (is_fixed). Then cap == start + len, so that functions which append need no extra test.
 */
#ifndef LE_BUFFER_H
#define LE_BUFFER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <event2/buffer.h>
#include <event2/buffer_compat.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>

#include "abi/private.h"
#include "core/ec.h"

/* ---------------------------------------------------------------- for owners */

/*
 * The operations that a buffer calls on the bufferevent that contains it. The operations of each
 * kind of bufferevent (`be_ops`) begin with these.
 */
struct le_buffer_owner_ops {
	void (*get)(struct bufferevent *bev);
	void (*put)(struct bufferevent *bev);
	void (*memory_put)(struct bufferevent *bev);
};

static inline const struct le_buffer_owner_ops *le_buffer_owner(const struct bufferevent *bev)
{
	return (const struct le_buffer_owner_ops *)(const void *)bev->be_ops;
}

/*
 * Initializes a zeroed buffer that is part of the memory of `bev`, at the offset `inside`. The buffer ends with that
 * memory. While a deferred callback of the buffer waits or runs, it holds a reference on `bev` (le_bev_get and
 * le_bev_put of bev.h) besides its own, until le_buffer_leave_owner.
 */
void le_buffer_init_inside(struct evbuffer *buf, size_t inside, struct bufferevent *bev);

/*
 * References. evbuffer_new gives one, and evbuffer_free drops it. Dropping the last one frees the
 * buffer. Both functions take the buffer's lock, if it has one.
 */
void le_buffer_get(struct evbuffer *buf);
void le_buffer_put(struct evbuffer *buf);
void le_buffer_put_and_unlock(struct evbuffer *buf);

/* Set the color of deferred callbacks: of those that wait by now, only after they have run. */
void le_buffer_set_color(struct evbuffer *buf, uint32_t color);

/* As evbuffer_add_cb, but the callback is never deferred. */
struct evbuffer_cb_entry *le_buffer_add_cb_now(struct evbuffer *buf, evbuffer_cb_func fn,
					       void *arg);

/*
 * Calls fn(arg) whenever the buffer has grown, with its lock held and before any callback. `fn`
 * must not use the buffer, so a notification costs its owner no more than this call.
 */
void le_buffer_set_grown(struct evbuffer *buf, void (*fn)(void *arg), void *arg);

/* As evbuffer_enable_locking, with the lock of its owner. It keeps a lock that it has. */
void le_buffer_share_lock(struct evbuffer *buf, void *lock);

/*
 * As evbuffer_read, but with one read call of up to `max` bytes, which may be more than
 * evbuffer_read reads at once. Memory that few bytes arrived in is replaced by less. Owners call
 * this, so it ignores a frozen end: freezing is for programs.
 */
ssize_t le_buffer_read(struct evbuffer *buf, int fd, size_t max);
/* As evbuffer_write_atmost. */
ssize_t le_buffer_write(struct evbuffer *buf, int fd, size_t max);
/*
 * As the two above, with recv and send. The caller holds the lock that it has given to le_buffer_share_lock(), if it
 * has. -1 and ENOTSOCK: `fd` is not a socket, and nothing has happened.
 */
ssize_t le_buffer_recv(struct evbuffer *buf, int fd, size_t max);
ssize_t le_buffer_send(struct evbuffer *buf, int fd, size_t max);

/*
 * Reset a buffer to empty and new, for reuse. False: another reference, callbacks, flags or a lock
 * exist, so the caller must free the buffer instead.
 */
bool le_buffer_renew(struct evbuffer *buf);

/* ---------------------------------------------------------------- chunks */

enum le_chunk_kind {
	LE_CHUNK_PLAIN,			/* its bytes follow it in its own block */
	LE_CHUNK_REF,			/* memory of the program: struct le_chunk_ref */
	LE_CHUNK_SHARE,			/* bytes of another chunk: struct le_chunk_share */
	LE_CHUNK_FILE,			/* part of a file: struct le_chunk_file; data may be NULL */
};

struct le_chunk {
	_Alignas(sizeof(void *) == 8 ? 8 : 16) struct le_chunk *next;
	unsigned char *data;
	size_t cap;
	size_t start;
	size_t len;
	/*
	 * atomic: one reference for the list that it is in, one for each chunk that shares its
	 * bytes
	 */
	unsigned refs;
	uint8_t kind;			/* enum le_chunk_kind */
	uint8_t order;			/* of its block, see ec_chunk_new; 0: ec_malloc's */
	bool is_fixed;			/* its bytes must neither be written nor move */
};

struct le_chunk_ref {
	struct le_chunk chunk;
	evbuffer_ref_cleanup_cb cleanup;
	void *cleanup_arg;
};

struct le_chunk_share {
	struct le_chunk chunk;
	struct le_chunk *of;
};

struct le_chunk_file {
	struct le_chunk chunk;
	struct evbuffer_file_segment *segment;
	size_t pos;			/* position of data[0] in the segment */
};

enum {
	LE_CHUNK_HEAD = sizeof(struct le_chunk),
	LE_CHUNK_GROWN = 4096,		/* growing buffers double their blocks up to this size */
};

_Static_assert(LE_CHUNK_HEAD == (sizeof(void *) == 8 ? 48 : 32),
	       "what a reservation gets is 2^n bytes without the head of libevent's");

enum { LE_COPY_PIECE = 2048 };

/* memcpy() of many bytes. */
void le_copy_long(unsigned char *to, const unsigned char *from, size_t len);

/*
 * As memcpy(), which on some processors takes twenty times as long as it could: see le_copy_long.
 */
static inline void le_copy(void *to, const void *from, size_t len)
{
	if (__builtin_expect(len > LE_COPY_PIECE, 0))
		le_copy_long(to, from, len);
	else
		memcpy(to, from, len);
}

/* The maximum size of a buffer: that of a signed size. */
#define LE_BUFFER_MAX ((size_t)EV_SSIZE_MAX)

/* A plain, empty chunk with room for `len` bytes. NULL: out of memory. */
struct le_chunk *le_chunk_new(size_t len);

enum { LE_CHUNK_ORDER_MIN = sizeof(void *) == 8 ? 10 : 9, LE_CHUNK_SMALL = 1 << LE_CHUNK_ORDER_MIN };

/* The order of a block of `size` bytes, or 0: ec_malloc allocates it. */
static inline unsigned le_chunk_order(size_t size)
{
	if (size <= LE_CHUNK_SMALL)
		return LE_CHUNK_ORDER_MIN;
	if (size > (size_t)1 << EC_CHUNK_ORDER_MAX)
		return 0;
	return (unsigned)(8 * (int)sizeof(long) - __builtin_clzl(size - 1));
}

static inline struct le_chunk *le_chunk_init(struct le_chunk *c, size_t size, unsigned order)
{
	c->next = NULL;
	c->data = (unsigned char *)(c + 1);
	c->cap = size - LE_CHUNK_HEAD;
	c->start = 0;
	c->len = 0;
	c->refs = 1;
	c->kind = LE_CHUNK_PLAIN;
	c->order = (uint8_t)order;
	c->is_fixed = false;
	return c;
}

/*
 * A new, empty chunk of a kind that has no bytes of its own. The caller fills in the fields beyond
 * struct le_chunk.
 */
void *le_chunk_new_view(enum le_chunk_kind kind);

/*
 * Drop one reference. Dropping the last one releases the bytes, which may call a cleanup callback.
 */
void le_chunk_put_shared(struct le_chunk *c);
void le_chunk_put_list(struct le_chunk *c);

static inline void le_chunk_put(struct le_chunk *c)
{
	/* A chunk that is not fixed is a plain one, and nothing else refers to it. */
	if (__builtin_expect(!c->is_fixed && c->order != 0, 1))
		ec_chunk_free(c, c->order);
	else
		le_chunk_put_shared(c);
}

/* Another list will share these bytes: from now on they neither change nor move. */
void le_chunk_fix(struct le_chunk *c);

/*
 * Move the bytes to the front of their memory, if they may move and this makes room for `len` more.
 */
bool le_chunk_move(struct le_chunk *c, size_t len);

/* Load a file's bytes into memory if they are not there yet. False: they cannot be read. */
bool le_chunk_load(struct le_chunk *c);

/* Are the chunk's bytes in memory? */
static inline bool le_chunk_has_bytes(struct le_chunk *c)
{
	return __builtin_expect(c->data != NULL, 1) || le_chunk_load(c);
}

static inline unsigned char *le_chunk_bytes(const struct le_chunk *c)
{
	return c->data + c->start;
}

static inline unsigned char *le_chunk_tail(const struct le_chunk *c)
{
	return c->data + c->start + c->len;
}

static inline size_t le_chunk_room(const struct le_chunk *c)
{
	return c->cap - c->start - c->len;
}

/* ---------------------------------------------------------------- buffers */

struct evbuffer_cb_entry {
	struct ec_list link;
	union {
		evbuffer_cb_func changed;
		evbuffer_cb resized;	/* the obsolete kind: is_old */
	} fn;
	void *arg;
	uint32_t flags;			/* EVBUFFER_CB_ENABLED */
	bool is_old;
	bool is_now;			/* never deferred */
	bool is_removed;		/* removed while callbacks run: freed after them */
};

/*
 * Why a buffer is not a plain one, in one word for the most frequent functions. All of it but the
 * frozen ends follows from other fields.
 */
enum {
	LE_BUFFER_LOCKED = 0x01,
	LE_BUFFER_CALLBACKS = 0x02,		/* it has callbacks */
	LE_BUFFER_FRONT_FROZEN = 0x04,
	LE_BUFFER_BACK_FROZEN = 0x08,
	LE_BUFFER_OWNED = 0x10,		/* le_buffer_set_grown */
	LE_BUFFER_LOCKED_APART = 0x20,	/* by another lock than its owner's */
};

/* The state of deferred callbacks, allocated when they are first deferred. The buffer's lock. */
struct le_buffer_later {
	struct ec_event event;		/* in the buffer's color; has a base while is_deferred */
	struct bufferevent *parent;	/* the waiting event also holds a reference on this; or NULL */
	size_t added;			/* since the event last ran */
	size_t deleted;
};

/* All fields are under the lock, except `lock` itself and whether there is one. */
struct evbuffer {
	struct le_chunk *first;
	struct le_chunk *last;
	size_t total;
	void *lock;			/* recursive, of the program's kind; or NULL */
	unsigned refs;
	uint8_t special;		/* LE_BUFFER_… */
	bool owns_lock;
	bool is_deferred;		/* `later` calls the callbacks */
	bool is_later_waiting;		/* `later` is active, and holds a reference on the buffer */
	uint64_t flags;			/* EVBUFFER_FLAG_… */

	/* callbacks for changes */
	void (*grown)(void *arg);	/* or NULL */
	void *grown_arg;
	struct ec_list cbs;
	unsigned notifying_num;		/* le_buffer_notify_and_unlock calls running */
	uint32_t color;			/* of `later` */
	struct le_buffer_later *later;	/* or NULL */
	struct bufferevent *parent;
	uint32_t inside;		/* const: offset in its bufferevent; 0: not in one */
	bool is_outliving;		/* holds a reference on the memory around the buffer */
};

/*
 * Read without the lock, to find out whether there is one. If there is, the other bits of this
 * value may be wrong.
 */
static inline unsigned le_buffer_special(const struct evbuffer *buf)
{
	return __atomic_load_n(&buf->special, __ATOMIC_RELAXED);
}

/* The caller holds the lock. */
static inline void le_buffer_note_special(struct evbuffer *buf, unsigned which)
{
	__atomic_store_n(&buf->special, (uint8_t)(buf->special | which), __ATOMIC_RELAXED);
}

static inline void le_buffer_clear_special(struct evbuffer *buf, unsigned which)
{
	__atomic_store_n(&buf->special, (uint8_t)(buf->special & ~which), __ATOMIC_RELAXED);
}

/* The bufferevent ends: the buffer, which others may still refer to, knows it no more. held */
static inline void le_buffer_leave_owner(struct evbuffer *buf)
{
	buf->parent = NULL;
	buf->grown = NULL;
	le_buffer_clear_special(buf, LE_BUFFER_OWNED);
}

static inline bool le_buffer_is_front_frozen(const struct evbuffer *buf)
{
	return __builtin_expect((buf->special & LE_BUFFER_FRONT_FROZEN) != 0, 0);
}

static inline bool le_buffer_is_back_frozen(const struct evbuffer *buf)
{
	return __builtin_expect((buf->special & LE_BUFFER_BACK_FROZEN) != 0, 0);
}

enum {
	LE_BUFFER_SLOW_BEHIND = LE_BUFFER_CALLBACKS | LE_BUFFER_BACK_FROZEN,
	LE_BUFFER_SLOW_IN_FRONT = LE_BUFFER_CALLBACKS | LE_BUFFER_FRONT_FROZEN,
};

/* Does the buffer have none of the properties `which`? */
static inline bool le_buffer_is_plain(const struct evbuffer *buf, unsigned which)
{
	return __builtin_expect((le_buffer_special(buf) & which) == 0, 1);
}

static inline void le_buffer_lock(struct evbuffer *buf)
{
	if (__builtin_expect(buf->lock != NULL, 0))
		ec_thread_lock(buf->lock, 0);
}

static inline void le_buffer_unlock(struct evbuffer *buf)
{
	if (__builtin_expect(buf->lock != NULL, 0))
		ec_thread_unlock(buf->lock, 0);
}

/* As evbuffer_get_length, without a call for a buffer that has no lock. */
static inline size_t le_buffer_get_length(const struct evbuffer *buf)
{
	return __builtin_expect(buf->lock == NULL, 1) ? buf->total : evbuffer_get_length(buf);
}

/* The contiguous bytes at the beginning, in place. False: there are none. */
static inline bool le_buffer_peek_front(struct evbuffer *buf, struct evbuffer_iovec *ret)
{
	const struct le_chunk *c = buf->first;

	if (__builtin_expect(buf->lock != NULL || c == NULL || c->data == NULL, 0))
		return evbuffer_peek(buf, -1, NULL, ret, 1) > 0;
	ret->iov_base = le_chunk_bytes(c);
	ret->iov_len = c->len;
	return c->len > 0;
}

/* Takes both locks, in an order that all threads keep. */
void le_buffer_lock_two(struct evbuffer *a, struct evbuffer *b);
void le_buffer_unlock_two(struct evbuffer *a, struct evbuffer *b);

/* The caller holds the lock. */
static inline size_t le_buffer_length(const struct evbuffer *buf)
{
	return buf->total;
}

/*
 * Call or schedule the callbacks, unlock, and free the buffer if they dropped its last reference.
 */
void le_buffer_notify_and_unlock(struct evbuffer *buf, size_t added, size_t deleted);

/* Does it have callbacks? The caller holds the lock. */
static inline bool le_buffer_has_callbacks(const struct evbuffer *buf)
{
	return (le_buffer_special(buf) & LE_BUFFER_CALLBACKS) != 0;
}

static inline void le_buffer_notify_owner(struct evbuffer *buf, size_t added)
{
	if (buf->grown != NULL && added != 0)
		buf->grown(buf->grown_arg);
}

/*
 * Every function that changes a buffer ends in this one. Afterwards the buffer may be gone, because
 * a callback may have freed it.
 */
static inline void le_buffer_leave(struct evbuffer *buf, size_t added, size_t deleted)
{
	if (le_buffer_is_plain(buf, LE_BUFFER_LOCKED | LE_BUFFER_CALLBACKS | LE_BUFFER_OWNED))
		return;
	le_buffer_notify_owner(buf, added);
	if (le_buffer_has_callbacks(buf) && (added | deleted) != 0)
		le_buffer_notify_and_unlock(buf, added, deleted);
	else
		le_buffer_unlock(buf);
}

/* Sets errno and returns -1, as the public functions do. */
static inline int le_buffer_refuse(int err)
{
	errno = err;
	return -1;
}

/* The first spare chunk, or NULL. */
static inline struct le_chunk *le_buffer_spare(const struct evbuffer *buf)
{
	return buf->last != NULL ? buf->last->next : buf->first;
}

static inline void le_buffer_set_spare(struct evbuffer *buf, struct le_chunk *c)
{
	if (buf->last != NULL)
		buf->last->next = c;
	else
		buf->first = c;
}

/* Free the spare chunks. */
void le_buffer_trim(struct evbuffer *buf);

/* Append `c`, which has bytes. Frees spare chunks. */
void le_buffer_append_chunk(struct evbuffer *buf, struct le_chunk *c);

/* The caller wrote `len` bytes after those of `c`, which is `last` or the first spare chunk. */
void le_buffer_fill(struct evbuffer *buf, struct le_chunk *c, size_t len);

/*
 * A chunk, `last` or a spare one after it, with contiguous room for `len` bytes. NULL: out of
 * memory, or the buffer would be too large.
 */
struct le_chunk *le_buffer_room(struct evbuffer *buf, size_t len);

/* A new chunk for `len` bytes, or more, because a buffer that grows usually grows again. */
struct le_chunk *le_buffer_new_chunk(const struct evbuffer *buf, size_t len);

/*
 * The first bytes of an empty buffer without spare chunks, few enough for the smallest block. Under the lock, without
 * notifying. False: out of memory.
 */
static inline bool le_buffer_begin(struct evbuffer *buf, const void *data, size_t len)
{
	struct le_chunk *c = ec_chunk_new(LE_CHUNK_ORDER_MIN);

	if (__builtin_expect(c == NULL, 0))
		return false;
	le_chunk_init(c, LE_CHUNK_SMALL, LE_CHUNK_ORDER_MIN);
	c->len = len;
	buf->first = c;
	buf->last = c;
	buf->total = len;
	memcpy(c->data, data, len);
	return true;
}

/*
 * Append under the lock, without notifying. On failure returns -1 with errno set and changes
 * nothing.
 */
int le_buffer_append(struct evbuffer *buf, const void *data, size_t len);

/*
 * Remove the first `len` bytes of `buf`, which has so many. Under the lock, without notifying. The buffer is
 * consistent before it releases chunks, because a cleanup callback may use it.
 */
void le_buffer_discard_chunks(struct evbuffer *buf, size_t len);

/* As le_buffer_discard, within one chunk. False: nothing was done. */
static inline bool le_buffer_discard_within(struct evbuffer *buf, size_t len)
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

static inline void le_buffer_discard(struct evbuffer *buf, size_t len)
{
	if (!le_buffer_discard_within(buf, len))
		le_buffer_discard_chunks(buf, len);
}

/* Copy bytes of chunk `c` from offset `skip` on. Returns how many, or -1: they cannot be read. */
ssize_t le_chunk_copy(struct le_chunk *c, size_t skip, void *to, size_t len);

/*
 * Write at most `max` bytes of the chunk at the head of `buf` from its file. -1 and errno on
 * failure.
 */
ssize_t le_file_send(struct le_chunk *c, int fd, size_t max);

/* Release the segment of a LE_CHUNK_FILE chunk. */
void le_file_put(struct evbuffer_file_segment *segment);

#endif
