/*
 * Listeners: accepting connections, in the listener's callback or each in a color of its own.
 *
 * No lock is held while the program is called. Dropping the last reference frees the memory, and
 * closes the descriptor, so that the address is free again at once. Another thread may just have
 * begun a callback of the listener: the callback finds the listener dead and returns. event_del
 * waits for that. The wait is short, because every longer callback holds a reference.
 *
 * A connection with a color waits in a `struct arrival` until its color runs. The listener has a
 * list of arrivals, so freeing it closes the connections whose callback has not run. The memory of
 * an arrival is allocated before accept4. So a connection that could not be passed on stays in the
 * kernel's queue.
 *
 * A listener has one event: either it waits for connections, or, after a lack of descriptors or
 * memory, for the end of a pause.
 */
#include <event2/listener.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/smp.h>
#include <event2/thread.h>

#include "event/le.h"

enum {
	BACKLOG = 128,
	BATCH = 64,			/* connections accepted in one callback */
	PAUSE_US = 100000,		/* pause after a lack of descriptors or memory */
	FRESH = 0x80000000,		/* | descriptor: a color that no open connection has */
};

struct evconnlistener {
	/* const */
	unsigned flags;			/* LEV_OPT_… */
	int accept_flags;		/* for accept4 */
	void *lock;			/* or NULL */

	/* lock */
	unsigned refs_num;
	bool is_enabled;
	bool is_dead;
	bool is_paused;			/* `event` is assigned for the end of a pause */
	evconnlistener_cb cb;
	evconnlistener_errorcb errorcb;
	void *arg;
	struct coloring *coloring;	/* NULL: no connection ever had a color */
	struct event event;
};

struct coloring {
	/* lev->lock */
	enum evconnlistener_color_policy policy;
	evconnlistener_color_cb cb;
	void *arg;
	struct ec_list arrivals;
	struct arrival *spare;		/* for the next connection with a color; or NULL */
};

struct arrival {
	struct event event;		/* has the connection's color */
	struct evconnlistener *lev;	/* holds a reference */
	struct ec_list link;		/* in coloring->arrivals, until it is reported or dropped */
	bool is_dropped;		/* lev->lock */
	evutil_socket_t fd;
	socklen_t len;
	struct sockaddr_storage addr;
};

static inline void lock(struct evconnlistener *lev)
{
	if (lev->lock != NULL)
		(void)ec_thread_lock(lev->lock, 0);
}

static inline void unlock(struct evconnlistener *lev)
{
	if (lev->lock != NULL)
		(void)ec_thread_unlock(lev->lock, 0);
}

/* ---------------------------------------------------------------- the end */

static void lev_free(struct evconnlistener *lev)
{
	event_debug_unassign(&lev->event);
	ec_thread_lock_free(lev->lock, EVTHREAD_LOCKTYPE_RECURSIVE);
	if (lev->coloring != NULL)
		ec_free(lev->coloring->spare);
	ec_free(lev->coloring);
	ec_free(lev);
}

/* Called after the last reference was dropped, with the lock held. Releases the lock. */
static void end(struct evconnlistener *lev)
{
	struct ec_base *base = le_base(event_get_base(&lev->event));

	lev->is_dead = true;
	(void)event_del_noblock(&lev->event);
	if ((lev->flags & LEV_OPT_CLOSE_ON_FREE) != 0)
		(void)evutil_closesocket(event_get_fd(&lev->event));
	unlock(lev);
	if (ec_base_is_locked(base))
		(void)event_del_block(&lev->event);
	lev_free(lev);
}

static void put_and_unlock(struct evconnlistener *lev)
{
	if (--lev->refs_num == 0)
		end(lev);
	else
		unlock(lev);
}

/* ---------------------------------------------------------------- arrivals */

static void arrival_free(struct ec_event *ev, void *arg)
{
	struct arrival *a = arg;

	(void)ev;
	event_debug_unassign(&a->event);
	lock(a->lev);
	put_and_unlock(a->lev);
	ec_free(a);
}

