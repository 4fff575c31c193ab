/*
 * compat/libevent/util/rand.c and core/os/rand.c, with a kernel that gives random bytes by the piece,
 * is interrupted, or lacks the call.
 */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include <event2/util.h>

#include "core/ec.h"

static enum { KERNEL_WHOLE, KERNEL_IN_PIECES, KERNEL_INTERRUPTED, KERNEL_WITHOUT } kernel;
static enum { DEVICE_WHOLE, DEVICE_MISSING, DEVICE_INTERRUPTED, DEVICE_AT_END, DEVICE_BROKEN } device;
static unsigned reads_num;
static unsigned calls_num;

/* In place of the C library's, for this program. */
ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	calls_num++;
	if (kernel == KERNEL_WITHOUT) {
		errno = ENOSYS;
		return -1;
	}
	if (kernel == KERNEL_INTERRUPTED && calls_num % 2 == 1) {
		errno = EINTR;
		return -1;
	}
	if (kernel == KERNEL_IN_PIECES && len > 3)
		len = 3;
	return syscall(SYS_getrandom, buf, len, flags);
}

int open(const char *path, int flags, ...)
{
	if (device == DEVICE_MISSING && strcmp(path, "/dev/urandom") == 0) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

ssize_t read(int fd, void *buf, size_t len)
{
	reads_num++;
	switch (device) {
	case DEVICE_INTERRUPTED:
		if (reads_num % 2 == 0)
			break;
		errno = EINTR;
		return -1;
	case DEVICE_AT_END: return 0;
	case DEVICE_BROKEN: errno = ENXIO; return -1;
	default: break;
	}
	return syscall(SYS_read, fd, buf, len);
}

/* All of `buf` is written and nothing around it. A byte stays as it was by chance 1 time in 256. */
static void assert_fills(size_t len)
{
	unsigned char buf[512], seen[512];
	unsigned round;
	size_t i;

	memset(seen, 0, sizeof(seen));
	for (round = 0; round < 20; round++) {
		memset(buf, 0x5a, sizeof(buf));
		evutil_secure_rng_get_bytes(buf + 8, len);
		for (i = 0; i < sizeof(buf); i++)
			seen[i] |= buf[i] != 0x5a;
	}
	for (i = 0; i < sizeof(buf); i++)
		assert_int_equal(seen[i], i >= 8 && i < 8 + len);
}

static void bytes_fill_the_buffer_and_no_more(void **state)
{
	(void)state;
	for (kernel = KERNEL_WHOLE; kernel <= KERNEL_WITHOUT; kernel++) {
		assert_int_equal(evutil_secure_rng_init(), 0);
		assert_fills(1);
		assert_fills(3);
		assert_fills(64);
		assert_fills(300);
		evutil_secure_rng_get_bytes(NULL, 0);
	}
	kernel = KERNEL_WHOLE;
}

static void a_device_is_read_to_the_last_byte_or_not_at_all(void **state)
{
	unsigned char byte;

	(void)state;
	kernel = KERNEL_WITHOUT;
	device = DEVICE_INTERRUPTED;
	assert_fills(64);
	device = DEVICE_AT_END;
	assert_int_equal(ec_random_bytes(&byte, 1), -EIO);
	device = DEVICE_BROKEN;
	assert_int_equal(ec_random_bytes(&byte, 1), -ENXIO);
	device = DEVICE_WHOLE;
	kernel = KERNEL_WHOLE;
}

static void nothing_else_is_taken_for_random(void **state)
{
	char zero[] = "/dev/zero";

	(void)state;
	assert_int_equal(evutil_secure_rng_set_urandom_device_file(zero), -1);
	assert_int_equal(evutil_secure_rng_set_urandom_device_file(NULL), -1);
	evutil_secure_rng_add_bytes("x", 1);
	evutil_secure_rng_add_bytes(NULL, 0);
	assert_fills(32);
}

static void a_child_draws_its_own(void **state)
{
	unsigned char mine[16], its[16];
	int fds[2], status;
	pid_t pid;

	(void)state;
	assert_int_equal(evutil_secure_rng_init(), 0);
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		evutil_secure_rng_get_bytes(its, sizeof(its));
		_exit(write(fds[1], its, sizeof(its)) == sizeof(its) ? 0 : 1);
	}
	evutil_secure_rng_get_bytes(mine, sizeof(mine));
	assert_int_equal(read(fds[0], its, sizeof(its)), sizeof(its));
	assert_true(waitpid(pid, &status, 0) == pid);
	assert_memory_not_equal(mine, its, sizeof(mine));
	close(fds[0]);
	close(fds[1]);
}

static void draw_without_a_source(void)
{
	unsigned char byte;

	kernel = KERNEL_WITHOUT;
	device = DEVICE_MISSING;
	check(ec_random_bytes(&byte, 1) == -ENOENT);
	check(evutil_secure_rng_init() == -1);
	evutil_secure_rng_get_bytes(&byte, 1);
}

/* Rather no process than one with guessable numbers. */
static void without_a_source_it_dies(void **state)
{
	struct child child;

	(void)state;
	child_exits(&child, draw_without_a_source, 1, "no random bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_fill_the_buffer_and_no_more),
		cmocka_unit_test(a_device_is_read_to_the_last_byte_or_not_at_all),
		cmocka_unit_test(nothing_else_is_taken_for_random),
		cmocka_unit_test(a_child_draws_its_own),
		cmocka_unit_test(without_a_source_it_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
