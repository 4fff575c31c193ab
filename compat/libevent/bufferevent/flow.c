/*
 * The conditions for reading and writing: enabled and not suspended. Watermarks and timeouts.
 */
#include "bev.h"

#include <event2/bufferevent_compat.h>

/* ---------------------------------------------------------------- suspending */

void le_bev_suspend_read(struct bufferevent *bev, unsigned why)
{
	struct le_bev *p = le_bev(bev);

	if (p->read_suspended == 0)
		(void)bev->be_ops->disable(bev, EV_READ);
	p->read_suspended = (uint8_t)(p->read_suspended | why);
}

void le_bev_unsuspend_read(struct bufferevent *bev, unsigned why)
{
	struct le_bev *p = le_bev(bev);
	unsigned before = p->read_suspended;

	p->read_suspended = (uint8_t)(p->read_suspended & ~why);
	if (before != 0 && le_bev_can_read(p) && bev->be_ops->enable(bev, EV_READ) < 0)
		le_bev_do_later(p, LE_WAITING_MOVED);
}

void le_bev_suspend_write(struct bufferevent *bev, unsigned why)
{
	struct le_bev *p = le_bev(bev);

	if (p->write_suspended == 0)
		(void)bev->be_ops->disable(bev, EV_WRITE);
	p->write_suspended = (uint8_t)(p->write_suspended | why);
}

void le_bev_unsuspend_write(struct bufferevent *bev, unsigned why)
{
	struct le_bev *p = le_bev(bev);
	unsigned before = p->write_suspended;

	p->write_suspended = (uint8_t)(p->write_suspended & ~why);
	if (before != 0 && le_bev_can_write(p) && bev->be_ops->enable(bev, EV_WRITE) < 0)
		le_bev_do_later(p, LE_WAITING_MOVED);
}

int bufferevent_enable(struct bufferevent *bev, short events)
{
	struct le_bev *p = le_bev(bev);
	short now = events;
	int r = 0;

	le_bev_get_and_lock(bev);
	if (p->read_suspended != 0)
		now = (short)(now & ~EV_READ);
	if (p->write_suspended != 0)
		now = (short)(now & ~EV_WRITE);
	bev->enabled = (short)(bev->enabled | events);
	if (now != 0 && bev->be_ops->enable(bev, now) < 0)
		r = -1;
	(void)le_bev_put_and_unlock(bev);
	return r;
}

int bufferevent_disable(struct bufferevent *bev, short events)
{
	int r = 0;

	le_bev_lock(bev);
	bev->enabled = (short)(bev->enabled & ~events);
	if (bev->be_ops->disable(bev, events) < 0)
		r = -1;
	le_bev_unlock(bev);
	return r;
}

short bufferevent_get_enabled(struct bufferevent *bev)
{
	short enabled;

	le_bev_lock(bev);
	enabled = bev->enabled;
	le_bev_unlock(bev);
	return enabled;
}

/* ---------------------------------------------------------------- watermarks */

static void watermark_check(struct bufferevent *bev)
{
	if (bev->wm_read.high != 0 && le_buffer_length(bev->input) >= bev->wm_read.high)
		le_bev_suspend_read(bev, LE_SUSPEND_WATERMARK);
	else
		le_bev_unsuspend_read(bev, LE_SUSPEND_WATERMARK);
}

/*
 * The input grew or shrank. The caller holds its lock, which is the bufferevent's, if there is one.
 */
static void input_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct bufferevent *bev = arg;

	(void)buf;
	if (info->n_added != info->n_deleted)
		watermark_check(bev);
}

static int set_read_watermark(struct le_bev *p, size_t low, size_t high)
{
	struct bufferevent *bev = &p->bev;

	if (high != 0 && p->input_cb == NULL) {
		p->input_cb = le_buffer_add_cb_now(bev->input, input_changed, bev);
		if (p->input_cb == NULL)
			return -1;
	} else if (high == 0 && p->input_cb != NULL) {
		(void)evbuffer_remove_cb_entry(bev->input, p->input_cb);
		p->input_cb = NULL;
	}
	bev->wm_read.low = low;
	bev->wm_read.high = high;
	watermark_check(bev);
	return 0;
}

