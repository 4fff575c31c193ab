/*
 * An evbuffer, for the files that implement it; and for the objects that own evbuffers, what
 * the public functions do not offer (the first section).
 *
 * A buffer is a list of chunks. Those with bytes come first, `last` is the last of them, and
 * behind it are spare ones, empty, that a reservation made. No chunk between is empty:
 *
 *   first -> … -> last -> spare -> … -> NULL	or	first, spare -> … -> NULL, last NULL
 *
 *   total == the sum of the chunks' len
 *
 * A chunk's bytes are data[start … start + len), of cap. What lies behind them may be filled, what
 * lies before them prepended to, unless the memory is not the buffer's alone (is_fixed):
 * then cap == start + len, so that what appends need not ask.
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

/* What a buffer asks of the bufferevent that it is part of: `be_ops` points to these, at the beginning of its own. */
struct le_buffer_owner_ops {
	void (*get)(struct bufferevent *bev);
	void (*put)(struct bufferevent *bev);
	void (*memory_put)(struct bufferevent *bev);
};

static inline const struct le_buffer_owner_ops *le_buffer_owner(const struct bufferevent *bev)
{
	return (const struct le_buffer_owner_ops *)(const void *)bev->be_ops;
}

/* A zeroed one, `inside` bytes behind the beginning of a bufferevent, with which its memory ends. */
void le_buffer_init_inside(struct evbuffer *buf, size_t inside);

/*
 * References. evbuffer_new gives one, which evbuffer_free drops; the last one frees. They take the
 * lock of the buffer, if it has one.
 */
void le_buffer_get(struct evbuffer *buf);
void le_buffer_put(struct evbuffer *buf);
void le_buffer_put_and_unlock(struct evbuffer *buf);

/*
 * While a deferred callback of `buf` waits and runs, it holds a reference of `bev`
 * (le_bev_get and le_bev_put of bev.h) besides its own. NULL: no more.
 */
void le_buffer_set_parent(struct evbuffer *buf, struct bufferevent *bev);

/* Where deferred callbacks run. -EBUSY while one waits: the color's own rule. */
int le_buffer_set_color(struct evbuffer *buf, uint32_t color);

/* As evbuffer_add_cb, but called at once also where the others are deferred. */
struct evbuffer_cb_entry *le_buffer_add_cb_now(struct evbuffer *buf, evbuffer_cb_func fn,
					       void *arg);

/*
 * fn(arg) whenever the buffer grew, under its lock and before any callback is told. It may not use
 * the buffer: an owner that only takes note costs no more than the call. NULL: nobody any more.
 */
void le_buffer_set_grown(struct evbuffer *buf, void (*fn)(void *arg), void *arg);

/*
 * As evbuffer_read, with one read call of up to `max` bytes, also where that is more than
 * evbuffer_read takes at once. What is kept fits what arrived. These are an owner's: that the
 * end of the buffer is frozen, which is for the program, does not keep them.
 */
ssize_t le_buffer_read(struct evbuffer *buf, int fd, size_t max);
/* As evbuffer_write_atmost. */
ssize_t le_buffer_write(struct evbuffer *buf, int fd, size_t max);
/* The same by recv and send. -1 and ENOTSOCK: `fd` is none, and nothing has happened. */
ssize_t le_buffer_recv(struct evbuffer *buf, int fd, size_t max);
ssize_t le_buffer_send(struct evbuffer *buf, int fd, size_t max);

/*
 * Empty, and as new: true. False: it is not one's own alone, or callbacks, flags or a lock were
 * set, so that it may only be freed.
 */
bool le_buffer_renew(struct evbuffer *buf);

/* ---------------------------------------------------------------- chunks */

enum le_chunk_kind {
	LE_CHUNK_PLAIN,			/* its bytes follow it in its own block */
	LE_CHUNK_REF,			/* the program's memory: struct le_chunk_ref */
	LE_CHUNK_SHARE,			/* another chunk's: struct le_chunk_share */
	LE_CHUNK_FILE,			/* of a file: struct le_chunk_file; data may be NULL */
};

struct le_chunk {
	struct le_chunk *next;
	unsigned char *data;
	size_t cap;
	size_t start;
	size_t len;
	/* atomic: of the list that it is in, and of those that share it */
	unsigned refs;
	uint8_t kind;			/* enum le_chunk_kind */
	uint8_t order;			/* of its block, see ec_chunk_new; 0: from ec_malloc */
	bool is_fixed;			/* its bytes can be neither written nor moved */
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
	size_t pos;			/* of data[0] in the segment */
};

