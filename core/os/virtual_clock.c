#include "virtual_clock.h"

#include <time.h>

#include "atomic.h"
#include "clock.h"

/* Thirty-six years: no machine has run for so long. */
static const int64_t START_NS = INT64_C(1) << 60;

static _Atomic(int64_t) now_ns;		/* 0: off */
static int64_t wall_offset_ns;		/* written before now_ns */

static int64_t now(void)
{
	return ec_load_relaxed(&now_ns);
}

void ec_virtual_clock_start(void)
{
	int64_t start_ns = START_NS;
	struct timespec wall;

	if (now() != 0)
		return;
	clock_gettime(CLOCK_REALTIME, &wall);
	wall_offset_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - start_ns;
	ec_store_release(&now_ns, start_ns);		/* meets ec_virtual_clock_is_on */
	ec_clock_set_source(now);
}

bool ec_virtual_clock_is_on(void)
{
	return ec_load_acquire(&now_ns) != 0;
}

void ec_virtual_clock_advance(int64_t ns)
{
	int64_t old = now();

	while (ns > old && !ec_cas_weak_acq_rel(&now_ns, &old, ns))
		;
}

int64_t ec_virtual_clock_wall_ns(void)
{
	return now() + wall_offset_ns;
}
