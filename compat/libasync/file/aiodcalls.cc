/*
 * The calls of an aiod: for each, what a thread does, and what the callback then gets.
 */
#include "aiod.h"

#include <dirent.h>
#include <sys/syscall.h>

#include <climits>
#include <string>

#include "log/die.h"

namespace
{

/* J is a kind of job. What the thread finds is in `found`, which the callback's color reads after it. */
template <class J, class T, class W, class F> class result_job : public J
{
	T found;
	W worker;
	F finisher;

public:
	template <class... A>
	result_job(W w, F f, A... a) : J(a...), found(), worker(std::move(w)), finisher(std::move(f))
	{
	}
	void work() override { this->err = worker(found); }
	void take(int result) override
	{
		this->err = result < 0 ? -result : 0;
		if constexpr (std::is_integral<T>::value)
			found = static_cast<T>(result);
	}
	void finish() override { finisher(found, this->err); }
};

/* A thread must not copy a str, whose count it would change: it gets bytes of its own. */
std::string bytes_of(const str &s)
{
	return std::string(s.cstr(), s.len());
}

int status_of(int r)
{
	return r < 0 ? errno : 0;
}

/* The pointer that a callback gets must live until it runs, which in another color is later. */
template <class CB, class T> void call_with_pointer(CB cb, const T &value, int err)
{
	auto call = [cb, copy = value, err]() mutable {
		errno = err;
		(*cb)(err == 0 ? &copy : nullptr, err);
	};

	if (libasync::is_own_color(cb->get_color().value()))
		call();
	else
		libasync::post(cwrap(call, cb->get_color()));
}

template <class CB, class T> void call_with(CB cb, const T &value, int err)
{
	errno = err;
	cb->trigger(value, err);
}

} // namespace

aiod::job::job() {}

aiod::job::~job() {}

template <class W, class F> aiod::request *aiod::new_request(W work, F finish, ptr<aiobuf> buf)
{
	return New result_job<request, ssize_t, W, F>(work, finish, ref<aiobuf>(buf));
}

template <class T, class W, class F>
void aiod::run(W work, F finish, color c, const libasync::ring_call &call, aiofh *handle)
{
	job *j = New result_job<job, T, W, F>(std::move(work), std::move(finish));

	j->call = call;
	if (handle != nullptr)
		j->handle = mkref(handle);
	submit(j, c);
}

/* A call with no other result than its error number. */
template <class W> void aiod::run_status(W work, cbi cb, const libasync::ring_call &call, aiofh *handle)
{
	run<char>([work](char &) { return status_of(work()); },
		  [cb](char &, int err) {
			  errno = err;
			  cb->trigger(err);
		  },
		  cb->get_color(), call, handle);
}

/* ---------------------------------------------------------------- names */

void aiod::unlink(str path, cbi cb)
{
	run_status([p = bytes_of(path)]() { return ::unlink(p.c_str()); }, cb);
}

void aiod::mkdir(str dir, int mode, cbi cb)
{
	run_status([p = bytes_of(dir), mode]() { return ::mkdir(p.c_str(), static_cast<mode_t>(mode)); }, cb);
}

void aiod::rmdir(str path, cbi cb)
{
	run_status([p = bytes_of(path)]() { return ::rmdir(p.c_str()); }, cb);
}

void aiod::link(str from, str to, cbi cb)
{
	run_status([f = bytes_of(from), t = bytes_of(to)]() { return ::link(f.c_str(), t.c_str()); }, cb);
}

void aiod::symlink(str from, str to, cbi cb)
{
	run_status([f = bytes_of(from), t = bytes_of(to)]() { return ::symlink(f.c_str(), t.c_str()); }, cb);
}

void aiod::rename(str from, str to, cbi cb)
{
	run_status([f = bytes_of(from), t = bytes_of(to)]() { return ::rename(f.c_str(), t.c_str()); }, cb);
}