/* Drop the arrivals that have not been reported. Under the lock. */
static void arrivals_drop(struct evconnlistener *lev)
{
	struct arrival *a;

	while (lev->coloring != NULL && !ec_list_is_empty(&lev->coloring->arrivals)) {
		a = ec_container_of(lev->coloring->arrivals.next, struct arrival, link);
		ec_list_remove(&a->link);
		a->is_dropped = true;
		(void)evutil_closesocket(a->fd);
		/*
		 * The arrival's callback may have begun and wait for the lock, so a finalizer frees
		 * the arrival. This cannot fail: the callback is due or runs, so the color exists.
		 */
		(void)ec_event_finalize(le_ec(&a->event), arrival_free, false);
	}
}

static void arrival_cb(evutil_socket_t fd, short what, void *arg)
{
	struct arrival *a = arg;
	struct evconnlistener *lev = a->lev;
	evconnlistener_cb cb;
	void *cb_arg;

	(void)fd;
	(void)what;
	lock(lev);
	if (a->is_dropped) {
		unlock(lev);
		return;
	}
	ec_list_remove(&a->link);
	cb = lev->cb;
	cb_arg = lev->arg;
	unlock(lev);
	if (cb != NULL)
		cb(lev, a->fd, (struct sockaddr *)&a->addr, (int)a->len, cb_arg);
	else
		(void)evutil_closesocket(a->fd);
	arrival_free(le_ec(&a->event), a);
}

/*
 * Prepares for a connection with a color: makes an arrival, and the workers. (Without workers, its
 * callback would run on the loop's thread, after all others.) 0 or -errno. Under the lock.
 */
static int arrival_prepare(struct evconnlistener *lev)
{
	int r = ec_base_prepare_colors(le_base(event_get_base(&lev->event)));

	if (r < 0)
		return r;
	if (lev->coloring->spare == NULL)
		lev->coloring->spare = ec_malloc(sizeof(*lev->coloring->spare));
	return lev->coloring->spare == NULL ? -ENOMEM : 0;
}

/* After arrival_prepare. Under the lock. */
static void arrival_send(struct evconnlistener *lev, ev_uint32_t color, evutil_socket_t fd,
			 const struct sockaddr_storage *addr, socklen_t len)
{
	struct arrival *a = lev->coloring->spare;

	lev->coloring->spare = NULL;
	a->lev = lev;
	a->is_dropped = false;
	a->fd = fd;
	a->len = len;
	memcpy(&a->addr, addr, sizeof(*addr));
	(void)le_event_assign(&a->event, event_get_base(&lev->event), -1, EV_FINALIZE, arrival_cb, a);
	(void)ec_event_set_color(le_ec(&a->event), color);
	ec_list_push_back(&lev->coloring->arrivals, &a->link);
	lev->refs_num++;
	ec_event_active(le_ec(&a->event), EC_TIMEOUT, 1);
}

/* ---------------------------------------------------------------- accepting */

static inline bool has_colors(const struct evconnlistener *lev)
{
	return lev->coloring != NULL && lev->coloring->policy != EVCONNLISTENER_COLOR_NONE;
}

/* Without the lock. */
static ev_uint32_t color_of(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr_storage *addr,
			    socklen_t len)
{
	const struct coloring *c = lev->coloring;

	if (c->policy == EVCONNLISTENER_COLOR_ASK)
		return c->cb(lev, fd, (struct sockaddr *)addr, (int)len, c->arg);
	return (ev_uint32_t)FRESH | (ev_uint32_t)fd;
}

/* Called under the lock, which is released while the program is called. */
static void report(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr_storage *addr, socklen_t len)
{
	evconnlistener_cb cb = lev->cb;
	void *arg = lev->arg;
	ev_uint32_t color;

	if (!has_colors(lev)) {
		unlock(lev);
		cb(lev, fd, (struct sockaddr *)addr, (int)len, arg);
		lock(lev);
		return;
	}
	unlock(lev);
	color = color_of(lev, fd, addr, len);
	lock(lev);
	/* The program may have freed the listener, or removed the callback. */
	if (lev->cb != NULL && lev->coloring->spare != NULL)
		arrival_send(lev, color, fd, addr, len);
	else
		(void)evutil_closesocket(fd);
}

