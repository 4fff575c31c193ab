/*
 * A client starts to connect: the local address, and the server's address or name.
 */
#include "http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <event2/http_compat.h>
#include <event2/util.h>

/* Opens a socket that is bound to the local address and port that the program asked for. */
static int open_bound_socket(struct evhttp_connection *conn, evutil_socket_t *ret)
{
	struct evutil_addrinfo hints = {
		.ai_family = conn->family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = EVUTIL_AI_PASSIVE | EVUTIL_AI_NUMERICHOST,
	};
	struct evutil_addrinfo *ai = NULL;
	char service[8];
	int fd, r;

	if (conn->bind_address == NULL && conn->family == AF_UNSPEC)
		hints.ai_family = AF_INET;
	snprintf(service, sizeof(service), "%u", conn->bind_port);
	if (evutil_getaddrinfo(conn->bind_address, service, &hints, &ai) != 0)
		return -EADDRNOTAVAIL;
	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		r = -errno;
		goto free_ai;
	}
	if (evutil_make_listen_socket_reuseable(fd) < 0 ||
	    bind(fd, ai->ai_addr, ai->ai_addrlen) < 0) {
		r = -errno;
		evutil_closesocket(fd);
		goto free_ai;
	}
	*ret = fd;
	r = 0;
free_ai:
	evutil_freeaddrinfo(ai);
	return r;
}

/* The address may have brackets, "[::1]", as in a URI. */
static int connect_to_name(struct evhttp_connection *conn)
{
	size_t len = strlen(conn->address);
	char name[64];

	if (len < 3 || conn->address[0] != '[' || conn->address[len - 1] != ']' ||
	    len - 2 >= sizeof(name))
		return bufferevent_socket_connect_hostname(conn->bev, conn->dns_base, conn->family,
							   conn->address, conn->port);
	memcpy(name, conn->address + 1, len - 2);
	name[len - 2] = '\0';
	return bufferevent_socket_connect_hostname(conn->bev, conn->dns_base, conn->family, name,
						   conn->port);
}

static socklen_t addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

int le_conn_connect(struct evhttp_connection *conn)
{
	evutil_socket_t fd = -1;
	int r;

	if (conn->bind_address != NULL || conn->bind_port != 0) {
		r = open_bound_socket(conn, &fd);
		if (r < 0)
			return r;
		if (bufferevent_setfd(conn->bev, fd) < 0) {
			evutil_closesocket(fd);
			return -ENOMEM;
		}
	}
	if ((conn->flags & EVHTTP_CON_REUSE_CONNECTED_ADDR) != 0 &&
	    conn->peer.ss_family != AF_UNSPEC)
		r = bufferevent_socket_connect(conn->bev, (struct sockaddr *)&conn->peer,
					       (int)addr_len(&conn->peer));
	else
		r = connect_to_name(conn);
	return r < 0 ? -(errno != 0 ? errno : ECONNREFUSED) : 0;
}

/* ---------------------------------------------------------------- settings */

void evhttp_connection_set_family(struct evhttp_connection *evcon, int family)
{
	evcon->family = family;
}

void evhttp_connection_set_local_address(struct evhttp_connection *evcon, const char *address)
{
	char *copy = NULL;

	if (address != NULL) {
		copy = ec_strdup(address);
		if (copy == NULL) {
			ec_log_errno(EC_LOG_WARN, ENOMEM, "%s", __func__);
			return;
		}
	}
	ec_free(evcon->bind_address);
	evcon->bind_address = copy;
}

void evhttp_connection_set_local_port(struct evhttp_connection *evcon, ev_uint16_t port)
{
	evcon->bind_port = port;
}
