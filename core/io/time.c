/*
 * The base's view of time, and common timeouts.
 */
#include <time.h>

#include "ec.h"
#include "loop/loop.h"

int64_t ec_timeval_ns(const struct timeval *tv)
{
	int64_t usec = ec_common_is_handle(tv) ? tv->tv_usec & EC_COMMON_USEC : tv->tv_usec;

	if (tv->tv_sec > INT64_MAX / 4000000000)
		return INT64_MAX / 4;
	return (int64_t)tv->tv_sec * 1000000000 + usec * 1000;
}

static struct timeval ns_timeval(int64_t ns)
{
	struct timeval tv = { .tv_sec = (time_t)(ns / 1000000000), .tv_usec = (suseconds_t)(ns % 1000000000 / 1000) };

	return tv;
}

static int64_t wall_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/*
 * How far the wall clock is ahead of `w`'s cached time: looked at once a second, so that both
 * clocks agree within a turn.
 */
static int64_t wall_offset(struct ec_worker *w)
{
	enum { SYNC_NS = 1000000000 };

	if (w->wall_offset_ns == 0 || w->now_ns - w->wall_synced_ns > SYNC_NS) {
		w->wall_offset_ns = wall_now_ns() - ec_monotonic_ns();
		w->wall_synced_ns = w->now_ns;
	}
	return w->wall_offset_ns;
}

/* The worker of the calling thread, if its turn has a cached time. */
static struct ec_worker *cached_worker(struct ec_base *base)
{
	struct ec_worker *w = ec_is_locked(base) ? ec_worker_self(base) : &base->zero;

	return w != NULL && w->now_ns != 0 ? w : NULL;
}

void ec_base_wall_time(struct ec_base *base, int64_t monotonic_ns, struct timeval *ret)
{
	struct ec_worker *w = cached_worker(base);

	*ret = ns_timeval(monotonic_ns + (w != NULL ? wall_offset(w) : wall_now_ns() - ec_monotonic_ns()));
}

void ec_base_wall_of(struct ec_base *base, const struct ec_event *ev, struct timeval *ret)
{
	ec_base_wall_time(base, ev->deadline_ns, ret);
}

int ec_base_gettimeofday_cached(struct ec_base *base, struct timeval *ret)
{
	struct ec_worker *w;

	if (base == NULL)
		base = ec_current_base();
	w = base == NULL ? NULL : cached_worker(base);
	*ret = ns_timeval(w == NULL ? wall_now_ns() : w->now_ns + wall_offset(w));
	return 0;
}

int ec_base_update_cache_time(struct ec_base *base)
{
	struct ec_worker *w;

	if (base == NULL)
		base = ec_current_base();
	if (base == NULL)
		return -EINVAL;
	w = ec_is_locked(base) ? ec_worker_self(base) : &base->zero;
	if (w != NULL && ec_load_relaxed(&base->is_running))
		ec_worker_cache_now(w);
	return 0;
}

/* ---------------------------------------------------------------- common timeouts */

bool ec_common_is_head(struct ec_base *base, const struct ec_list *node)
{
	int i;

	for (i = 0; i < base->commons_num; i++) {
		if (&base->commons[i]->events == node)
			return true;
	}
	return false;
}

static struct ec_common *common_find(struct ec_base *base, int64_t duration_ns)
{
	int i;

	for (i = 0; i < base->commons_num; i++) {
		if (base->commons[i]->duration_ns == (uint64_t)duration_ns)
			return base->commons[i];
	}
	return NULL;
}

static struct ec_common *common_make(struct ec_base *base, int64_t duration_ns)
{
	struct ec_common **commons, *common;

	if (base->commons_num == EC_COMMON_MAX) {
		ec_log(EC_LOG_WARN, "event_base_init_common_timeout: Too many common timeouts already in use; we only "
				    "support %d per event_base", EC_COMMON_MAX);
		return NULL;
	}
	commons = ec_realloc(base->commons, (size_t)(base->commons_num + 1) * sizeof(*commons));
	if (commons == NULL)
		return NULL;
	base->commons = commons;
	common = ec_calloc(1, sizeof(*common));
	if (common == NULL)
		return NULL;
	ec_list_init(&common->events);
	common->slot = EC_TIMER_NONE;
	common->base = base;
	common->duration_ns = (uint64_t)duration_ns;
	common->tv = ns_timeval(duration_ns);
	common->tv.tv_usec |= EC_COMMON_MARK | (suseconds_t)base->commons_num << EC_COMMON_SHIFT;
	commons[base->commons_num++] = common;
	return common;
}

const struct timeval *ec_base_common_timeout(struct ec_base *base, const struct timeval *duration)
{
	struct ec_common *common;
	int64_t ns = ec_timeval_ns(duration);

	ec_src_lock(&base->zero);
	common = common_find(base, ns);
	if (common == NULL)
		common = common_make(base, ns);
	ec_src_unlock(&base->zero);
	return common == NULL ? NULL : &common->tv;
}
