/*
 * The public functions that are the same for all kinds of bufferevents.
 */
#include "bev.h"

#include "lock.h"

/* ---------------------------------------------------------------- callbacks */

void bufferevent_setcb(struct bufferevent *bev, bufferevent_data_cb readcb,
		       bufferevent_data_cb writecb, bufferevent_event_cb eventcb, void *cbarg)
{
	le_bev_lock(bev);
	bev->readcb = readcb;
	bev->writecb = writecb;
	bev->errorcb = eventcb;
	bev->cbarg = cbarg;
	le_bev_unlock(bev);
}

void bufferevent_getcb(struct bufferevent *bev, bufferevent_data_cb *readcb,
		       bufferevent_data_cb *writecb, bufferevent_event_cb *eventcb, void **cbarg)
{
	le_bev_lock(bev);
	if (readcb != NULL)
		*readcb = bev->readcb;
	if (writecb != NULL)
		*writecb = bev->writecb;
	if (eventcb != NULL)
		*eventcb = bev->errorcb;
	if (cbarg != NULL)
		*cbarg = bev->cbarg;
	le_bev_unlock(bev);
}

/* ---------------------------------------------------------------- life */

/* Does bufferevent_lock exclude callbacks that have begun? */
static inline bool excludes_callbacks(const struct le_bev *p)
{
	return p->lock != NULL && (p->options & BEV_OPT_UNLOCK_CALLBACKS) == 0;
}

/*
 * After bufferevent_free, programs free the data that their callbacks use. So if the bufferevent has a lock, this waits
 * until none of its callbacks runs, except the caller's own. The caller holds the lock, which is released meanwhile.
 */
static void wait_for_callback(struct le_bev *p)
{
	if (!le_bev_calling_wait(p))
		ec_log(EC_LOG_WARN, "bufferevent_free: two callbacks wait for each other's end; not waiting");
}

void bufferevent_free(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	le_bev_lock(bev);
	p->is_freed = true;
	bev->readcb = bev->writecb = NULL;
	bev->errorcb = NULL;
	if (bev->be_ops->cancel != NULL)
		bev->be_ops->cancel(bev);
	if (excludes_callbacks(p))
		wait_for_callback(p);
	(void)le_bev_put_and_unlock(bev);
}

void bufferevent_incref(struct bufferevent *bev)
{
	le_bev_get(bev);
}

int bufferevent_decref(struct bufferevent *bev)
{
	le_bev_lock(bev);
	return le_bev_put_and_unlock(bev);
}

/* Two callbacks that lock each other's bufferevent would wait for ever; libevent, too, waits then. */
static void lock_out_callbacks(struct le_bev *p)
{
	while (!le_bev_calling_wait(p) || !le_bev_calling_begin(p))
		sched_yield();
}

void bufferevent_lock(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	le_bev_get_and_lock(bev);
	if (excludes_callbacks(p))
		lock_out_callbacks(p);
}

void bufferevent_unlock(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);

	if (excludes_callbacks(p)) {
		/* Or the next one to lock it would wait for nobody. libevent ends the program, too. */
		if (__builtin_expect(p->calling_depth == 0 || le_bev_is_called_elsewhere(p), 0))
			ec_die(EC_EXIT_ABORT, "bufferevent_unlock: this thread has not locked bufferevent %p",
			       (const void *)bev);
		le_bev_calling_end(p);
	}
	(void)le_bev_put_and_unlock(bev);
}

/* ---------------------------------------------------------------- buffers */

struct evbuffer *bufferevent_get_input(struct bufferevent *bev)
{
	return bev->input;
}

struct evbuffer *bufferevent_get_output(struct bufferevent *bev)
{
	return bev->output;
}

/* Without the lock: evbuffer takes it, and takes two buffers' locks in a fixed order. */
int bufferevent_write(struct bufferevent *bev, const void *data, size_t size)
{
	return evbuffer_add(bev->output, data, size);
}

int bufferevent_write_buffer(struct bufferevent *bev, struct evbuffer *buf)
{
	return evbuffer_add_buffer(bev->output, buf);
}

size_t bufferevent_read(struct bufferevent *bev, void *data, size_t size)
{
	int r = evbuffer_remove(bev->input, data, size);

	return r < 0 ? 0 : (size_t)r;
}

int bufferevent_read_buffer(struct bufferevent *bev, struct evbuffer *buf)
{
	return evbuffer_add_buffer(buf, bev->input);
}

int bufferevent_flush(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode)
{
	int r = -1;

	le_bev_get_and_lock(bev);
	if (bev->be_ops->flush != NULL)
		r = bev->be_ops->flush(bev, iotype, mode);
	(void)le_bev_put_and_unlock(bev);
	return r;
}

/*
 * ---------------------------------------------------------------- descriptor and bufferevent below
 */

static int ctrl(struct bufferevent *bev, enum le_bev_ctrl op, union le_bev_ctrl_data *data)
{
	int r = -1;

	le_bev_lock(bev);
	if (bev->be_ops->ctrl != NULL)
		r = bev->be_ops->ctrl(bev, op, data);
	le_bev_unlock(bev);
	return r;
}

int bufferevent_setfd(struct bufferevent *bev, evutil_socket_t fd)
{
	union le_bev_ctrl_data data = { .fd = fd };

	return ctrl(bev, LE_CTRL_SET_FD, &data);
}

evutil_socket_t bufferevent_getfd(struct bufferevent *bev)
{
	union le_bev_ctrl_data data = { .fd = -1 };

	return ctrl(bev, LE_CTRL_GET_FD, &data) < 0 ? -1 : data.fd;
}

struct bufferevent *bufferevent_get_underlying(struct bufferevent *bev)
{
	union le_bev_ctrl_data data = { .underlying = NULL };

	return ctrl(bev, LE_CTRL_GET_UNDERLYING, &data) < 0 ? NULL : data.underlying;
}

struct event_base *bufferevent_get_base(struct bufferevent *bev)
{
	return bev->ev_base;
}
