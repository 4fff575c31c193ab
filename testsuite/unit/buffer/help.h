/*
 * What the tests of evbuffers share: a buffer with known chunks, and what one holds.
 */
#ifndef BUFFER_HELP_H
#define BUFFER_HELP_H

#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/buffer_compat.h>

static inline struct evbuffer *buf_new(void)
{
	struct evbuffer *buf = evbuffer_new();

	assert_non_null(buf);
	return buf;
}

/* A buffer of so many chunks as there are strings, up to a NULL. */
static inline struct evbuffer *buf_of(const char *const *strings)
{
	struct evbuffer *buf = buf_new(), *part = buf_new();

	for (; *strings != NULL; strings++) {
		assert_int_equal(evbuffer_add(part, *strings, strlen(*strings)), 0);
		assert_int_equal(evbuffer_add_buffer(buf, part), 0);
	}
	evbuffer_free(part);
	return buf;
}

#define buf_with(...) buf_of((const char *const[]){ __VA_ARGS__, NULL })

static inline void assert_holds(struct evbuffer *buf, const char *expected)
{
	char held[4096];
	size_t len = evbuffer_get_length(buf);

	assert_int_equal(len, strlen(expected));
	assert_true(len < sizeof(held));
	assert_int_equal(evbuffer_copyout(buf, held, sizeof(held)), len);
	assert_memory_equal(held, expected, len);
}

static inline void assert_pieces(struct evbuffer *buf, int num)
{
	assert_int_equal(evbuffer_peek(buf, -1, NULL, NULL, 0), num);
}

/* Bytes that tell where they stand. */
static inline void fill_pattern(unsigned char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
}

/* A file that nobody else sees, with these bytes. */
static inline int file_with(const void *bytes, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static inline void stream_pair(int fds[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
}

/* A number at which nothing is open. */
static inline int closed_fd(void)
{
	int fd = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

#endif
