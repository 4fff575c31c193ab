/*
 * Bufferevents on sockets: one read call and one write call for each turn.
 *
 * Output is sent at the end of the turn, without asking the kernel first whether the socket is
 * writable. EV_WRITE is watched only if the socket did not take all output, and for the end of
 * connect().
 */
#include "bev.h"

#include <errno.h>
#include <sys/socket.h>

#include <event2/bufferevent_compat.h>

#include "lock.h"
#include "sock.h"

static bool is_retry(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK || err == EINTR;
}

static bool is_watched(const struct event *ev)
{
	return ec_event_is_watched(le_ec(ev));
}

static bool is_output_watched(const struct le_bev *p)
{
	return p->may_watch_output && is_watched(&p->bev.ev_write);
}

/*
 * As observed of libevent: bufferevent_setfd leaves the ends of both buffers that belong to the socket open to the
 * program, up to the next read or write. A program that connects anew drops old output there.
 */
static inline void open_ends(const struct le_bev *p)
{
	(void)evbuffer_unfreeze(p->bev.input, 0);
	(void)evbuffer_unfreeze(p->bev.output, 1);
}

static inline void close_input(const struct le_bev *p)
{
	if (__builtin_expect(!le_buffer_is_back_frozen(p->bev.input), 0))
		(void)evbuffer_freeze(p->bev.input, 0);
}

static inline void close_output(const struct le_bev *p)
{
	if (__builtin_expect(!le_buffer_is_front_frozen(p->bev.output), 0))
		(void)evbuffer_freeze(p->bev.output, 1);
}

/* ---------------------------------------------------------------- reading */

static void read_failed(struct le_bev *p, short what)
{
	(void)bufferevent_disable(&p->bev, EV_READ);
	le_bev_trigger_event(&p->bev, (short)(BEV_EVENT_READING | what), 0);
}

static inline ssize_t receive(const struct le_bev *p, int fd, size_t max)
{
	close_input(p);
	return p->is_other_file ? le_buffer_read(p->bev.input, fd, max) : le_buffer_recv(p->bev.input, fd, max);
}

/* Programs may also pass a pipe or a terminal. True: a call has just shown that `p` is one, so it must be repeated. */
static bool has_found_file(struct le_bev *p)
{
	if (p->is_other_file || errno != ENOTSOCK)
		return false;
	p->is_other_file = true;
	return true;
}

static void read_limited(struct le_bev *p, int fd);

/* A read call has read nothing: its result is `len`, and errno. */
static __attribute__((noinline)) void not_read(struct le_bev *p, int fd, ssize_t len)
{
	if (len == 0) {
		read_failed(p, BEV_EVENT_EOF);
	} else if (has_found_file(p)) {
		read_limited(p, fd);
	} else if (errno == ECONNREFUSED && p->is_connecting) {
		/* The write event reports the end of connect(), once. */
		p->is_refused = true;
	} else if (!is_retry(errno)) {
		read_failed(p, BEV_EVENT_ERROR);
	}
}

/* How many bytes may be read now. 0: none, and reading has been suspended. */
static size_t room(struct le_bev *p)
{
	struct bufferevent *bev = &p->bev;
	ev_ssize_t max = le_bev_max_to_read(p);
	size_t len, high = bev->wm_read.high;

	if (high != 0) {
		len = le_buffer_length(bev->input);
		if (len >= high) {
			le_bev_suspend_read(bev, LE_SUSPEND_WATERMARK);
			return 0;
		}
		if ((size_t)max > high - len)
			max = (ev_ssize_t)(high - len);
	}
	return max <= 0 || p->read_suspended != 0 ? 0 : (size_t)max;
}

/* As read_ready, with a rate limit or a high watermark. */
static __attribute__((noinline)) void read_limited(struct le_bev *p, int fd)
{
	size_t max = room(p);
	ssize_t len;

	if (max == 0)
		return;
	len = receive(p, fd, max);
	if (len <= 0) {
		not_read(p, fd, len);
		return;
	}
	le_bev_spend_read(p, (size_t)len);
	le_bev_trigger_read(p);
}

static inline void read_ready(struct le_bev *p, int fd)
{
	ssize_t len;

	if (__builtin_expect(p->limit != NULL || p->bev.wm_read.high != 0, 0)) {
		read_limited(p, fd);
		return;
	}
	len = receive(p, fd, p->read_max);
	if (__builtin_expect(len > 0, 1))
		le_bev_trigger_read(p);
	else
		not_read(p, fd, len);
}

/* Prefetches lines that are needed after the read call, or late in it, while the kernel works. */
static inline void fetch_ahead(const struct le_bev *p)
{
	__builtin_prefetch(&p->bev.input);
	__builtin_prefetch(&p->input_buf);
	__builtin_prefetch(&p->bev.readcb);
	__builtin_prefetch(&p->output_buf);
}

