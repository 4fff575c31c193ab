/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
/* Files in evbuffers. */
#include "sweep.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <event2/buffer.h>

enum { FILE_LEN = 16384 };

static int file_of(void)
{
	static char data[FILE_LEN];
	int fd = memfd_create("sweep", MFD_CLOEXEC);

	memset(data, 'f', sizeof(data));
	sweep_check(fd >= 0 && write(fd, data, FILE_LEN) == FILE_LEN);
	return fd;
}

static void drain_all(struct evbuffer *buf, int fd[2])
{
	static char out[FILE_LEN];

	while (evbuffer_get_length(buf) > 0) {
		sweep_check(evbuffer_write(buf, fd[0]) > 0);
		while (read(fd[1], out, sizeof(out)) > 0)
			;
	}
}

/* Made, added, drained unread. */
static void segment(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	int fd = file_of();

	while (sweep_next(s)) {
		struct evbuffer_file_segment *seg = evbuffer_file_segment_new(fd, 0, FILE_LEN, s->num);

		sweep_check(seg != NULL);
		evbuffer_add_file_segment(buf, seg, 100, 1000);
		evbuffer_file_segment_free(seg);
		evbuffer_drain(buf, 1000);
	}
	evbuffer_free(buf);
	close(fd);
}

/* One segment, added again and again, and sent. */
static void segment_send(struct sweep *s)
{
	struct evbuffer_file_segment *seg;
	struct evbuffer *buf = evbuffer_new();
	int fd = file_of();

	if (s->num == 1)
		evbuffer_set_flags(buf, EVBUFFER_FLAG_DRAINS_TO_FD);
	seg = evbuffer_file_segment_new(fd, 0, FILE_LEN, 0);
	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		evbuffer_add_file_segment(buf, seg, 0, FILE_LEN);
		drain_all(buf, s->fd);
	}
	evbuffer_clear_flags(buf, EVBUFFER_FLAG_DRAINS_TO_FD);
	evbuffer_free(buf);
	evbuffer_file_segment_free(seg);
	close(fd);
	sweep_close(s->fd);
}

static void on_cleanup(struct evbuffer_file_segment const *seg, int flags, void *arg)
{
	struct sweep *s = arg;

	(void)seg;
	(void)flags;
	s->calls++;
}

static void cleanup(struct sweep *s)
{
	int fd = file_of();

	while (sweep_next(s)) {
		struct evbuffer_file_segment *seg = evbuffer_file_segment_new(fd, 0, FILE_LEN, 0);

		evbuffer_file_segment_add_cleanup_cb(seg, on_cleanup, s);
		evbuffer_file_segment_free(seg);
	}
	sweep_check(s->calls > 0);
	close(fd);
}

static void add_file(struct sweep *s)
{
	struct evbuffer *buf = evbuffer_new();
	int fd = file_of();

	sweep_socketpair(s->fd);
	while (sweep_next(s)) {
		evbuffer_add_file(buf, dup(fd), 0, FILE_LEN);
		drain_all(buf, s->fd);
	}
	evbuffer_free(buf);
	close(fd);
	sweep_close(s->fd);
}

const struct sweep_pattern sweep_segment[] = {
	{ "file/segment", segment, .ops = 100 },
	{ "file/segment-no-mmap", segment, .ops = 50, .num = EVBUF_FS_DISABLE_MMAP },
	{ "file/segment-no-locking", segment, .ops = 100, .num = EVBUF_FS_DISABLE_LOCKING },
	{ "file/segment-send", segment_send, .ops = 50, .num = 0 },
	{ "file/segment-sendfile", segment_send, .ops = 50, .num = 1 },
	{ "file/cleanup", cleanup, .ops = 100 },
	{ "file/add-file", add_file, .ops = 50 },
	{ NULL, NULL, 0, 0, 0, NULL },
};
