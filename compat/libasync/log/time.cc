/*
 * The time.
 */
#include "litetime.h"

void sfs_set_clock(sfs_clock_t, const str &, bool)
{
}

time_t sfs_get_timenow(bool)
{
	return sfs_get_tsnow().tv_sec;
}

struct timespec sfs_get_tsnow(bool)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return ts;
}

void sfs_get_tsnow(struct timespec *ts, bool)
{
	*ts = sfs_get_tsnow();
}
