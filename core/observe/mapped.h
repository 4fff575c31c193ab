/*
 * A file that is mapped and shared with tools: only the owner may open it, and a child of the process has it not.
 */
#ifndef EC_MAPPED_H
#define EC_MAPPED_H

#include <stddef.h>

struct ec_mapped {
	char *at;
	size_t size;
	int fd;			/* tools open it as /proc/PID/fd/FD; -1: another one closes it */
};

/*
 * `fd`, or a copy above the standard descriptors, in which case `fd` is closed: a program that has closed those writes
 * its messages to what has their numbers. -errno; `fd` may be one, and is returned then.
 */
int ec_mapped_fd(int fd);

/* No process may change the size of a file without a name: a store to what is cut off would end the program. */
void ec_mapped_seal(int fd);

/*
 * A new file of zeros at `path`, which must not exist; NULL: it has no name, and `title` is for /proc. Its memory is
 * reserved by ec_mapped_reserve(), for as much of it as is written. 0 or -errno.
 */
int ec_mapped_new(const char *path, const char *title, size_t size, struct ec_mapped *ret);

/* 0 or -errno; also if the program may not make so large a file. */
int ec_mapped_resize(int fd, size_t size);

/* A full disk is found out here, not by a signal at a store. 0 or -errno. */
int ec_mapped_reserve_in(int fd, size_t at, size_t len);
int ec_mapped_reserve(const struct ec_mapped *m, size_t at, size_t len);

/* Makes the pages of reserved memory at once: later, each would cost its first store a microsecond. A hint. */
void ec_mapped_touch(const struct ec_mapped *m, size_t at, size_t len);

/* A file with a name stays. */
void ec_mapped_free(struct ec_mapped *m);

/* As ec_mapped_free, and the file is removed; `path` as for ec_mapped_new. */
void ec_mapped_drop(struct ec_mapped *m, const char *path);

#endif