static void read_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_bev *p = arg;

	fetch_ahead(p);
	if (!le_bev_enter(&p->bev))
		return;
	/* The event was queued before its timeout or before reading was disabled: ignore it. */
	if (what == EV_TIMEOUT)
		read_failed(p, BEV_EVENT_TIMEOUT);
	else if (le_bev_can_read(p))
		read_ready(p, fd);
	le_bev_leave(&p->bev);
}

/* ---------------------------------------------------------------- writing */

static void write_failed(struct le_bev *p, short what)
{
	(void)bufferevent_disable(&p->bev, EV_WRITE);
	le_bev_trigger_event(&p->bev, (short)(BEV_EVENT_WRITING | what), 0);
}

static inline ssize_t transmit(const struct le_bev *p, int fd, size_t max)
{
	close_output(p);
	return p->is_other_file ? le_buffer_write(p->bev.output, fd, max) : le_buffer_send(p->bev.output, fd, max);
}

static bool write_limited(struct le_bev *p, int fd);

/*
 * The peer may have sent input before it closed. As in libevent, a program whose callbacks are
 * deferred, or that uses a filter, gets this input before the error: it may free the bufferevent in
 * the event callback. Elsewhere the error comes first.
 */
static void read_rest(struct le_bev *p, int fd)
{
	char byte;

	if ((p->options & BEV_OPT_DEFER_CALLBACKS) == 0 && p->above == NULL)
		return;
	if (le_bev_can_read(p) && recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		read_ready(p, fd);
}

/* A write call has written nothing: its result is `len`, and errno. As write_once. */
static __attribute__((noinline)) bool not_written(struct le_bev *p, int fd, ssize_t len)
{
	int err = errno;

	if (len < 0 && has_found_file(p))
		return write_limited(p, fd);
	if (len < 0 && is_retry(err))
		return false;
	read_rest(p, fd);
	errno = err;
	if (!p->is_dead)
		write_failed(p, len == 0 ? BEV_EVENT_EOF : BEV_EVENT_ERROR);
	return false;
}

/* As write_once, with a rate limit, which may suspend writing. */
static __attribute__((noinline)) bool write_limited(struct le_bev *p, int fd)
{
	ev_ssize_t max = le_bev_max_to_write(p);
	ssize_t len;

	if (max <= 0 || p->write_suspended != 0)
		return false;
	len = transmit(p, fd, (size_t)max);
	if (len <= 0)
		return not_written(p, fd, len);
	le_bev_spend_write(p, (size_t)len);
	return true;
}

/* Makes one write call, which the caller has found possible. False: nothing more can be done in this turn. */
static inline bool write_once(struct le_bev *p, int fd)
{
	ssize_t len;

	if (__builtin_expect(p->limit != NULL, 0))
		return write_limited(p, fd);
	len = transmit(p, fd, p->write_max);
	return __builtin_expect(len > 0, 1) || not_written(p, fd, len);
}

/*
 * Watches EV_WRITE, which is not watched yet. Without memory for that the output would never be sent, so the program
 * gets an error.
 */
static inline void watch_output(struct le_bev *p)
{
	if (le_bev_event_add(p, &p->bev.ev_write) < 0)
		write_failed(p, BEV_EVENT_ERROR);
}

static void send_output(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);
	evutil_socket_t fd = le_ec(&bev->ev_read)->fd;
	bool is_written;

	if (fd < 0 || p->is_connecting || is_output_watched(p))
		return;
	if (p->has_sent || ec_base_got_break(le_ec(&bev->ev_read)->base)) {
		/*
		 * Also with nothing to write: the write callback asked by bufferevent_enable() to be called again.
		 * After event_base_loopbreak() the output waits for the next loop.
		 */
		watch_output(p);
		return;
	}
	p->has_sent = true;
	is_written = le_buffer_length(bev->output) == 0 || write_once(p, fd);
	if (le_buffer_length(bev->output) != 0 && le_bev_can_write(p))	/* the socket did not take all of it */
		watch_output(p);
	if (is_written)
		le_bev_trigger_write(p);
}

static void write_ready(struct le_bev *p, int fd)
{
	struct bufferevent *bev = &p->bev;
	bool has_connected = false, is_written = false;

	if (p->is_connecting) {
		if (!le_bev_connected(p, fd))
			return;
		has_connected = true;
		if (!le_bev_can_write(p)) {
			(void)le_bev_event_del(p, &bev->ev_write);
			return;
		}
	}
	if (!le_bev_can_write(p))
		return;
	p->has_sent = true;
	le_bev_note_done(p, LE_WAITING_SEND);
	if (le_buffer_length(bev->output) != 0)
		is_written = write_once(p, fd);
	else
		is_written = !has_connected;
	if (le_buffer_length(bev->output) == 0)
		(void)le_bev_event_del(p, &bev->ev_write);
	if (is_written)
		le_bev_trigger_write(p);
}

