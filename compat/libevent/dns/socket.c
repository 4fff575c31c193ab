/*
 * The UDP sockets that send queries to a nameserver, and their ports (RFC 5452).
 *
 * A forger that sees neither query nor answer must guess the port as well as the id. So each port
 * is used for a short time only. The kernel picks it at random when the socket is connected. The
 * socket then sends at most QUERIES_MAX queries, within age_max_ns. The next query opens another
 * socket.
 *
 *   new --first query--> current --QUERIES_MAX, age_max_ns--> worn --next query--> old --> closed
 *
 * The first socket in a server's list is the current one. It always stays open, because in
 * libevent too a nameserver's event keeps the loop running. An old socket stays open while it may
 * receive an answer. The sockets are connected, so the kernel drops packets from any other address
 * or port.
 *
 * After fork, parent and child share the sockets and would read each other's answers. So the child
 * (event_reinit) treats each inherited socket as worn.
 *
 * A server has at most SOCKETS_MAX sockets. If all of them are worn, they send queries in turn. The
 * current socket sends further queries if no descriptor is left, or if "bind-to" names the port.
 *
 * A forger who knows the port must not get to try all ids. So the library counts packets that
 * answer no query. A socket is closed after WRONG_MAX of them, and one more for each query sent: a
 * nameserver may answer twice, or late. receive.c sends the requests again from another socket.
 */
#include "request.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "event/le.h"

enum {
	QUERIES_MAX = 8,
	SOCKETS_MAX = 8,		/* times QUERIES_MAX is the default of `max-inflight` */
	WRONG_MAX = 16,
	RECEIVE_MAX = 64,		/* packets in a callback: other events wait */
};

static const int64_t age_max_ns = 5LL * 1000 * 1000 * 1000;

/* ---------------------------------------------------------------- receiving */

/* True: the socket may have another packet, and a request waits for one. */
static bool receive(struct dns_socket *sock)
{
	uint8_t data[DNS_UDP_SIZE];
	ssize_t n;

	/*
	 * Ignore other errors: they come from ICMP messages, which can be forged. If the
	 * nameserver does not answer, the request's deadline reports that.
	 */
	n = recvfrom(sock->fd, data, sizeof(data), 0, NULL, NULL);
	if (n < 0)
		return errno == EINTR;
	le_dns_request_received(sock, data, (size_t)n);
	return sock->event_is_on && sock->requests_num > 0;
}

static void read_ready(evutil_socket_t fd, short what, void *arg)
{
	struct dns_socket *sock = arg;
	struct evdns_base *dns = sock->dns;

	(void)fd;
	(void)what;
	le_dns_lock(dns);
	/*
	 * Another thread may have closed or detached the socket meanwhile: `event_is_on` is false.
	 */
	for (int i = 0; i < RECEIVE_MAX && sock->event_is_on && receive(sock); i++)
		;
	le_dns_unlock(dns);
}

/* With EVDNS_BASE_DISABLE_WHEN_INACTIVE, an idle socket's event must not keep the loop running. */
static int watch(struct dns_socket *sock)
{
	bool is_on = !sock->dns->is_idle_quiet || sock->requests_num > 0;

	if (sock->event_is_on == is_on)
		return 0;
	if (is_on ? event_add(&sock->event, NULL) < 0 : event_del_noblock(&sock->event) < 0)
		return -1;
	sock->event_is_on = is_on;
	return 0;
}

static void watch_or_warn(struct dns_socket *sock)
{
	if (watch(sock) < 0)
		le_dns_log(EC_LOG_WARN, "Error from libevent when watching a nameserver's socket");
}

/* ---------------------------------------------------------------- opening */

static void set_buffers(const struct dns_socket_options *options, int fd)
{
	if (options->so_rcvbuf != 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &options->so_rcvbuf, sizeof(int)) < 0)
		le_dns_log(EC_LOG_MSG, "Couldn't set SO_RCVBUF to %d", options->so_rcvbuf);
	if (options->so_sndbuf != 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &options->so_sndbuf, sizeof(int)) < 0)
		le_dns_log(EC_LOG_MSG, "Couldn't set SO_SNDBUF to %d", options->so_sndbuf);
}

