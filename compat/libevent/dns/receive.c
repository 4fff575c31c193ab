/*
 * Responses. A forger can send packets to the library's ports, so a response must prove that its
 * sender saw the query (RFC 5452). Other packets are counted; too many of them close the port.
 */
#include "request.h"

#include <stdio.h>

static bool is_refusal(int result)
{
	return result == DNS_ERR_NOTIMPL || result == DNS_ERR_REFUSED;
}

static void handle_refusal(struct dns_server *server, struct evdns_request *req,
			   const struct dns_answer *answer)
{
	char why[64];

	(void)snprintf(why, sizeof(why), "Bad response %d (%s)", answer->result,
		       evdns_err_to_string(answer->result));
	le_dns_server_failed(server, why);
	/* If another nameserver has been asked since, its answer may be better. */
	if (server == req->server && !le_dns_request_reissue(req))
		le_dns_request_complete(req, answer);
}

static bool has_upper_case(const uint8_t *query, size_t len)
{
	for (size_t i = DNS_HEADER_LEN; i < len; i++)
		if (query[i] >= 'A' && query[i] <= 'Z')
			return true;
	return false;
}

/*
 * The kernel has checked the sender's address and port. The response must have the query's id and
 * question, and arrive at a socket that sent the query. It must have the query's spelling, too.
 * Exception: lower case, from a server that has never kept the spelling.
 */
static bool is_believed(const struct dns_socket *sock, const struct evdns_request *req,
			const uint8_t *data, size_t len)
{
	struct dns_server *server = sock->server;
	enum dns_match match;

	if (!le_dns_senders_has(req, sock))
		return false;
	match = le_dns_match(req->query, req->query_len, data, len);
	if (match == DNS_MATCH_EXACT && !server->keeps_case)
		server->keeps_case = has_upper_case(req->query, req->query_len);
	return match == DNS_MATCH_EXACT || (match == DNS_MATCH_FOLDED && !server->keeps_case);
}

/* Removes the socket from all requests, and moves those whose query it sent last to *ret. */
static void take_requests(struct dns_socket *sock, struct ec_list *ret)
{
	struct ec_list *inflight = &sock->dns->inflight, *at, *next;
	struct evdns_request *req;

	ec_list_init(ret);
	for (at = inflight->next; at != inflight; at = next) {
		next = at->next;
		req = ec_container_of(at, struct evdns_request, link);
		if (req->senders[0] == sock) {
			le_dns_id_unlink(req);
			ec_list_push_back(ret, &req->link);
		}
		le_dns_senders_forget(req, sock);
	}
}

/*
 * A forger is guessing ids, and may be close to one. So this closes the port. Its requests get new
 * ids, and are sent from another port to the next nameserver. That counts as an attempt: a forger
 * who finds each new port ends the request, and gets no more tries.
 */
static void replace_socket(struct dns_socket *sock)
{
	struct evdns_request *req;
	struct ec_list requests;

	le_dns_log(EC_LOG_WARN,
		   "%u packets from nameserver %s answer no query: closing the port, and sending its "
		   "queries again from another one",
		   sock->wrong_num, sock->server->text);
	take_requests(sock, &requests);
	le_dns_socket_close(sock);
	while (!ec_list_is_empty(&requests)) {
		req = ec_container_of(requests.next, struct evdns_request, link);
		ec_list_remove(&req->link);
		if (le_dns_id_choose(req) < 0) {
			le_dns_id_link(req);
			le_dns_request_finish(req, DNS_ERR_UNKNOWN);
			continue;
		}
		le_dns_id_link(req);
		le_dns_request_send_again(req);
	}
}

static struct evdns_request *find_request(const struct dns_socket *sock, const uint8_t *data,
					  size_t len)
{
	struct evdns_request *req = NULL;

	if (len >= DNS_HEADER_LEN)
		req = le_dns_id_find(sock->dns, le_dns_load_u16(data));
	return req != NULL && is_believed(sock, req, data, len) ? req : NULL;
}

void le_dns_request_received(struct dns_socket *sock, const uint8_t *data, size_t len)
{
	struct dns_server *server = sock->server;
	struct evdns_request *req = find_request(sock, data, len);
	struct dns_answer answer;

	if (req == NULL) {
		le_dns_log(EC_LOG_DEBUG, "Ignoring a DNS packet that answers no query");
		if (le_dns_socket_got_wrong(sock))
			replace_socket(sock);
		return;
	}
	le_dns_answer_parse(&answer, req->type, data, len);
	/* This nameserver, or another one, may answer the next attempt. */
	if (answer.result == DNS_ERR_SERVERFAILED) {
		le_dns_log(EC_LOG_DEBUG,
			   "Got a SERVERFAILED from nameserver at %s; will allow the request "
			   "to time out.",
			   server->text);
		return;
	}
	if (is_refusal(answer.result)) {
		handle_refusal(server, req, &answer);
		return;
	}
	le_dns_server_answered(server);
	le_dns_request_complete(req, &answer);
}
