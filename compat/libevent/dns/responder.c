/*
 * A port that answers questions on the program's UDP socket.
 *
 * A request refers to its port, so the program may close the port and answer later; the last
 * reference closes the socket. Replies that the socket does not take wait in order until it is
 * writable. The port has a mutex, which is not held while the program's callback runs. The events
 * have color 0; any thread may answer.
 *
 * The program may free the event_base first, which tells the port, and close the port and answer
 * its requests later. A closed port that has sent all replies once does not wait for room: a later
 * reply is lost if the socket has no room for it.
 */
#include "responder.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <event2/dns_compat.h>

#include "event/le.h"
#include "util/mutex.h"

enum {
	REQUEST_SIZE = 1500,		/* the rest of a longer packet is lost */
	RECEIVE_MAX = 64,		/* packets in a callback: other events wait */
};

static void write_ready(evutil_socket_t fd, short what, void *arg);

struct evdns_server_port {
	/* const */
	int fd;
	struct ec_base *base;		/* NULL: none */
	evdns_request_callback_fn_type fn;
	void *arg;
	struct le_mutex mu;

	/* mu */
	unsigned refs;			/* the program's, one for each request, and a callback's */
	bool is_closed;
	bool is_orphan;			/* the event_base is gone, and its events with it */
	bool has_write_event; /* it is assigned: from the first reply that waits */
	bool write_is_on; /* it is pending, unless the event_base is gone */
	int events_left; /* assigned, and their callbacks may run */
	struct event read_event;
	struct event write_event;
	struct ec_list pending;
	struct ec_dependent dependent;	/* of the event_base */
};

/* ---------------------------------------------------------------- references */

/* Unlocks. The port is free when no reference and no event is left. */
static void unlock_or_free(struct evdns_server_port *port)
{
	bool is_last = port->refs == 0 && port->events_left == 0;
	bool is_attached = !port->is_orphan;

	le_mutex_unlock(&port->mu);
	if (!is_last)
		return;
	if (is_attached)
		ec_base_detach(port->base, &port->dependent);
	ec_free(port);
}

/* Unlocks. The last reference closes the socket, as in libevent. */
static void port_put_locked(struct evdns_server_port *port)
{
	if (--port->refs == 0)
		close(port->fd);
	unlock_or_free(port);
}

static void event_is_final(struct event *ev, void *arg)
{
	struct evdns_server_port *port = arg;

	event_debug_unassign(ev);
	le_mutex_lock(&port->mu);
	port->events_left--;
	unlock_or_free(port);
}

/*
 * Under the mutex. The event's callback may be running in another thread if the
 * event_base is locked: then a finalizer runs after it. A callback that begins meanwhile finds
 * that the port is closed. Without a lock only the caller can be that callback, and it has a
 * reference. An event_base that is gone runs nothing.
 */
static void event_end(struct evdns_server_port *port, struct event *ev)
{
	if (!port->is_orphan) {
		if (ec_base_is_locked(port->base) &&
		    event_finalize(0, ev, event_is_final) == 0)
			return;
		(void)event_del_noblock(ev);
	}
	event_debug_unassign(ev);
	port->events_left--;
}

/* Under the mutex, of a closed port without replies that wait. */
static void write_event_end(struct evdns_server_port *port)
{
	if (!port->has_write_event)
		return;
	port->has_write_event = false;
	port->write_is_on = false;
	event_end(port, &port->write_event);
}

static bool get_if_open(struct evdns_server_port *port, unsigned refs)
{
	bool is_open;

	le_mutex_lock(&port->mu);
	is_open = !port->is_closed;
	if (is_open)
		port->refs += refs;
	le_mutex_unlock(&port->mu);
	return is_open;
}

/* Keeps its reference to the port. */
static void question_free(struct dns_question *q)
{
	le_dns_question_free_content(q);
	ec_free(q);
}

/* ---------------------------------------------------------------- sending */

/* 0: sent or lost; -1: the socket has no room. */
static int reply_send(struct evdns_server_port *port, const struct dns_question *q)
{
	ssize_t n;

	do
		n = sendto(port->fd, q->reply.data, q->reply.len, 0,
			   (const struct sockaddr *)&q->addr, q->addr_len);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return 0;
	if (errno == EAGAIN || errno == ENOBUFS)
		return -1;
	le_dns_log(EC_LOG_WARN, "Error %s (%d) while writing response to port; dropping",
		   strerror(errno), errno);
	return 0;
}

