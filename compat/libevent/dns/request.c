/*
 * A request's way.
 *
 *   NEW --start--> WAITING --pump--> INFLIGHT --answer, error, too many attempts--> DONE
 *                     ^                 |
 *                     +---- suspend ----+
 *
 * At most `max-inflight` of them are in flight; the others wait in order. One in flight has an id
 * that no other has, and a deadline. When that passes it is sent again, to the next nameserver.
 */
#include "dns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	REISSUES_MAX = 1,		/* after a nameserver refused */
	ID_LEN = 2,
	TRIES_MAX = 0x10000,		/* for an id; there is room for all that are in flight */
	FLAG_RECURSE = 0x0100,
	TYPE_OPT = 41,
};

static void timed_out(struct dns_timer *timer);

/* ---------------------------------------------------------------- made, and given back */

/* With a reference to `dns` and an end to come: `done`, or le_dns_request_free_locked(). */
struct evdns_request *le_dns_request_new(struct evdns_base *dns, int type,
					 void (*done)(struct evdns_request *))
{
	struct evdns_request *req = ec_malloc(sizeof(*req));

	if (req == NULL)
		return NULL;
	memset(req, 0, offsetof(struct evdns_request, query));
	memset(&req->done, 0, sizeof(*req) - offsetof(struct evdns_request, done));
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

/* ---------------------------------------------------------------- the query */

/*
 * Each letter's case by a coin: a forger who does not see the query must guess it as well as the
 * id and the port (draft-vixie-dnsext-dns0x20).
 */
static void randomize_case(char *name, size_t len, const uint8_t *coins)
{
	for (size_t i = 0; i < len; i++) {
		unsigned upper = (unsigned char)name[i] & ~0x20U;

		if (upper - 'A' < 26)
			name[i] = (char)(upper | (coins[i / 8] >> (i % 8) & 1U) << 5);
	}
}

static uint16_t wire_type(int type)
{
	return type == DNS_IPv4_A    ? EVDNS_TYPE_A :
	       type == DNS_IPv6_AAAA ? EVDNS_TYPE_AAAA :
				       EVDNS_TYPE_PTR;
}

/*
 * With an id, which may be another request's still. One call gets all that is random. A name for
 * the root alone is nothing to ask for.
 */
int le_dns_request_name(struct evdns_request *req, const char *name)
{
	struct dns_writer w = { .data = req->query, .size = DNS_HEADER_LEN + 255 + 4 };
	char spelled[DNS_NAME_SIZE];
	uint8_t random[ID_LEN + DNS_NAME_SIZE / 8];
	size_t len = strlen(name);

	if (len == 0 || len >= sizeof(spelled) || !le_dns_name_is_valid(name))
		return -1;
	if (!le_dns_random(random, ID_LEN + (req->dns->is_case_random ? (len + 7) / 8 : 0)))
		return -1;
	memcpy(spelled, name, len + 1);
	if (req->dns->is_case_random)
		randomize_case(spelled, len, random + ID_LEN);
	(void)le_dns_put_bytes(&w, random, ID_LEN);
	(void)le_dns_put_u16(&w, FLAG_RECURSE);
	(void)le_dns_put_u16(&w, 1);
	(void)le_dns_put_u32(&w, 0);
	(void)le_dns_put_u16(&w, 0);
	if (le_dns_put_name(&w, spelled) < 0)
		return -1;
	(void)le_dns_put_u16(&w, wire_type(req->type));
	(void)le_dns_put_u16(&w, EVDNS_CLASS_INET);
	req->query_len = w.len;
	req->has_new_id = true;
	return 0;
}

/* RFC 6891: how large an answer may be. Not part of what a response is matched with. */
static size_t append_opt(const struct evdns_base *dns, uint8_t *query, size_t len)
{
	struct dns_writer w = { .data = query, .size = DNS_QUERY_SIZE, .len = len };

	query[DNS_HEADER_LEN - 1] = dns->edns_size > 512;
	if (dns->edns_size <= 512)
		return len;
	(void)le_dns_put_bytes(&w, "", 1);
	(void)le_dns_put_u16(&w, TYPE_OPT);
	(void)le_dns_put_u16(&w, (unsigned)dns->edns_size);
	(void)le_dns_put_u32(&w, 0);
	(void)le_dns_put_u16(&w, 0);
	return w.len;
}

/* ---------------------------------------------------------------- ids */

static uint16_t id_of(const struct evdns_request *req)
{
	return (uint16_t)(req->query[0] << 8 | req->query[1]);
}

static struct evdns_request *find_id(struct evdns_base *dns, uint16_t id)
{
	struct ec_list *bucket = &dns->ids[id % DNS_ID_BUCKETS], *at;

	for (at = bucket->next; at != bucket; at = at->next)
		if (id_of(ec_container_of(at, struct evdns_request, link)) == id)
			return ec_container_of(at, struct evdns_request, link);
	return NULL;
}

/*
 * One that no other has. `inflight_max` is below what there are
 * ids, so that a few tries do.
 */
static int choose_id(struct evdns_request *req)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		if (!req->has_new_id && !le_dns_random(req->query, ID_LEN))
			return -1;
		req->has_new_id = false;
		if (find_id(req->dns, id_of(req)) == NULL)
			return 0;
	}
	return -1;
}

