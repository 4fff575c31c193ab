/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_LITETIME_H
#define LIBASYNC_LITETIME_H

/*
 * What time it is (CLOCK_REALTIME). Later programs call sfs_get_timenow () and sfs_get_tsnow (), earlier ones read the
 * variables timenow and tsnow. The functions read the clock, without a system call, so `force` changes nothing. Any
 * thread.
 */
#include <time.h>

#include "libasync_config.h"
#include "str.h"

/* Where the time came from; now always from clock_gettime. */
typedef enum { SFS_CLOCK_GETTIME = 0, SFS_CLOCK_MMAP = 1, SFS_CLOCK_TIMER = 2 } sfs_clock_t;

/* Programs for several versions ask whether these are there. */
#define HAVE_SFS_CLOCK_T 1
#define HAVE_SFS_SET_CLOCK 1

/* Has no effect. */
LIBASYNC_EXPORT void sfs_set_clock(sfs_clock_t typ, const str &s = NULL, bool lzy = false);

LIBASYNC_EXPORT time_t sfs_get_timenow(bool force = false);
LIBASYNC_EXPORT struct timespec sfs_get_tsnow(bool force = false);
LIBASYNC_EXPORT void sfs_get_tsnow(struct timespec *ts, bool force = false);

/*
 * The time when the loop last polled; before that, when the program started. A program may set them, to be up to date
 * in a long callback: timenow = time (NULL), clock_gettime (CLOCK_REALTIME, &tsnow). Each poll sets them again.
 *
 * With several workers, each one sets them when it polls, at most once in a millisecond. A callback may then read a
 * tsnow with seconds and nanoseconds of different polls; sfs_get_tsnow () has none of this.
 */
extern LIBASYNC_EXPORT time_t timenow;
extern LIBASYNC_EXPORT struct timespec tsnow;

#endif
