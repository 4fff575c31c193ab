/*
 * Writes a query: header, one question, and an OPT record if the option edns-udp-size asks for it.
 */
#include "request.h"

#include <string.h>

enum { TYPE_OPT = 41, EDNS_NONE = 512 };

/*
 * Sets the case of each letter by one random bit. A forger who does not see the query must guess
 * the case, besides id and port (draft-vixie-dnsext-dns0x20). Lengths of labels do not change,
 * because they are below 'A'.
 */
static void randomize_case(uint8_t *name, size_t len, const uint8_t *coins)
{
	for (size_t i = 0; i < len; i++) {
		unsigned upper = name[i] & ~0x20U;
		unsigned coin = (unsigned)coins[i / 8] >> (i % 8) & 1U;

		if (upper - 'A' < 26)
			name[i] = (uint8_t)(upper | coin << 5);
	}
}

static unsigned wire_type(int type)
{
	return type == DNS_IPv4_A    ? EVDNS_TYPE_A :
	       type == DNS_IPv6_AAAA ? EVDNS_TYPE_AAAA :
				       EVDNS_TYPE_PTR;
}

/* One system call gets all random bytes. The id may be in use; le_dns_id_choose() checks. */
int le_dns_query_make(struct evdns_request *req, const char *name)
{
	static const uint8_t head[DNS_HEADER_LEN - DNS_ID_LEN] = { 0x01, 0, 0, 1 };	/* RD, one question */
	uint8_t random[DNS_ID_LEN + (DNS_WIRE_SIZE + 7) / 8], *at = req->query + DNS_HEADER_LEN;
	size_t len = le_dns_name_to_wire(name, at);
	bool is_case_random = req->dns->is_case_random;

	/* The root is a name, but evdns does not ask for it. */
	if (len <= 1 || !le_dns_random(random, DNS_ID_LEN + (is_case_random ? (len + 7) / 8 : 0)))
		return -1;
	memcpy(req->query, random, DNS_ID_LEN);
	memcpy(req->query + DNS_ID_LEN, head, sizeof(head));
	if (is_case_random)
		randomize_case(at, len, random + DNS_ID_LEN);
	le_dns_store_u16(at + len, wire_type(req->type));
	le_dns_store_u16(at + len + 2, EVDNS_CLASS_INET);
	req->query_len = (uint16_t)(DNS_HEADER_LEN + len + 4);
	req->has_new_id = true;
	return 0;
}

/* RFC 6891. Responses are not compared with this record, so `query_len` excludes it. */
size_t le_dns_query_finish(struct evdns_request *req)
{
	uint8_t *at = req->query + req->query_len;
	int edns_size = req->dns->edns_size;
	bool has_opt = edns_size > EDNS_NONE;

	req->query[DNS_HEADER_LEN - 1] = has_opt;
	if (!has_opt)
		return req->query_len;
	memset(at, 0, DNS_OPT_LEN);
	le_dns_store_u16(at + 1, TYPE_OPT);
	le_dns_store_u16(at + 3, (unsigned)edns_size);
	return (size_t)req->query_len + DNS_OPT_LEN;
}
