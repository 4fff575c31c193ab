/*
 * A port that answers questions, and one request of it.
 */
#ifndef LE_DNS_RESPONDER_H
#define LE_DNS_RESPONDER_H

#include <event2/dns_struct.h>

#include "dns.h"

enum { DNS_SECTIONS = 3, DNS_REPLY_SIZE = 512 };

/* own: the program, from its request to its answer */
struct dns_item {
	struct dns_item *next;
	const char *name;		/* in the memory after `data` */
	uint16_t type;
	uint16_t rclass;
	uint32_t ttl;
	bool is_name;			/* `data` is a name, which the writer compresses */
	uint16_t data_len;
	uint8_t data[];
};

struct dns_reply {
	size_t len;			/* 0: not made yet */
	uint8_t data[DNS_REPLY_SIZE];
};

/* One request of a port. The program sees `base`. */
struct dns_question {
	/* const, once it is parsed */
	struct evdns_server_port *port;	/* a reference */
	socklen_t addr_len;
	uint16_t id;
	struct evdns_server_question *only[1];	/* base.questions, if there is one */

	/* own: the program, until it answers or drops the request */
	struct evdns_server_request base;
	struct dns_item *sections[DNS_SECTIONS];

	/* port->mu */
	struct ec_list link;		/* in the port's pending replies */
	struct sockaddr_storage addr;	/* le_dns_question_init() does not clear it, nor the data below */
	struct dns_reply reply;		/* the program's, until the reply is pending */
};

static inline struct dns_question *le_dns_question(struct evdns_server_request *req)
{
	return ec_container_of(req, struct dns_question, base);
}

void le_dns_question_init(struct dns_question *q);
/* -1: the packet is no request. Then, too, call le_dns_question_free_content(). */
int le_dns_question_parse(struct dns_question *q, const uint8_t *data, size_t len);
void le_dns_question_free_content(struct dns_question *q);
void le_dns_reply_make(struct dns_question *q, int err);

#endif
