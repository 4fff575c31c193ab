/*
 * The sockets that a server listens on, and the connections that it accepts.
 */
#include "http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <event2/listener.h>
#include <event2/util.h>

#include "below.h"

enum { BACKLOG = 128, ADDRESS_MAX = INET6_ADDRSTRLEN };

static void accept_cb(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *sa,
		      int len, void *arg)
{
	(void)listener;
	le_http_accept(arg, fd, sa, (socklen_t)len);
}

struct evhttp_bound_socket *evhttp_bind_listener(struct evhttp *http,
						 struct evconnlistener *listener)
{
	struct evhttp_bound_socket *bound = ec_malloc(sizeof(*bound));
	bool was_taken;

	if (bound == NULL)
		return NULL;
	bound->http = http;
	bound->listener = listener;
	if (http->color_policy != EVCONNLISTENER_COLOR_NONE &&
	    evconnlistener_set_color_policy(listener, http->color_policy, http->color_cb,
					    http->color_arg) < 0) {
		ec_free(bound);
		return NULL;
	}
	was_taken = le_http_lock(http);
	ec_list_push_back(&http->sockets, &bound->link);
	le_http_unlock(http, was_taken);
	evconnlistener_set_cb(listener, accept_cb, http);
	return bound;
}

/* The listeners before `end` get the old policy again. What they need for that is there, so it cannot fail. */
static void put_back(struct evhttp *http, const struct ec_list *end)
{
	struct ec_list *node;

	for (node = http->sockets.next; node != end; node = node->next) {
		struct evhttp_bound_socket *bound = ec_container_of(node, struct evhttp_bound_socket, link);

		(void)evconnlistener_set_color_policy(bound->listener, http->color_policy, http->color_cb,
						      http->color_arg);
	}
}

int evhttp_set_color_policy(struct evhttp *http, enum evconnlistener_color_policy policy,
			    evconnlistener_color_cb cb, void *arg)
{
	struct ec_list *node;
	bool was_taken;
	int r = 0;

	if (http == NULL || (unsigned)policy > EVCONNLISTENER_COLOR_ASK ||
	    (policy == EVCONNLISTENER_COLOR_ASK && cb == NULL)) {
		errno = EINVAL;
		return -1;
	}
	if (policy != EVCONNLISTENER_COLOR_NONE)
		__atomic_store_n(&http->has_colors, true, __ATOMIC_RELAXED);
	was_taken = le_http_lock(http);
	for (node = http->sockets.next; r == 0 && node != &http->sockets; node = node->next) {
		struct evhttp_bound_socket *bound =
			ec_container_of(node, struct evhttp_bound_socket, link);

		r = evconnlistener_set_color_policy(bound->listener, policy, cb, arg);
	}
	if (r == 0) {
		http->color_policy = policy;
		http->color_cb = cb;
		http->color_arg = arg;
	} else {
		put_back(http, node->prev);
	}
	le_http_unlock(http, was_taken);
	return r;
}

/* It accepts nothing before serve_listener. */
static struct evconnlistener *new_listener(struct evhttp *http, evutil_socket_t fd, unsigned flags,
					   int backlog)
{
	flags |= LEV_OPT_DISABLED | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC;
	return evconnlistener_new(http->base, NULL, NULL, flags, backlog, fd);
}

/* Takes over the listener; a failure frees it, which closes its descriptor. */
static struct evhttp_bound_socket *serve_listener(struct evhttp *http,
						  struct evconnlistener *listener)
{
	struct evhttp_bound_socket *bound = evhttp_bind_listener(http, listener);

	if (bound == NULL) {
		evconnlistener_free(listener);
		return NULL;
	}
	if (evconnlistener_enable(listener) < 0) {
		evhttp_del_accept_socket(http, bound);
		return NULL;
	}
	return bound;
}

struct evhttp_bound_socket *evhttp_accept_socket_with_handle(struct evhttp *http,
							     evutil_socket_t fd)
{
	struct evconnlistener *listener = new_listener(http, fd, 0, 0);

	return listener == NULL ? NULL : serve_listener(http, listener);
}

