/*
 * An answer: the result, addresses or name that a response gives for a query.
 */
#ifndef LE_DNS_ANSWER_H
#define LE_DNS_ANSWER_H

#include "packet.h"

enum {
	DNS_ADDRS_MAX = 32,		/* an answer reports no more addresses */
	DNS_CNAMES_MAX = 32,		/* the parser reads no more aliases; it reports the last one */
};

/* own: the request, or the function that parses; under the mutex of the evdns_base */
struct dns_answer {
	int result;			/* DNS_ERR_… */
	int type;			/* DNS_IPv4_A, …; 0 without addresses */
	int count;
	int ttl;
	union {
		uint8_t a[DNS_ADDRS_MAX][4];
		uint8_t aaaa[DNS_ADDRS_MAX][16];
		char ptr[DNS_NAME_SIZE];
	} of;
	char cname[DNS_NAME_SIZE];	/* empty: none */
	unsigned cnames_num;
};

/* The bytes of `of` that a successful answer uses. */
size_t le_dns_answer_size(const struct dns_answer *answer);

enum dns_match { DNS_MATCH_NO, DNS_MATCH_FOLDED, DNS_MATCH_EXACT };

/*
 * Does a response answer the query? EXACT: it repeats the question's bytes. FOLDED: in lower case.
 */
enum dns_match le_dns_match(const uint8_t *query, size_t query_len, const uint8_t *data,
			    size_t len);
/* Parses a response to a query for `type` (DNS_IPv4_A, …). It never fails: `result` may be an error. */
void le_dns_answer_parse(struct dns_answer *ret, int type, const uint8_t *data, size_t len);

#endif
