#include "epoll_pwait2.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441	/* Linux 5.11; new system calls have one number everywhere */
#endif

/* A kernel without it returns ENOSYS, as for the C library's function. time_t has 64 bits, as in the kernel. */
int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask)
{
	_Static_assert(sizeof(time_t) == 8, "the kernel's timespec has 64 bits");
	enum { KERNEL_SIGSET_BYTES = 8 };

	return (int)syscall(SYS_epoll_pwait2, fd, events, max, timeout, mask, (size_t)KERNEL_SIGSET_BYTES);
}
