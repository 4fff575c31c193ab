/*
 * Filters: a bufferevent that transforms the input and the output of another one, the bufferevent
 * below.
 *
 * A filter has the color and the lock of the bufferevent below. The filter functions run with the
 * lock held, because other threads may append to the buffers that they work on. Callbacks of the
 * filter run without it: those caused by a change of a locked buffer are deferred.
 */
#include "bev.h"

#include "lock.h"

struct filter {
	struct le_bev bev;		/* first */

	/* const */
	struct bufferevent *underlying;	/* holds a reference */
	bufferevent_filter_cb process_in, process_out;
	void (*free_context)(void *);
	void *context;

	/* lock */
	/* process_out, or something that it causes, is changing the output */
	bool is_processing_out;
	bool is_processing_in;
};

static struct filter *filter_of(const struct bufferevent *bev)
{
	return ec_container_of((uintptr_t)bev, struct filter, bev.bev);
}

static enum bufferevent_filter_result pass_on(struct evbuffer *src, struct evbuffer *dst,
					      ev_ssize_t limit, enum bufferevent_flush_mode mode,
					      void *ctx)
{
	size_t len = limit < 0 ? evbuffer_get_length(src) : (size_t)limit;

	(void)mode;
	(void)ctx;
	return evbuffer_remove_buffer(src, dst, len) < 0 ? BEV_ERROR : BEV_OK;
}

/* ---------------------------------------------------------------- moving data */

/* Bytes up to the high watermark; -1: no limit. */
static ev_ssize_t room(const struct evbuffer *buf, size_t high, enum bufferevent_flush_mode mode)
{
	size_t len = le_buffer_length(buf);

	if (mode != BEV_NORMAL || high == 0)
		return -1;
	return len >= high ? 0 : (ev_ssize_t)(high - len);
}

static ev_ssize_t input_room(struct filter *f, enum bufferevent_flush_mode mode)
{
	return room(f->bev.bev.input, f->bev.bev.wm_read.high, mode);
}

static ev_ssize_t output_room(struct filter *f, enum bufferevent_flush_mode mode)
{
	return room(f->underlying->output, f->underlying->wm_write.high, mode);
}

/* True: the filter function produced something. */
static bool process_input(struct filter *f, enum bufferevent_flush_mode mode)
{
	struct bufferevent *bev = &f->bev.bev;
	bool has_processed = false;
	enum bufferevent_filter_result result;
	ev_ssize_t limit;

	if (f->is_processing_in || (mode == BEV_NORMAL && (bev->enabled & EV_READ) == 0))
		return false;
	f->is_processing_in = true;
	while ((limit = input_room(f, mode)) != 0) {
		result = f->process_in(f->underlying->input, bev->input, limit, mode, f->context);
		if (result != BEV_OK)
			break;
		has_processed = true;
		if ((bev->enabled & EV_READ) == 0 || le_buffer_length(f->underlying->input) == 0)
			break;
	}
	f->is_processing_in = false;
	if (has_processed)
		(void)le_bev_restart_timer(bev, EV_READ);
	return has_processed;
}

/* True: there is more, and room for it. `has_processed`: the filter function produced something. */
static bool output_step(struct filter *f, enum bufferevent_flush_mode mode, bool *has_processed)
{
	struct bufferevent *bev = &f->bev.bev;
	enum bufferevent_filter_result result;
	ev_ssize_t limit;

	while ((limit = output_room(f, mode)) != 0) {
		result = f->process_out(bev->output, f->underlying->output, limit, mode, f->context);
		if (result != BEV_OK)
			return false;
		*has_processed = true;
		if ((bev->enabled & EV_WRITE) == 0 || le_buffer_length(bev->output) == 0)
			break;
	}
	return *has_processed;
}

/*
 * True: the filter function produced something. The write callback may write more, which is also
 * processed.
 */
