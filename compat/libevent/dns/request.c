/*
 * The states of a request.
 *
 *   NEW --start--> WAITING --pump--> INFLIGHT --answer, error, too many attempts--> DONE
 *                     ^                 |
 *                     +---- suspend ----+
 *
 * At most `max-inflight` requests are in flight; the others wait in order. A request in flight has
 * an id that no other has, and a deadline. After the deadline it goes to the next nameserver.
 */
#include "request.h"

#include <errno.h>
#include <string.h>

enum { REISSUES_MAX = 1 };		/* after a nameserver refused */

static void timed_out(struct dns_timer *timer);

/* ---------------------------------------------------------------- life */

struct evdns_request *le_dns_request_new(struct evdns_base *dns, int type,
					 void (*done)(struct evdns_request *))
{
	struct evdns_request *req = ec_malloc(sizeof(*req));

	if (req == NULL)
		return NULL;
	memset(req, 0, offsetof(struct evdns_request, query));
	req->answer.cname[0] = '\0';
	req->dns = dns;
	req->type = type;
	req->done = done;
	req->timer.fn = timed_out;
	dns->refs++;
	return req;
}

void le_dns_request_free_locked(struct evdns_request *req)
{
	if (req->search != NULL)
		le_dns_search_put(req->search);
	ec_free(req->search_name);
	ec_free(req);
}

void le_dns_request_drop(struct evdns_request *req)
{
	req->dns->refs--;
	le_dns_request_free_locked(req);
}

/* ---------------------------------------------------------------- sending */

/* 0 or -errno */
static int send_query(struct evdns_request *req, size_t len)
{
	struct dns_socket *sock = le_dns_socket_pick(req->server);
	int r;

	if (sock == NULL)
		return -errno;
	r = le_dns_socket_send(sock, req->query, len);
	if (r == 0)
		le_dns_senders_note(req, sock);
	return r;
}

static void transmit(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;
	size_t len = le_dns_query_finish(req);
	int r = 0;

	/* If the system cannot send to one nameserver, try the next one that is up. */
	for (int i = 0; i <= dns->servers_num; i++) {
		r = send_query(req, len);
		if (r == 0)
			break;
		le_dns_server_failed(req->server, strerror(-r));
		if (req->is_probe || dns->servers_up == 0)
			break;
		req->server = le_dns_server_pick(dns);
	}
	req->sent_num++;
	le_dns_timer_start(dns, &req->timer, dns->timeout_ns);
}

/* Puts the request in flight. -1: there is no id for it. */
static int launch(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	if (le_dns_id_choose(req) < 0)
		return -1;
	if (!req->is_probe)
		req->server = le_dns_server_pick(dns);
	req->state = DNS_INFLIGHT;
	dns->inflight_num++;
	le_dns_id_link(req);
	transmit(req);
	return 0;
}

void le_dns_request_send_again(struct evdns_request *req)
{
	if (req->sent_num >= req->dns->attempts) {
		le_dns_request_finish(req, DNS_ERR_TIMEOUT);
		return;
	}
	if (!req->is_probe)
		req->server = le_dns_server_pick(req->dns);
	transmit(req);
}

static void timed_out(struct dns_timer *timer)
{
	struct evdns_request *req = ec_container_of(timer, struct evdns_request, timer);
	struct evdns_base *dns = req->dns;
	struct dns_server *server = req->server;

	if (req->sent_num >= dns->attempts) {
		le_dns_server_failed(server, "request timed out.");
	} else if (++server->timeouts_num > dns->timeouts_max) {
		server->timeouts_num = 0;
		le_dns_server_failed(server, "request timed out.");
	}
	le_dns_request_send_again(req);
}

bool le_dns_request_reissue(struct evdns_request *req)
{
	struct dns_server *server;

	if (req->is_probe || req->reissues_num >= REISSUES_MAX)
		return false;
	server = le_dns_server_pick(req->dns);
	if (server == req->server)
		return false;
	req->server = server;
	req->reissues_num++;
	req->sent_num = 0;
	transmit(req);
	return true;
}

