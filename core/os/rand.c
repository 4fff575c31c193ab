/*
 * Random bytes from the kernel. Its generator needs neither a seed nor a step after fork.
 */
#include "ec.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "thread.h"

/* For kernels and sandboxes without getrandom(2). */
static int read_device(unsigned char *buf, size_t len)
{
	int fd, r = 0, state = ec_cancel_hold();
	ssize_t n;

	fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		goto release;
	}
	while (len > 0) {
		n = read(fd, buf, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n == 0 ? -EIO : -errno;
			break;
		}
		buf += n;
		len -= (size_t)n;
	}
	close(fd);
release:
	ec_cancel_release(state);
	return r;
}

static __attribute__((noinline)) int read_rest(unsigned char *buf, size_t len, ssize_t n)
{
	for (;;) {
		if (n < 0 && errno != EINTR)
			return read_device(buf, len);
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
		if (len == 0)
			return 0;
		n = getrandom(buf, len, 0);
	}
}

int ec_random_bytes(void *ret, size_t len)
{
	ssize_t n = getrandom(ret, len, 0);

	return __builtin_expect(n == (ssize_t)len, 1) ? 0 : read_rest(ret, len, n);
}
