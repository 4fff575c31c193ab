#include "burst.h"

#include "io/time.h"

void ec_bursts_shrink(const struct ec_bursts *b, struct ec_worker *w, int num, uint64_t ticks)
{
	uint64_t max = (uint64_t)num * (b->run_ticks / EC_BURST_SHARE) / ticks;

	w->burst = max == 0 ? 1 : max < EC_BURST_MAX ? (uint32_t)max : EC_BURST_MAX;
}

bool ec_lane_is_over_limit(struct ec_base *base, int num, int64_t deadline_ns)
{
	if (num >= base->max_callbacks)
		return true;
	if (deadline_ns == INT64_MAX)
		return false;
	ec_base_update_now(base);
	return ec_base_now(base) >= deadline_ns;
}
