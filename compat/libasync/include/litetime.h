/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_LITETIME_H
#define LIBASYNC_LITETIME_H

/*
 * What time it is (CLOCK_REALTIME). Later programs call sfs_get_timenow () and sfs_get_tsnow (), earlier ones read the
 * variables timenow and tsnow. All of them read the clock, without a system call, so `force` changes nothing. Any
 * thread.
 */
#include <time.h>

#include "libasync_config.h"
#include "str.h"

/* Where the time came from; now always from clock_gettime. */
typedef enum { SFS_CLOCK_GETTIME = 0, SFS_CLOCK_MMAP = 1, SFS_CLOCK_TIMER = 2 } sfs_clock_t;

/* Has no effect. */
LIBASYNC_EXPORT void sfs_set_clock(sfs_clock_t typ, const str &s = NULL, bool lzy = false);

LIBASYNC_EXPORT time_t sfs_get_timenow(bool force = false);
LIBASYNC_EXPORT struct timespec sfs_get_tsnow(bool force = false);
LIBASYNC_EXPORT void sfs_get_tsnow(struct timespec *ts, bool force = false);

namespace libasync
{

struct now_seconds {
	operator time_t() const { return sfs_get_timenow(); }
	const now_seconds &operator=(time_t) const { return *this; }
};

struct now_nanoseconds {
	operator long() const { return sfs_get_tsnow().tv_nsec; }
};

struct now_timespec {
	now_seconds tv_sec;
	now_nanoseconds tv_nsec;
	operator timespec() const { return sfs_get_tsnow(); }
	const now_timespec &operator=(const timespec &) const { return *this; }

	/* The time now, where a program may write what it likes; of the thread, until the next call. */
	timespec *operator&() const
	{
		static thread_local timespec now;

		sfs_get_tsnow(&now);
		return &now;
	}
};

} // namespace libasync

/*
 * As a time_t and a timespec that change by themselves. To set them, as programs did to be up to date, has no effect:
 * timenow = time (NULL), clock_gettime (CLOCK_REALTIME, &tsnow).
 */
inline constexpr libasync::now_seconds timenow{};
inline constexpr libasync::now_timespec tsnow{};

#endif