void aiod::path_of(str path, bool is_link, cbsi cb)
{
	run<std::string>(
		[p = bytes_of(path), is_link](std::string &found) {
			char buf[PATH_MAX + 1];
			ssize_t len;

			if (!is_link) {
				if (realpath(p.c_str(), buf) == nullptr)
					return errno;
				found = buf;
				return 0;
			}
			len = ::readlink(p.c_str(), buf, PATH_MAX);
			if (len < 0)
				return errno;
			found.assign(buf, static_cast<size_t>(len));
			return 0;
		},
		[cb](std::string &found, int err) {
			call_with(cb, err == 0 ? str(found.data(), found.size()) : str(NULL), err);
		},
		cb->get_color());
}

void aiod::readlink(str path, cbsi cb)
{
	path_of(path, true, cb);
}

void aiod::getcwd(str path, cbsi cb)
{
	path_of(path, false, cb);
}

void aiod::stat_any(str path, int at_flags, cbstat cb)
{
	run<struct stat>(
		[p = bytes_of(path), at_flags](struct stat &sb) {
			return status_of(fstatat(AT_FDCWD, p.c_str(), &sb, at_flags));
		},
		[cb](struct stat &sb, int err) { call_with_pointer(cb, sb, err); }, cb->get_color());
}

void aiod::stat(str path, cbstat cb)
{
	stat_any(path, 0, cb);
}

void aiod::lstat(str path, cbstat cb)
{
	stat_any(path, AT_SYMLINK_NOFOLLOW, cb);
}

void aiod::statvfs(str file, cbstatvfs cb)
{
	run<struct statvfs>(
		[p = bytes_of(file)](struct statvfs &sb) { return status_of(::statvfs(p.c_str(), &sb)); },
		[cb](struct statvfs &sb, int err) { call_with_pointer(cb, sb, err); }, cb->get_color());
}

/* ---------------------------------------------------------------- handles */

void aiod::open_any(str path, int flags, int mode, bool dir, cbopen cb)
{
	/* At one place while the job is made: the kernel reads it there. */
	auto name = std::make_unique<std::string>(bytes_of(path));
	libasync::ring_call call;

	call.kind = libasync::ring_call::call_open;
	call.path = name->c_str();
	call.flags = flags | O_CLOEXEC;
	call.mode = mode;
	run<int>(
		[p = std::move(name), flags, mode](int &fd) {
			fd = ::open(p->c_str(), flags | O_CLOEXEC, mode);
			return status_of(fd);
		},
		[this, cb, dir](int &fd, int err) {
			if (err == 0)
				opened(fd, cb, dir);
			else
				call_with(cb, ptr<aiofh>(NULL), err);
		},
		cb->get_color(), call);
}

void aiod::open(str path, int flags, int mode, cbopen cb)
{
	open_any(path, flags, mode, false, cb);
}

void aiod::opendir(str path, cbopen cb)
{
	open_any(path, O_RDONLY | O_DIRECTORY, 0, true, cb);
}

/* The descriptor lies in a buffer; until one is free, the wait counts as a job. */
void aiod::opened(int fd, cbopen cb, bool dir)
{
	ptr<aiobuf> handle = bufalloc(sizeof(fd));

	if (handle == NULL) {
		{
			std::lock_guard<std::mutex> hold(mutex);
			jobs_num++;
		}
		bufwait(cwrap(this, &aiod::opened_late, fd, cb, dir, cb->get_color()));
		return;
	}
	memcpy(handle->base(), &fd, sizeof(fd));
	call_with(cb, ptr<aiofh>(New refcounted<aiofh>(this, ref<aiobuf>(handle), dir)), 0);
}

void aiod::opened_late(int fd, cbopen cb, bool dir)
{
	bool is_over;

	opened(fd, cb, dir);
	{
		std::lock_guard<std::mutex> hold(mutex);
		jobs_num--;
		is_over = is_idle();
	}
	if (is_over)
		delete this;
}

aiofh::aiofh(aiod *d, ref<aiobuf> handle, bool dir)
	: iod(d), fh(handle), isdir(dir), isclosed(false), under_way(0), last(nullptr)
{
}

