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

/* A name in a packet has two bytes more than its text, at most. Longer names are invalid. */
static size_t query_size_of(size_t name_len)
{
	size_t wire_size = name_len < DNS_WIRE_SIZE - 2 ? name_len + 2 : DNS_WIRE_SIZE;

	return DNS_QUERY_SIZE - DNS_WIRE_SIZE + wire_size;
}

struct evdns_request *le_dns_request_new(struct evdns_base *dns, int type, size_t name_len,
					 void (*done)(struct evdns_request *,
						      const struct dns_answer *))
{
	size_t query_size = query_size_of(name_len);
	struct evdns_request *req = ec_malloc(sizeof(*req) + query_size);

	if (req == NULL)
		return NULL;
	memset(req, 0, sizeof(*req));
	req->query_size = (uint16_t)query_size;
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
	if (req->report.data != req->query)
		ec_free(req->report.data);
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

static void conclude(struct evdns_request *req, const struct dns_answer *answer)
{
	le_dns_request_stop(req);
	req->state = DNS_DONE;
	req->done(req, answer);
}

static void conclude_with_error(struct evdns_request *req, int result)
{
	struct dns_answer answer;

	answer.result = result;
	answer.type = 0;
	answer.count = 0;
	answer.ttl = 0;
	answer.cname[0] = '\0';
	conclude(req, &answer);
}

/* A query is not sent again after its answer, so its memory is free for short answers. */
void le_dns_request_keep(struct evdns_request *req, const struct dns_answer *answer)
{
	struct dns_report *report = &req->report;
	size_t size;

	*report = (struct dns_report){ answer->result, answer->type, answer->count, answer->ttl, NULL };
	if (answer->result != DNS_ERR_NONE)
		return;
	size = le_dns_answer_size(answer);
	report->data = size <= req->query_size ? req->query : ec_malloc(size);
	if (report->data != NULL)
		memcpy(report->data, &answer->of, size);
	else
		*report = (struct dns_report){ .result = DNS_ERR_UNKNOWN };
}

void le_dns_request_complete(struct evdns_request *req, const struct dns_answer *answer)
{
	struct evdns_base *dns = req->dns;

	if (answer->result == DNS_ERR_NONE || answer->result == DNS_ERR_TIMEOUT ||
	    !le_dns_search_next(req)) {
		conclude(req, answer);
		le_dns_requests_pump(dns);
		return;
	}
	/* The request does not wait again for its turn. */
	le_dns_request_stop(req);
	req->sent_num = 0;
	req->reissues_num = 0;
	if (launch(req) < 0)
		le_dns_request_finish(req, DNS_ERR_UNKNOWN);
}

void le_dns_request_finish(struct evdns_request *req, int result)
{
	struct evdns_base *dns = req->dns;

	conclude_with_error(req, result);
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
		if (launch(req) < 0)
			conclude_with_error(req, DNS_ERR_UNKNOWN);
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
		conclude_with_error(req, DNS_ERR_SHUTDOWN);
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
