/*
 * Rate limits: token buckets, what a bufferevent has of them, groups. ratelim.c and
 * group.c.
 */
#ifndef LE_BEV_LIMIT_H
#define LE_BEV_LIMIT_H

#include "bev.h"

enum le_bev_way { LE_READING, LE_WRITING, LE_WAYS };

struct ev_token_bucket_cfg {
	size_t rate[LE_WAYS];		/* tokens that a tick brings */
	size_t max[LE_WAYS];		/* tokens at most */
	struct timeval tick;
	int64_t tick_ns;
};

struct le_bucket {
	ev_ssize_t left[LE_WAYS];	/* below 0: more was moved than it had */
	int64_t tick;			/* the last that brought tokens */
};

int64_t le_bucket_tick(const struct ev_token_bucket_cfg *cfg);	/* now */
void le_bucket_init(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg);
void le_bucket_refill(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg);
/* to a new configuration */
void le_bucket_adapt(struct le_bucket *b, const struct ev_token_bucket_cfg *cfg);

/*
 * One bufferevent's. Groups reach members of other colors, so they touch nothing of them but what
 * says "group" here, and activate `resume`, which does the rest in the member's color.
 */
struct le_bev_limit {
	/* const */
	struct le_bev *bev;

	/* the bufferevent's lock */
	const struct ev_token_bucket_cfg *cfg; /* NULL: no limit of its own */
	struct le_bucket bucket;
	struct event refill;		/* while it is suspended by its own limit */
	struct bufferevent_rate_limit_group *group; /* or NULL */

	/* group */
	struct ec_list member;
	bool is_parked[LE_WAYS];	/* found the group's bucket empty, wants to be told */
	struct event resume;		/* active: the group's bucket has tokens again */
};

/* The member's limit, made where there is none. held. NULL: no memory */
struct le_bev_limit *le_bev_limit_need(struct le_bev *p);

void le_bev_suspend(struct le_bev *p, enum le_bev_way way, unsigned why);
void le_bev_unsuspend(struct le_bev *p, enum le_bev_way way, unsigned why);

/* At most `max`: a member's share of what is left; 0: nothing is, and the member is parked. held */
ev_ssize_t le_group_share(struct le_bev_limit *limit, enum le_bev_way way, ev_ssize_t max);
void le_group_spend(struct le_bev_limit *limit, enum le_bev_way way, size_t len);
void le_group_leave(struct le_bev_limit *limit);
void le_group_set_member_color(struct le_bev_limit *limit, uint32_t color);
/* Callback of le_bev_limit.resume. */
void le_group_resume_cb(evutil_socket_t fd, short what, void *arg);

#endif
