/*
 * Parts of files in buffers.
 *
 * A segment is a range of a file. If the buffer's bytes can only go to a descriptor
 * (EVBUFFER_FLAG_DRAINS_TO_FD), its chunk has no memory, and sendfile writes it. In other buffers,
 * and when a program accesses the bytes of such a chunk, the range is mapped, or read if it cannot
 * be mapped.
 *
 * Chunks of one segment may be in buffers of several threads. The segment is const except its
 * reference count and the pointer to its memory, which is published once.
 */
#include "buffer.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* The range's bytes in memory. */
struct content {
	unsigned char *bytes;
	void *map;			/* NULL: the bytes are in memory of ec_malloc */
	size_t map_len;
};

struct evbuffer_file_segment {
	/* const */
	int fd;
	unsigned flags;			/* EVBUF_FS_… */
	off_t offset;
	size_t len;
	evbuffer_file_segment_cleanup_cb cleanup;
	void *cleanup_arg;

	/* atomic */
	unsigned refs;
	bool is_first_taken;
	void *content;			/* struct content; published by segment_load */

	struct content first;		/* of the thread that set is_first_taken, until published */
};

/* ---------------------------------------------------------------- in memory */

static int content_map(struct content *content, const struct evbuffer_file_segment *seg)
{
	size_t skip = (size_t)seg->offset & ((size_t)sysconf(_SC_PAGESIZE) - 1);
	void *map;

	map = mmap(NULL, seg->len + skip, PROT_READ, MAP_PRIVATE, seg->fd,
		   seg->offset - (off_t)skip);
	if (map == MAP_FAILED)
		return -errno;
	content->map = map;
	content->map_len = seg->len + skip;
	content->bytes = (unsigned char *)map + skip;
	return 0;
}

/* A pipe has no offsets: it is read at its current position. */
static ssize_t read_at(int fd, void *to, size_t len, off_t offset)
{
	ssize_t num = pread(fd, to, len, offset);

	if (num < 0 && errno == ESPIPE)
		num = read(fd, to, len);
	return num;
}

static int content_read(struct content *content, const struct evbuffer_file_segment *seg)
{
	size_t done = 0;
	ssize_t num;
	int r;

	content->bytes = ec_malloc(seg->len);
	if (content->bytes == NULL)
		return -ENOMEM;
	while (done < seg->len) {
		num = read_at(seg->fd, content->bytes + done, seg->len - done,
			      seg->offset + (off_t)done);
		if (num > 0) {
			done += (size_t)num;
			continue;
		}
		if (num < 0 && errno == EINTR)
			continue;
		r = num < 0 ? -errno : -EIO;
		ec_free(content->bytes);
		return r;
	}
	return 0;
}

static void content_unload(struct content *content)
{
	if (content->map != NULL)
		munmap(content->map, content->map_len);
	else
		ec_free(content->bytes);
}

static int content_load(struct content *content, const struct evbuffer_file_segment *seg)
{
	int r = -ENODEV;

	*content = (struct content){ NULL, NULL, 0 };
	if ((seg->flags & EVBUF_FS_DISABLE_MMAP) == 0)
		r = content_map(content, seg);
	return r < 0 ? content_read(content, seg) : 0;
}

/* The first thread to load uses the segment's own memory, others that load at the same time do not. */
static struct content *content_new(struct evbuffer_file_segment *seg)
{
	if (!__atomic_exchange_n(&seg->is_first_taken, true, __ATOMIC_RELAXED))
		return &seg->first;
	return ec_malloc(sizeof(struct content));
}

static void content_free(struct content *content, const struct evbuffer_file_segment *seg)
{
	if (content != &seg->first)
		ec_free(content);
}

/*
 * The range's bytes, or NULL and errno. If several threads load at once, all use the content of the
 * first to publish.
 */
