#include "common.h"

#include "ec.h"
#include "lock/sync.h"
#include "sched/base.h"
#include "time.h"

/*
 * A duration of more than 73 years becomes 73 years. So a deadline plus one more interval fits into nanoseconds.
 */
#define SEC_MAX (INT64_MAX / 4000000000)
#define USEC_MAX (INT64_C(1) << 50)

/*
 * The largest number of common timeouts that any base has had; atomic. A thread that has a handle has it from a call
 * that stored this (note_num), so a relaxed load finds enough.
 */
static _Atomic(uint32_t) most_num;

static bool may_be_handle(const struct timeval *tv)
{
	return ec_common_is_handle(tv) && ec_common_index(tv) < ec_load_relaxed(&most_num);
}

/* The lock of the base is held, but other bases may do so now. */
static void note_num(uint32_t num)
{
	uint32_t most = ec_load_relaxed(&most_num);

	while (most < num && !ec_cas_acq_rel(&most_num, &most, num))
		;
}

static int64_t clamp(int64_t number, int64_t max)
{
	return number > max ? max : number < -max ? -max : number;
}

static __attribute__((noinline, cold)) int64_t unusual_ns(const struct timeval *tv)
{
	int64_t usec = may_be_handle(tv) ? tv->tv_usec & EC_COMMON_USEC : tv->tv_usec;

	return clamp(tv->tv_sec, SEC_MAX) * 1000000000 + clamp(usec, USEC_MAX) * 1000;
}

/* The common case: neither negative nor long, and no handle, whose tv_usec has a mark. */
int64_t ec_timeval_ns(const struct timeval *tv)
{
	if (__builtin_expect((uint64_t)tv->tv_sec > SEC_MAX || (uint64_t)tv->tv_usec >= EC_COMMON_MARK, 0))
		return unusual_ns(tv);
	return (int64_t)tv->tv_sec * 1000000000 + (int64_t)tv->tv_usec * 1000;
}

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
	common->tv = ec_ns_timeval(duration_ns);
	common->tv.tv_usec |= EC_COMMON_MARK | (suseconds_t)base->commons_num << EC_COMMON_SHIFT;
	commons[base->commons_num++] = common;
	note_num((uint32_t)base->commons_num);
	return common;
}

const struct timeval *ec_base_common_timeout(struct ec_base *base, const struct timeval *duration)
{
	int64_t ns = ec_timeval_ns(duration);
	struct ec_common *common;
	bool is_full;

	if (ns < 0)
		ns = 0; /* a handle has no room for a sign */
	ec_src_lock(&base->zero);
	common = common_find(base, ns);
	is_full = common == NULL && base->commons_num == EC_COMMON_MAX;
	if (common == NULL && !is_full)
		common = common_make(base, ns);
	ec_src_unlock(&base->zero);
	if (is_full)
		ec_log(EC_LOG_WARN, "event_base_init_common_timeout: Too many common timeouts already in use; we only "
				    "support %d per event_base", EC_COMMON_MAX);
	return common == NULL ? NULL : &common->tv;
}