static struct dns_question *first_pending(struct evdns_server_port *port)
{
	return ec_list_is_empty(&port->pending) ?
		       NULL :
		       ec_container_of(port->pending.next, struct dns_question, link);
}

/* Under the mutex. False: the socket has no room for all of them. The caller holds a reference. */
static bool pending_send(struct evdns_server_port *port)
{
	struct dns_question *q;

	while ((q = first_pending(port)) != NULL) {
		if (reply_send(port, q) < 0)
			return false;
		ec_list_remove(&q->link);
		question_free(q);
		port->refs--;
	}
	return true;
}

/* Under the mutex, once the event_base is gone: what finds no room is lost. The caller holds a reference. */
static void pending_end(struct evdns_server_port *port)
{
	struct dns_question *q;

	(void)pending_send(port);
	while ((q = first_pending(port)) != NULL) {
		ec_list_remove(&q->link);
		question_free(q);
		port->refs--;
	}
}

static unsigned pending_num(const struct evdns_server_port *port)
{
	const struct ec_list *at;
	unsigned num = 0;

	for (at = port->pending.next; at != &port->pending; at = at->next)
		num++;
	return num;
}

/* The event_base is being freed. Pending replies wait for the program's next call, if there will be one. */
static void orphaned(struct ec_dependent *d)
{
	struct evdns_server_port *port = ec_container_of(d, struct evdns_server_port, dependent);

	le_mutex_lock(&port->mu);
	port->is_orphan = true;
	port->refs++;
	if (port->refs - 1 == pending_num(port)) {
		pending_end(port);
		write_event_end(port);
	}
	port_put_locked(port);
}

/* Under the mutex. */
static void await_room(struct evdns_server_port *port)
{
	if (port->write_is_on)
		return;
	if (!port->has_write_event) {
		event_assign(&port->write_event, le_event_base(port->base), port->fd,
			     EV_WRITE | EV_PERSIST, write_ready, port);
		port->has_write_event = true;
		port->events_left++;
	}
	if (event_add(&port->write_event, NULL) < 0)
		le_dns_log(EC_LOG_WARN, "Error from libevent when adding event for DNS server");
	else
		port->write_is_on = true;
}

/* A closed port still sends the replies that wait. */
static void write_ready(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_server_port *port = arg;

	(void)fd;
	(void)what;
	le_mutex_lock(&port->mu);
	if (port->refs == 0) {
		le_mutex_unlock(&port->mu);
		return;
	}
	port->refs++;
	if (pending_send(port)) {
		if (port->write_is_on)
			(void)event_del_noblock(&port->write_event);
		port->write_is_on = false;
		if (port->is_closed)
			write_event_end(port);
	}
	port_put_locked(port);
}

/* ---------------------------------------------------------------- receiving */

/* NULL: it is no request, or there is no memory: then the packet is lost. */
static struct dns_question *question_new(struct evdns_server_port *port, const uint8_t *data,
					 size_t len, const struct sockaddr_storage *addr,
					 socklen_t addr_len)
{
	struct dns_question *q = ec_malloc(sizeof(*q));

	if (q == NULL)
		return NULL;
	le_dns_question_init(q);
	if (le_dns_question_parse(q, data, len) < 0) {
		question_free(q);
		return NULL;
	}
	q->port = port;
	memcpy(&q->addr, addr, addr_len);
	q->addr_len = addr_len;
	return q;
}

/* 1: a request took one reference; 0: the packet is no request; -1: there is no packet. */
static int receive(struct evdns_server_port *port)
{
	uint8_t data[REQUEST_SIZE];
	struct sockaddr_storage addr;
	socklen_t addr_len = sizeof(addr);
	struct dns_question *q;
	ssize_t n;

	n = recvfrom(port->fd, data, sizeof(data), 0, (struct sockaddr *)&addr, &addr_len);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			le_dns_log(EC_LOG_WARN, "Error %s (%d) while reading request.",
				   strerror(errno), errno);
		return errno == EINTR ? 0 : -1;
	}
	if (addr_len > sizeof(addr))
		addr_len = sizeof(addr);
	q = question_new(port, data, (size_t)n, &addr, addr_len);
	if (q == NULL)
		return 0;
	port->fn(&q->base, port->arg);
	return 1;
}

