#include "wakeup.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"
#include "tsan.h"

int ec_wakeup_open(struct ec_wakeup *w)
{
	const int flags = EFD_CLOEXEC | EFD_NONBLOCK;
	/* ThreadSanitizer need not know of it: see io/epoll.c. */
	int fd = ec_tsan_is_on() ? (int)syscall(SYS_eventfd2, 0, flags) : eventfd(0, flags);

	if (fd < 0)
		return -errno;
	w->fd = fd;
	return 0;
}

void ec_wakeup_close(struct ec_wakeup *w)
{
	ec_close(w->fd);
	w->fd = -1;
}

/*
 * EAGAIN is no error: the counter is full, so the descriptor is readable. write() would be a cancellation point;
 * syscall() is none. The sender must not end here, because it has handed over its work and must wake the worker.
 */
void ec_wakeup_send_fd(int fd)
{
	uint64_t one = 1;

	while (syscall(SYS_write, fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void ec_wakeup_send(struct ec_wakeup *w)
{
	ec_wakeup_send_fd(w->fd);
}

void ec_wakeup_drain(struct ec_wakeup *w)
{
	uint64_t value;

	/* Under SOURCE. */
	while (syscall(SYS_read, w->fd, &value, sizeof(value)) < 0 && errno == EINTR)
		;
}
