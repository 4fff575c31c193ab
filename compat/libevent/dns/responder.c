/*
 * A port that answers questions on the program's UDP socket.
 *
 * Threads. The port has a mutex, which is not held while the program's callback runs. The port's
 * events have color 0. Any thread may answer a request.
 *
 * Life. A request refers to its port, so the program may close the port first and answer later. The
 * last reference closes the socket. The program may also free the event_base first (orphaned()).
 *
 * Replies. If the socket has no room for a reply, this reply and those after it wait in order until
 * the socket is writable. A closed port without waiting replies has given up its events, so it
 * cannot wait: a later reply is lost if the socket has no room.
 */
#include "responder.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <event2/dns_compat.h>

#include "event/le.h"
#include "util/mutex.h"

enum {
	REQUEST_SIZE = 1500,		/* recvfrom() cuts longer packets */
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
	unsigned refs;			/* the program, each request, and a running callback */
	bool is_closed;
	bool is_orphan;			/* the event_base is freed: no event runs any more */
	bool has_write_event;		/* write_event is assigned: a reply had to wait */
	bool write_is_on;		/* write_event is pending, unless the event_base is freed */
	int events_left;		/* assigned events, whose callbacks may run */
	struct event read_event;
	struct event write_event;
	struct ec_list pending;		/* replies that wait for room */
	struct ec_dependent dependent;	/* the event_base calls orphaned() before it is freed */
};

/* ---------------------------------------------------------------- references */

/* Unlocks, and frees the port if no reference and no event is left. */
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
 * Under the mutex. Removes an event of a closed port.
 *
 * If the event_base has a lock, the event's callback may be running in another thread. So a
 * finalizer drops the event after the callback. A callback that begins meanwhile sees that the port
 * is closed. Without that lock, only the caller can be the callback, and it holds a reference. A
 * freed event_base runs no callback.
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

/* Under the mutex. The port is closed, and no reply waits. */
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

/*
 * Under the mutex, after the event_base was freed. Sends the replies that wait; those without room
 * are lost. The caller holds a reference.
 */
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

/*
 * The event_base is being freed. If the program still has the port or a request, its next call
 * sends the replies that wait. Otherwise only these replies hold references, and are sent now.
 */
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

/* Under the mutex. Watches until the socket has room. */
static void await_room(struct evdns_server_port *port)
{
	if (port->write_is_on)
		return;
	if (!port->has_write_event) {
		le_event_assign(&port->write_event, le_event_base(port->base), port->fd,
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

/* NULL: the packet is no request, or there is no memory for it. */
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
 * The callback holds one reference for itself and one for the next request. So it takes the mutex
 * only once for each request: to get the next reference, if the program has not closed the port.
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

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	const struct evdns_server_port *port = (const struct evdns_server_port *)s->object;

	(void)what;
	return s->fn == (uintptr_t)read_ready && ec_subject_calls(s, (uintptr_t)port->fn);
}

EC_SUBJECT(subject)

/* ---------------------------------------------------------------- the program's calls */

struct evdns_server_port *evdns_add_server_port_with_base(struct event_base *base,
							  evutil_socket_t socket, int flags,
							  evdns_request_callback_fn_type callback,
							  void *user_data)
{
	struct evdns_server_port *port;

	if (flags != 0)
		return NULL;
	/* glibc's calloc does not use its per-thread cache of free blocks. */
	port = ec_malloc(sizeof(*port));
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
	le_event_assign(&port->read_event, base, socket, EV_READ | EV_PERSIST, read_ready, port);
	/* Do this before event_add(): the callback may free the port at once. */
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

/*
 * Under the mutex. True: the reply must wait. If another reply waits, so does this one: they keep
 * their order.
 */
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

/* Returns the length of the address. -1: `sa` has no room for it. */
int evdns_server_request_get_requesting_addr(struct evdns_server_request *req, struct sockaddr *sa,
					     int addr_len)
{
	const struct dns_question *q = le_dns_question(req);

	if (addr_len < 0 || (socklen_t)addr_len < q->addr_len)
		return -1;
	memcpy(sa, &q->addr, q->addr_len);
	return (int)q->addr_len;
}
