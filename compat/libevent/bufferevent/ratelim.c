/*
 * Rate limits of one bufferevent: a bucket of tokens for reading, one for writing.
 *
 * Tokens are added in whole ticks, when a function needs the bucket. One call may move more than
 * the bucket has, so its level may be negative. The bufferevent is then suspended until ticks have
 * made it positive.
 */
#include "limit.h"

#include <limits.h>

enum { MAX_SINGLE = 16384 };

/* ---------------------------------------------------------------- buckets */

int64_t le_bucket_tick(const struct ev_token_bucket_cfg *cfg)
{
	return ec_monotonic_ns() / cfg->tick_ns;
}

void le_bucket_init(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg)
{
	int way;

	for (way = 0; way < LE_WAYS; way++)
		b->left[way] = (ev_ssize_t)cfg->rate[way];
	b->tick = le_bucket_tick(cfg);
}

void le_bucket_adapt(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg)
{
	int way;

	for (way = 0; way < LE_WAYS; way++) {
		if (b->left[way] > (ev_ssize_t)cfg->max[way])
			b->left[way] = (ev_ssize_t)cfg->max[way];
	}
	b->tick = le_bucket_tick(cfg);
}

void le_bucket_refill(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg)
{
	int64_t now = le_bucket_tick(cfg), ticks = now - b->tick;
	uint64_t missing, brought;
	int way;

	if (ticks <= 0)
		return;
	for (way = 0; way < LE_WAYS; way++) {
		/* From the least level to the most: less than 2^64. */
		missing = (uint64_t)cfg->max[way] - (uint64_t)b->left[way];
		if (b->left[way] >= (ev_ssize_t)cfg->max[way] ||
		    __builtin_mul_overflow((uint64_t)ticks, (uint64_t)cfg->rate[way], &brought) || brought > missing)
			b->left[way] = (ev_ssize_t)cfg->max[way];
		else
			b->left[way] = (ev_ssize_t)((uint64_t)b->left[way] + brought);
	}
	b->tick = now;
}

void le_bucket_take(struct le_bucket *b, enum le_bev_way way, ev_ssize_t num)
{
	if (__builtin_sub_overflow(b->left[way], num, &b->left[way]))
		b->left[way] = num < 0 ? EV_SSIZE_MAX : EV_SSIZE_MIN;
}

/* Whole milliseconds, in nanoseconds. A longer time than an int64_t holds becomes the longest. */
static int64_t tick_ns(const struct timeval *tick)
{
	int64_t ms;

	if (__builtin_mul_overflow((int64_t)tick->tv_sec, 1000, &ms) ||
	    __builtin_add_overflow(ms, tick->tv_usec / 1000, &ms))
		return tick->tv_sec < 0 ? 0 : INT64_MAX / 1000000 * 1000000;
	if (ms > INT64_MAX / 1000000)
		return INT64_MAX / 1000000 * 1000000;
	return ms < 1 ? 0 : ms * 1000000;
}

struct ev_token_bucket_cfg *ev_token_bucket_cfg_new(size_t read_rate, size_t read_burst,
						    size_t write_rate, size_t write_burst,
						    const struct timeval *tick)
{
	static const struct timeval second = { .tv_sec = 1 };
	struct ev_token_bucket_cfg *cfg;

	if (tick == NULL)
		tick = &second;
	if (read_rate > read_burst || write_rate > write_burst || read_rate < 1 || write_rate < 1)
		return NULL;
	if (read_burst > EV_RATE_LIMIT_MAX || write_burst > EV_RATE_LIMIT_MAX || tick_ns(tick) == 0)
		return NULL;
	cfg = ec_malloc(sizeof(*cfg));
	if (cfg == NULL)
		return NULL;
	cfg->rate[LE_READING] = read_rate;
	cfg->max[LE_READING] = read_burst;
	cfg->rate[LE_WRITING] = write_rate;
	cfg->max[LE_WRITING] = write_burst;
	cfg->tick = *tick;
	cfg->tick_ns = tick_ns(tick);
	return cfg;
}

void ev_token_bucket_cfg_free(struct ev_token_bucket_cfg *cfg)
{
	ec_free(cfg);
}

/* ---------------------------------------------------------------- one bufferevent's */

void le_bev_suspend(struct le_bev *p, enum le_bev_way way, unsigned why)
{
	if (way == LE_READING)
		le_bev_suspend_read(&p->bev, why);
	else
		le_bev_suspend_write(&p->bev, why);
}

void le_bev_unsuspend(struct le_bev *p, enum le_bev_way way, unsigned why)
{
	if (way == LE_READING)
		le_bev_unsuspend_read(&p->bev, why);
	else
		le_bev_unsuspend_write(&p->bev, why);
}

static bool is_suspended(const struct le_bev *p, enum le_bev_way way)
{
	unsigned why = way == LE_READING ? p->read_suspended : p->write_suspended;

	return (why & LE_SUSPEND_RATE) != 0;
}

