/*
 * epoll_pwait2 as <sys/epoll.h> declares it where the C library has it (glibc since 2.35); epoll_pwait2.c
 * is for the others.
 */
#ifndef EC_EPOLL_PWAIT2_H
#define EC_EPOLL_PWAIT2_H

#include <signal.h>
#include <sys/epoll.h>
#include <time.h>

int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask);

#endif
