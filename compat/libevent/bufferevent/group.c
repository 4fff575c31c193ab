/*
 * Rate limits of groups: one bucket for many bufferevents of any color and base.
 *
 * The group's lock is the innermost: a thread that holds it takes no lock of a bufferevent or of
 * another group. So the group cannot suspend its members. Each member checks the bucket when it is
 * about to move bytes. If the bucket is empty, the member is *parked* in the same critical section,
 * and suspends itself. The tick that brings tokens activates the `resume` event of each parked
 * member, which runs in the member's color.
 *
 * Neither side can miss the other, because parking and activating both happen under the group's
 * lock. `resume` runs after the turn that parked, because both have the same color.
 *
 * A member leaves the group, under the lock, before its memory is freed. That deletes `resume`.
 */
#include "limit.h"

#include <string.h>

#include "util/mutex.h"

enum { MIN_SHARE = 64 };

struct bufferevent_rate_limit_group {
	struct event tick;		/* color 0 of the base */

	struct le_mutex mu;
	/* mu */
	struct ev_token_bucket_cfg cfg;
	struct le_bucket bucket;
	bool is_empty[LE_WAYS];		/* members must stop */
	struct ec_list members;
	unsigned members_num;
	ev_ssize_t min_share;
	size_t wanted_min_share;
	ev_uint64_t total[LE_WAYS];
};

static void lock(struct bufferevent_rate_limit_group *g)
{
	le_mutex_lock(&g->mu);
}

static void unlock(struct bufferevent_rate_limit_group *g)
{
	le_mutex_unlock(&g->mu);
}

/* ---------------------------------------------------------------- the bucket; under mu */

/*
 * Resume all parked members, starting at a random one: the first finds the most tokens, and should
 * not be the same each time.
 */
static void resume_parked(struct bufferevent_rate_limit_group *g)
{
	struct ec_list *node = &g->members;
	struct le_bev_limit *limit;
	unsigned i, skip = 0;

	if (g->members_num == 0)
		return;
	(void)ec_random_bytes(&skip, sizeof(skip));
	for (skip %= g->members_num; skip > 0; skip--)
		node = node->next;
	for (i = 0; i < g->members_num; i++) {
		node = node->next == &g->members ? g->members.next : node->next;
		limit = ec_container_of(node, struct le_bev_limit, member);
		if ((limit->is_parked[LE_READING] && !g->is_empty[LE_READING]) ||
		    (limit->is_parked[LE_WRITING] && !g->is_empty[LE_WRITING]))
			ec_event_active(le_ec(&limit->resume), EC_TIMEOUT, 1);
	}
}

/* Members continue only when the bucket has a share for at least one of them. */
static void note_level(struct bufferevent_rate_limit_group *g)
{
	bool has_more = false;
	int way;

	for (way = 0; way < LE_WAYS; way++) {
		if (g->bucket.left[way] <= 0) {
			g->is_empty[way] = true;
		} else if (g->is_empty[way] && g->bucket.left[way] >= g->min_share) {
			g->is_empty[way] = false;
			has_more = true;
		}
	}
	if (has_more)
		resume_parked(g);
}

static void tick_cb(evutil_socket_t fd, short what, void *arg)
{
	struct bufferevent_rate_limit_group *g = arg;

	(void)fd;
	(void)what;
	lock(g);
	le_bucket_refill(&g->bucket, &g->cfg);
	note_level(g);
	unlock(g);
}

static void min_share_apply(struct bufferevent_rate_limit_group *g)
{
	size_t share = g->wanted_min_share;
	int way;

	for (way = 0; way < LE_WAYS; way++) {
		if (share > g->cfg.rate[way])
			share = g->cfg.rate[way];
	}
	g->min_share = (ev_ssize_t)share;
}

/* ---------------------------------------------------------------- members */

ev_ssize_t le_group_share(struct le_bev_limit *limit, enum le_bev_way way, ev_ssize_t max)
{
	struct bufferevent_rate_limit_group *g = limit->group;
	ev_ssize_t share;
	bool is_empty;

	lock(g);
	is_empty = g->is_empty[way];
	/*
	 * A member stays parked until `resume` has run, because programs also ask for shares in
	 * between.
	 */
	if (is_empty)
		limit->is_parked[way] = true;
	share = g->bucket.left[way] / (ev_ssize_t)g->members_num;
	if (share < g->min_share)
		share = g->min_share;
	unlock(g);
	if (is_empty) {
		le_bev_suspend(limit->bev, way, LE_SUSPEND_GROUP);
		return 0;
	}
	return share < max ? share : max;
}

