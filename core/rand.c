/*
 * Random bytes for the faces: getrandom(2), or the device that the program named.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "ec.h"

static const char *device;	/* the program's string; set before threads exist */

int ec_random_set_device(const char *path)
{
	device = path;
	return 0;
}

static int device_read(const char *path, unsigned char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while (len > 0 && r == 0) {
		n = read(fd, buf, len);
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		} else if (n == 0 || errno != EINTR) {
			r = n == 0 ? -EIO : -errno;
		}
	}
	close(fd);
	return r;
}

int ec_random_bytes(void *ret, size_t len)
{
	unsigned char *buf = ret;
	ssize_t n;

	if (device != NULL)
		return device_read(device, buf, len);
	while (len > 0) {
		n = getrandom(buf, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOSYS ? device_read("/dev/urandom", buf, len) : -errno;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}
