/*
 * Bufferevents on sockets: connecting to an address or to a name.
 */
#include "sock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "lock.h"
#include "util/gai.h"

/* ---------------------------------------------------------------- by address */

/* 0: connected; EINPROGRESS: not yet; else errno. */
static int connect_result(evutil_socket_t fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return errno;
	return err == EINTR ? EINPROGRESS : err;
}

bool le_bev_connected(struct le_bev *p, evutil_socket_t fd)
{
	struct bufferevent *bev = &p->bev;
	int err = p->is_refused ? ECONNREFUSED : connect_result(fd);

	if (err == EINPROGRESS || err == EALREADY)
		return false;
	p->is_refused = false;
	p->is_connecting = false;
	if (err != 0) {
		(void)le_bev_event_del(p, &bev->ev_write);
		(void)le_bev_event_del(p, &bev->ev_read);
		errno = err;
		le_bev_trigger_event(bev, BEV_EVENT_ERROR, 0);
		return false;
	}
	le_bev_trigger_event(bev, BEV_EVENT_CONNECTED, 0);
	return true;
}

/* The write event reports the result, as if the kernel had needed time. */
static void connect_ended(struct le_bev *p)
{
	event_active(&p->bev.ev_write, EV_WRITE, 1);
}

/* 0, or errno: connect() failed at once. */
static int connect_begin(evutil_socket_t fd, const struct sockaddr *sa, int socklen,
			 bool *has_ended, bool *is_refused)
{
	*has_ended = *is_refused = false;
	if (sa == NULL)
		return 0;
	if (connect(fd, sa, (socklen_t)socklen) == 0) {
		*has_ended = true;
		return 0;
	}
	if (errno == EINPROGRESS || errno == EINTR)
		return 0;
	*has_ended = *is_refused = errno == ECONNREFUSED;
	return *is_refused ? 0 : errno;
}

static int connect_to(struct le_bev *p, const struct sockaddr *sa, int socklen)
{
	struct bufferevent *bev = &p->bev;
	evutil_socket_t fd = bufferevent_getfd(bev);
	bool is_own = fd < 0, has_ended, is_refused;
	int err;

	if (is_own && sa == NULL)
		return -1;
	if (is_own)
		fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	err = connect_begin(fd, sa, socklen, &has_ended, &is_refused);
	if (err != 0)
		goto close_fd;
	p->is_connecting = true;
	p->is_refused = is_refused;
	if (bufferevent_setfd(bev, fd) < 0) {
		err = errno;
		p->is_connecting = p->is_refused = false;
		goto close_fd;
	}
	/* The result is reported even if the program has disabled writing, or a limit suspends it. */
	if (has_ended)
		connect_ended(p);
	else if (le_bev_event_add(p, &bev->ev_write) < 0) {
		p->is_connecting = false;
		return -1;
	}
	return 0;

close_fd:
	if (is_own)
		(void)evutil_closesocket(fd);
	errno = err;
	return -1;
}

/* The bufferevent that has the socket. A filter or TLS on top of it gets the result from there. */
static struct bufferevent *bottom(struct bufferevent *bev)
{
	struct bufferevent *below;

	while ((below = bufferevent_get_underlying(bev)) != NULL)
		bev = below;
	return bev;
}

int bufferevent_socket_connect(struct bufferevent *bev, const struct sockaddr *sa, int socklen)
{
	int r;

	bev = bottom(bev);
	le_bev_get_and_lock(bev);
	r = connect_to(le_bev(bev), sa, socklen);
	(void)le_bev_put_and_unlock(bev);
	return r;
}

/* ---------------------------------------------------------------- by name */

/* Takes over the reference of the lookup, and `ai`. */
static void lookup_done(int result, struct evutil_addrinfo *ai, void *arg)
{
	struct le_bev *p = arg;
	struct bufferevent *bev = &p->bev;

	le_bev_lock(bev);
	/* Another lookup may have replaced this one; or the program has freed the bufferevent. */
	if (result == EVUTIL_EAI_CANCEL || p->is_freed)
		goto put;
	p->dns_request = NULL;
	le_bev_unsuspend_write(bev, LE_SUSPEND_LOOKUP);
	le_bev_unsuspend_read(bev, LE_SUSPEND_LOOKUP);
	if (result != 0) {
		p->dns_error = result;
		le_bev_trigger_event(bev, BEV_EVENT_ERROR, 0);
		goto put;
	}
	if (connect_to(p, ai->ai_addr, (int)ai->ai_addrlen) < 0)
		le_bev_trigger_event(bev, BEV_EVENT_ERROR, 0);
put:
	(void)le_bev_put_and_unlock(bev);
	if (ai != NULL)
		evutil_freeaddrinfo(ai);
}

static void lookup(struct le_bev *p, struct evdns_base *dns, const char *name, const char *port,
		   const struct evutil_addrinfo *hints)
{
	le_getaddrinfo_fn fn = dns == NULL ? NULL : le_getaddrinfo_offered();
	struct evdns_getaddrinfo_request *request;
	struct evutil_addrinfo *ai = NULL;
	int r;

	if (fn != NULL) {
		/* fn may have called lookup_done already; then there is nothing to cancel. */
		request = fn(dns, name, port, hints, lookup_done, p);
		le_bev_lock(&p->bev);
		if ((p->write_suspended & LE_SUSPEND_LOOKUP) != 0)
			p->dns_request = request;
		le_bev_unlock(&p->bev);
		return;
	}
	r = evutil_getaddrinfo(name, port, hints, &ai);
	lookup_done(r, ai, p);
}

int bufferevent_socket_connect_hostname(struct bufferevent *bev, struct evdns_base *dns, int family,
					const char *name, int port)
{
	struct evutil_addrinfo hints = { .ai_family = family,
					 .ai_protocol = IPPROTO_TCP,
					 .ai_socktype = SOCK_STREAM };
	struct le_bev *p;
	char text[12];

	if (family != AF_INET && family != AF_INET6 && family != AF_UNSPEC)
		return -1;
	if (port < 1 || port > 65535)
		return -1;
	(void)snprintf(text, sizeof(text), "%d", port);
	bev = bottom(bev);
	p = le_bev(bev);
	/* The answer is reported in the color that asks. */
	if (dns != NULL && !le_bev_runs_in(p, p->color) && le_bev_need_lock(p) < 0)
		return -1;
	le_bev_get_and_lock(bev);
	le_bev_connect_cancel(bev);
	p->dns_error = 0;
	le_bev_suspend_write(bev, LE_SUSPEND_LOOKUP);
	le_bev_suspend_read(bev, LE_SUSPEND_LOOKUP);
	/* The reference of lookup_done. */
	p->refs_num++;
	le_bev_unlock(bev);
	lookup(p, dns, name, text, &hints);
	le_bev_put(bev);
	return 0;
}

int bufferevent_socket_get_dns_error(struct bufferevent *bev)
{
	int err;

	bev = bottom(bev);
	le_bev_lock(bev);
	err = le_bev(bev)->dns_error;
	le_bev_unlock(bev);
	return err;
}

void le_bev_connect_cancel(struct bufferevent *bev)
{
	le_getaddrinfo_cancel_fn cancel = le_getaddrinfo_cancel_offered();
	struct le_bev *p = le_bev(bev);

	if (p->dns_request != NULL && cancel != NULL)
		cancel(p->dns_request);
	p->dns_request = NULL;
}
