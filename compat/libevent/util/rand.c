/*
 * Random bytes: the kernel's, which need neither seeding nor care after fork.
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
		ec_die(1, "%s: the kernel gives no random bytes", __func__);
}

/* Nothing a program has to offer makes the kernel's generator better. */
void evutil_secure_rng_add_bytes(const char *buf, size_t n)
{
	(void)buf;
	(void)n;
}

/* No file is read: what the kernel gives is at least as good. Stock on Linux refuses too. */
int evutil_secure_rng_set_urandom_device_file(char *fname)
{
	(void)fname;
	return -1;
}