static bool is_retry(int err)
{
	return err == EAGAIN || err == EWOULDBLOCK || err == EINTR || err == ECONNABORTED;
}

static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM;
}

static void ready_cb(evutil_socket_t fd, short what, void *arg);
static void retry_cb(evutil_socket_t fd, short what, void *arg);

/* Assigns the event of a listener that does not wait. A callback of it may be due, and finds out under the lock. */
static void assign(struct evconnlistener *lev, struct event_base *base, evutil_socket_t fd)
{
	if (lev->is_paused)
		(void)le_event_assign(&lev->event, base, fd, EV_FINALIZE, retry_cb, lev);
	else
		(void)le_event_assign(&lev->event, base, fd, EV_READ | EV_PERSIST | EV_FINALIZE, ready_cb, lev);
}

/* Under the lock. */
static void set_paused(struct evconnlistener *lev, bool is_paused)
{
	struct event_base *base = event_get_base(&lev->event);
	evutil_socket_t fd = event_get_fd(&lev->event);

	if (lev->is_paused == is_paused)
		return;
	(void)event_del_noblock(&lev->event);
	event_debug_unassign(&lev->event);
	lev->is_paused = is_paused;
	assign(lev, base, fd);
}

/*
 * The connection that cannot be accepted stays in the queue, and the kernel keeps reporting it.
 * Without a pause the loop would spin. Under the lock.
 */
static void pause_accepting(struct evconnlistener *lev)
{
	static const struct timeval pause = { .tv_usec = PAUSE_US };

	if (!lev->is_enabled || lev->is_dead || lev->is_paused)
		return;
	set_paused(lev, true);
	if (event_add(&lev->event, &pause) == 0)
		return;
	set_paused(lev, false);
	(void)event_add(&lev->event, NULL);
}

/* Called under the lock, which is released while the program is called. */
static void failed(struct evconnlistener *lev, int err)
{
	evconnlistener_errorcb errorcb = lev->errorcb;
	void *arg = lev->arg;

	if (errorcb != NULL) {
		unlock(lev);
		errno = err;
		errorcb(lev, arg);
		lock(lev);
	} else {
		ec_log_errno(EC_LOG_WARN, err, "Error from accept() call");
	}
	if (is_shortage(err))
		pause_accepting(lev);
}

/* Accept one connection. False: there are no more now. Under the lock. */
static bool accept_one(struct evconnlistener *lev, evutil_socket_t listening)
{
	struct sockaddr_storage addr;
	int r = has_colors(lev) ? arrival_prepare(lev) : 0, fd, err;
	socklen_t len = sizeof(addr);

	if (r < 0) {
		failed(lev, -r);
		pause_accepting(lev); /* whatever the cause is */
		return false;
	}
	fd = accept4(listening, (struct sockaddr *)&addr, &len, lev->accept_flags);
	err = errno;
	if (fd < 0) {
		if (!is_retry(err))
			failed(lev, err);
		return false;
	}
	if (lev->cb == NULL) {
		(void)evutil_closesocket(fd);
		return false;
	}
	report(lev, fd, &addr, len);
	return lev->is_enabled;
}

static void ready_cb(evutil_socket_t fd, short what, void *arg)
{
	struct evconnlistener *lev = arg;
	int i;

	(void)what;
	lock(lev);
	if (lev->is_dead || lev->is_paused) {
		unlock(lev);
		return;
	}
	lev->refs_num++;
	/* If the callback freed the listener, this is the only reference: stop accepting. */
	for (i = 0; i < BATCH && accept_one(lev, fd) && lev->refs_num > 1; i++)
		;
	put_and_unlock(lev);
}

