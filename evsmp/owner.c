#include "owner.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40, DEPTH_MAX = 4 };

bool owner_is_root(uid_t uid)
{
	const char *whole = file_read("/proc/self/uid_map", NULL), *nobody;
	unsigned inside, outside, num;

	if (uid == 0)
		return true;
	if (whole == NULL || sscanf(whole, "%u %u %u", &inside, &outside, &num) != 3 || num == UINT_MAX)
		return false;
	nobody = file_read("/proc/sys/kernel/overflowuid", NULL);
	return nobody != NULL && (uid_t)strtoul(nobody, NULL, 10) == uid;
}

static bool is_trusted(uid_t uid)
{
	return owner_is_root(uid) || (is_rooted() && uid == geteuid());
}

static bool is_trusted_group(gid_t gid)
{
	return gid == 0 || (is_rooted() && gid == getegid());
}

static const char *name_of(uid_t uid)
{
	const struct passwd *pw = getpwuid(uid);

	return pw == NULL ? text("%u", (unsigned)uid) : text("%s", pw->pw_name);
}

/*
 * One step on a path. In a directory on the way that is sticky, as /tmp, users can replace only what is theirs; but
 * `is_end`: no one may add a file there, either.
 */
static const char *object_to(const char *path, const struct stat *st, bool is_end)
{
	if (!is_trusted(st->st_uid))
		return text("%s belongs to the user %s", path, name_of(st->st_uid));
	if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0 && !is_end))
		return NULL;
	if ((st->st_mode & S_IWOTH) != 0 || ((st->st_mode & S_IWGRP) != 0 && !is_trusted_group(st->st_gid)))
		return text("other users than root may write to %s", path);
	return NULL;
}

/* The first objection on the way to an absolute path, through all links. What is not there cannot be loaded. */
static const char *objection_to(const char *path)
{
	const char *at = "/", *rest = path, *reason = NULL;
	char target[PATH_MAX];
	unsigned links = 0;
	struct stat st;
	ssize_t len;

	if (stat(at, &st) == 0)
		reason = object_to(at, &st, false);
	while (reason == NULL && *(rest += strspn(rest, "/")) != '\0') {
		const char *name = text("%.*s", (int)strcspn(rest, "/"), rest), *next;

		rest += strlen(name);
		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			at = dir_name(at);
			continue;
		}
		next = text("%s/%s", strcmp(at, "/") == 0 ? "" : at, name);
		if (lstat(next, &st) < 0)
			return NULL;
		reason = object_to(next, &st, rest[strspn(rest, "/")] == '\0');
		if (!S_ISLNK(st.st_mode)) {
			at = next;
			continue;
		}
		len = readlink(next, target, sizeof(target) - 1);
		if (len <= 0 || ++links > LINKS_MAX)
			return reason;
		rest = text("%.*s%s", (int)len, target, rest);
		if (*rest == '/')
			at = "/";
	}
	return reason;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* All files, whatever their names are: the loader looks there for each library of a program, and in glibc-hwcaps/. */
static const char *objection_within(const char *dir, unsigned depth)
{
	const char *reason = NULL, *path;
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d != NULL && reason == NULL && (entry = readdir(d)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		path = text("%s/%s", dir, entry->d_name);
		reason = objection_to(path);
		if (reason == NULL && depth < DEPTH_MAX && is_dir(path))
			reason = objection_within(path, depth + 1);
	}
	if (d != NULL)
		closedir(d);
	return reason;
}

const char *owner_objects(const char *libdir)
{
	const char *reason = objection_to(libdir);

	return reason == NULL ? objection_within(libdir, 0) : reason;
}
