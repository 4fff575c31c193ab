/*
 * Reading and writing descriptors, one system call each.
 *
 * Sockets use recv and send. There read and write do the same, but pass through the kernel's file
 * layer, which accesses the descriptor's inode and its watchers. With many connections this costs
 * more cache misses than everything that a bufferevent does.
 */
#include "buffer.h"

#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	READ_MAX = 4096,		/* evbuffer_read's limit, as in libevent */
	READ_VEC = 2,
	WRITE_VEC = 128,
	/* a chunk that is filled to less than this part is replaced by a smaller one */
	KEEP_PART = 4,
	/* in a block of this order, the bytes of a smallest block fill less than that part */
	FEW_ORDER = LE_CHUNK_ORDER_MIN + 2,
	BLOCK_MAX = 1 << EC_CHUNK_ORDER_MAX,
};

enum kind { ANY, SOCKET };

/* ---------------------------------------------------------------- reading */

/*
 * The number of bytes is not known before the call, and asking costs another call. So the call
 * reads into the free room after the present bytes, and into a chunk of `max` bytes for the rest.
 * If few bytes came, they are copied to a smaller chunk, so that an idle buffer keeps little
 * memory.
 *
 * Most often the buffer is empty and few bytes come (read_first). Then the block that they are read
 * into never becomes a chunk.
 */
static __attribute__((noinline)) void keep_read(struct evbuffer *buf, struct le_chunk *c, size_t len)
{
	struct le_chunk *small;

	if (len <= c->cap / KEEP_PART) {
		small = le_buffer_new_chunk(buf, len);
		if (small != NULL && small->cap < c->cap) {
			memcpy(small->data, c->data, len);
			le_chunk_put(c);
			c = small;
		} else if (small != NULL) {
			le_chunk_put(small);
		}
	}
	le_buffer_set_spare(buf, c);
	le_buffer_fill(buf, c, len);
}

static inline ssize_t read_vec(int fd, enum kind kind, struct iovec *vec, int n)
{
	struct msghdr msg = { .msg_iov = vec, .msg_iovlen = (size_t)n };

	if (kind == SOCKET)
		return n == 1 ? recv(fd, vec->iov_base, vec->iov_len, 0) : recvmsg(fd, &msg, 0);
	return n == 1 ? read(fd, vec->iov_base, vec->iov_len) : readv(fd, vec, n);
}

/* The buffer has bytes or spare chunks already. */
static __attribute__((noinline)) ssize_t read_behind(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	struct le_chunk *last, *c = NULL;
	struct iovec vec[READ_VEC];
	size_t room = 0;
	int n = 0, err;
	ssize_t num;

	if (max > LE_BUFFER_MAX - buf->total)
		max = LE_BUFFER_MAX - buf->total;
	le_buffer_trim(buf);
	last = buf->last;
	if (last != NULL && le_chunk_room(last) > 0) {
		room = le_chunk_room(last) < max ? le_chunk_room(last) : max;
		vec[n++] = (struct iovec){ .iov_base = le_chunk_tail(last), .iov_len = room };
	}
	if (room < max) {
		c = le_chunk_new(max - room);
		if (c == NULL)
			return -1;
		vec[n++] = (struct iovec){ .iov_base = c->data, .iov_len = max - room };
	}
	num = read_vec(fd, kind, vec, n);
	err = errno;
	if (num > 0 && room > 0)
		le_buffer_fill(buf, last, (size_t)num < room ? (size_t)num : room);
	if (c != NULL && num > (ssize_t)room)
		keep_read(buf, c, (size_t)num - room);
	else if (c != NULL)
		le_chunk_put(c);
	errno = err;
	return num;
}

/* Few bytes came into the block `c`, which is large: move them to a small chunk. False: nothing was done. */
static inline bool keep_few(struct evbuffer *buf, struct le_chunk *c, unsigned order, size_t len)
{
	if (order < FEW_ORDER || len > LE_CHUNK_SMALL - LE_CHUNK_HEAD || !le_buffer_begin(buf, c + 1, len))
		return false;
	ec_chunk_free(c, order);
	return true;
}

static __attribute__((noinline)) void free_block(struct le_chunk *c, unsigned order)
{
	int err = errno;

	ec_chunk_free(c, order);
	errno = err;
}

/* As read_behind, into a recycled block. */
static inline ssize_t read_first(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	unsigned order = le_chunk_order(max + LE_CHUNK_HEAD);
	struct le_chunk *c = ec_chunk_new(order);
	ssize_t num;

	if (c == NULL)
		return le_buffer_refuse(ENOMEM);
	num = kind == SOCKET ? recv(fd, c + 1, max, 0) : read(fd, c + 1, max);
	if (num <= 0)
		free_block(c, order);
	else if (!keep_few(buf, c, order, (size_t)num))
		keep_read(buf, le_chunk_init(c, (size_t)1 << order, order), (size_t)num);
	return num;
}

static inline ssize_t read_into(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	if (buf->first != NULL || max - 1 >= BLOCK_MAX - LE_CHUNK_HEAD)
		return read_behind(buf, fd, kind, max);
	return read_first(buf, fd, kind, max);
}

