/*
 * Requests in flight: the table that finds them by id, and the sockets that sent each of them.
 *
 *   dns->inflight   all of them, in the order in which they got their ids
 *   dns->ids        the same ones, by the low bits of the id
 */
#include "request.h"

#include <string.h>

enum { TRIES_MAX = 0x10000 };

/* ---------------------------------------------------------------- ids */

static uint16_t id_of(const struct evdns_request *req)
{
	return le_dns_load_u16(req->query);
}

struct evdns_request *le_dns_id_find(const struct evdns_base *dns, uint16_t id)
{
	struct evdns_request *req = dns->ids[id % DNS_ID_BUCKETS];

	while (req != NULL && id_of(req) != id)
		req = req->id_next;
	return req;
}

/* `inflight_max` leaves ids free, so a few tries find one. */
int le_dns_id_choose(struct evdns_request *req)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		if (!req->has_new_id && !le_dns_random(req->query, DNS_ID_LEN))
			return -1;
		req->has_new_id = false;
		if (le_dns_id_find(req->dns, id_of(req)) == NULL)
			return 0;
	}
	return -1;
}

void le_dns_id_link(struct evdns_request *req)
{
	struct evdns_request **bucket = &req->dns->ids[id_of(req) % DNS_ID_BUCKETS];

	req->id_next = *bucket;
	if (req->id_next != NULL)
		req->id_next->id_at = &req->id_next;
	req->id_at = bucket;
	*bucket = req;
	ec_list_push_back(&req->dns->inflight, &req->link);
}

/* Does not read the id: `query` may already have the id of the next name to try. */
void le_dns_id_unlink(struct evdns_request *req)
{
	*req->id_at = req->id_next;
	if (req->id_next != NULL)
		req->id_next->id_at = req->id_at;
	ec_list_remove(&req->link);
}

/* ---------------------------------------------------------------- sockets */

bool le_dns_senders_has(const struct evdns_request *req, const struct dns_socket *sock)
{
	for (int i = 0; i < DNS_SENDERS_MAX; i++)
		if (req->senders[i] == sock)
			return true;
	return false;
}

/* Keeps the order of the others. */
void le_dns_senders_forget(struct evdns_request *req, struct dns_socket *sock)
{
	int i = 0;

	while (i < DNS_SENDERS_MAX && req->senders[i] != sock)
		i++;
	if (i == DNS_SENDERS_MAX)
		return;
	for (; i + 1 < DNS_SENDERS_MAX; i++)
		req->senders[i] = req->senders[i + 1];
	req->senders[i] = NULL;
	sock->requests_num--;
}

/* A request accepts answers at the DNS_SENDERS_MAX sockets that sent it last. */
void le_dns_senders_note(struct evdns_request *req, struct dns_socket *sock)
{
	struct dns_socket *oldest = req->senders[DNS_SENDERS_MAX - 1];

	le_dns_socket_get(sock);
	if (le_dns_senders_has(req, sock))
		le_dns_senders_forget(req, sock);
	else if (oldest != NULL)
		le_dns_socket_put(oldest);
	memmove(&req->senders[1], &req->senders[0], sizeof(req->senders) - sizeof(req->senders[0]));
	req->senders[0] = sock;
}

void le_dns_senders_forget_all(struct evdns_request *req)
{
	struct dns_socket *sock;

	for (int i = 0; i < DNS_SENDERS_MAX && req->senders[i] != NULL; i++) {
		sock = req->senders[i];
		req->senders[i] = NULL;
		le_dns_socket_put(sock);
	}
}
