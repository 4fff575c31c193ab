/*
 * Changing the color of a bufferevent. Its events and `later` have its color. A filter and the
 * bufferevent below it, which handle the same bytes, have one color. The two bufferevents of a pair
 * may have different colors.
 *
 * While the callback of one of its events runs, that event must keep its color: its next callback
 * would run in parallel. So a change during a turn takes effect when the turn ends. `later` then
 * adds the events that were pending, in the new color.
 *
 * A caller in another color continues to use the bufferevent there, while its events may already
 * run. So the bufferevent gets a lock. A caller in the new color itself, for instance an accept
 * callback, needs none.
 */
#include <event2/smp.h>

#include <errno.h>

#include "bev.h"
#include "lock.h"

bool le_bev_runs_in(const struct le_bev *p, uint32_t color)
{
	struct ec_base *base = le_ec(&p->bev.ev_read)->base;
	uint32_t running;

	if (ec_base_running_color(base, &running) == 0)
		return running == color;
	return color == 0;
}

void le_bev_color_events(struct le_bev *p, uint32_t color)
{
	p->color = color;
	/* The events are neither pending nor active, so this cannot fail. */
	(void)ec_event_set_color(le_ec(&p->bev.ev_read), color);
	(void)ec_event_set_color(le_ec(&p->bev.ev_write), color);
	(void)ec_event_set_color(le_ec(&p->later), color);
	le_buffer_set_color(p->bev.input, color);
	le_buffer_set_color(p->bev.output, color);
	if (p->limit != NULL)
		le_bev_limit_set_color(p, color);
}

/*
 * Runs in the new color. If the events cannot be added, nothing would happen any more. So the
 * program gets an error, after the data that waits for its callbacks. held
 */
void le_bev_moved(struct le_bev *p)
{
	short events = 0;
	int err;

	if (le_bev_can_read(p))
		events |= EV_READ;
	if (le_bev_can_write(p) || p->is_connecting)
		events |= EV_WRITE;
	if (events == 0 || p->bev.be_ops->enable == NULL ||
	    p->bev.be_ops->enable(&p->bev, events) == 0)
		return;
	err = errno;
	p->is_connecting = p->is_refused = false;
	(void)bufferevent_disable(&p->bev, EV_READ | EV_WRITE);
	errno = err;
	le_bev_trigger_event(&p->bev, BEV_EVENT_ERROR, BEV_OPT_DEFER_CALLBACKS);
}

static void move_one(struct le_bev *p, uint32_t color)
{
	bool was_pending =
		event_pending(&p->bev.ev_read, EV_READ | EV_WRITE | EV_TIMEOUT, NULL) != 0 ||
		event_pending(&p->bev.ev_write, EV_READ | EV_WRITE | EV_TIMEOUT, NULL) != 0;

	p->is_moving = false;
	if (p->is_dead)
		return;
	if (was_pending) {
		(void)event_del_noblock(&p->bev.ev_read);
		(void)event_del_noblock(&p->bev.ev_write);
	}
	(void)ec_event_del(le_ec(&p->later), EC_DEL_NOBLOCK);
	le_bev_color_events(p, color);
	if (was_pending || p->waiting != 0)
		le_bev_do_later(p, LE_WAITING_MOVED);
}

void le_bev_move(struct le_bev *p)
{
	uint32_t color = p->next_color;
	struct le_bev *q;

	p = le_bev_bottom(p);
	for (q = p; q != NULL; q = q->above) {
		if (q->turns != 0)
			return;
	}
	for (q = p; q != NULL; q = q->above)
		move_one(q, color);
}

static void set_color(struct le_bev *p, uint32_t color)
{
	struct le_bev *q;

	for (q = le_bev_bottom(p); q != NULL; q = q->above) {
		q->is_moving = true;
		q->next_color = color;
	}
	le_bev_move(p);
}

/*
 * Makes the workers now, because the bufferevent's callbacks could not report a failure later. -1
 * and errno on failure.
 */
static int prepare(struct le_bev *p)
{
	struct ec_base *base = le_ec(&p->later)->base;
	int r = base == NULL ? 0 : ec_base_prepare_colors(base);

	return le_result(r);
}

/*
 * True: a callback in the present color may run at the same time as the caller, and no lock excludes that. Without a
 * pending event there is no such callback. So a caller in any color may make a bufferevent, color it, then enable it.
 */
static bool is_elsewhere(struct le_bev *p)
{
	const short any = EV_READ | EV_WRITE | EV_TIMEOUT;
	struct ec_base *base = le_ec(&p->later)->base;
	uint32_t running;

	if (p->lock != NULL || base == NULL || !ec_base_is_looping(base))
		return false;
	if (ec_base_running_color(base, &running) == 0 && running == p->color)
		return false;
	return event_pending(&p->bev.ev_read, any, NULL) != 0 || event_pending(&p->bev.ev_write, any, NULL) != 0 ||
	       ec_event_pending(le_ec(&p->later), any, NULL) != 0;	/* debug mode does not know this event */
}

static LE_COLD int refuse(const struct bufferevent *bev)
{
	if (ec_debug_on())
		ec_log(EC_LOG_WARN, "bufferevent_set_color: bufferevent %p has pending events, no lock, and another "
				    "color than the caller; set the color first, or make it with BEV_OPT_THREADSAFE",
		       (const void *)bev);
	return le_result(-EBUSY);
}

int bufferevent_set_color(struct bufferevent *bev, ev_uint32_t color)
{
	struct le_bev *p;
	bool is_shared;

	if (bev == NULL) {
		errno = EINVAL;
		return -1;
	}
	p = le_bev(bev);
	if (color != p->color && is_elsewhere(p))
		return refuse(bev);
	if (color != 0 && prepare(p) < 0)
		return -1;
	is_shared = (p->options & BEV_OPT_THREADSAFE) != 0 || !le_bev_runs_in(p, color) ||
		    (p->partner != NULL && p->partner->color != color);
	if (is_shared && le_bev_need_lock(p) < 0)
		return -1;
	le_bev_lock(bev);
	if (color != p->color || p->is_moving)
		set_color(p, color);
	le_bev_unlock(bev);
	return 0;
}

ev_uint32_t bufferevent_get_color(struct bufferevent *bev)
{
	struct le_bev *p;
	uint32_t color;

	if (bev == NULL)
		return 0;
	p = le_bev(bev);
	le_bev_lock(bev);
	color = p->is_moving ? p->next_color : p->color;
	le_bev_unlock(bev);
	return color;
}
