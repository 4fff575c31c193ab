/*
 * Lock files.
 *
 * The lock is flock's, on a file that its holder removes before it lets go. Another process may have opened the file
 * before it was removed, and then locks one that has no name. So whoever got a lock compares the file with the name.
 */
#include "amisc.h"

namespace
{

/* Is `fd` the file of that name? -1 with errno: that cannot be told. */
int is_named(int fd, const str &path)
{
	struct stat of_fd, of_path;

	if (fstat(fd, &of_fd) < 0)
		return -1;
	if (stat(path.cstr(), &of_path) < 0)
		return errno == ENOENT ? 0 : -1;
	return of_fd.st_dev == of_path.st_dev && of_fd.st_ino == of_path.st_ino;
}

} // namespace

bool lockfile::openit()
{
	fd = open(path.cstr(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0;
}

void lockfile::closeit()
{
	int err = errno;

	if (fd >= 0)
		close(fd);
	fd = -1;
	islocked = false;
	errno = err;
}

lockfile::~lockfile()
{
	if (islocked)
		release();
	else
		closeit();
}

bool lockfile::ok()
{
	return islocked && is_named(fd, path) == 1;
}

bool lockfile::acquire(bool wait)
{
	if (ok())
		return true;
	for (;;) {
		int is_current;

		closeit();
		if (!openit())
			return false;
		while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
			if (errno == EINTR)
				continue;
			closeit();
			return false;
		}
		is_current = is_named(fd, path);
		if (is_current < 0) {
			closeit();
			return false;
		}
		islocked = is_current == 1;
		if (islocked)
			return true;
	}
}

void lockfile::release()
{
	if (ok())
		unlink(path.cstr());
	closeit();
}

ptr<lockfile> lockfile::alloc(const str &path, bool wait)
{
	ref<lockfile> lock = New refcounted<lockfile>(path);

	if (!lock->acquire(wait))
		return NULL;
	return lock;
}
