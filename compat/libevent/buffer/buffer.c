/*
 * An evbuffer as an object: creation, references, lock, flags.
 */
#include "buffer.h"

#include <string.h>

#include <event2/thread.h>

enum { ORDER = 7 };

_Static_assert(sizeof(struct evbuffer) <= (size_t)1 << ORDER, "a buffer lies in a recycled block");

struct evbuffer *evbuffer_new(void)
{
	struct evbuffer *buf = ec_chunk_new(ORDER);

	if (buf == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	memset(buf, 0, sizeof(*buf));
	buf->refs = 1;
	ec_list_init(&buf->cbs);
	return buf;
}

void le_buffer_init_inside(struct evbuffer *buf, size_t inside, struct bufferevent *bev)
{
	buf->refs = 1;
	buf->inside = (uint32_t)inside;
	buf->parent = bev;
	ec_list_init(&buf->cbs);
}

static void buffer_free(struct evbuffer *buf)
{
	struct evbuffer_cb_entry *entry;
	struct bufferevent *owner;

	le_chunk_put_list(buf->first);
	while (!ec_list_is_empty(&buf->cbs)) {
		entry = ec_container_of(buf->cbs.next, struct evbuffer_cb_entry, link);
		ec_list_remove(&entry->link);
		ec_free(entry);
	}
	le_buffer_unlock(buf);
	ec_free(buf->later);
	if (buf->owns_lock)
		ec_thread_lock_free(buf->lock, EVTHREAD_LOCKTYPE_RECURSIVE);
	if (buf->inside == 0) {
		ec_chunk_free(buf, ORDER);
	} else if (buf->is_outliving) {
		owner = (struct bufferevent *)(void *)((unsigned char *)buf - buf->inside);
		le_buffer_owner(owner)->memory_put(owner);
	}
}

void le_buffer_get(struct evbuffer *buf)
{
	le_buffer_lock(buf);
	buf->refs++;
	le_buffer_unlock(buf);
}

void le_buffer_put_and_unlock(struct evbuffer *buf)
{
	if (--buf->refs == 0)
		buffer_free(buf);
	else
		le_buffer_unlock(buf);
}

void le_buffer_put(struct evbuffer *buf)
{
	le_buffer_lock(buf);
	le_buffer_put_and_unlock(buf);
}

bool le_buffer_renew(struct evbuffer *buf)
{
	if (le_buffer_special(buf) != 0 || buf->refs != 1 || buf->flags != 0 || buf->later != NULL ||
	    buf->parent != NULL)
		return false;
	le_chunk_put_list(buf->first);
	buf->first = NULL;
	buf->last = NULL;
	buf->total = 0;
	return true;
}

void evbuffer_free(struct evbuffer *buf)
{
	le_buffer_put(buf);
}

void le_buffer_share_lock(struct evbuffer *buf, void *lock)
{
	if (buf->lock != NULL)
		return;
	buf->lock = lock;
	le_buffer_note_special(buf, LE_BUFFER_LOCKED);
}

int evbuffer_enable_locking(struct evbuffer *buf, void *lock)
{
	if (buf->lock != NULL)
		return le_buffer_refuse(EBUSY);
	if (lock != NULL) {
		buf->lock = lock;
		le_buffer_note_special(buf, LE_BUFFER_LOCKED | LE_BUFFER_LOCKED_APART);
		return 0;
	}
	lock = ec_thread_lock_new(EVTHREAD_LOCKTYPE_RECURSIVE);
	if (lock == NULL)
		return le_buffer_refuse(ec_thread_is_on() ? ENOMEM : ENOTSUP);
	buf->lock = lock;
	buf->owns_lock = true;
	le_buffer_note_special(buf, LE_BUFFER_LOCKED | LE_BUFFER_LOCKED_APART);
	return 0;
}

void evbuffer_lock(struct evbuffer *buf)
{
	le_buffer_lock(buf);
}

void evbuffer_unlock(struct evbuffer *buf)
{
	le_buffer_unlock(buf);
}

/* The lock is recursive, because both buffers may have the same one. */
void le_buffer_lock_two(struct evbuffer *a, struct evbuffer *b)
{
	bool is_a_first = (uintptr_t)a->lock <= (uintptr_t)b->lock;

	le_buffer_lock(is_a_first ? a : b);
	le_buffer_lock(is_a_first ? b : a);
}

void le_buffer_unlock_two(struct evbuffer *a, struct evbuffer *b)
{
	le_buffer_unlock(a);
	le_buffer_unlock(b);
}

int evbuffer_set_flags(struct evbuffer *buf, ev_uint64_t flags)
{
	le_buffer_lock(buf);
	buf->flags |= flags;
	le_buffer_unlock(buf);
	return 0;
}

int evbuffer_clear_flags(struct evbuffer *buf, ev_uint64_t flags)
{
	le_buffer_lock(buf);
	buf->flags &= ~(uint64_t)flags;
	le_buffer_unlock(buf);
	return 0;
}

static inline unsigned frozen(int at_front)
{
	return at_front ? LE_BUFFER_FRONT_FROZEN : LE_BUFFER_BACK_FROZEN;
}

static __attribute__((noinline)) int lock_and_freeze(struct evbuffer *buf, unsigned which)
{
	le_buffer_lock(buf);
	le_buffer_note_special(buf, which);
	le_buffer_unlock(buf);
	return 0;
}

static __attribute__((noinline)) int lock_and_unfreeze(struct evbuffer *buf, unsigned which)
{
	le_buffer_lock(buf);
	le_buffer_clear_special(buf, which);
	le_buffer_unlock(buf);
	return 0;
}

int evbuffer_freeze(struct evbuffer *buf, int at_front)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED))
		return lock_and_freeze(buf, frozen(at_front));
	le_buffer_note_special(buf, frozen(at_front));
	return 0;
}

int evbuffer_unfreeze(struct evbuffer *buf, int at_front)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED))
		return lock_and_unfreeze(buf, frozen(at_front));
	le_buffer_clear_special(buf, frozen(at_front));
	return 0;
}

static struct evbuffer *writable(const struct evbuffer *buf)
{
	return (struct evbuffer *)(uintptr_t)buf;
}

size_t evbuffer_get_length(const struct evbuffer *buf)
{
	size_t total;

	if (__builtin_expect(buf->lock == NULL, 1))
		return buf->total;
	le_buffer_lock(writable(buf));
	total = buf->total;
	le_buffer_unlock(writable(buf));
	return total;
}

size_t evbuffer_get_contiguous_space(const struct evbuffer *buf)
{
	size_t len;

	le_buffer_lock(writable(buf));
	len = buf->first != NULL ? buf->first->len : 0;
	le_buffer_unlock(writable(buf));
	return len;
}
