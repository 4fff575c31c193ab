/*
 * The lock of bufferevents that several colors or threads may use, and the exclusion of their
 * callbacks. life.c creates the lock, call.c uses it.
 */
#ifndef LE_BEV_LOCK_H
#define LE_BEV_LOCK_H

#include "bev.h"

struct le_bev_lock {
	/* const */
	/* for ec_thread_lock: recursive; the evbuffers have the same lock */
	void *mutex;

	/* mutex */
	unsigned refs_num;		/* bufferevents that share it */

	/*
	 * atomic: changes, under `mutex`, when an awaited callback returns, and when the engine ends a wait that is
	 * part of a cycle. A thread that waits reads it under `mutex`, releases `mutex`, and sleeps until it changes.
	 */
	uint32_t leavings;
};

/*
 * The callbacks of one bufferevent exclude each other, and exclude bufferevent_lock. held
 *
 *   begin   returns false if another thread is in a callback
 *   wait    until no other thread is; the lock is released meanwhile. False: the other one waits for the caller,
 *           directly or not, and is still in its callback
 *   end     the outermost one wakes the waiting threads
 */
bool le_bev_is_called_elsewhere(const struct le_bev *p);
bool le_bev_calling_begin(struct le_bev *p);
bool le_bev_calling_wait(struct le_bev *p);
void le_bev_calling_end(struct le_bev *p);

/*
 * Give `p`, and all that must share its lock, a lock if they have none. own color, held or not. -1:
 * out of memory
 */
int le_bev_need_lock(struct le_bev *p);

/* True: the caller runs in `color`. Outside of callbacks, the caller counts as color 0. */
bool le_bev_runs_in(const struct le_bev *p, uint32_t color);

void le_bev_color_events(struct le_bev *p, uint32_t color);
void le_bev_moved(struct le_bev *p);	/* LE_WAITING_MOVED: adds events again. held */
void le_bev_move(struct le_bev *p);	/* a turn of an is_moving bufferevent has ended. held */

/* Callback of le_bev.later. */
void le_bev_later_cb(evutil_socket_t fd, short what, void *arg);

#endif