static bool process_output(struct filter *f, enum bufferevent_flush_mode mode, int options)
{
	struct bufferevent *bev = &f->bev.bev;
	bool has_processed = false, has_ever = false, has_more;

	if (f->is_processing_out)
		return false;
	if (mode == BEV_NORMAL &&
	    (!le_bev_can_write(&f->bev) || le_buffer_length(bev->output) == 0))
		return false;
	f->is_processing_out = true;
	do {
		has_processed = false;
		has_more = output_step(f, mode, &has_processed);
		has_ever = has_ever || has_processed;
		if (has_processed)
			le_bev_trigger(bev, EV_WRITE, options);
	} while (has_more && le_bev_can_write(&f->bev) && le_buffer_length(bev->output) != 0);
	f->is_processing_out = false;
	if (has_ever)
		(void)le_bev_restart_timer(bev, EV_WRITE);
	return has_ever;
}

/* ---------------------------------------------------------------- callbacks */

/* Within a change of a locked buffer, callbacks must be deferred. */
static int options_inside(const struct filter *f)
{
	return f->bev.lock != NULL ? BEV_OPT_DEFER_CALLBACKS : 0;
}

static void output_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct filter *f = arg;

	(void)buf;
	if (info->n_added == 0 || f->is_processing_out || f->bev.is_dead)
		return;
	le_bev_get(&f->bev.bev);
	(void)process_output(f, BEV_NORMAL, options_inside(f));
	le_bev_put(&f->bev.bev);
}

/* The input is below the high watermark again: the bufferevent below may have more. */
static void input_changed(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct filter *f = arg;

	(void)buf;
	if (info->n_deleted <= info->n_added || f->is_processing_in || f->bev.is_dead)
		return;
	if (f->bev.bev.wm_read.high == 0 || input_room(f, BEV_NORMAL) == 0 ||
	    le_buffer_length(f->underlying->input) == 0)
		return;
	le_bev_do_later(&f->bev, LE_WAITING_KIND);
}

static void read_more(struct filter *f)
{
	if (process_input(f, BEV_NORMAL))
		le_bev_trigger(&f->bev.bev, EV_READ, 0);
}

static void later(struct bufferevent *bev)
{
	struct filter *f = filter_of(bev);

	if (le_buffer_length(f->underlying->input) != 0)
		read_more(f);
	(void)process_output(f, BEV_NORMAL, 0);
}

static void underlying_read(struct bufferevent *underlying, void *arg)
{
	struct filter *f = arg;

	(void)underlying;
	if (!le_bev_enter(&f->bev.bev))
		return;
	read_more(f);
	le_bev_leave(&f->bev.bev);
}

static void underlying_write(struct bufferevent *underlying, void *arg)
{
	struct filter *f = arg;

	(void)underlying;
	if (!le_bev_enter(&f->bev.bev))
		return;
	(void)process_output(f, BEV_NORMAL, 0);
	le_bev_leave(&f->bev.bev);
}

static void underlying_event(struct bufferevent *underlying, short what, void *arg)
{
	struct filter *f = arg;

	(void)underlying;
	if (!le_bev_enter(&f->bev.bev))
		return;
	le_bev_trigger_event(&f->bev.bev, what, 0);
	le_bev_leave(&f->bev.bev);
}

/* ---------------------------------------------------------------- the kind */

static int filter_enable(struct bufferevent *bev, short events)
{
	struct filter *f = filter_of(bev);
	int r = 0;

	if ((events & EV_WRITE) != 0 && le_bev_restart_timer(bev, EV_WRITE) < 0)
		r = -1;
	if ((events & EV_READ) != 0) {
		if (le_bev_restart_timer(bev, EV_READ) < 0)
			r = -1;
		le_bev_unsuspend_read(f->underlying, LE_SUSPEND_FILTER);
	}
	/* Process bytes that arrived while it was disabled: maybe no other event will do so. */
	if (((events & EV_WRITE) != 0 && le_buffer_length(bev->output) != 0) ||
	    ((events & EV_READ) != 0 && le_buffer_length(f->underlying->input) != 0))
		le_bev_do_later(&f->bev, LE_WAITING_KIND);
	return r;
}