static void link_id(struct evdns_request *req)
{
	ec_list_push_back(&req->dns->ids[id_of(req) % DNS_ID_BUCKETS], &req->link);
}

/* ---------------------------------------------------------------- where it was sent from */

static bool was_asked(const struct evdns_request *req, const struct dns_socket *sock)
{
	for (int i = 0; i < DNS_ASKED_MAX; i++)
		if (req->asked[i] == sock)
			return true;
	return false;
}

/* The order of the others stays. */
static void forget_one(struct evdns_request *req, struct dns_socket *sock)
{
	int i = 0;

	while (i < DNS_ASKED_MAX && req->asked[i] != sock)
		i++;
	if (i == DNS_ASKED_MAX)
		return;
	for (; i + 1 < DNS_ASKED_MAX; i++)
		req->asked[i] = req->asked[i + 1];
	req->asked[i] = NULL;
	sock->requests_num--;
}

/* Sockets that the query went out from lately may bring an answer; one before those may not. */
static void note_asked(struct evdns_request *req, struct dns_socket *sock)
{
	struct dns_socket *oldest = req->asked[DNS_ASKED_MAX - 1];

	le_dns_socket_get(sock);
	if (was_asked(req, sock))
		forget_one(req, sock);
	else if (oldest != NULL)
		le_dns_socket_put(oldest);
	memmove(&req->asked[1], &req->asked[0], sizeof(req->asked) - sizeof(req->asked[0]));
	req->asked[0] = sock;
}

static void forget_asked(struct evdns_request *req)
{
	struct dns_socket *sock;

	for (int i = 0; i < DNS_ASKED_MAX && req->asked[i] != NULL; i++) {
		sock = req->asked[i];
		req->asked[i] = NULL;
		le_dns_socket_put(sock);
	}
}

/* ---------------------------------------------------------------- in and out of flight */

/* 0 or -errno */
static int send_query(struct evdns_request *req, size_t len)
{
	struct dns_socket *sock = le_dns_socket_pick(req->server);
	int r;

	if (sock == NULL)
		return -errno;
	r = le_dns_socket_send(sock, req->query, len);
	if (r == 0)
		note_asked(req, sock);
	return r;
}

static void transmit(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;
	size_t len = append_opt(dns, req->query, req->query_len);
	int r = 0;

	/* A server that cannot even be sent to is passed over, as long as there is one that can. */
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

/* -1: no id is to be had. */
static int launch(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	if (choose_id(req) < 0)
		return -1;
	if (!req->is_probe)
		req->server = le_dns_server_pick(dns);
	req->state = DNS_INFLIGHT;
	dns->inflight_num++;
	link_id(req);
	transmit(req);
	return 0;
}

void le_dns_request_stop(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	le_dns_timer_stop(dns, &req->timer);
	if (req->state == DNS_WAITING || req->state == DNS_INFLIGHT)
		ec_list_remove(&req->link);
	if (req->state == DNS_INFLIGHT)
		dns->inflight_num--;
	forget_asked(req);
	req->state = DNS_NEW;
}

/* Its end, with the answer in place. */
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

/* A probe does not wait: it would wait for what it is to find out. */
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

/* An error goes on with the next name there is to try, before others: it keeps its turn. */
static bool goes_on(struct evdns_request *req)
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

static void complete(struct evdns_request *req)
{
	struct evdns_base *dns = req->dns;

	if (goes_on(req))
		return;
	conclude(req);
	le_dns_requests_pump(dns);
}

/* With an error that is not an answer's: no other name is tried. */
void le_dns_request_finish(struct evdns_request *req, int result)
{
	struct evdns_base *dns = req->dns;

	set_result(req, result);
	conclude(req);
	le_dns_requests_pump(dns);
}

/* ---------------------------------------------------------------- what comes of it */

static void send_again(struct evdns_request *req)
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
	send_again(req);
}

/* A nameserver that will not answer: the next may. False: there is none, or it was tried. */
static bool reissue(struct evdns_request *req)
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

static bool is_refusal(int result)
{
	return result == DNS_ERR_NOTIMPL || result == DNS_ERR_REFUSED;
}

static void handle_refusal(struct dns_server *server, struct evdns_request *req)
{
	char why[64];

	(void)snprintf(why, sizeof(why), "Bad response %d (%s)", req->answer.result,
		       evdns_err_to_string(req->answer.result));
	le_dns_server_failed(server, why);
	/* From the one that was asked before: the one that is asked now may know better. */
	if (server == req->server && !reissue(req))
		complete(req);
}

static bool has_upper_case(const uint8_t *query, size_t len)
{
	for (size_t i = DNS_HEADER_LEN; i < len; i++)
		if (query[i] >= 'A' && query[i] <= 'Z')
			return true;
	return false;
}