static void retry_cb(evutil_socket_t fd, short what, void *arg)
{
	struct evconnlistener *lev = arg;

	(void)fd;
	(void)what;
	lock(lev);
	if (!lev->is_dead && lev->is_paused) {
		set_paused(lev, false);
		if (lev->is_enabled && lev->cb != NULL && event_add(&lev->event, NULL) < 0)
			pause_accepting(lev);
	}
	unlock(lev);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	struct evconnlistener *lev = (struct evconnlistener *)s->object;
	bool is_known;

	(void)what;
	if (s->fn == (uintptr_t)arrival_cb)
		lev = ((struct arrival *)s->object)->lev;
	else if (s->fn != (uintptr_t)ready_cb)
		return false;
	s->kind = EC_OBJECT_LISTENER;
	lock(lev);
	is_known = ec_subject_calls(s, (uintptr_t)lev->cb);
	if (is_known)
		s->object = (uintptr_t)lev->arg;
	unlock(lev);
	return is_known;
}

EC_SUBJECT(subject)

/* ---------------------------------------------------------------- making one */

struct evconnlistener *evconnlistener_new(struct event_base *base, evconnlistener_cb cb, void *arg, unsigned flags,
					  int backlog, evutil_socket_t fd)
{
	struct evconnlistener *lev;

	if (backlog != 0 && listen(fd, backlog > 0 ? backlog : BACKLOG) < 0)
		return NULL;
	/* glibc's calloc does not use its per-thread cache of free blocks. */
	lev = ec_malloc(sizeof(*lev));
	if (lev == NULL)
		return NULL;
	memset(lev, 0, sizeof(*lev));
	lev->flags = flags;
	lev->accept_flags = ((flags & LEV_OPT_LEAVE_SOCKETS_BLOCKING) == 0 ? SOCK_NONBLOCK : 0) |
			    ((flags & LEV_OPT_CLOSE_ON_EXEC) != 0 ? SOCK_CLOEXEC : 0);
	lev->refs_num = 1;
	lev->cb = cb;
	lev->arg = arg;
	if ((flags & LEV_OPT_THREADSAFE) != 0 && ec_thread_is_on()) {
		lev->lock = ec_thread_lock_new(EVTHREAD_LOCKTYPE_RECURSIVE);
		if (lev->lock == NULL)
			goto free_listener;
	}
	assign(lev, base, fd);
	if ((flags & LEV_OPT_DISABLED) == 0 && evconnlistener_enable(lev) < 0)
		goto unassign;
	return lev;

unassign:
	event_debug_unassign(&lev->event);
	ec_thread_lock_free(lev->lock, EVTHREAD_LOCKTYPE_RECURSIVE);
free_listener:
	ec_free(lev);
	return NULL;
}

static int set_options(evutil_socket_t fd, unsigned flags)
{
	int one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)) < 0)
		return -1;
	if ((flags & LEV_OPT_REUSEABLE) != 0 && evutil_make_listen_socket_reuseable(fd) < 0)
		return -1;
	if ((flags & LEV_OPT_REUSEABLE_PORT) != 0 && evutil_make_listen_socket_reuseable_port(fd) < 0)
		return -1;
	if ((flags & LEV_OPT_DEFERRED_ACCEPT) != 0 && evutil_make_tcp_listen_socket_deferred(fd) < 0)
		return -1;
	if ((flags & LEV_OPT_BIND_IPV6ONLY) != 0 && evutil_make_listen_socket_ipv6only(fd) < 0)
		return -1;
	return 0;
}

