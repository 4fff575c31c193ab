/*
 * The time.
 */
#include "log/time.h"

#include "litetime.h"

time_t timenow;
struct timespec tsnow;

/* ThreadSanitizer's. Programs read the variables without synchronization. */
extern "C" __attribute__((weak)) void AnnotateBenignRaceSized(const char *file, int line, const volatile void *p,
							      size_t size, const char *why);

namespace
{

constexpr long STEP_NS = 1000000;

bool is_close(const timespec &now)
{
	long ns = now.tv_nsec - __atomic_load_n(&tsnow.tv_nsec, __ATOMIC_RELAXED);

	return now.tv_sec == __atomic_load_n(&tsnow.tv_sec, __ATOMIC_RELAXED) && ns >= 0 && ns < STEP_NS;
}

/* Before the program's own static objects, and its main. */
__attribute__((constructor(201))) void begin()
{
	if (AnnotateBenignRaceSized != nullptr) {
		AnnotateBenignRaceSized(__FILE__, __LINE__, &timenow, sizeof(timenow), "the time of the last poll");
		AnnotateBenignRaceSized(__FILE__, __LINE__, &tsnow, sizeof(tsnow), "the time of the last poll");
	}
	libasync::note_time();
}

} // namespace

void libasync::note_time()
{
	timespec now = sfs_get_tsnow();

	/* Workers share the line that these are in: most of them only read it. */
	if (are_counts_shared() && is_close(now))
		return;
	__atomic_store_n(&tsnow.tv_sec, now.tv_sec, __ATOMIC_RELAXED);
	__atomic_store_n(&tsnow.tv_nsec, now.tv_nsec, __ATOMIC_RELAXED);
	__atomic_store_n(&timenow, now.tv_sec, __ATOMIC_RELAXED);
}

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