/*
 * Whether to believe a response. It came from a nameserver's address to a port from which that was
 * asked this, and has the id and the question; its spelling too, unless it is all lower case and
 * this server was never seen to keep it.
 */
static bool is_believed(const struct dns_socket *sock, const struct evdns_request *req,
			const uint8_t *data, size_t len)
{
	enum dns_match match = le_dns_match(req->query, req->query_len, data, len);

	if (!was_asked(req, sock))
		return false;
	if (match == DNS_MATCH_EXACT && has_upper_case(req->query, req->query_len))
		sock->server->keeps_case = true;
	return match == DNS_MATCH_EXACT ||
	       (match == DNS_MATCH_FOLDED && !sock->server->keeps_case);
}

/* Requests that may be answered at the socket no longer; *ret: those that were sent there last. */
static void take_askers(struct dns_socket *sock, struct ec_list *ret)
{
	struct evdns_base *dns = sock->dns;
	struct evdns_request *req;
	struct ec_list *at;

	ec_list_init(ret);
	for (int i = 0; i < DNS_ID_BUCKETS; i++) {
		for (at = dns->ids[i].next; at != &dns->ids[i];) {
			req = ec_container_of(at, struct evdns_request, link);
			at = at->next;
			if (req->asked[0] == sock) {
				ec_list_remove(&req->link);
				ec_list_push_back(ret, &req->link);
			}
			forget_one(req, sock);
		}
	}
}

/*
 * Somebody guesses ids, and may be about to find one. Nothing is believed from that port any more:
 * requests get another id and go out from another port, to the next nameserver. That
 * counts as an attempt, so that a forger who finds each port ends a request and gets no more tries.
 */
static void mistrust(struct dns_socket *sock)
{
	struct evdns_request *req;
	struct ec_list askers;

	le_dns_log(EC_LOG_WARN,
		   "%u packets from nameserver %s answer no question of ours: asking again from "
		   "another port",
		   sock->wrong_num, sock->server->text);
	take_askers(sock, &askers);
	le_dns_socket_close(sock);
	while (!ec_list_is_empty(&askers)) {
		req = ec_container_of(askers.next, struct evdns_request, link);
		ec_list_remove(&req->link);
		if (choose_id(req) < 0) {
			link_id(req);
			le_dns_request_finish(req, DNS_ERR_UNKNOWN);
			continue;
		}
		link_id(req);
		send_again(req);
	}
}

void le_dns_request_received(struct dns_socket *sock, const uint8_t *data, size_t len)
{
	struct dns_server *server = sock->server;
	struct evdns_request *req = NULL;

	if (len >= DNS_HEADER_LEN)
		req = find_id(sock->dns, (uint16_t)(data[0] << 8 | data[1]));
	if (req == NULL || !is_believed(sock, req, data, len)) {
		le_dns_log(EC_LOG_DEBUG, "A DNS packet that answers no question of ours");
		if (le_dns_socket_got_wrong(sock))
			mistrust(sock);
		return;
	}
	le_dns_answer_parse(&req->answer, req->type, data, len);
	/* It has no answer now; it or another may have one when asked again. */
	if (req->answer.result == DNS_ERR_SERVERFAILED) {
		le_dns_log(EC_LOG_DEBUG,
			   "Got a SERVERFAILED from nameserver at %s; will allow the request "
			   "to time out.",
			   server->text);
		return;
	}
	if (is_refusal(req->answer.result)) {
		handle_refusal(server, req);
		return;
	}
	le_dns_server_answered(server);
	complete(req);
}

/* The nameservers are gone; who was asked last is nobody's concern any more. */
void le_dns_requests_suspend(struct evdns_base *dns)
{
	struct ec_list suspended;
	struct evdns_request *req;

	ec_list_init(&suspended);
	for (int i = 0; i < DNS_ID_BUCKETS; i++) {
		while (!ec_list_is_empty(&dns->ids[i])) {
			req = ec_container_of(dns->ids[i].next, struct evdns_request, link);
			le_dns_request_stop(req);
			req->state = DNS_WAITING;
			req->server = NULL;
			req->sent_num = 0;
			req->reissues_num = 0;
			ec_list_push_back(&suspended, &req->link);
		}
	}
	ec_list_splice_back(&suspended, &dns->waiting);
	ec_list_splice_back(&dns->waiting, &suspended);
}

/* The end of the evdns_base: nobody is asked any more. */
static void abort_one(struct evdns_request *req, bool is_told)
{
	if (is_told) {
		set_result(req, DNS_ERR_SHUTDOWN);
		conclude(req);
		return;
	}
	le_dns_request_stop(req);
	event_debug_unassign(&req->teller);
	req->dns->refs--;
	le_dns_request_free_locked(req);
}

void le_dns_requests_abort(struct evdns_base *dns, bool is_told)
{
	le_dns_requests_suspend(dns);
	while (!ec_list_is_empty(&dns->waiting))
		abort_one(ec_container_of(dns->waiting.next, struct evdns_request, link), is_told);
}
