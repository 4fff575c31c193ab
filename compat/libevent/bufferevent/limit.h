/*
 * Rate limits: token buckets, the limits of one bufferevent, groups. See ratelim.c and group.c.
 */
#ifndef LE_BEV_LIMIT_H
#define LE_BEV_LIMIT_H

#include "bev.h"

enum le_bev_way { LE_READING, LE_WRITING, LE_WAYS };

struct ev_token_bucket_cfg {
	size_t rate[LE_WAYS];		/* tokens for each tick */
	size_t max[LE_WAYS];		/* maximum of tokens */
	struct timeval tick;
	int64_t tick_ns;
};

struct le_bucket {
	ev_ssize_t left[LE_WAYS];	/* negative: one call moved more than there was */
	int64_t tick;			/* the last tick whose tokens are counted */
};

int64_t le_bucket_tick(const struct ev_token_bucket_cfg *cfg);	/* the present tick */
void le_bucket_init(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg);
void le_bucket_refill(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg);
/* Takes `num` tokens; a negative number adds them. `left` saturates. */
void le_bucket_take(struct le_bucket *b, enum le_bev_way way, ev_ssize_t num);
/* switch to a new configuration */
void le_bucket_adapt(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg);

/*
 * The limits of one bufferevent. A group reaches members of other colors. So it accesses only the
 * fields of the section "group", and activates `resume`, which does the rest in the member's color.
 */
struct le_bev_limit {
	/* const */
	struct le_bev *bev;

	/* the bufferevent's lock */
	const struct ev_token_bucket_cfg *cfg; /* NULL: no limit of its own */
	struct le_bucket bucket;
	struct event refill;		/* pending while its own limit suspends it */
	struct bufferevent_rate_limit_group *group; /* or NULL */

	/* group */
	struct ec_list member;
	bool is_parked[LE_WAYS];	/* the group's bucket is empty: it waits for `resume` */
	struct event resume;		/* activated when the group's bucket has tokens again */
};

/* The limits of `p`, which are created if necessary. held. NULL: out of memory */
struct le_bev_limit *le_bev_limit_need(struct le_bev *p);

void le_bev_suspend(struct le_bev *p, enum le_bev_way way, unsigned why);
void le_bev_unsuspend(struct le_bev *p, enum le_bev_way way, unsigned why);

/*
 * A member's share of the remaining tokens, at most `max`. 0: there are none, and the member is
 * parked. held
 */
ev_ssize_t le_group_share(struct le_bev_limit *limit, enum le_bev_way way, ev_ssize_t max);
void le_group_spend(struct le_bev_limit *limit, enum le_bev_way way, size_t len);
void le_group_leave(struct le_bev_limit *limit);
void le_group_set_member_color(struct le_bev_limit *limit, uint32_t color);
void le_group_set_member_base(struct le_bev_limit *limit, struct event_base *base);
/* Moves `refill` or `resume` to another base. Its old base may be freed if the event is idle. */
void le_bev_limit_move_event(struct event *ev, struct event_base *base);
/* Callback of le_bev_limit.resume. */
void le_group_resume_cb(evutil_socket_t fd, short what, void *arg);

#endif
