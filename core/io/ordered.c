#include "ordered.h"

#include <stdlib.h>

#include "os/clock.h"
#include "os/list.h"
#include "os/virtual_clock.h"

static int compare(const void *a, const void *b)
{
	int left = ec_watch_fd(((const struct ec_ready *)a)->id), right = ec_watch_fd(((const struct ec_ready *)b)->id);

	return (left > right) - (left < right);
}

/* A wait that has an end takes no time: what is not ready now comes after the deadline. */
static int wait_virtually(const struct ec_poller_ops *real, struct ec_poller *p, int64_t wait_ns)
{
	int num = real->wait(p, 0);

	if (num == 0)
		ec_virtual_clock_advance(ec_monotonic_ns() + wait_ns);
	return num;
}

static int ordered_wait(struct ec_poller *p, int64_t wait_ns)
{
	const struct ec_poller_ops *real = ec_container_of(p->ops, struct ec_ordered, ops)->real;
	bool is_virtual = wait_ns > 0 && ec_virtual_clock_is_on();
	int num = is_virtual ? wait_virtually(real, p, wait_ns) : real->wait(p, wait_ns);

	if (num > 1)
		qsort(p->ready, (size_t)num, sizeof(*p->ready), compare);
	return num;
}

void ec_ordered_take(struct ec_ordered *o, struct ec_poller *p)
{
	o->ops = *p->ops;
	o->ops.wait = ordered_wait;
	o->real = p->ops;
	p->ops = &o->ops;
}
