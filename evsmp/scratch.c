#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

#define MARK ".evsmp"

enum { DEPTH_MAX = 4, TRIES = 100 };

static int lock_fd = -1;		/* of our own directory */

/* ---------------------------------------------------------------- removing */

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_dir(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* What is in `dir`, which it closes; no link is followed. The mark goes last: what is left can be removed later. */
static void empty(int dir, unsigned depth)
{
	DIR *d = fdopendir(dir);
	struct dirent *entry;
	int sub;

	if (d == NULL) {
		close(dir);
		return;
	}
	while ((entry = readdir(d)) != NULL) {
		if (is_dot(entry->d_name) || (depth == 0 && strcmp(entry->d_name, MARK) == 0))
			continue;
		if (unlinkat(dirfd(d), entry->d_name, 0) == 0 || depth == DEPTH_MAX)
			continue;
		sub = open_dir(dirfd(d), entry->d_name);
		if (sub < 0)
			continue;
		empty(sub, depth + 1);
		(void)unlinkat(dirfd(d), entry->d_name, AT_REMOVEDIR);
	}
	if (depth == 0)
		(void)unlinkat(dirfd(d), MARK, 0);
	closedir(d);
}

static void remove_at(int at, const char *name)
{
	int dir = open_dir(at, name);

	if (dir >= 0)
		empty(dir, 0);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

void scratch_remove(const char *path)
{
	remove_at(AT_FDCWD, path);
	if (lock_fd >= 0)
		close(lock_fd);
	lock_fd = -1;
}

/* ---------------------------------------------------------------- what others left */

static bool is_own(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid();
}

/* Has its owner been killed? The lock, or -1. */
static int lock_left(int at, const char *name)
{
	int dir = open_dir(at, name), fd;

	if (dir < 0)
		return -1;
	fd = is_own(dir, S_IFDIR) ? openat(dir, MARK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	close(dir);
	if (fd >= 0 && is_own(fd, S_IFREG) && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void remove_left(const char *parent, const char *prefix)
{
	DIR *d = opendir(parent);
	struct dirent *entry;
	int lock;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		if (!starts_with(entry->d_name, prefix))
			continue;
		lock = lock_left(dirfd(d), entry->d_name);
		if (lock < 0)
			continue;
		remove_at(dirfd(d), entry->d_name);
		close(lock);
	}
	if (d != NULL)
		closedir(d);
}

/* ---------------------------------------------------------------- making */

/* The mark, locked, at that path. -1: errno; EAGAIN: another evsmp removed it before it was locked. */
static int lock_own(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return -1;
	/* Some file systems have no locks: nobody else gets one there. */
	(void)flock(fd, LOCK_EX);
	if (fstat(fd, &st) == 0 && st.st_nlink != 0)
		return fd;
	close(fd);
	errno = EAGAIN;
	return -1;
}

const char *scratch_make(const char *kind)
{
	const char *parent = getenv("TMPDIR");
	char *path = NULL;
	unsigned i;

	if (parent == NULL || *parent != '/')
		parent = "/tmp";
	remove_left(parent, text("evsmp-%s-", kind));
	for (i = 0; i < TRIES && lock_fd < 0; i++) {
		path = text("%s/evsmp-%s-XXXXXX", parent, kind);
		if (mkdtemp(path) == NULL)
			break;
		lock_fd = lock_own(text("%s/" MARK, path));
		if (lock_fd < 0 && errno != EAGAIN) {
			(void)rmdir(path);
			break;
		}
	}
	if (lock_fd < 0)
		die(EVSMP_SYSTEM, "the directory %s cannot be made: %s. Set TMPDIR to one where it can.", path,
		    strerror(errno));
	return path;
}
