/*
 * Random bytes from the kernel. Its generator needs no seed and no care after fork.
 */
#include <event2/util.h>

#include "core/ec.h"

int evutil_secure_rng_init(void)
{
	unsigned char byte;

	return ec_random_bytes(&byte, sizeof(byte)) < 0 ? -1 : 0;
}

void evutil_secure_rng_get_bytes(void *buf, size_t n)
{
	if (ec_random_bytes(buf, n) < 0)
		ec_die(1, "%s: no random bytes from the kernel", __func__);
}

/* A program has nothing to offer that would improve the kernel's generator. */
void evutil_secure_rng_add_bytes(const char *buf, size_t n)
{
	(void)buf;
	(void)n;
}

/*
 * No file is read, because the kernel's generator is at least as good. On Linux, stock refuses too.
 */
int evutil_secure_rng_set_urandom_device_file(char *fname)
{
	(void)fname;
	return -1;
}