int evhttp_accept_socket(struct evhttp *http, evutil_socket_t fd)
{
	return evhttp_accept_socket_with_handle(http, fd) != NULL ? 0 : -1;
}

static int open_socket(const struct evutil_addrinfo *ai, evutil_socket_t *ret)
{
	const int on = 1;
	int fd, r;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0 ||
	    evutil_make_listen_socket_reuseable(fd) < 0 ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret = fd;
	return 0;
}

/* NULL: any address. */
static int bind_address(const char *address, ev_uint16_t port, evutil_socket_t *ret)
{
	struct evutil_addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = EVUTIL_AI_PASSIVE | EVUTIL_AI_ADDRCONFIG,
	};
	struct evutil_addrinfo *ai = NULL;
	unsigned char binary[sizeof(struct in6_addr)];
	char service[8];
	int r;

	/* AI_ADDRCONFIG is for names: an IPv4 address is accepted whatever the host's addresses. */
	if (address != NULL && evutil_inet_pton(AF_INET, address, binary) == 1)
		hints.ai_flags = EVUTIL_AI_PASSIVE;
	snprintf(service, sizeof(service), "%u", port);
	r = evutil_getaddrinfo(address, service, &hints, &ai);
	if (r != 0) {
		ec_log(EC_LOG_WARN, "%s: %s", address != NULL ? address : "any address",
		       evutil_gai_strerror(r));
		errno = EINVAL;
		return -1;
	}
	r = open_socket(ai, ret);
	evutil_freeaddrinfo(ai);
	if (r < 0) {
		ec_log_errno(EC_LOG_WARN, -r, "%s port %u",
			     address != NULL ? address : "any address", port);
		errno = -r;
		return -1;
	}
	return 0;
}

struct evhttp_bound_socket *evhttp_bind_socket_with_handle(struct evhttp *http, const char *address,
							   ev_uint16_t port)
{
	struct evconnlistener *listener;
	evutil_socket_t fd = -1;

	if (bind_address(address, port, &fd) < 0)
		return NULL;
	listener = new_listener(http, fd, LEV_OPT_REUSEABLE, BACKLOG);
	if (listener == NULL) {
		evutil_closesocket(fd);
		return NULL;
	}
	return serve_listener(http, listener);
}

int evhttp_bind_socket(struct evhttp *http, const char *address, ev_uint16_t port)
{
	return evhttp_bind_socket_with_handle(http, address, port) != NULL ? 0 : -1;
}

evutil_socket_t evhttp_bound_socket_get_fd(struct evhttp_bound_socket *bound)
{
	return evconnlistener_get_fd(bound->listener);
}

struct evconnlistener *evhttp_bound_socket_get_listener(struct evhttp_bound_socket *bound)
{
	return bound->listener;
}

void evhttp_foreach_bound_socket(struct evhttp *http, evhttp_bound_socket_foreach_fn *function,
				 void *argument)
{
	struct ec_list *node = http->sockets.next, *next;

	for (; node != &http->sockets; node = next) {
		next = node->next;
		function(ec_container_of(node, struct evhttp_bound_socket, link), argument);
	}
}

void evhttp_del_accept_socket(struct evhttp *http, struct evhttp_bound_socket *bound)
{
	bool was_taken = le_http_lock(http);

	ec_list_remove(&bound->link);
	le_http_unlock(http, was_taken);
	evconnlistener_free(bound->listener);
	ec_free(bound);
}

void le_http_free_sockets(struct evhttp *http)
{
	while (!ec_list_is_empty(&http->sockets))
		evhttp_del_accept_socket(http, ec_container_of(http->sockets.next,
							       struct evhttp_bound_socket, link));
}

/* ---------------------------------------------------------------- accepting */

