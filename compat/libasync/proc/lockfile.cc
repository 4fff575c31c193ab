/*
 * Lock files.
 *
 * The lock is flock's, on a file that its holder removes before it lets go. Another process may have opened the file
 * before it was removed, and then locks one that has no name. So whoever got a lock compares the file with the name.
 */
#include "amisc.h"

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
	struct stat of_fd, of_path;

	return islocked && fstat(fd, &of_fd) == 0 && stat(path.cstr(), &of_path) == 0 &&
	       of_fd.st_dev == of_path.st_dev && of_fd.st_ino == of_path.st_ino;
}

bool lockfile::acquire(bool wait)
{
	if (islocked && ok())
		return true;
	for (;;) {
		closeit();
		if (!openit())
			return false;
		while (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) < 0) {
			if (errno == EINTR)
				continue;
			closeit();
			return false;
		}
		islocked = true;
		if (ok())
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
