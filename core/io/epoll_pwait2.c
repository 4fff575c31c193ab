#include "epoll_pwait2.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441	/* Linux 5.11; new system calls have one number everywhere */
#endif

/* A kernel without it returns ENOSYS, as for the C library's function. Its times have 64 bits, whatever time_t has. */
int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask)
{
	enum { KERNEL_SIGSET_BYTES = 8 };
	const int64_t time[2] = { timeout->tv_sec, timeout->tv_nsec };

	return (int)syscall(SYS_epoll_pwait2, fd, events, max, time, mask, (size_t)KERNEL_SIGSET_BYTES);
}