/* The peer as text. A peer without an address (AF_UNIX) is "" with port 0. */
static void format_peer(const struct sockaddr *sa, socklen_t len, char *address, ev_uint16_t *port)
{
	const struct sockaddr_in6 *in6 = (const void *)sa;
	const struct sockaddr_in *in = (const void *)sa;

	address[0] = '\0';
	*port = 0;
	if (sa->sa_family == AF_INET && len >= sizeof(*in)) {
		evutil_inet_ntop(AF_INET, &in->sin_addr, address, ADDRESS_MAX);
		*port = ntohs(in->sin_port);
	} else if (sa->sa_family == AF_INET6 && len >= sizeof(*in6)) {
		evutil_inet_ntop(AF_INET6, &in6->sin6_addr, address, ADDRESS_MAX);
		*port = ntohs(in6->sin6_port);
	}
}

typedef struct bufferevent *(*bev_fn)(struct event_base *base, void *arg);

static struct bufferevent *new_bev(struct evhttp *http, evutil_socket_t fd)
{
	struct bufferevent *bev = NULL;
	bool was_taken;
	bev_fn bevcb;
	void *arg;

	was_taken = le_http_lock(http);
	bevcb = http->bevcb;
	arg = http->bevcb_arg;
	le_http_unlock(http, was_taken);
	if (bevcb != NULL)
		bev = bevcb(http->base, arg);
	if (bev == NULL)
		return bufferevent_socket_new(http->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (bufferevent_setfd(bev, fd) < 0) {
		bufferevent_free(bev);
		return NULL;
	}
	return bev;
}

static struct evhttp_connection *new_conn(struct evhttp *http, struct bufferevent *bev,
					  const struct sockaddr *sa, socklen_t len)
{
	struct evhttp_connection *conn = ec_calloc(1, sizeof(*conn));
	char address[ADDRESS_MAX];
	ev_uint16_t port;

	if (conn == NULL)
		return NULL;
	format_peer(sa, len, address, &port);
	if (le_conn_init(conn, &le_server_ops, http->base, bev, address, port) < 0) {
		ec_free(conn);
		return NULL;
	}
	memcpy(&conn->peer, sa, len < sizeof(conn->peer) ? len : sizeof(conn->peer));
	return conn;
}

/* Later changes of the server's settings apply to later connections. */
static void join_server(struct evhttp *http, struct evhttp_connection *conn)
{
	bool was_taken = le_http_lock(http);

	conn->server = http;
	conn->max_headers_size = http->max_headers_size;
	conn->max_body_size = http->max_body_size;
	conn->timeout = http->timeout;
	if ((http->flags & EVHTTP_SERVER_LINGERING_CLOSE) != 0)
		conn->flags |= EVHTTP_CON_LINGERING_CLOSE;
	ec_list_push_back(&http->conns, &conn->link);
	le_http_unlock(http, was_taken);
}

void le_http_accept(struct evhttp *http, evutil_socket_t fd, const struct sockaddr *sa,
		    socklen_t len)
{
	/* The listener calls this function in the color that its policy chose. */
	const ev_uint32_t color = le_color_running(http->base);
	struct evhttp_connection *conn = NULL;
	struct bufferevent *bev;

	bev = new_bev(http, fd);
	if (bev == NULL) {
		ec_log(EC_LOG_WARN, "%s: cannot make a bufferevent for a connection", __func__);
		evutil_closesocket(fd);
		return;
	}
	if (color == 0 || bufferevent_set_color(bev, color) == 0)
		conn = new_conn(http, bev, sa, len);
	if (conn == NULL) {
		ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
		/* The program may have made the bufferevent, with or without CLOSE_ON_FREE. */
		(void)le_below_take_fd(bev);
		bufferevent_free(bev);
		evutil_closesocket(fd);
		return;
	}
	conn->color = color;
	join_server(http, conn);
	conn->was_connected = true;
	conn->state = LE_CONN_IDLE;
	le_conn_apply_timeouts(conn, &conn->timeout);
	if (bufferevent_enable(bev, EV_WRITE) < 0) {
		le_conn_close(conn);
		return;
	}
	le_conn_set_reading(conn, true);
}
