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

/* Ignored: bytes of a program cannot improve the kernel's generator. */
void evutil_secure_rng_add_bytes(const char *buf, size_t n)
{
	(void)buf;
	(void)n;
}

/*
 * Refused, as by stock on Linux: no file is better than the kernel's generator.
 */
int evutil_secure_rng_set_urandom_device_file(char *fname)
{
	(void)fname;
	return -1;
}