aiofh::~aiofh()
{
	if (!isclosed)
		end(cbi_null, nullptr);
}

void aiofh::close(cbi cb)
{
	if (isclosed)
		libasync::die("aiofh: closed twice");
	end(cb, this);
}

/* `held`: this, unless the last reference is gone. */
void aiofh::end(cbi cb, aiofh *held)
{
	libasync::ring_call call;

	isclosed = true;
	call.kind = libasync::ring_call::call_close;
	call.fd = fd();
	iod->run_status([f = fd()]() { return ::close(f); }, cb, call, held);
}

void aiofh::closedir(cbi cb)
{
	close(cb);
}

void aiofh::fsync(cbi cb)
{
	libasync::ring_call call;

	call.kind = libasync::ring_call::call_fsync;
	call.fd = fd();
	iod->run_status([f = fd()]() { return ::fsync(f); }, cb, call, this);
}

void aiofh::ftrunc(off_t length, cbi cb)
{
	iod->run_status([f = fd(), length]() { return ::ftruncate(f, length); }, cb, libasync::ring_call(), this);
}

void aiofh::fstat(aiod::cbstat cb)
{
	iod->run<struct stat>([f = fd()](struct stat &sb) { return status_of(::fstat(f, &sb)); },
			      [cb](struct stat &sb, int err) { call_with_pointer(cb, sb, err); }, cb->get_color(),
			      libasync::ring_call(), this);
}

/* ---------------------------------------------------------------- data */

void aiofh::submit(aiod::request *r, color c)
{
	r->handle = mkref(this);
	iod->submit(r, c);
}

void aiofh::rw(bool is_write, off_t pos, ptr<aiobuf> buf, u_int iostart, u_int iosize, cbrw cb)
{
	if (buf == NULL || iostart > buf->size() || iosize > buf->size() - iostart)
		libasync::die("aiofh: %u bytes from %u are not in the buffer", iosize, iostart);
	char *at = buf->base() + iostart;
	auto work = [f = fd(), is_write, pos, at, iosize](ssize_t &n) {
		do {
			n = is_write ? pwrite(f, at, iosize, pos) : pread(f, at, iosize, pos);
		} while (n < 0 && errno == EINTR);
		return n < 0 ? errno : 0;
	};
	auto finish = [buf, cb](ssize_t &n, int err) {
		errno = err;
		cb->trigger(buf, err == 0 ? n : -1, err);
	};

	aiod::request *r = aiod::new_request(work, finish, buf);

	r->call.kind = is_write ? libasync::ring_call::call_write : libasync::ring_call::call_read;
	r->call.fd = fd();
	r->call.buf = at;
	r->call.len = iosize;
	r->call.pos = pos;
	submit(r, cb->get_color());
}

void aiofh::read(off_t pos, ptr<aiobuf> buf, cbrw cb)
{
	rw(false, pos, buf, 0, static_cast<u_int>(buf->size()), cb);
}

void aiofh::write(off_t pos, ptr<aiobuf> buf, cbrw cb)
{
	rw(true, pos, buf, 0, static_cast<u_int>(buf->size()), cb);
}

void aiofh::sread(off_t pos, ptr<aiobuf> buf, u_int iostart, u_int iosize, cbrw cb)
{
	rw(false, pos, buf, iostart, iosize, cb);
}

void aiofh::swrite(off_t pos, ptr<aiobuf> buf, u_int iostart, u_int iosize, cbrw cb)
{
	rw(true, pos, buf, iostart, iosize, cb);
}

void aiofh::readdir(ptr<aiobuf> buf, cbrw cb)
{
	auto work = [f = fd(), at = buf->base(), len = buf->size()](ssize_t &n) {
		n = syscall(SYS_getdents64, f, at, len);
		return n < 0 ? errno : 0;
	};
	auto finish = [buf, cb](ssize_t &n, int err) {
		errno = err;
		cb->trigger(buf, err == 0 ? n : -1, err);
	};

	submit(aiod::new_request(work, finish, buf), cb->get_color());
}
