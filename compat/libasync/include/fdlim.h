/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_FDLIM_H
#define LIBASYNC_FDLIM_H

/*
 * How many descriptors the process may have. The soft limit is in force; a process may set it up to the hard limit, and
 * lower the hard limit. Only a privileged one may raise that. The limits belong to the process: any thread.
 */
#include <cerrno>
#include <climits>
#include <sys/resource.h>

#include "libasync_config.h"

/* The soft limit, or the hard one. INT_MAX: none, or one that is above. */
inline int fdlim_get(int hard)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;

	const rlim_t n = hard ? limit.rlim_max : limit.rlim_cur;

	return n > INT_MAX ? INT_MAX : static_cast<int>(n);
}

/*
 * Set the soft limit (how 0), both limits (how 1), or the hard limit (how -1), under which the soft limit then stays.
 * 0, or -1 with errno: EPERM, the caller may not raise the hard limit; EINVAL, `n` is not positive, or a soft limit
 * above the hard one.
 */
inline int fdlim_set(int n, int how)
{
	struct rlimit limit;

	if (n <= 0) {
		errno = EINVAL;
		return -1;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -1;

	const rlim_t wanted = static_cast<rlim_t>(n);

	if (how != 0)
		limit.rlim_max = wanted;
	if (how >= 0 || limit.rlim_cur > wanted)
		limit.rlim_cur = wanted;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

#endif
