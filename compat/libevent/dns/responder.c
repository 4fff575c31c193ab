/*
 * A port that answers questions: the program's UDP socket.
 *
 * Requests refer to their port, so that the program may close it and answer later all the same.
 * What the socket does not take now waits in order, until it is writable. The port's mutex
 * guards references, the queue and what is waited for; it is not held while the program runs.
 * The events have color 0; answers may come from any thread.
 */
#include "responder.h"

#include <errno.h>
#include <string.h>

#include <event2/dns_compat.h>

#include "event/le.h"

enum {
	REQUEST_SIZE = 1500,		/* no question is longer */
	RECEIVE_MAX = 64,		/* in a turn */
};

struct evdns_server_port {
	/* const */
	int fd;
	evdns_request_callback_fn_type fn;
	void *arg;
	pthread_mutex_t mu;

	/* mu */
	unsigned refs;			/* the program's, and one a request */
	bool is_closed;
	int events_left;		/* not finalized yet */
	struct event read_event;
	struct event write_event;	/* while replies are pending */
	struct ec_list pending;
};

/* ---------------------------------------------------------------- references */

static void event_is_final(struct event *ev, void *arg)
{
	struct evdns_server_port *port = arg;

	event_debug_unassign(ev);
	/* Both are told on color 0, so one after the other. */
	if (--port->events_left > 0)
		return;
	pthread_mutex_destroy(&port->mu);
	ec_free(port);
}

/*
 * Unlocks. A callback of the events may be running, and this may be within it: so the memory goes
 * when none runs any more. One that begins meanwhile finds no reference left (begin()).
 */
static void port_put_locked(struct evdns_server_port *port)
{
	bool is_last = --port->refs == 0;

	pthread_mutex_unlock(&port->mu);
	if (!is_last)
		return;
	(void)event_finalize(0, &port->write_event, event_is_final);
	(void)event_finalize(0, &port->read_event, event_is_final);
}

static bool begin(struct evdns_server_port *port)
{
	bool is_alive;

	pthread_mutex_lock(&port->mu);
	is_alive = port->refs > 0;
	port->refs += is_alive;
	pthread_mutex_unlock(&port->mu);
	return is_alive;
}

static void end(struct evdns_server_port *port)
{
	pthread_mutex_lock(&port->mu);
	port_put_locked(port);
}

static void question_free(struct dns_question *q)
{
	struct evdns_server_port *port = q->port;

	le_dns_question_free_content(q);
	ec_free(q);
	end(port);
}

/* ---------------------------------------------------------------- sending */

/* 0: sent, or lost; -1: there is no room now. */
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

/* With the mutex. */
static void await_room(struct evdns_server_port *port)
{
	if (!ec_list_is_empty(&port->pending) && event_add(&port->write_event, NULL) < 0)
		le_dns_log(EC_LOG_WARN, "Error from libevent when adding event for DNS server");
}

static struct dns_question *first_pending(struct evdns_server_port *port)
{
	return ec_list_is_empty(&port->pending) ?
		       NULL :
		       ec_container_of(port->pending.next, struct dns_question, link);
}

static void write_ready(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_server_port *port = arg;
	struct dns_question *q;

	(void)fd;
	(void)what;
	if (!begin(port))
		return;
	pthread_mutex_lock(&port->mu);
	while ((q = first_pending(port)) != NULL && reply_send(port, q) == 0) {
		ec_list_remove(&q->link);
		pthread_mutex_unlock(&port->mu);
		question_free(q);
		pthread_mutex_lock(&port->mu);
	}
	await_room(port);
	port_put_locked(port);
}

/* ---------------------------------------------------------------- receiving */

/* NULL: no request, or no memory for it; then it is as if it had been lost. */
static struct dns_question *question_new(struct evdns_server_port *port, const uint8_t *data,
					 size_t len, const struct sockaddr_storage *addr,
					 socklen_t addr_len)
{
	struct dns_question *q = ec_calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	if (le_dns_question_parse(q, data, len) < 0) {
		le_dns_question_free_content(q);
		ec_free(q);
		return NULL;
	}
	q->port = port;
	memcpy(&q->addr, addr, sizeof(*addr));
	q->addr_len = addr_len;
	return q;
}

/* -1: there is none. */
static int receive(struct evdns_server_port *port)
{
	uint8_t data[REQUEST_SIZE];
	struct sockaddr_storage addr;
	socklen_t addr_len = sizeof(addr);
	struct dns_question *q;
	ssize_t n;

	memset(&addr, 0, sizeof(addr));
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
	(void)begin(port); /* the request's reference */
	port->fn(&q->base, port->arg);
	return 0;
}

static bool is_open(struct evdns_server_port *port)
{
	bool is;

	pthread_mutex_lock(&port->mu);
	is = !port->is_closed;
	pthread_mutex_unlock(&port->mu);
	return is;
}

static void read_ready(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_server_port *port = arg;

	(void)fd;
	(void)what;
	/* The program may close the port from its callback. */
	if (!begin(port))
		return;
	for (int i = 0; i < RECEIVE_MAX && is_open(port) && receive(port) == 0; i++)
		;
	end(port);
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
	port = ec_calloc(1, sizeof(*port));
	if (port == NULL)
		return NULL;
	if (pthread_mutex_init(&port->mu, NULL) != 0)
		goto free_port;
	port->fd = socket;
	port->fn = callback;
	port->arg = user_data;
	port->refs = 1;
	ec_list_init(&port->pending);
	port->events_left = 2;
	event_assign(&port->read_event, base, socket, EV_READ | EV_PERSIST, read_ready, port);
	event_assign(&port->write_event, base, socket, EV_WRITE, write_ready, port);
	if (event_add(&port->read_event, NULL) < 0)
		goto unassign;
	return port;

unassign:
	event_debug_unassign(&port->write_event);
	event_debug_unassign(&port->read_event);
	pthread_mutex_destroy(&port->mu);
free_port:
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
	pthread_mutex_lock(&port->mu);
	port->is_closed = true;
	(void)event_del_noblock(&port->read_event);
	port_put_locked(port);
}

/* Replies keep their order: with one waiting, the next waits too. */
int evdns_server_request_respond(struct evdns_server_request *req, int err)
{
	struct dns_question *q = le_dns_question(req);
	struct evdns_server_port *port = q->port;
	bool is_sent;

	if (err < 0 || err > 15)
		return -1;
	if (q->reply.len == 0)
		le_dns_reply_make(q, err);
	pthread_mutex_lock(&port->mu);
	is_sent = ec_list_is_empty(&port->pending) && reply_send(port, q) == 0;
	if (!is_sent) {
		ec_list_push_back(&port->pending, &q->link);
		await_room(port);
	}
	pthread_mutex_unlock(&port->mu);
	if (is_sent)
		question_free(q);
	return 0;
}

int evdns_server_request_drop(struct evdns_server_request *req)
{
	question_free(le_dns_question(req));
	return 0;
}

/* The address's length, which was written; -1: there is no room for it. */
int evdns_server_request_get_requesting_addr(struct evdns_server_request *req, struct sockaddr *sa,
					     int addr_len)
{
	const struct dns_question *q = le_dns_question(req);

	if (addr_len < 0 || (socklen_t)addr_len < q->addr_len)
		return -1;
	memcpy(sa, &q->addr, q->addr_len);
	return (int)q->addr_len;
}