void le_group_spend(struct le_bev_limit *limit, enum le_bev_way way, size_t len)
{
	struct bufferevent_rate_limit_group *g = limit->group;

	lock(g);
	le_bucket_take(&g->bucket, way, (ev_ssize_t)len);
	g->total[way] += len;
	note_level(g);
	unlock(g);
}

void le_group_resume_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_bev_limit *limit = arg;
	struct bufferevent_rate_limit_group *g;
	bool may_resume[LE_WAYS];
	int way;

	(void)fd;
	(void)what;
	if (!le_bev_enter(&limit->bev->bev))
		return;
	g = limit->group;
	if (g == NULL)
		goto leave;
	lock(g);
	for (way = 0; way < LE_WAYS; way++) {
		may_resume[way] = limit->is_parked[way] && !g->is_empty[way];
		if (may_resume[way])
			limit->is_parked[way] = false;
	}
	unlock(g);
	for (way = 0; way < LE_WAYS; way++) {
		if (may_resume[way])
			le_bev_unsuspend(limit->bev, (enum le_bev_way)way, LE_SUSPEND_GROUP);
	}
leave:
	le_bev_leave(&limit->bev->bev);
}

void le_group_set_member_color(struct le_bev_limit *limit, uint32_t color)
{
	struct bufferevent_rate_limit_group *g = limit->group;

	lock(g);
	(void)event_del_noblock(&limit->resume);
	(void)ec_event_set_color(le_ec(&limit->resume), color);
	if (limit->is_parked[LE_READING] || limit->is_parked[LE_WRITING])
		ec_event_active(le_ec(&limit->resume), EC_TIMEOUT, 1);
	unlock(g);
}

void le_group_set_member_base(struct le_bev_limit *limit, struct event_base *base)
{
	struct bufferevent_rate_limit_group *g = limit->group;

	lock(g);
	le_bev_limit_move_event(&limit->resume, base);
	if (limit->is_parked[LE_READING] || limit->is_parked[LE_WRITING])
		ec_event_active(le_ec(&limit->resume), EC_TIMEOUT, 1);
	unlock(g);
}

void le_group_leave(struct le_bev_limit *limit)
{
	struct bufferevent_rate_limit_group *g = limit->group;
	int way;

	lock(g);
	ec_list_remove(&limit->member);
	g->members_num--;
	limit->is_parked[LE_READING] = limit->is_parked[LE_WRITING] = false;
	(void)event_del_noblock(&limit->resume);
	unlock(g);
	limit->group = NULL;
	for (way = 0; way < LE_WAYS; way++)
		le_bev_unsuspend(limit->bev, (enum le_bev_way)way, LE_SUSPEND_GROUP);
}

static int join(struct le_bev *p, struct bufferevent_rate_limit_group *g)
{
	struct le_bev_limit *limit = le_bev_limit_need(p);
	int way;

	if (limit == NULL)
		return -1;
	if (limit->group == g)
		return 0;
	if (limit->group != NULL)
		le_group_leave(limit);
	lock(g);
	ec_list_push_back(&g->members, &limit->member);
	g->members_num++;
	unlock(g);
	limit->group = g;
	/* A new member of an empty group is suspended like the others. */
	for (way = 0; way < LE_WAYS; way++)
		(void)le_group_share(limit, (enum le_bev_way)way, 1);
	return 0;
}

int bufferevent_add_to_rate_limit_group(struct bufferevent *bev,
					struct bufferevent_rate_limit_group *g)
{
	int r;

	if (g == NULL)
		return bufferevent_remove_from_rate_limit_group(bev);
	le_bev_lock(bev);
	r = join(le_bev(bev), g);
	le_bev_unlock(bev);
	return r;
}

int bufferevent_remove_from_rate_limit_group(struct bufferevent *bev)
{
	struct le_bev_limit *limit;

	le_bev_lock(bev);
	limit = le_bev(bev)->limit;
	if (limit != NULL && limit->group != NULL)
		le_group_leave(limit);
	le_bev_unlock(bev);
	return 0;
}

