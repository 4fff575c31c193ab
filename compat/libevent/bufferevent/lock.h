/*
 * The lock of bufferevents that may be reached from several colors or threads, and whose callback
 * runs. life.c makes it, call.c uses it.
 */
#ifndef LE_BEV_LOCK_H
#define LE_BEV_LOCK_H

#include "bev.h"

struct le_bev_lock {
	/* const */
	/* for ec_thread_lock: recursive; the evbuffers have it too */
	void *mutex;

	/* mutex */
	unsigned refs_num;		/* bufferevents that have it */

	/* mu: innermost. bufferevent_lock waits here for a callback to end, without `mutex` */
	pthread_mutex_t mu;
	pthread_cond_t left;
	unsigned leavings;		/* changes when a callback has ended that was waited for */
};

/*
 * The callbacks of one bufferevent exclude each other, and bufferevent_lock. held.
 * begin: false if another thread is in one. end: the last one lets go on who waited.
 */
bool le_bev_is_called_elsewhere(const struct le_bev *p);
bool le_bev_calling_begin(struct le_bev *p);
void le_bev_calling_wait(struct le_bev *p);	/* begin, but waits */
void le_bev_calling_end(struct le_bev *p);

/*
 * All that share a lock with `p`, or would, get one if there is none. own color, held or not. -1:
 * no memory
 */
int le_bev_need_lock(struct le_bev *p);

/* Is the caller where callbacks of `color` run? */
bool le_bev_runs_in(const struct le_bev *p, uint32_t color);

void le_bev_color_events(struct le_bev *p, uint32_t color);
void le_bev_moved(struct le_bev *p);	/* LE_WAITING_MOVED: add what was pending. held */
void le_bev_move(struct le_bev *p);	/* a turn ended of what is_moving. held */

/* Callback of le_bev.later. */
void le_bev_later_cb(evutil_socket_t fd, short what, void *arg);

#endif
