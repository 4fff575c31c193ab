/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_SYSCONF_H
#define LIBASYNC_SYSCONF_H

/*
 * The system's headers that programs expect without including them, and names for what systems once lacked. Nothing
 * here depends on how the library was configured.
 */
#include <arpa/inet.h>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libasync_config.h"

/* 1 turns on checks of the authors of SFS. Programs ask with #if. */
#ifndef MAINTAINER
#define MAINTAINER 0
#endif

/* Containers check indices, unless NDEBUG. */
#if !defined(CHECK_BOUNDS) && !defined(NDEBUG)
#define CHECK_BOUNDS 1
#endif

/* A 64-bit constant, and the length modifier of int64_t and u_int64_t: printf ("%" U64F "u", n). */
#if LONG_MAX > 0x7fffffff
#define INT64(n) n##L
#define U64F "l"
#else
#define INT64(n) n##LL
#define U64F "ll"
#endif

/* Before a private destructor. Some compilers warned when a class had no friend to call it. */
#define PRIVDEST friend class libasync_private_destructor;

/* Before a member template of a type that depends on a template's argument. */
#define Xtmpl template

/* The member of struct stat with the time of the last change, as BSD names it: a timespec. */
#ifndef st_mtimespec
#define st_mtimespec st_mtim
#define st_atimespec st_atim
#define st_ctimespec st_ctim
#endif

#ifndef INADDR_NONE
#define INADDR_NONE 0xffffffffU
#endif
#ifndef UIO_MAXIOV
#define UIO_MAXIOV 1024
#endif
#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* As <sys/param.h> has them, which also makes macros of common words. */
#ifndef MAXPATHLEN
#define MAXPATHLEN PATH_MAX
#endif
#ifndef MAXHOSTNAMELEN
#define MAXHOSTNAMELEN 64
#endif

/* What iovec::iov_base is cast to. */
typedef char *iovbase_t;

/*
 * Memory, never NULL: without memory these panic. The result is malloc's, so free may release it too. xmalloc (0) is a
 * block of one byte. Any thread.
 */
LIBASYNC_EXPORT void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
LIBASYNC_EXPORT void *xrealloc(void *p, size_t size) __attribute__((returns_nonnull));
LIBASYNC_EXPORT char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
LIBASYNC_EXPORT void xfree(void *p);

/* Some programs ask with #ifdef whether these are there. */
#define xmalloc xmalloc
#define xstrdup xstrdup
#define xfree xfree

/*
 * As putenv, but with a copy of `s` ("NAME=value"). 0, or -1 with errno. Not while another thread uses the environment.
 */
LIBASYNC_EXPORT int xputenv(const char *s);
#define xputenv xputenv

/* As getenv, but NULL in a set-user-id program. */
LIBASYNC_EXPORT char *safegetenv(const char *name);

/*
 * Records what xmalloc, xrealloc and xstrdup return and xfree does not get back, while enabled. The report goes to
 * standard error: a line for each caller, with the number of its blocks and their bytes. reset forgets all blocks.
 * Other allocations are a sanitizer's task. Any thread.
 */
LIBASYNC_EXPORT void simple_leak_checker_enable();
LIBASYNC_EXPORT void simple_leak_checker_disable();
LIBASYNC_EXPORT void simple_leak_checker_report();
LIBASYNC_EXPORT void simple_leak_checker_reset();

/* Prints the message and aborts. <err.h> makes the same name a stream as well. Any thread. */
#ifndef panic
[[noreturn]] LIBASYNC_EXPORT void panic(const char *fmt, ...) LIBASYNC_PRINTF(1, 2);
#endif

#endif