/* ---------------------------------------------------------------- ends */

void le_dns_request_stop(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	le_dns_timer_stop(dns, &req->timer);
	if (req->state == DNS_WAITING)
		ec_list_remove(&req->link);
	if (req->state == DNS_INFLIGHT) {
		le_dns_id_unlink(req);
		dns->inflight_num--;
	}
	le_dns_senders_forget_all(req);
	req->state = DNS_NEW;
}

/* Ends the request; `answer` is complete. */
static void conclude(struct evdns_request *req)
{
	le_dns_request_stop(req);
	req->state = DNS_DONE;
	req->done(req);
}

static void set_result(struct evdns_request *req, int result)
{
	req->answer.result = result;
	req->answer.type = 0;
	req->answer.count = 0;
	req->answer.ttl = 0;
	req->answer.cname[0] = '\0';
}

/* True: asks for the next name of the search list. The request does not wait again for its turn. */
static bool start_next_name(struct evdns_request *req)
{
	if (req->answer.result == DNS_ERR_NONE || req->answer.result == DNS_ERR_TIMEOUT ||
	    !le_dns_search_next(req))
		return false;
	le_dns_request_stop(req);
	req->sent_num = 0;
	req->reissues_num = 0;
	if (launch(req) == 0)
		return true;
	set_result(req, DNS_ERR_UNKNOWN);
	return false;
}

void le_dns_request_complete(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	if (start_next_name(req))
		return;
	conclude(req);
	le_dns_requests_pump(dns);
}

void le_dns_request_finish(struct evdns_request *req, int result)
{
	struct evdns_base *dns = req->dns;

	set_result(req, result);
	conclude(req);
	le_dns_requests_pump(dns);
}

/* ---------------------------------------------------------------- waiting */

void le_dns_requests_pump(struct evdns_base *dns)
{
	struct evdns_request *req;

	while (dns->inflight_num < dns->inflight_max && dns->servers_num > 0 &&
	       !ec_list_is_empty(&dns->waiting)) {
		req = ec_container_of(dns->waiting.next, struct evdns_request, link);
		ec_list_remove(&req->link);
		req->state = DNS_NEW;
		if (launch(req) < 0) {
			set_result(req, DNS_ERR_UNKNOWN);
			conclude(req);
		}
	}
}

/* A probe does not wait: other requests may wait for its result. */
void le_dns_request_start(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	if (req->is_probe) {
		if (launch(req) < 0)
			le_dns_request_finish(req, DNS_ERR_UNKNOWN);
		return;
	}
	req->state = DNS_WAITING;
	ec_list_push_back(&dns->waiting, &req->link);
	le_dns_requests_pump(dns);
}

/* The suspended requests go ahead of those that wait already. */
void le_dns_requests_suspend(struct evdns_base *dns)
{
	struct ec_list suspended;
	struct evdns_request *req;

	ec_list_init(&suspended);
	while (!ec_list_is_empty(&dns->inflight)) {
		req = ec_container_of(dns->inflight.next, struct evdns_request, link);
		le_dns_request_stop(req);
		req->state = DNS_WAITING;
		req->server = NULL;
		req->sent_num = 0;
		req->reissues_num = 0;
		ec_list_push_back(&suspended, &req->link);
	}
	ec_list_splice_back(&suspended, &dns->waiting);
	ec_list_splice_back(&dns->waiting, &suspended);
}

static void abort_one(struct evdns_request *req, bool is_reported)
{
	if (is_reported) {
		set_result(req, DNS_ERR_SHUTDOWN);
		conclude(req);
		return;
	}
	le_dns_request_stop(req);
	event_debug_unassign(&req->report_event);
	le_dns_request_drop(req);
}

void le_dns_requests_abort(struct evdns_base *dns, bool is_reported)
{
	le_dns_requests_suspend(dns);
	while (!ec_list_is_empty(&dns->waiting))
		abort_one(ec_container_of(dns->waiting.next, struct evdns_request, link), is_reported);
}