static void write_cb(evutil_socket_t fd, short what, void *arg)
{
	struct le_bev *p = arg;

	if (!le_bev_enter(&p->bev))
		return;
	if (what == EV_TIMEOUT)
		write_failed(p, BEV_EVENT_TIMEOUT);
	else
		write_ready(p, fd);
	le_bev_leave(&p->bev);
}

/* For observe/subject.h: all kinds have le_bev_later_cb. */
static bool subject(struct ec_subject *s, short what)
{
	if (s->fn != (uintptr_t)read_cb && s->fn != (uintptr_t)write_cb && s->fn != (uintptr_t)le_bev_later_cb)
		return false;
	return le_bev_subject((struct le_bev *)s->object, s, what);
}

EC_SUBJECT(subject)

/*
 * The caller holds the output's lock, which is the bufferevent's, if there is one. At the end of a turn, le_bev_leave
 * and send_output check again whether the output may be sent.
 */
static void output_grew(void *arg)
{
	struct le_bev *p = arg;

	if (p->turns != 0)
		le_bev_note_waiting(p, LE_WAITING_SEND);
	else if (le_bev_can_write(p) && !p->is_connecting && !is_output_watched(p))
		le_bev_send_soon(p);
}

/* ---------------------------------------------------------------- the kind */

static int sock_enable(struct bufferevent *bev, short events)
{
	struct le_bev *p = le_bev(bev);

	if ((events & EV_READ) != 0 && le_bev_event_add(p, &bev->ev_read) < 0)
		return -1;
	if ((events & EV_WRITE) == 0)
		return 0;
	/* Without a descriptor only the timeout runs. */
	if (p->is_connecting || event_get_fd(&bev->ev_write) < 0)
		return le_bev_event_add(p, &bev->ev_write);
	/* Even with nothing to write: it reports to the program that there is room. */
	if (!is_output_watched(p))
		le_bev_send_soon(p);
	return 0;
}

static int sock_disable(struct bufferevent *bev, short events)
{
	struct le_bev *p = le_bev(bev);

	if ((events & EV_READ) != 0 && le_bev_event_del(p, &bev->ev_read) < 0)
		return -1;
	/* The end of connect() is reported even if there is nothing to write. */
	if ((events & EV_WRITE) != 0 && !p->is_connecting &&
	    le_bev_event_del(p, &bev->ev_write) < 0)
		return -1;
	return 0;
}

static void sock_destruct(struct bufferevent *bev)
{
	evutil_socket_t fd = event_get_fd(&bev->ev_read);

	if ((le_bev(bev)->options & BEV_OPT_CLOSE_ON_FREE) != 0 && fd >= 0)
		(void)evutil_closesocket(fd);
}

static int adjust_timeout(struct le_bev *p, struct event *ev, const struct timeval *tv)
{
	if (!is_watched(ev))
		return 0;
	if (tv->tv_sec != 0 || tv->tv_usec != 0)
		return le_bev_event_add(p, ev);
	(void)event_remove_timer(ev);
	return 0;
}

static int sock_adjust_timeouts(struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);
	int r = adjust_timeout(p, &bev->ev_read, &bev->timeout_read);

	return adjust_timeout(p, &bev->ev_write, &bev->timeout_write) < 0 ? -1 : r;
}

static int sock_flush(struct bufferevent *bev, short iotype, enum bufferevent_flush_mode mode)
{
	(void)bev;
	(void)iotype;
	(void)mode;
	return 0;
}

static void events_assign(struct le_bev *p, struct event_base *base, evutil_socket_t fd)
{
	struct bufferevent *bev = &p->bev;
	int pri = event_get_priority(&bev->ev_read);

	p->is_other_file = false;
	(void)le_event_assign(&bev->ev_read, base, fd, EV_READ | EV_PERSIST | EV_FINALIZE, read_cb, p);
	(void)le_event_assign(&bev->ev_write, base, fd, EV_WRITE | EV_PERSIST | EV_FINALIZE, write_cb,
			      p);
	if (p->color != 0) {
		(void)ec_event_set_color(le_ec(&bev->ev_read), p->color);
		(void)ec_event_set_color(le_ec(&bev->ev_write), p->color);
	}
	(void)event_priority_set(&bev->ev_read, pri);
	(void)event_priority_set(&bev->ev_write, pri);
}

static void events_move(struct le_bev *p, evutil_socket_t fd)
{
	struct bufferevent *bev = &p->bev;

	(void)le_bev_event_del(p, &bev->ev_read);
	(void)le_bev_event_del(p, &bev->ev_write);
	events_assign(p, event_get_base(&bev->ev_read), fd);
}

