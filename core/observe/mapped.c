#include "mapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file_limit.h"

/* For a kernel without memfd_create. */
static int open_unnamed(void)
{
	const char *dir = secure_getenv("XDG_RUNTIME_DIR");

	return open(dir != NULL && *dir == '/' ? dir : "/tmp", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
}

int ec_mapped_fd(int fd)
{
	int high;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (high < 0)
		high = -errno;
	(void)close(fd);
	return high;
}

void ec_mapped_seal(int fd)
{
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

static int open_new(const char *path, const char *title)
{
	int fd;

	if (path != NULL) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
	} else {
		fd = memfd_create(title, MFD_CLOEXEC | MFD_ALLOW_SEALING);
		if (fd < 0 && errno == ENOSYS)
			fd = open_unnamed();
	}
	return fd < 0 ? -errno : ec_mapped_fd(fd);
}

int ec_mapped_resize(int fd, size_t size)
{
	struct ec_file_hold hold;
	int r;

	ec_file_hold(&hold);
	r = ftruncate(fd, (off_t)size) < 0 ? -errno : 0;
	ec_file_release(&hold);
	return r;
}

int ec_mapped_new(const char *path, const char *title, size_t size, struct ec_mapped *ret)
{
	struct ec_mapped m = { .size = size, .fd = open_new(path, title) };
	int r;

	if (m.fd < 0)
		return m.fd;
	/* The mode of open() is cut by the umask, and a memfd's is 0777. */
	r = fchmod(m.fd, 0600) < 0 ? -errno : ec_mapped_resize(m.fd, size);
	if (r < 0)
		goto remove_file;
	if (path == NULL)
		ec_mapped_seal(m.fd);
	m.at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	if (m.at == MAP_FAILED) {
		r = -errno;
		goto remove_file;
	}
	if (madvise(m.at, size, MADV_DONTFORK) < 0) {
		r = -errno;
		goto unmap;
	}
	*ret = m;
	return 0;

unmap:
	(void)munmap(m.at, size);
remove_file:
	(void)close(m.fd);
	if (path != NULL)
		(void)unlink(path);
	return r;
}

int ec_mapped_reserve_in(int fd, size_t at, size_t len)
{
	struct ec_file_hold hold;
	int r;

	ec_file_hold(&hold);
	do {
		r = posix_fallocate(fd, (off_t)at, (off_t)len);
	} while (r == EINTR);
	ec_file_release(&hold);
	return -r;
}

int ec_mapped_reserve(const struct ec_mapped *m, size_t at, size_t len)
{
	return ec_mapped_reserve_in(m->fd, at, len);
}

void ec_mapped_touch(const struct ec_mapped *m, size_t at, size_t len)
{
#ifdef MADV_POPULATE_WRITE
	(void)madvise(m->at + at, len, MADV_POPULATE_WRITE);
#else
	(void)m, (void)at, (void)len;
#endif
}

void ec_mapped_free(struct ec_mapped *m)
{
	(void)munmap(m->at, m->size);
	if (m->fd >= 0)
		(void)close(m->fd);
}

void ec_mapped_drop(struct ec_mapped *m, const char *path)
{
	ec_mapped_free(m);
	if (path != NULL)
		(void)unlink(path);
}
