/*
 * Opening a file may wait for the disk, for a moment. Reading does not: what is not in memory is read by a thread.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>

#include "message.h"

file_sums the_sums;

static str root;
static ptr<aiod> disk;
static bool is_slow;

void serve_folder(const str &folder)
{
	root = folder;
	disk = New refcounted<aiod>(2, 0x400000, READ_MAX);
}

void read_slowly()
{
	is_slow = true;
}

static str failure(u_int32_t id, int err)
{
	return packer().add(id, 4).add(u_int32_t(err), 4);
}

/* ---------------------------------------------------------------- reading by a thread */

class slow_read
{
	const u_int32_t id;
	const off_t pos;
	const size_t len;
	const answer_cb_t cb;
	ptr<aiofh> fh;
	ptr<aiobuf> buf;

	void finish(const str &answer)
	{
		buf = NULL;
		fh = NULL;
		cb(answer);
		delete this;
	}

	void open_cb(ptr<aiofh> f, int err)
	{
		fh = f;
		if (err)
			finish(failure(id, err));
		else
			room_cb();
	}

	/* Reads that find no buffer take turns. */
	void room_cb()
	{
		buf = disk->bufalloc(len);
		if (buf)
			fh->read(pos, buf, wrap(this, &slow_read::read_cb));
		else
			disk->bufwait(wrap(this, &slow_read::room_cb));
	}

	void read_cb(ptr<aiobuf> b, ssize_t n, int err)
	{
		strbuf answer;

		if (n < 0) {
			finish(failure(id, err));
			return;
		}
		answer << failure(id, 0);
		answer.tosuio()->copy(b->base(), size_t(n));
		the_sums.bytes += u_int64_t(n);
		b = NULL;
		finish(answer);
	}

public:
	slow_read(u_int32_t i, off_t p, size_t l, answer_cb_t c) : id(i), pos(p), len(l), cb(c) {}

	void start(const str &path) { disk->open(path, O_RDONLY, 0, wrap(this, &slow_read::open_cb)); }
};

/* ---------------------------------------------------------------- files */

/* Every name is one below the folder: no segment of it is "..". */
static bool is_inside(const str &name)
{
	const char *p = name.cstr();

	if (name.len() == 0 || strlen(p) != name.len())
		return false;
	for (; p; p = strchr(p, '/')) {
		p += *p == '/';
		if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0'))
			return false;
	}
	return true;
}

ptr<open_file> open_file::open(const str &name)
{
	const str path = strbuf() << root << "/" << name;
	struct stat st;
	int fd, err;

	if (!is_inside(name)) {
		errno = EACCES;
		return NULL;
	}
	/* O_NONBLOCK: opening a FIFO does not wait for a writer. */
	fd = ::open(path.cstr(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	err = fstat(fd, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : !S_ISREG(st.st_mode) ? EACCES : 0;
	if (err == 0)
		return New refcounted<open_file>(path, fd, st);
	::close(fd);
	errno = err;
	return NULL;
}

void open_file::read(u_int32_t id, off_t pos, size_t len, answer_cb_t cb)
{
	mstr answer(ANSWER_LEN + len);
	iovec v = { answer.cstr() + ANSWER_LEN, len };
	const ssize_t n = is_slow ? -1 : preadv2(fd, &v, 1, pos, RWF_NOWAIT);
	const bool is_end = n >= 0 && pos + n >= st.st_size;

	/* It gives what is in memory, up to the first byte that is not. */
	if ((n >= 0 && size_t(n) < len && !is_end) || (n < 0 && (is_slow || errno == EAGAIN || errno == EOPNOTSUPP))) {
		(New slow_read(id, pos, len, cb))->start(path);
		return;
	}
	if (n < 0) {
		cb(failure(id, errno));
		return;
	}
	memcpy(answer.cstr(), packer().add(id, 4).add(0, 4).data(), ANSWER_LEN);
	answer.setlen(ANSWER_LEN + size_t(n));
	the_sums.bytes += u_int64_t(n);
	cb(str(answer));
}

/* ---------------------------------------------------------------- requests */

str session::open(u_int32_t id, const str &name)
{
	ptr<open_file> file;
	u_int32_t handle = 0;
	packer answer;

	while (handle < handles.size() && handles[handle])
		handle++;
	if (handle == HANDLES_MAX)
		return failure(id, EMFILE);
	file = open_file::open(name);
	if (!file)
		return failure(id, errno);
	if (handle == handles.size())
		handles.push_back();
	handles[handle] = file;
	answer.add(id, 4).add(0, 4).add(handle, 4);
	return answer.add(u_int64_t(file->st.st_size), 8).add(u_int64_t(file->st.st_mtime), 8);
}

ptr<open_file> session::file_of(u_int64_t handle) const
{
	return handle < handles.size() ? handles[size_t(handle)] : ptr<open_file>(NULL);
}

void session::request_cb(str request, answer_cb_t cb)
{
	unpacker in(request);
	const u_int32_t id = u_int32_t(in.take(4));
	const u_int64_t op = in.take(1);

	the_sums.requests++;
	if (op == OPEN) {
		cb(open(id, in.rest()));
		return;
	}
	const u_int64_t handle = in.take(4);
	const u_int64_t pos = op == READ ? in.take(8) : 0;
	const u_int64_t len = op == READ ? in.take(4) : 0;
	ptr<open_file> file = file_of(handle);

	if (!in.is_whole() || (op != READ && op != CLOSE) || pos > INT64_MAX - READ_MAX || len > READ_MAX) {
		cb(failure(id, EINVAL));
	} else if (!file) {
		cb(failure(id, EBADF));
	} else if (op == READ && len > 0) {
		file->read(id, off_t(pos), size_t(len), cb);
	} else {
		if (op == CLOSE)
			handles[size_t(handle)] = NULL;
		cb(failure(id, 0));
	}
}