enum {
	LE_CHUNK_HEAD = sizeof(struct le_chunk),
	LE_CHUNK_GROWN = 4096,		/* blocks grow up to this by themselves */
};

_Static_assert(LE_CHUNK_HEAD == 48, "what a reservation gets is 2^n - 48 bytes, as libevent's");

enum { LE_COPY_PIECE = 2048 };

/* memcpy() of more than a piece. */
void le_copy_long(unsigned char *to, const unsigned char *from, size_t len);

/* memcpy(), which on some processors takes twenty times as long as it could: see le_copy_long. */
static inline void le_copy(void *to, const void *from, size_t len)
{
	if (__builtin_expect(len > LE_COPY_PIECE, 0))
		le_copy_long(to, from, len);
	else
		memcpy(to, from, len);
}

/* No buffer holds more: what a signed size can say. */
#define LE_BUFFER_MAX ((size_t)EV_SSIZE_MAX)

/* A plain, empty chunk for at least `len` bytes; NULL: no memory. */
struct le_chunk *le_chunk_new(size_t len);

enum { LE_CHUNK_ORDER_MIN = 10, LE_CHUNK_SMALL = 1 << LE_CHUNK_ORDER_MIN };

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
 * The struct of a kind that has no bytes of its own; empty, and what it has beside the chunk is the
 * caller's to set.
 */
void *le_chunk_new_view(enum le_chunk_kind kind);

/* Drop one reference; the last one gives back what it shows, for which a callback may be called. */
void le_chunk_put(struct le_chunk *c);
void le_chunk_put_list(struct le_chunk *c);

/* Another list shall show these bytes: from now on they stay where and what they are. */
void le_chunk_fix(struct le_chunk *c);

/*
 * Move the bytes to the front of their memory, if they may be and there is room for `len` more
 * then.
 */
bool le_chunk_move(struct le_chunk *c, size_t len);

/* Read a file's bytes into memory where the chunk's are not. False: they can't be read. */
bool le_chunk_load(struct le_chunk *c);

/* Has the chunk its bytes in memory? */
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
	bool is_now;			/* not deferred with the others */
	bool is_removed;		/* while callbacks run: freed when they have */
};

/*
 * What makes a buffer not a plain one, in one word for the functions that are called most: all
 * follow from other fields (le_buffer_note_special).
 */
enum {
	LE_BUFFER_LOCKED = 0x01,
	LE_BUFFER_TOLD = 0x02,		/* there are callbacks */
	LE_BUFFER_FRONT_FROZEN = 0x04,
	LE_BUFFER_BACK_FROZEN = 0x08,
	LE_BUFFER_OWNED = 0x10,		/* le_buffer_set_grown */
};

/* All but the lock itself, and whether there is one, is under the lock. */
struct evbuffer {
	struct le_chunk *first;
	struct le_chunk *last;
	size_t total;
	void *lock;			/* of the program's kind, recursive; or NULL */
	unsigned refs;
	uint8_t special;		/* LE_BUFFER_… */
	bool owns_lock;
	bool is_front_frozen;
	bool is_back_frozen;
	uint64_t flags;			/* EVBUFFER_FLAG_… */

	/* who is told of changes */
	void (*grown)(void *arg);	/* NULL: nobody */
	void *grown_arg;
	struct ec_list cbs;
	unsigned telling_num;		/* calls of le_buffer_tell under way */
	bool is_deferred;		/* they are told by `later`, which has a base then */
	bool is_later_waiting;		/* active, and then it holds a reference … */
	bool is_outliving;		/* has a reference of the memory that it is inside of */
	struct bufferevent *later_parent; /* … and one of this, if it is not NULL */
	struct bufferevent *parent;
	size_t later_added;		/* since `later` ran */
	size_t later_deleted;
	uint32_t color;			/* of `later` */
	uint32_t inside;		/* const: so far behind the bufferevent it is of; 0: it is on its own */
	struct ec_event later;
};

