/*
 * A port that answers questions, and one request of it.
 */
#ifndef LE_DNS_RESPONDER_H
#define LE_DNS_RESPONDER_H

#include <event2/dns_struct.h>

#include "dns.h"

enum { DNS_SECTIONS = 3, DNS_REPLY_SIZE = 512 };

struct dns_item {
	struct dns_item *next;
	char *name;
	uint16_t type;
	uint16_t rclass;
	uint32_t ttl;
	bool is_name;			/* `data` is one, to be compressed */
	uint16_t data_len;
	uint8_t data[];
};

struct dns_reply {
	uint8_t data[DNS_REPLY_SIZE];
	size_t len;			/* 0: not made yet */
};

/* What the program sees of it is `base`. */
struct dns_question {
	struct ec_list link;		/* of the port's pending replies */
	struct evdns_server_port *port;	/* a reference */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	uint16_t id;
	struct evdns_server_request base;
	struct dns_item *sections[DNS_SECTIONS];
	struct dns_reply reply;
};

static inline struct dns_question *le_dns_question(struct evdns_server_request *req)
{
	return ec_container_of(req, struct dns_question, base);
}

int le_dns_question_parse(struct dns_question *q, const uint8_t *data, size_t len);
void le_dns_question_free_content(struct dns_question *q);
void le_dns_reply_make(struct dns_question *q, int err);

#endif
