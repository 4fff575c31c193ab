/* Input as a file that has a path: nothing on a disk. */
#ifndef FUZZ_FILE_H
#define FUZZ_FILE_H

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

struct fuzz_file {
	int fd;				/* -1: not opened yet */
	char path[64];
};

static inline void fuzz_file_write(struct fuzz_file *f, const uint8_t *data, size_t len)
{
	if (f->fd < 0) {
		f->fd = memfd_create("input", MFD_CLOEXEC);
		FUZZ_CHECK(f->fd >= 0);
		(void)snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
	}
	FUZZ_CHECK(ftruncate(f->fd, 0) == 0);
	FUZZ_CHECK(pwrite(f->fd, data, len, 0) == (ssize_t)len);
}

#endif