/*
 * One reference is this callback's, one the next request's: so a lock both checks after each
 * request that the program has not closed the port, and prepares the next.
 */
static void read_ready(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_server_port *port = arg;
	bool has_next = true;
	int r = 0;

	(void)fd;
	(void)what;
	if (!get_if_open(port, 2))
		return;
	for (int i = 0; i < RECEIVE_MAX && has_next && r >= 0; i++) {
		r = receive(port);
		if (r == 1)
			has_next = get_if_open(port, 1);
	}
	le_mutex_lock(&port->mu);
	port->refs -= has_next;
	port_put_locked(port);
}

/* ---------------------------------------------------------------- the program's calls */

struct evdns_server_port *evdns_add_server_port_with_base(struct event_base *base,
							  evutil_socket_t socket, int flags,
							  evdns_request_callback_fn_type callback,
							  void *user_data)
{
	struct evdns_server_port *port;

	if (flags != 0)
		return NULL;
	port = ec_malloc(sizeof(*port));	/* glibc's calloc passes its cache of free blocks by */
	if (port == NULL)
		return NULL;
	memset(port, 0, sizeof(*port));
	port->fd = socket;
	port->fn = callback;
	port->arg = user_data;
	port->refs = 1;
	ec_list_init(&port->pending);
	port->events_left = 1;
	port->dependent.orphaned = orphaned;
	event_assign(&port->read_event, base, socket, EV_READ | EV_PERSIST, read_ready, port);
	/* Before the event is added: its callback may free the port at once. */
	port->base = le_ec(&port->read_event)->base;
	if (port->base != NULL)
		ec_base_attach(port->base, &port->dependent);
	if (event_add(&port->read_event, NULL) < 0)
		goto unassign;
	return port;

unassign:
	if (port->base != NULL)
		ec_base_detach(port->base, &port->dependent);
	event_debug_unassign(&port->read_event);
	ec_free(port);
	return NULL;
}

struct evdns_server_port *evdns_add_server_port(evutil_socket_t socket, int flags,
						evdns_request_callback_fn_type callback,
						void *user_data)
{
	return evdns_add_server_port_with_base(NULL, socket, flags, callback, user_data);
}

void evdns_close_server_port(struct evdns_server_port *port)
{
	le_mutex_lock(&port->mu);
	port->is_closed = true;
	if (port->is_orphan)
		pending_end(port);
	event_end(port, &port->read_event);
	if (ec_list_is_empty(&port->pending))
		write_event_end(port);
	port_put_locked(port);
}

/* Under the mutex. Replies keep their order: behind a pending reply, the next one is pending too. */
static bool reply_waits(struct evdns_server_port *port, const struct dns_question *q)
{
	if (port->is_orphan)
		pending_end(port);
	if (!ec_list_is_empty(&port->pending))
		return true;
	return reply_send(port, q) < 0 && !port->is_orphan && !port->is_closed;
}

int evdns_server_request_respond(struct evdns_server_request *req, int err)
{
	struct dns_question *q = le_dns_question(req);
	struct evdns_server_port *port = q->port;

	if (err < 0 || err > 15)
		return -1;
	if (q->reply.len == 0)
		le_dns_reply_make(q, err);
	le_mutex_lock(&port->mu);
	if (reply_waits(port, q)) {
		ec_list_push_back(&port->pending, &q->link);
		await_room(port);
		le_mutex_unlock(&port->mu);
		return 0;
	}
	if (port->is_orphan && port->is_closed)
		write_event_end(port);
	question_free(q);
	port_put_locked(port);
	return 0;
}

int evdns_server_request_drop(struct evdns_server_request *req)
{
	struct dns_question *q = le_dns_question(req);
	struct evdns_server_port *port = q->port;

	question_free(q);
	le_mutex_lock(&port->mu);
	port_put_locked(port);
	return 0;
}

/* The length of the address; -1: it has no room. */
int evdns_server_request_get_requesting_addr(struct evdns_server_request *req, struct sockaddr *sa,
					     int addr_len)
{
	const struct dns_question *q = le_dns_question(req);

	if (addr_len < 0 || (socklen_t)addr_len < q->addr_len)
		return -1;
	memcpy(sa, &q->addr, q->addr_len);
	return (int)q->addr_len;
}