static int filter_disable(struct bufferevent *bev, short events)
{
	struct filter *f = filter_of(bev);

	if ((events & EV_WRITE) != 0)
		(void)le_bev_event_del(&f->bev, &bev->ev_write);
	if ((events & EV_READ) != 0) {
		(void)le_bev_event_del(&f->bev, &bev->ev_read);
		le_bev_suspend_read(f->underlying, LE_SUSPEND_FILTER);
	}
	return 0;
}

static struct bufferevent *filter_unlink(struct bufferevent *bev)
{
	struct filter *f = filter_of(bev);

	return le_bev_leave_below(&f->bev, f->underlying, underlying_event);
}

static void filter_destruct(struct bufferevent *bev)
{
	struct filter *f = filter_of(bev);

	if (f->free_context != NULL)
		f->free_context(f->context);
	le_bev_put(f->underlying);
}

static int filter_flush(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode)
{
	struct filter *f = filter_of(bev);
	bool has_processed = false;

	if ((iotype & EV_READ) != 0)
		has_processed = process_input(f, mode);
	if ((iotype & EV_WRITE) != 0)
		has_processed = process_output(f, mode, 0) || has_processed;
	/* A socket has nothing to flush; other kinds report the flush themselves. */
	(void)bufferevent_flush(f->underlying, iotype, mode);
	return has_processed;
}

static int filter_ctrl(struct bufferevent *bev, enum le_bev_ctrl op, union le_bev_ctrl_data *data)
{
	struct filter *f = filter_of(bev);

	if (op == LE_CTRL_GET_UNDERLYING) {
		data->underlying = f->underlying;
		return 0;
	}
	if (f->underlying->be_ops->ctrl == NULL)
		return -1;
	return f->underlying->be_ops->ctrl(f->underlying, op, data);
}

const struct bufferevent_ops le_bev_filter_ops = {
	.owner = LE_BEV_OWNER,
	.type = "filter",
	.enable = filter_enable,
	.disable = filter_disable,
	.unlink = filter_unlink,
	.destruct = filter_destruct,
	.adjust_timeouts = le_bev_adjust_timers,
	.flush = filter_flush,
	.ctrl = filter_ctrl,
	.later = later,
};

/* ---------------------------------------------------------------- making one */

static int filter_init(struct filter *f, int options)
{
	struct bufferevent *bev = &f->bev.bev;

	if (le_bev_init(&f->bev, f->underlying->ev_base, &le_bev_filter_ops, options,
			le_bev(f->underlying)) < 0)
		return -1;
	if (le_buffer_add_cb_now(bev->output, output_changed, f) == NULL ||
	    le_buffer_add_cb_now(bev->input, input_changed, f) == NULL) {
		le_bev_discard(&f->bev);
		return -1;
	}
	return 0;
}

struct bufferevent *bufferevent_filter_new(struct bufferevent *underlying,
					   bufferevent_filter_cb input_filter,
					   bufferevent_filter_cb output_filter, int options,
					   void (*free_context)(void *), void *ctx)
{
	struct filter *f = le_bev_alloc(sizeof(*f));

	if (f == NULL)
		return NULL;
	f->underlying = underlying;
	f->process_in = input_filter != NULL ? input_filter : pass_on;
	f->process_out = output_filter != NULL ? output_filter : pass_on;
	f->free_context = free_context;
	f->context = ctx;
	if (filter_init(f, options) < 0) {
		le_bev_memory_put(&f->bev.bev);
		return NULL;
	}
	le_bev_get(underlying);
	le_bev(underlying)->above = &f->bev;
	bufferevent_setcb(underlying, underlying_read, underlying_write, underlying_event, f);
	(void)bufferevent_enable(underlying, EV_READ | EV_WRITE);
	le_bev_lock(underlying);
	le_bev_suspend_read(underlying, LE_SUSPEND_FILTER);
	le_bev_unlock(underlying);
	return &f->bev.bev;
}
