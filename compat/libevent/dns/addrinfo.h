/*
 * Address lists. The functions return 0 or an EVUTIL_EAI_…, and append to *list. After an error,
 * *list keeps the entries appended before it; the caller frees them.
 */
#ifndef LE_DNS_ADDRINFO_H
#define LE_DNS_ADDRINFO_H

#include <netinet/in.h>

#include <event2/util.h>

#include "dns.h"

int le_dns_hints_begin(struct evutil_addrinfo *hints, const char *node, const char *service,
		       in_port_t *ret_port);
void le_dns_hints_fit_host(struct evutil_addrinfo *hints);

int le_dns_append_v4(struct evutil_addrinfo **list, const void *addr, in_port_t port,
		     const struct evutil_addrinfo *hints);
int le_dns_append_v6(struct evutil_addrinfo **list, const void *addr, in_port_t port,
		     const struct evutil_addrinfo *hints);
int le_dns_append_numeric(struct evutil_addrinfo **list, const char *node, in_port_t port,
			  const struct evutil_addrinfo *hints);
bool le_dns_is_global(const struct sockaddr *sa);
/* Requires the mutex. */
int le_dns_append_hosts(struct evutil_addrinfo **list, struct evdns_base *dns, const char *node,
			in_port_t port, const struct evutil_addrinfo *hints);

#endif