/* On failure, the descriptor stays the caller's, and the bufferevent keeps the one that it had. */
static int set_fd(struct le_bev *p, evutil_socket_t fd)
{
	struct bufferevent *bev = &p->bev;
	evutil_socket_t old = event_get_fd(&bev->ev_read);
	bool was_watched = old >= 0 && (is_watched(&bev->ev_read) || is_output_watched(p));
	int err;

	events_move(p, fd);
	if (fd < 0 || bufferevent_enable(bev, bev->enabled) == 0) {
		open_ends(p);
		return 0;
	}
	err = errno;
	events_move(p, old);
	if (was_watched)
		le_bev_do_later(p, LE_WAITING_MOVED);
	errno = err;
	return -1;
}

static int sock_ctrl(struct bufferevent *bev, enum le_bev_ctrl op, union le_bev_ctrl_data *data)
{
	switch (op) {
	case LE_CTRL_SET_FD:
		return set_fd(le_bev(bev), data->fd);
	case LE_CTRL_GET_FD:
		data->fd = event_get_fd(&bev->ev_read);
		return 0;
	case LE_CTRL_GET_UNDERLYING:
		return -1;
	}
	return -1;
}

const struct bufferevent_ops le_bev_socket_ops = {
	.owner = LE_BEV_OWNER,
	.type = "socket",
	.enable = sock_enable,
	.disable = sock_disable,
	.cancel = le_bev_connect_cancel,
	.destruct = sock_destruct,
	.adjust_timeouts = sock_adjust_timeouts,
	.flush = sock_flush,
	.ctrl = sock_ctrl,
	.send = send_output,
};

/* ---------------------------------------------------------------- making one */

struct bufferevent *bufferevent_socket_new(struct event_base *base, evutil_socket_t fd, int options)
{
	struct le_bev *p = le_bev_alloc(sizeof(*p));
	struct bufferevent *bev;

	if (p == NULL)
		return NULL;
	bev = &p->bev;
	if (le_bev_init(p, base, &le_bev_socket_ops, options, NULL) < 0) {
		le_bev_memory_put(&p->bev);
		return NULL;
	}
	le_buffer_set_grown(bev->output, output_grew, p);
	bev->output->flags = EVBUFFER_FLAG_DRAINS_TO_FD;	/* evbuffer_add_file may leave it to sendfile */
	events_assign(p, base, fd);
	(void)evbuffer_freeze(bev->input, 0);
	(void)evbuffer_freeze(bev->output, 1);
	return bev;
}

struct bufferevent *bufferevent_new(evutil_socket_t fd, bufferevent_data_cb readcb,
				    bufferevent_data_cb writecb, bufferevent_event_cb eventcb,
				    void *arg)
{
	struct bufferevent *bev = bufferevent_socket_new(NULL, fd, 0);

	if (bev != NULL)
		bufferevent_setcb(bev, readcb, writecb, eventcb, arg);
	return bev;
}

int bufferevent_base_set(struct event_base *base, struct bufferevent *bev)
{
	struct le_bev *p = le_bev(bev);
	int r = -1;

	le_bev_lock(bev);
	if (bev->be_ops != &le_bev_socket_ops || !le_is_idle(&bev->ev_read) ||
	    !le_is_idle(&bev->ev_write) || !le_is_idle(&p->later))
		goto unlock;
	bev->ev_base = base;
	/* The events are idle, so this cannot fail. */
	(void)event_base_set(base, &bev->ev_read);
	(void)event_base_set(base, &bev->ev_write);
	(void)ec_event_set_base(le_ec(&p->later), le_base(base));
	if (p->limit != NULL)
		le_bev_limit_set_base(p, base);
	if (p->waiting != 0)
		le_bev_do_later(p, 0);
	r = 0;
unlock:
	le_bev_unlock(bev);
	return r;
}

/* Other threads may activate the event meanwhile, without the bufferevent's lock. */
static int event_pri_set(struct ec_event *ev, int pri)
{
	int r = ec_event_set_pri(ev, pri);

	if (r < 0)
		errno = -r;
	return r;
}

int bufferevent_priority_set(struct bufferevent *bev, int pri)
{
	struct le_bev *p = le_bev(bev);
	int r = -1;

	le_bev_lock(bev);
	if (bev->be_ops == &le_bev_socket_ops && event_pri_set(le_ec(&bev->ev_read), pri) == 0 &&
	    event_pri_set(le_ec(&bev->ev_write), pri) == 0) {
		(void)ec_event_set_pri(le_ec(&p->later), pri);
		r = 0;
	}
	le_bev_unlock(bev);
	return r;
}

int bufferevent_get_priority(const struct bufferevent *bev)
{
	return event_get_priority(&bev->ev_read);
}
