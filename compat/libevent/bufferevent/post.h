/*
 * Posts of a bufferevent (bufferevent_post). They wait in a queue of the bufferevent, and `later` runs them: so they go
 * to another color with it, exclude the other callbacks as those do, and adding one cannot fail after its allocation.
 * Those that are left when the bufferevent ends are called by its finalizer, without it.
 */
#ifndef LE_BEV_POST_H
#define LE_BEV_POST_H

#include <event2/smp.h>

struct le_bev;

/* lock */
struct le_bev_post {
	struct le_bev_post *next;	/* of the last one: the first */
	bufferevent_post_cb fn;
	void *arg;
};

/* Takes the first one, or NULL. held */
struct le_bev_post *le_bev_post_take(struct le_bev *p);

/* The program's calls, and their end. Not held; `bev` NULL: it was freed. */
void le_bev_post_run(struct le_bev_post *post, struct bufferevent *bev);

/* Of the finalizer: runs all that are left in `last`, le_bev.posts. */
void le_bev_posts_end(struct le_bev_post *last);

#endif