/* ---------------------------------------------------------------- groups */

struct bufferevent_rate_limit_group *bufferevent_rate_limit_group_new(
	struct event_base *base, const struct ev_token_bucket_cfg *cfg)
{
	struct bufferevent_rate_limit_group *g = ec_malloc(sizeof(*g));

	if (g == NULL)
		return NULL;
	memset(g, 0, sizeof(*g));	/* glibc's calloc does not use its per-thread cache */
	g->cfg = *cfg;
	ec_list_init(&g->members);
	g->wanted_min_share = MIN_SHARE;
	min_share_apply(g);
	le_bucket_init(&g->bucket, &g->cfg);
	if (le_event_assign(&g->tick, base, -1, EV_PERSIST | EV_FINALIZE, tick_cb, g) < 0)
		goto free_group;
	if (event_add(&g->tick, &g->cfg.tick) < 0)
		goto unassign;
	return g;

unassign:
	event_debug_unassign(&g->tick);
free_group:
	ec_free(g);
	return NULL;
}

void bufferevent_rate_limit_group_free(struct bufferevent_rate_limit_group *g)
{
	if (g->members_num != 0)
		ec_die(EC_EXIT_ABORT, "%s: the group has %u members", __func__, g->members_num);
	(void)event_del_block(&g->tick);
	event_debug_unassign(&g->tick);
	ec_free(g);
}

int bufferevent_rate_limit_group_set_cfg(struct bufferevent_rate_limit_group *g,
					 const struct ev_token_bucket_cfg *cfg)
{
	bool is_same_tick;
	int r = 0;

	if (g == NULL || cfg == NULL)
		return -1;
	lock(g);
	is_same_tick = evutil_timercmp(&g->cfg.tick, &cfg->tick, ==);
	if (!is_same_tick)
		r = event_add(&g->tick, &cfg->tick);
	if (r == 0) {
		g->cfg = *cfg;
		le_bucket_adapt(&g->bucket, &g->cfg);
		min_share_apply(g);
	}
	unlock(g);
	return r;
}

int bufferevent_rate_limit_group_set_min_share(struct bufferevent_rate_limit_group *g, size_t share)
{
	if (share > EV_SSIZE_MAX)
		return -1;
	lock(g);
	g->wanted_min_share = share;
	min_share_apply(g);
	unlock(g);
	return 0;
}

static ev_ssize_t get_left(struct bufferevent_rate_limit_group *g, enum le_bev_way way)
{
	ev_ssize_t left;

	lock(g);
	left = g->bucket.left[way];
	unlock(g);
	return left;
}

ev_ssize_t bufferevent_rate_limit_group_get_read_limit(struct bufferevent_rate_limit_group *g)
{
	return get_left(g, LE_READING);
}

ev_ssize_t bufferevent_rate_limit_group_get_write_limit(struct bufferevent_rate_limit_group *g)
{
	return get_left(g, LE_WRITING);
}

static int decrement(struct bufferevent_rate_limit_group *g, enum le_bev_way way, ev_ssize_t decr)
{
	lock(g);
	le_bucket_take(&g->bucket, way, decr);
	/* If the program adds tokens itself, any number resumes the members. */
	if (g->bucket.left[way] > 0 && g->is_empty[way]) {
		g->is_empty[way] = false;
		resume_parked(g);
	}
	note_level(g);
	unlock(g);
	return 0;
}

int bufferevent_rate_limit_group_decrement_read(struct bufferevent_rate_limit_group *g,
						ev_ssize_t decr)
{
	return decrement(g, LE_READING, decr);
}

int bufferevent_rate_limit_group_decrement_write(struct bufferevent_rate_limit_group *g,
						 ev_ssize_t decr)
{
	return decrement(g, LE_WRITING, decr);
}

void bufferevent_rate_limit_group_get_totals(struct bufferevent_rate_limit_group *g,
					     ev_uint64_t *read, ev_uint64_t *written)
{
	lock(g);
	if (read != NULL)
		*read = g->total[LE_READING];
	if (written != NULL)
		*written = g->total[LE_WRITING];
	unlock(g);
}

void bufferevent_rate_limit_group_reset_totals(struct bufferevent_rate_limit_group *g)
{
	lock(g);
	g->total[LE_READING] = g->total[LE_WRITING] = 0;
	unlock(g);
}