struct evconnlistener *evconnlistener_new_bind(struct event_base *base, evconnlistener_cb cb, void *arg, unsigned flags,
					       int backlog, const struct sockaddr *sa, int socklen)
{
	int type = SOCK_STREAM | SOCK_NONBLOCK | ((flags & LEV_OPT_CLOSE_ON_EXEC) != 0 ? SOCK_CLOEXEC : 0);
	struct evconnlistener *lev;
	evutil_socket_t fd;

	if (backlog == 0)
		return NULL;
	fd = socket(sa != NULL ? sa->sa_family : AF_UNSPEC, type, 0);
	if (fd < 0)
		return NULL;
	if (set_options(fd, flags) < 0)
		goto close_fd;
	if (sa != NULL && bind(fd, sa, (socklen_t)socklen) < 0)
		goto close_fd;
	lev = evconnlistener_new(base, cb, arg, flags, backlog, fd);
	if (lev == NULL)
		goto close_fd;
	return lev;

close_fd:
	(void)evutil_closesocket(fd);
	return NULL;
}

void evconnlistener_free(struct evconnlistener *lev)
{
	lock(lev);
	lev->cb = NULL;
	lev->errorcb = NULL;
	arrivals_drop(lev);
	put_and_unlock(lev);
}

/* ---------------------------------------------------------------- asking and setting */

int evconnlistener_enable(struct evconnlistener *lev)
{
	int r = 0;

	lock(lev);
	lev->is_enabled = true;
	if (lev->cb != NULL && !lev->is_paused)
		r = event_add(&lev->event, NULL);
	unlock(lev);
	return r;
}

int evconnlistener_disable(struct evconnlistener *lev)
{
	int r;

	lock(lev);
	lev->is_enabled = false;
	set_paused(lev, false);
	r = event_del_noblock(&lev->event);
	unlock(lev);
	return r;
}

evutil_socket_t evconnlistener_get_fd(struct evconnlistener *lev)
{
	return event_get_fd(&lev->event);
}

struct event_base *evconnlistener_get_base(struct evconnlistener *lev)
{
	return event_get_base(&lev->event);
}

void evconnlistener_set_cb(struct evconnlistener *lev, evconnlistener_cb cb, void *arg)
{
	bool must_enable;

	lock(lev);
	must_enable = lev->is_enabled && lev->cb == NULL;
	lev->cb = cb;
	lev->arg = arg;
	if (must_enable && evconnlistener_enable(lev) < 0)
		pause_accepting(lev);
	unlock(lev);
}

void evconnlistener_set_error_cb(struct evconnlistener *lev, evconnlistener_errorcb errorcb)
{
	lock(lev);
	lev->errorcb = errorcb;
	unlock(lev);
}

static struct coloring *coloring_new(void)
{
	struct coloring *c = ec_calloc(1, sizeof(*c));

	if (c != NULL)
		ec_list_init(&c->arrivals);
	return c;
}

int evconnlistener_set_color_policy(struct evconnlistener *lev, enum evconnlistener_color_policy policy,
				    evconnlistener_color_cb cb, void *arg)
{
	if (lev == NULL || policy < EVCONNLISTENER_COLOR_NONE || policy > EVCONNLISTENER_COLOR_ASK ||
	    (policy == EVCONNLISTENER_COLOR_ASK && cb == NULL)) {
		errno = EINVAL;
		return -1;
	}
	if (policy == EVCONNLISTENER_COLOR_NONE && lev->coloring == NULL)
		return 0;
	if (policy != EVCONNLISTENER_COLOR_NONE &&
	    le_result(ec_base_prepare_colors(le_base(event_get_base(&lev->event)))) < 0)
		return -1;
	if (lev->coloring == NULL)
		lev->coloring = coloring_new();
	if (lev->coloring == NULL) {
		errno = ENOMEM;
		return -1;
	}
	if (lev->lock == NULL && policy != EVCONNLISTENER_COLOR_NONE) {
		lev->lock = ec_thread_is_on() ? ec_thread_lock_new(EVTHREAD_LOCKTYPE_RECURSIVE) :
						ec_thread_lock_new_own();
		if (lev->lock == NULL) {
			errno = ENOMEM;
			return -1;
		}
	}
	lock(lev);
	lev->coloring->policy = policy;
	lev->coloring->cb = cb;
	lev->coloring->arg = arg;
	unlock(lev);
	return 0;
}
