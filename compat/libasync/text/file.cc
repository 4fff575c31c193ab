/*
 * Whole files as strings.
 */
#include "serial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "text/read_all.h"

namespace
{

/* Close `fd` and say again what failed before. */
void close_after_failure(int fd)
{
	int e = errno;

	close(fd);
	errno = e;
}

void remove_after_failure(const str &name)
{
	int e = errno;

	unlink(name);
	errno = e;
}

/* Create a file beside `file` that nobody else has; its name into *ret. -1 with errno. */
int create_beside(const str &file, int perm, str *ret)
{
	static unsigned calls;
	int fd;

	for (int tries = 0; tries < 1000; tries++) {
		unsigned n = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
		str name = strbuf() << file << "." << getpid() << "." << n << "~";

		fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode_t(perm));
		if (fd >= 0)
			*ret = name;
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

bool write_all(int fd, suio *uio)
{
	while (uio->resid() > 0) {
		int n = uio->output(fd);

		if (n > 0)
			continue;
		if (n == 0)
			errno = ENOSPC;
		return false;
	}
	return true;
}

bool sync_folder_of(const str &file)
{
	const char *slash = strrchr(file, '/');
	str folder = slash != nullptr ? substr(file, 0, size_t(slash - file.cstr()) + 1) : str(".");

	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS) {
		close_after_failure(fd);
		return false;
	}
	close(fd);
	return true;
}

/* Give the file `from` the name `to`, which must be free if `excl`. */
bool give_name(const str &from, const str &to, bool excl)
{
	if (!excl)
		return rename(from, to) == 0;
	if (link(from, to) < 0)
		return false;
	unlink(from);
	return true;
}

} // namespace

namespace libasync
{

str read_all(int fd, size_t expected)
{
	strbuf sb;
	ssize_t n;

	mstr m(expected + 1);
	size_t len = 0;
	do {
		n = read(fd, m.cstr() + len, m.len() - len);
		if (n > 0)
			len += size_t(n);
	} while ((n > 0 && len < m.len()) || (n < 0 && errno == EINTR));
	if (n < 0)
		return str();
	if (len < m.len()) {
		m.setlen(len);
		return m;
	}
	/* It is longer than it was. */
	sb.tosuio()->print(m.cstr(), len);
	while ((n = sb.tosuio()->input(fd)) > 0)
		;
	return n < 0 ? str() : str(sb);
}

} // namespace libasync

str file2str(str file)
{
	struct stat st;

	if (!file) {
		errno = EINVAL;
		return str();
	}
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return str();
	if (fstat(fd, &st) < 0) {
		close_after_failure(fd);
		return str();
	}
	if (S_ISREG(st.st_mode) && size_t(st.st_size) >= SIZE_MAX / 4) {
		close(fd);
		errno = EFBIG;
		return str();
	}
	str s = libasync::read_all(fd, S_ISREG(st.st_mode) ? size_t(st.st_size) : 0);
	close_after_failure(fd);
	return s;
}

bool str2file(str file, str s, int perm, bool excl, struct stat *sbp, bool binary, bool do_fsync)
{
	struct stat st;
	str name;
	int fd;

	if (!file || !s || strlen(file) != file.len()) {
		errno = EINVAL;
		return false;
	}
	fd = create_beside(file, perm, &name);
	if (fd < 0)
		return false;

	suio uio;
	suio_print(&uio, s);
	if (!binary && s.len() > 0 && s[ptrdiff_t(s.len() - 1)] != '\n')
		uio.copy("\n", 1);
	if (!write_all(fd, &uio) || (do_fsync && fsync(fd) < 0) || fstat(fd, &st) < 0) {
		close_after_failure(fd);
		remove_after_failure(name);
		return false;
	}
	if (close(fd) < 0 || !give_name(name, file, excl)) {
		remove_after_failure(name);
		return false;
	}
	if (do_fsync && !sync_folder_of(file))
		return false;
	if (sbp != nullptr)
		*sbp = st;
	return true;
}