static inline void le_buffer_note_special(struct evbuffer *buf)
{
	uint8_t special = (uint8_t)((buf->lock != NULL ? LE_BUFFER_LOCKED : 0) |
				 (ec_list_is_empty(&buf->cbs) ? 0 : LE_BUFFER_TOLD) |
				 (buf->is_front_frozen ? LE_BUFFER_FRONT_FROZEN : 0) |
				 (buf->is_back_frozen ? LE_BUFFER_BACK_FROZEN : 0) |
				 (buf->grown != NULL ? LE_BUFFER_OWNED : 0));

	__atomic_store_n(&buf->special, special, __ATOMIC_RELAXED);
}

/*
 * Looked at without the lock to see that there is one; nothing else is believed of a buffer that
 * has.
 */
static inline unsigned le_buffer_special(const struct evbuffer *buf)
{
	return __atomic_load_n(&buf->special, __ATOMIC_RELAXED);
}

enum {
	LE_BUFFER_SLOW_BEHIND = LE_BUFFER_TOLD | LE_BUFFER_BACK_FROZEN,
	LE_BUFFER_SLOW_IN_FRONT = LE_BUFFER_TOLD | LE_BUFFER_FRONT_FROZEN,
};

/* Is there none of `which`? */
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

/* Both locks, in an order that all threads keep. */
void le_buffer_lock_two(struct evbuffer *a, struct evbuffer *b);
void le_buffer_unlock_two(struct evbuffer *a, struct evbuffer *b);

/* The caller has the lock. */
static inline size_t le_buffer_length(const struct evbuffer *buf)
{
	return buf->total;
}

/*
 * Call, or schedule, the callbacks; unlock; and free the buffer, if they dropped the last
 * reference.
 */
void le_buffer_tell_and_unlock(struct evbuffer *buf, size_t added, size_t deleted);

/* Are there callbacks? The caller has the lock. */
static inline bool le_buffer_is_told(const struct evbuffer *buf)
{
	return (le_buffer_special(buf) & LE_BUFFER_TOLD) != 0;
}

static inline void le_buffer_tell_owner(struct evbuffer *buf, size_t added)
{
	if (buf->grown != NULL && added != 0)
		buf->grown(buf->grown_arg);
}

/* How whatever changes a buffer ends. The buffer may be gone then: a callback may have freed it. */
static inline void le_buffer_leave(struct evbuffer *buf, size_t added, size_t deleted)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_TOLD | LE_BUFFER_OWNED)) {
		le_buffer_tell_owner(buf, added);
		if (le_buffer_is_told(buf) && (added | deleted) != 0) {
			le_buffer_tell_and_unlock(buf, added, deleted);
			return;
		}
	}
	le_buffer_unlock(buf);
}

/* -1 with errno set: what the public functions return. */
static inline int le_buffer_refuse(int err)
{
	errno = err;
	return -1;
}

/* The first chunk behind those with bytes, or NULL. */
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

/* Append `c`, which has bytes; spare chunks are freed. */
void le_buffer_append_chunk(struct evbuffer *buf, struct le_chunk *c);

/* `len` bytes were written behind those of `c`, which is `last` or the first spare chunk. */
void le_buffer_fill(struct evbuffer *buf, struct le_chunk *c, size_t len);

/*
 * The chunk, `last` or a spare one behind it, that has room for `len` bytes in one piece.
 * NULL: no memory, or too many.
 */
struct le_chunk *le_buffer_room(struct evbuffer *buf, size_t len);

/* A new chunk for `len` bytes and, as buffers that grow do so again, more. */
struct le_chunk *le_buffer_new_chunk(const struct evbuffer *buf, size_t len);

/* Under the lock, without telling anyone. 0, or -1 and errno: nothing has changed. */
int le_buffer_append(struct evbuffer *buf, const void *data, size_t len);

/* Of `buf`, which has so many bytes, forget the first `len`. Under the lock, without telling. */
void le_buffer_discard(struct evbuffer *buf, size_t len);

/* Copy the bytes from `skip` of chunk `c` on; how many, or -1: they can't be read. */
ssize_t le_chunk_copy(struct le_chunk *c, size_t skip, void *to, size_t len);

/* Write at most `max` bytes of the chunk at the head of `buf` from its file. -1 and errno. */
ssize_t le_file_send(struct le_chunk *c, int fd, size_t max);

/* The end of a LE_CHUNK_FILE chunk. */
void le_file_put(struct evbuffer_file_segment *segment);

#endif
