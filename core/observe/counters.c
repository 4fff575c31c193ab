#include "counters.h"

#include <errno.h>

#include "ec.h"

struct ec_counters {
	_Atomic(uint64_t) callbacks;
};

static int open_counters(struct ec_probe *p)
{
	p->counters = ec_calloc(1, sizeof(*p->counters));
	return p->counters == NULL ? -ENOMEM : 0;
}

static void close_counters(struct ec_probe *p)
{
	ec_free(p->counters);
	p->counters = NULL;
}

static void begin(struct ec_probe *p, const struct ec_probe_call *call)
{
	(void)p;
	(void)call;
}

static void end(struct ec_probe *p, const struct ec_probe_call *call)
{
	(void)call;
	ec_counter_add(&p->counters->callbacks, 1);
}

static void note(struct ec_probe *p, enum ec_probe_what what, uint32_t color, uint64_t value)
{
	(void)p;
	(void)what;
	(void)color;
	(void)value;
}

const struct ec_consumer ec_counters_consumer = {
	.bit = EC_OBSERVE_COUNT,
	.name = "counters",
	.open = open_counters,
	.close = close_counters,
	.begin = begin,
	.end = end,
	.note = note,
};