/* Suspend while a bucket is empty, resume when it is not. held */
static void settle(struct le_bev_limit *limit)
{
	struct le_bev *p = limit->bev;
	bool is_empty = false;
	int way;

	for (way = 0; way < LE_WAYS; way++) {
		if (limit->bucket.left[way] <= 0) {
			is_empty = true;
			le_bev_suspend(p, (enum le_bev_way)way, LE_SUSPEND_RATE);
		} else if (is_suspended(p, (enum le_bev_way)way)) {
			le_bev_unsuspend(p, (enum le_bev_way)way, LE_SUSPEND_RATE);
		}
	}
	if (!is_empty)
		(void)event_del_noblock(&limit->refill);
	else if (event_pending(&limit->refill, EV_TIMEOUT, NULL) == 0 && !p->is_dead &&
		 event_add(&limit->refill, &limit->cfg->tick) < 0)
		ec_log(EC_LOG_WARN, "out of memory: a rate limit has no timer");
}

static void refill_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_bev_limit *limit = arg;
	struct le_bev *p = limit->bev;

	(void)fd;
	(void)what;
	if (!le_bev_enter(&p->bev))
		return;
	if (limit->cfg != NULL) {
		le_bucket_refill(&limit->bucket, limit->cfg);
		settle(limit);
	}
	le_bev_leave(&p->bev);
}

struct le_bev_limit *le_bev_limit_need(struct le_bev *p)
{
	struct ec_base *base = le_ec(&p->later)->base;
	struct le_bev_limit *limit = p->limit;

	if (limit != NULL)
		return limit;
	limit = ec_calloc(1, sizeof(*limit));
	if (limit == NULL)
		return NULL;
	limit->bev = p;
	(void)le_event_assign(&limit->refill, le_event_base(base), -1, EV_FINALIZE, refill_cb, limit);
	(void)le_event_assign(&limit->resume, le_event_base(base), -1, EV_FINALIZE, le_group_resume_cb,
			      limit);
	(void)ec_event_set_color(le_ec(&limit->refill), p->color);
	(void)ec_event_set_color(le_ec(&limit->resume), p->color);
	p->limit = limit;
	return limit;
}

void le_bev_limit_set_color(struct le_bev *p, uint32_t color)
{
	struct le_bev_limit *limit = p->limit;

	(void)event_del_noblock(&limit->refill);
	(void)ec_event_set_color(le_ec(&limit->refill), color);
	if (limit->group != NULL)
		le_group_set_member_color(limit, color);
	else
		(void)ec_event_set_color(le_ec(&limit->resume), color);
	if (limit->cfg != NULL)
		settle(limit);
}

void le_bev_limit_move_event(struct event *ev, struct event_base *base)
{
	if (!le_is_idle(ev))
		(void)event_del_noblock(ev);
	(void)event_base_set(base, ev);
}

void le_bev_limit_set_base(struct le_bev *p, struct event_base *base)
{
	struct le_bev_limit *limit = p->limit;

	le_bev_limit_move_event(&limit->refill, base);
	if (limit->group != NULL)
		le_group_set_member_base(limit, base);
	else
		le_bev_limit_move_event(&limit->resume, base);
	if (limit->cfg != NULL)
		settle(limit);
}

void le_bev_limit_detach(struct le_bev *p)
{
	struct le_bev_limit *limit = p->limit;

	if (limit == NULL)
		return;
	if (limit->group != NULL)
		le_group_leave(limit);
	(void)event_del_noblock(&limit->refill);
}

void le_bev_limit_free(struct le_bev *p)
{
	if (p->limit == NULL)
		return;
	event_debug_unassign(&p->limit->refill);
	event_debug_unassign(&p->limit->resume);
	ec_free(p->limit);
}

static ev_ssize_t max_to_move(struct le_bev *p, enum le_bev_way way, ev_ssize_t max)
{
	struct le_bev_limit *limit = p->limit;

	if (limit->cfg != NULL) {
		le_bucket_refill(&limit->bucket, limit->cfg);
		if (limit->bucket.left[way] < max)
			max = limit->bucket.left[way];
	}
	if (limit->group != NULL)
		max = le_group_share(limit, way, max);
	return max < 0 ? 0 : max;
}

ev_ssize_t le_bev_limit_max_to_read(struct le_bev *p)
{
	return max_to_move(p, LE_READING, (ev_ssize_t)p->read_max);
}

ev_ssize_t le_bev_limit_max_to_write(struct le_bev *p)
{
	return max_to_move(p, LE_WRITING, (ev_ssize_t)p->write_max);
}

static void spend(struct le_bev *p, enum le_bev_way way, size_t len)
{
	struct le_bev_limit *limit = p->limit;

	if (limit->cfg != NULL) {
		le_bucket_take(&limit->bucket, way, (ev_ssize_t)len);
		settle(limit);
	}
	if (limit->group != NULL)
		le_group_spend(limit, way, len);
}

void le_bev_limit_spend_read(struct le_bev *p, size_t len)
{
	spend(p, LE_READING, len);
}

void le_bev_limit_spend_write(struct le_bev *p, size_t len)
{
	spend(p, LE_WRITING, len);
}

