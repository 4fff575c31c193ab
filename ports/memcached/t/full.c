/* Preloaded into a server: every second write of a flight of a TLS handshake finds the socket full. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

enum { HANDSHAKE = 22, RECORD_HEAD = 5 };

ssize_t write(int fd, const void *buf, size_t size)
{
	static int calls;
	ssize_t (*next)(int, const void *, size_t) = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");

	if (size > RECORD_HEAD && *(const unsigned char *)buf == HANDSHAKE &&
	    __sync_fetch_and_add(&calls, 1) % 2 == 0) {
		errno = EAGAIN;
		return -1;
	}
	return next(fd, buf, size);
}