static __attribute__((noinline)) ssize_t lock_and_read(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	ssize_t num;

	le_buffer_lock(buf);
	num = read_into(buf, fd, kind, max);
	le_buffer_leave(buf, num > 0 ? (size_t)num : 0, 0);
	return num;
}

ssize_t le_buffer_read(struct evbuffer *buf, int fd, size_t max)
{
	return lock_and_read(buf, fd, ANY, max);
}

ssize_t le_buffer_recv(struct evbuffer *buf, int fd, size_t max)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED_APART | LE_BUFFER_CALLBACKS | LE_BUFFER_OWNED) ||
	    buf->first != NULL || max - 1 >= BLOCK_MAX - LE_CHUNK_HEAD)
		return lock_and_read(buf, fd, SOCKET, max);
	return read_first(buf, fd, SOCKET, max);
}

int evbuffer_read(struct evbuffer *buffer, evutil_socket_t fd, int howmuch)
{
	size_t max = howmuch < 0 || howmuch > READ_MAX ? READ_MAX : (size_t)howmuch;
	ssize_t num;

	le_buffer_lock(buffer);
	num = le_buffer_is_back_frozen(buffer) ? le_buffer_refuse(EPERM) : read_into(buffer, fd, ANY, max);
	le_buffer_leave(buffer, num > 0 ? (size_t)num : 0, 0);
	return (int)num;
}

/* ---------------------------------------------------------------- writing */

/* The bytes at the head that one call can write, without those of files that are not in memory. */
static int gather(struct evbuffer *buf, struct iovec *vec, size_t max)
{
	struct le_chunk *c = buf->first;
	int n = 0;

	for (; n < WRITE_VEC && max > 0 && c->data != NULL; c = c->next) {
		vec[n].iov_base = le_chunk_bytes(c);
		vec[n].iov_len = c->len < max ? c->len : max;
		max -= vec[n++].iov_len;
	}
	return n;
}

static inline ssize_t write_one(int fd, enum kind kind, const void *bytes, size_t len)
{
	return kind == SOCKET ? send(fd, bytes, len, 0) : write(fd, bytes, len);
}

/* The bytes of several chunks, or of a file. */
static __attribute__((noinline)) ssize_t write_many(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	struct iovec vec[WRITE_VEC];
	struct msghdr msg = { .msg_iov = vec };
	int n;

	if (max > buf->total)
		max = buf->total;
	if (buf->first->data == NULL)
		return le_file_send(buf->first, fd, max);
	n = gather(buf, vec, max);
	msg.msg_iovlen = (size_t)n;
	return kind == SOCKET ? sendmsg(fd, &msg, 0) : writev(fd, vec, n);
}

static inline ssize_t write_some(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	const struct le_chunk *c = buf->first;

	if (c->data == NULL || (c->len < max && c->next != NULL && c->next->data != NULL))
		return write_many(buf, fd, kind, max);
	return write_one(fd, kind, le_chunk_bytes(c), c->len < max ? c->len : max);
}

static inline ssize_t write_atmost(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	ssize_t num;

	if (max > INT_MAX)
		max = INT_MAX;		/* as many as the return value can express */
	if (max == 0 || buf->total == 0)
		return le_buffer_refuse(EINVAL);
	num = write_some(buf, fd, kind, max);
	if (num > 0)
		le_buffer_discard(buf, (size_t)num);
	return num;
}

static __attribute__((noinline)) ssize_t lock_and_write(struct evbuffer *buf, int fd, enum kind kind, size_t max)
{
	ssize_t num;

	le_buffer_lock(buf);
	num = write_atmost(buf, fd, kind, max);
	le_buffer_leave(buf, 0, num > 0 ? (size_t)num : 0);
	return num;
}

ssize_t le_buffer_write(struct evbuffer *buf, int fd, size_t max)
{
	return lock_and_write(buf, fd, ANY, max);
}

ssize_t le_buffer_send(struct evbuffer *buf, int fd, size_t max)
{
	if (!le_buffer_is_plain(buf, LE_BUFFER_LOCKED_APART | LE_BUFFER_CALLBACKS))
		return lock_and_write(buf, fd, SOCKET, max);
	return write_atmost(buf, fd, SOCKET, max);
}

int evbuffer_write_atmost(struct evbuffer *buffer, evutil_socket_t fd, ev_ssize_t howmuch)
{
	size_t max = howmuch < 0 ? SIZE_MAX : (size_t)howmuch;
	ssize_t num;

	le_buffer_lock(buffer);
	num = le_buffer_is_front_frozen(buffer) ? le_buffer_refuse(EPERM) : write_atmost(buffer, fd, ANY, max);
	le_buffer_leave(buffer, 0, num > 0 ? (size_t)num : 0);
	return (int)num;
}

int evbuffer_write(struct evbuffer *buffer, evutil_socket_t fd)
{
	return evbuffer_write_atmost(buffer, fd, -1);
}