/* ---------------------------------------------------------------- public */

static void limit_remove(struct le_bev *p)
{
	struct le_bev_limit *limit = p->limit;
	int way;

	if (limit == NULL || limit->cfg == NULL)
		return;
	limit->cfg = NULL;
	(void)event_del_noblock(&limit->refill);
	for (way = 0; way < LE_WAYS; way++)
		le_bev_unsuspend(p, (enum le_bev_way)way, LE_SUSPEND_RATE);
}

static int limit_set(struct le_bev *p, const struct ev_token_bucket_cfg *cfg)
{
	struct le_bev_limit *limit = le_bev_limit_need(p);

	if (limit == NULL)
		return -1;
	if (limit->cfg == cfg)
		return 0;
	if (limit->cfg == NULL)
		le_bucket_init(&limit->bucket, cfg);
	else
		le_bucket_adapt(&limit->bucket, cfg);
	limit->cfg = cfg;
	settle(limit);
	return 0;
}

int bufferevent_set_rate_limit(struct bufferevent *bev, struct ev_token_bucket_cfg *cfg)
{
	int r = 0;

	le_bev_lock(bev);
	if (cfg == NULL)
		limit_remove(le_bev(bev));
	else
		r = limit_set(le_bev(bev), cfg);
	le_bev_unlock(bev);
	return r;
}

const struct ev_token_bucket_cfg *bufferevent_get_token_bucket_cfg(const struct bufferevent *bev)
{
	struct bufferevent *b = (struct bufferevent *)(uintptr_t)bev;
	const struct ev_token_bucket_cfg *cfg;

	le_bev_lock(b);
	cfg = le_bev(b)->limit == NULL ? NULL : le_bev(b)->limit->cfg;
	le_bev_unlock(b);
	return cfg;
}

static ev_ssize_t get_left(struct bufferevent *bev, enum le_bev_way way)
{
	struct le_bev_limit *limit;
	ev_ssize_t left = EV_SSIZE_MAX;

	le_bev_lock(bev);
	limit = le_bev(bev)->limit;
	if (limit != NULL && limit->cfg != NULL) {
		le_bucket_refill(&limit->bucket, limit->cfg);
		left = limit->bucket.left[way];
	}
	le_bev_unlock(bev);
	return left;
}

ev_ssize_t bufferevent_get_read_limit(struct bufferevent *bev)
{
	return get_left(bev, LE_READING);
}

ev_ssize_t bufferevent_get_write_limit(struct bufferevent *bev)
{
	return get_left(bev, LE_WRITING);
}

static int decrement(struct bufferevent *bev, enum le_bev_way way, ev_ssize_t decr)
{
	struct le_bev_limit *limit;
	int r = -1;

	le_bev_lock(bev);
	limit = le_bev(bev)->limit;
	if (limit != NULL && limit->cfg != NULL) {
		le_bucket_take(&limit->bucket, way, decr);
		settle(limit);
		r = 0;
	}
	le_bev_unlock(bev);
	return r;
}

int bufferevent_decrement_read_limit(struct bufferevent *bev, ev_ssize_t decr)
{
	return decrement(bev, LE_READING, decr);
}

int bufferevent_decrement_write_limit(struct bufferevent *bev, ev_ssize_t decr)
{
	return decrement(bev, LE_WRITING, decr);
}

ev_ssize_t bufferevent_get_max_to_read(struct bufferevent *bev)
{
	ev_ssize_t max;

	le_bev_lock(bev);
	max = le_bev_max_to_read(le_bev(bev));
	le_bev_unlock(bev);
	return max;
}

ev_ssize_t bufferevent_get_max_to_write(struct bufferevent *bev)
{
	ev_ssize_t max;

	le_bev_lock(bev);
	max = le_bev_max_to_write(le_bev(bev));
	le_bev_unlock(bev);
	return max;
}

static size_t max_single(size_t size)
{
	return size == 0 || size > EV_SSIZE_MAX ? MAX_SINGLE : size;
}

int bufferevent_set_max_single_read(struct bufferevent *bev, size_t size)
{
	le_bev_lock(bev);
	le_bev(bev)->read_max = max_single(size);
	le_bev_unlock(bev);
	return 0;
}

int bufferevent_set_max_single_write(struct bufferevent *bev, size_t size)
{
	le_bev_lock(bev);
	le_bev(bev)->write_max = max_single(size);
	le_bev_unlock(bev);
	return 0;
}

ev_ssize_t bufferevent_get_max_single_read(struct bufferevent *bev)
{
	ev_ssize_t max;

	le_bev_lock(bev);
	max = (ev_ssize_t)le_bev(bev)->read_max;
	le_bev_unlock(bev);
	return max;
}

ev_ssize_t bufferevent_get_max_single_write(struct bufferevent *bev)
{
	ev_ssize_t max;

	le_bev_lock(bev);
	max = (ev_ssize_t)le_bev(bev)->write_max;
	le_bev_unlock(bev);
	return max;
}