static bool is_bound(const struct dns_server *server)
{
	return server->socket_options.bind_to_len != 0 &&
	       server->socket_options.bind_to.sa.sa_family == server->addr.ss_family;
}

/* The option "bind-to" names the port, so all queries must use it. */
static bool is_port_fixed(const struct dns_server *server)
{
	const struct dns_socket_options *options = &server->socket_options;

	return is_bound(server) &&
	       (options->bind_to.sa.sa_family == AF_INET ? options->bind_to.v4.sin_port != 0 :
							   options->bind_to.v6.sin6_port != 0);
}

/* -1: errno */
static int open_fd(const struct dns_server *server)
{
	const struct dns_socket_options *options = &server->socket_options;
	int fd = socket(server->addr.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -1;
	if (is_bound(server) &&
	    bind(fd, &options->bind_to.sa, options->bind_to_len) < 0) {
		err = errno;
		le_dns_log(EC_LOG_WARN, "Couldn't bind to outgoing address");
		close(fd);
		errno = err;
		return -1;
	}
	set_buffers(options, fd);
	return fd;
}

struct dns_socket *le_dns_socket_new(struct dns_server *server)
{
	struct dns_socket *sock = ec_calloc(1, sizeof(*sock));
	int err = ENOMEM;

	if (sock == NULL)
		goto set_errno;
	sock->dns = server->dns;
	sock->server = server;
	sock->fd = open_fd(server);
	if (sock->fd < 0) {
		err = errno;
		goto free_sock;
	}
	le_event_assign(&sock->event, server->dns->event_base, sock->fd, EV_READ | EV_PERSIST,
			read_ready, sock);
	if (watch(sock) < 0) {
		err = errno != 0 ? errno : EINVAL;
		goto close_fd;
	}
	ec_list_push_front(&server->sockets, &sock->link);
	server->sockets_num++;
	return sock;

close_fd:
	event_debug_unassign(&sock->event);
	close(sock->fd);
free_sock:
	ec_free(sock);
set_errno:
	errno = err;
	return NULL;
}

/* ---------------------------------------------------------------- closing */

static void sock_free(struct dns_socket *sock)
{
	event_debug_unassign(&sock->event);
	if (sock->fd >= 0)
		close(sock->fd);
	ec_free(sock);
}

static void is_final(struct event *ev, void *arg)
{
	struct dns_socket *sock = arg;
	struct evdns_base *dns = sock->dns;

	(void)ev;
	sock_free(sock);
	le_dns_lock(dns);
	le_dns_put_locked(dns);
}

/*
 * The socket's callback may be running, in another thread or as the caller. So a finalizer frees
 * the memory later, and holds a reference on the evdns_base until then. Without an event_base there
 * is no callback.
 */
void le_dns_socket_close(struct dns_socket *sock)
{
	ec_list_remove(&sock->link);
	sock->server->sockets_num--;
	sock->server = NULL;
	sock->event_is_on = false;
	(void)event_del_noblock(&sock->event);
	close(sock->fd);
	sock->fd = -1;
	sock->dns->refs++;
	if (event_finalize(0, &sock->event, is_final) == 0)
		return;
	sock->dns->refs--;
	sock_free(sock);
}

void le_dns_sockets_free(struct ec_list *sockets)
{
	struct dns_socket *sock;

	while (!ec_list_is_empty(sockets)) {
		sock = ec_container_of(sockets->next, struct dns_socket, link);
		ec_list_remove(&sock->link);
		event_del(&sock->event);
		sock_free(sock);
	}
}

/* ---------------------------------------------------------------- the next query's socket */

static struct dns_socket *first(const struct dns_server *server)
{
	return ec_list_is_empty(&server->sockets) ?
		       NULL :
		       ec_container_of(server->sockets.next, struct dns_socket, link);
}

/* After event_reinit() in a child process. */
static void note_fork(struct evdns_base *dns)
{
	unsigned num = dns->event_base == NULL ? 0 : ec_base_reinits(le_base(dns->event_base));
	struct ec_list *servers = &dns->servers, *at, *sock;

	if (num == dns->reinits_num)
		return;
	dns->reinits_num = num;
	for (at = servers->next; at != servers; at = at->next) {
		struct ec_list *sockets = &ec_container_of(at, struct dns_server, link)->sockets;

		for (sock = sockets->next; sock != sockets; sock = sock->next)
			ec_container_of(sock, struct dns_socket, link)->is_inherited = true;
	}
}

static bool is_worn(const struct dns_socket *sock)
{
	return sock->sent_num >= QUERIES_MAX || sock->is_inherited ||
	       (sock->is_connected && ec_monotonic_ns() - sock->connected_ns >= age_max_ns);
}

/* All sockets are worn and there may be no more: use them in turn. */
static struct dns_socket *next_worn(struct dns_server *server)
{
	struct dns_socket *sock = first(server);

	ec_list_remove(&sock->link);
	ec_list_push_back(&server->sockets, &sock->link);
	return first(server);
}

static void close_if_old(struct dns_socket *sock)
{
	if (sock->requests_num == 0 && !sock->server->is_detached && sock != first(sock->server))
		le_dns_socket_close(sock);
}

struct dns_socket *le_dns_socket_pick(struct dns_server *server)
{
	struct dns_socket *current = first(server), *sock;

	note_fork(server->dns);
	if (current == NULL)
		return le_dns_socket_new(server);
	if (!is_worn(current) || is_port_fixed(server))
		return current;
	if (server->sockets_num >= SOCKETS_MAX)
		return next_worn(server);
	sock = le_dns_socket_new(server);
	if (sock == NULL) {
		le_dns_log(EC_LOG_DEBUG, "Cannot open another port for queries to %s: %s", server->text,
			   strerror(errno));
		return current;
	}
	return sock;
}

void le_dns_socket_get(struct dns_socket *sock)
{
	if (sock->requests_num++ == 0)
		watch_or_warn(sock);
}

void le_dns_socket_put(struct dns_socket *sock)
{
	if (--sock->requests_num > 0 || sock->server->is_detached)
		return;
	close_if_old(sock);
	if (sock->server != NULL)
		watch_or_warn(sock);
}

/* ---------------------------------------------------------------- sending */

/*
 * Called when the new socket has its port: the old ones kept theirs until now, so the kernel picked
 * a different one.
 */
static void close_old(struct dns_server *server)
{
	struct ec_list *at = server->sockets.next, *next;

	for (; at != &server->sockets; at = next) {
		next = at->next;
		close_if_old(ec_container_of(at, struct dns_socket, link));
	}
}

static int connect_to_server(struct dns_socket *sock)
{
	const struct dns_server *server = sock->server;
	int r;

	do
		r = connect(sock->fd, (const struct sockaddr *)&server->addr, server->addr_len);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	sock->is_connected = true;
	sock->connected_ns = ec_monotonic_ns();
	close_old(sock->server);
	return 0;
}

/* ECONNREFUSED may report an earlier packet (ICMP). That call sent nothing, so try once more. */
static ssize_t send_packet(int fd, const void *data, size_t len)
{
	ssize_t n;

	for (int i = 0;; i++) {
		n = sendto(fd, data, len, 0, NULL, 0);
		if (n >= 0 || (errno != EINTR && (errno != ECONNREFUSED || i > 0)))
			return n;
	}
}

int le_dns_socket_send(struct dns_socket *sock, const void *data, size_t len)
{
	int r;

	if (!sock->is_connected) {
		r = connect_to_server(sock);
		if (r < 0)
			return r;
	}
	sock->sent_num++;
	/*
	 * A packet that finds no room counts as sent and lost on the network: after its deadline
	 * the request is sent again.
	 */
	if (send_packet(sock->fd, data, len) < 0 && errno != EAGAIN && errno != ENOBUFS &&
	    errno != ECONNREFUSED)
		return -errno;
	return 0;
}

/* ---------------------------------------------------------------- forgeries */

bool le_dns_socket_got_wrong(struct dns_socket *sock)
{
	return ++sock->wrong_num > WRONG_MAX + sock->sent_num;
}
