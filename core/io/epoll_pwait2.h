/*
 * epoll_pwait2, for C libraries that do not have it (glibc before 2.35). Newer ones declare it in <sys/epoll.h>.
 */
#ifndef EC_EPOLL_PWAIT2_H
#define EC_EPOLL_PWAIT2_H

#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask);

#endif