static unsigned char *segment_load(struct evbuffer_file_segment *seg)
{
	struct content *content = ec_published(&seg->content), *mine;
	int r;

	if (content != NULL)
		return content->bytes;
	mine = content_new(seg);
	if (mine == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	r = content_load(mine, seg);
	if (r < 0) {
		content_free(mine, seg);
		errno = -r;
		return NULL;
	}
	content = ec_publish(&seg->content, mine);
	if (content != mine) {
		content_unload(mine);
		content_free(mine, seg);
	}
	return content->bytes;
}

bool le_chunk_load(struct le_chunk *c)
{
	struct le_chunk_file *file = (struct le_chunk_file *)c;
	unsigned char *bytes = segment_load(file->segment);

	if (bytes == NULL) {
		ec_log_errno(EC_LOG_WARN, errno, "cannot read a part of a file");
		return false;
	}
	c->data = bytes + file->pos;
	return true;
}

/* ---------------------------------------------------------------- segments */

/* The length of the range, or -1. */
static ssize_t range_len(int fd, off_t offset, off_t length)
{
	struct stat st;

	if (offset < 0 || length < -1)
		return le_buffer_refuse(EINVAL);
	if (length < 0) {
		if (fstat(fd, &st) < 0)
			return -1;
		length = st.st_size - offset;
	} else if (length == 0 && fcntl(fd, F_GETFD) < 0) {
		return -1;		/* no later read will report a bad descriptor */
	}
	if (length < 0 || length > EV_SSIZE_MAX - offset)
		return le_buffer_refuse(EINVAL);
	return (ssize_t)length;
}

static struct evbuffer_file_segment *segment_new(int fd, off_t offset, off_t length, unsigned flags)
{
	struct evbuffer_file_segment *seg;
	ssize_t len = range_len(fd, offset, length);

	if (len < 0)
		return NULL;
	seg = ec_malloc(sizeof(*seg));
	if (seg == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	*seg = (struct evbuffer_file_segment){
		.fd = fd,
		.flags = flags,
		.offset = offset,
		.len = (size_t)len,
		.refs = 1,
	};
	return seg;
}

struct evbuffer_file_segment *evbuffer_file_segment_new(int fd, ev_off_t offset, ev_off_t length,
							unsigned flags)
{
	struct evbuffer_file_segment *seg = segment_new(fd, offset, length, flags);

	/* A range that must be in memory is loaded here, where the program expects an error. */
	if (seg != NULL && seg->len > 0 && (flags & EVBUF_FS_DISABLE_SENDFILE) != 0 &&
	    segment_load(seg) == NULL) {
		ec_free(seg);
		return NULL;
	}
	return seg;
}

void le_file_put(struct evbuffer_file_segment *seg)
{
	if (!ec_ref_put(&seg->refs))
		return;
	if (seg->content != NULL) {
		content_unload(seg->content);
		content_free(seg->content, seg);
	}
	if ((seg->flags & EVBUF_FS_CLOSE_ON_FREE) != 0)
		(void)close(seg->fd);
	if (seg->cleanup != NULL)
		seg->cleanup(seg, (int)seg->flags, seg->cleanup_arg);
	ec_free(seg);
}

void evbuffer_file_segment_free(struct evbuffer_file_segment *seg)
{
	le_file_put(seg);
}

void evbuffer_file_segment_add_cleanup_cb(struct evbuffer_file_segment *seg,
					  evbuffer_file_segment_cleanup_cb cb, void *arg)
{
	seg->cleanup = cb;
	seg->cleanup_arg = arg;
}

/* ---------------------------------------------------------------- in buffers */

/* The length of the part, or -1 if it is outside the segment. */
static ssize_t part_len(const struct evbuffer_file_segment *seg, off_t offset, off_t length)
{
	if (offset < 0 || length < -1 || (size_t)offset > seg->len)
		return le_buffer_refuse(EINVAL);
	if (length < 0)
		return (ssize_t)(seg->len - (size_t)offset);
	if ((size_t)length > seg->len - (size_t)offset)
		return le_buffer_refuse(EINVAL);
	return (ssize_t)length;
}

static int add_part(struct evbuffer *buf, struct evbuffer_file_segment *seg, size_t pos, size_t len)
{
	struct le_chunk_file *file;

	if (le_buffer_is_back_frozen(buf))
		return le_buffer_refuse(EPERM);
	if (len > LE_BUFFER_MAX - buf->total)
		return le_buffer_refuse(ENOMEM);
	if (len == 0)
		return 0;
	file = le_chunk_new_view(LE_CHUNK_FILE);
	if (file == NULL)
		return -1;
	ec_ref_get(&seg->refs);
	file->segment = seg;
	file->pos = pos;
	file->chunk.cap = len;
	file->chunk.len = len;
	if (((buf->flags & EVBUFFER_FLAG_DRAINS_TO_FD) == 0 ||
	     (seg->flags & EVBUF_FS_DISABLE_SENDFILE) != 0) &&
	    !le_chunk_load(&file->chunk)) {
		le_chunk_put(&file->chunk);
		return -1;
	}
	le_buffer_append_chunk(buf, &file->chunk);
	return 0;
}

int evbuffer_add_file_segment(struct evbuffer *buf, struct evbuffer_file_segment *seg,
			      ev_off_t offset, ev_off_t length)
{
	ssize_t len = part_len(seg, offset, length);
	int r;

	if (len < 0)
		return -1;
	le_buffer_lock(buf);
	r = add_part(buf, seg, (size_t)offset, (size_t)len);
	le_buffer_leave(buf, r == 0 ? (size_t)len : 0, 0);
	return r;
}

/* From here on the descriptor belongs to the library, even if adding fails. */
int evbuffer_add_file(struct evbuffer *outbuf, int fd, ev_off_t offset, ev_off_t length)
{
	struct evbuffer_file_segment *seg = segment_new(fd, offset, length, EVBUF_FS_CLOSE_ON_FREE);
	int r, err;

	if (seg == NULL)
		return -1;
	r = evbuffer_add_file_segment(outbuf, seg, 0, -1);
	err = errno;
	evbuffer_file_segment_free(seg);
	errno = err;
	return r;
}

/* ---------------------------------------------------------------- to descriptors */

/* sendfile does not work for every pair of descriptors; otherwise the bytes go through memory. */
ssize_t le_file_send(struct le_chunk *c, int fd, size_t max)
{
	const struct le_chunk_file *file = (const struct le_chunk_file *)c;
	off_t at = file->segment->offset + (off_t)(file->pos + c->start);
	size_t len = c->len < max ? c->len : max;
	ssize_t num = sendfile(fd, file->segment->fd, &at, len);

	if (num >= 0 || (errno != EINVAL && errno != ENOSYS && errno != ESPIPE))
		return num;
	if (!le_chunk_load(c))
		return -1;
	return write(fd, le_chunk_bytes(c), len);
}