void bufferevent_setwatermark(struct bufferevent *bev, short events, size_t low, size_t high)
{
	struct le_bev *p = le_bev(bev);

	le_bev_lock(bev);
	if ((events & EV_WRITE) != 0) {
		bev->wm_write.low = low;
		bev->wm_write.high = high;
	}
	if ((events & EV_READ) != 0 && set_read_watermark(p, low, high) < 0)
		ec_log(EC_LOG_WARN, "%s: out of memory, the read watermarks are unchanged",
		       __func__);
	le_bev_unlock(bev);
}

int bufferevent_getwatermark(struct bufferevent *bev, short events, size_t *low, size_t *high)
{
	const struct event_watermark *mark;

	if (events != EV_READ && events != EV_WRITE)
		return -1;
	le_bev_lock(bev);
	mark = events == EV_READ ? &bev->wm_read : &bev->wm_write;
	if (low != NULL)
		*low = mark->low;
	if (high != NULL)
		*high = mark->high;
	le_bev_unlock(bev);
	return 0;
}

/* ---------------------------------------------------------------- timeouts */

static const struct timeval *timeout_of(const struct le_bev *p, const struct event *ev)
{
	const struct timeval *tv =
		ev == &p->bev.ev_read ? &p->bev.timeout_read : &p->bev.timeout_write;

	return tv->tv_sec == 0 && tv->tv_usec == 0 ? NULL : tv;
}

int le_bev_event_add(struct le_bev *p, struct event *ev)
{
	if (p->is_dead)
		return -1;
	if (ev == &p->bev.ev_write)
		p->may_watch_output = true;
	return event_add(ev, timeout_of(p, ev));
}

int le_bev_event_del(struct le_bev *p, struct event *ev)
{
	if (ev == &p->bev.ev_write)
		p->may_watch_output = false;
	return event_del_noblock(ev);
}

static int timer_adjust(struct le_bev *p, struct event *ev, bool is_running)
{
	if (is_running && timeout_of(p, ev) != NULL)
		return le_bev_event_add(p, ev);
	(void)le_bev_event_del(p, ev);
	return 0;
}

int le_bev_adjust_timers(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);
	bool may_write = le_bev_can_write(p) && le_buffer_length(bev->output) != 0;
	int r = timer_adjust(p, &bev->ev_read, le_bev_can_read(p));

	return timer_adjust(p, &bev->ev_write, may_write) < 0 ? -1 : r;
}

int le_bev_restart_timer(struct bufferevent *bev, short event)
{
	struct le_bev *p = le_bev(bev);

	if (event == EV_READ)
		return timer_adjust(p, &bev->ev_read, le_bev_can_read(p));
	return timer_adjust(p, &bev->ev_write, le_bev_can_write(p));
}

static void timed_out(struct le_bev *p, short event, short what)
{
	struct bufferevent *bev = &p->bev;

	if (!le_bev_enter(bev))
		return;
	(void)bufferevent_disable(bev, event);
	le_bev_trigger_event(bev, (short)(BEV_EVENT_TIMEOUT | what), 0);
	le_bev_leave(bev);
}

void le_bev_read_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	timed_out(arg, EV_READ, BEV_EVENT_READING);
}

void le_bev_write_timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	timed_out(arg, EV_WRITE, BEV_EVENT_WRITING);
}

int bufferevent_set_timeouts(struct bufferevent *bev, const struct timeval *read,
			     const struct timeval *write)
{
	static const struct timeval none;
	int r = 0;

	le_bev_lock(bev);
	bev->timeout_read = read != NULL ? *read : none;
	bev->timeout_write = write != NULL ? *write : none;
	if (bev->be_ops->adjust_timeouts != NULL)
		r = bev->be_ops->adjust_timeouts(bev);
	le_bev_unlock(bev);
	return r;
}

void bufferevent_settimeout(struct bufferevent *bev, int read, int write)
{
	struct timeval tv_read = { .tv_sec = read }, tv_write = { .tv_sec = write };

	(void)bufferevent_set_timeouts(bev, read != 0 ? &tv_read : NULL,
				       write != 0 ? &tv_write : NULL);
}
