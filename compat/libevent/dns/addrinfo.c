/*
 * Address lists in the form of getaddrinfo(): addresses that need no nameserver (numeric, own,
 * hosts file), and addresses from answers. evutil_freeaddrinfo() frees a list.
 */
#include "addrinfo.h"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- hints and services */

/* Derives the protocol from the socket type, or the type from the protocol, if one of them is 0. */
static void infer_protocol(struct evutil_addrinfo *hints)
{
	if (hints->ai_protocol == 0 && hints->ai_socktype == SOCK_STREAM)
		hints->ai_protocol = IPPROTO_TCP;
	else if (hints->ai_protocol == 0 && hints->ai_socktype == SOCK_DGRAM)
		hints->ai_protocol = IPPROTO_UDP;
	else if (hints->ai_socktype == 0 && hints->ai_protocol == IPPROTO_TCP)
		hints->ai_socktype = SOCK_STREAM;
	else if (hints->ai_socktype == 0 && hints->ai_protocol == IPPROTO_UDP)
		hints->ai_socktype = SOCK_DGRAM;
}

static int parse_port(const char *service)
{
	char *end;
	long n = strtol(service, &end, 10);

	return *service == '\0' || *end != '\0' || n < 0 || n > 65535 ? -1 : (int)n;
}

/*
 * Looks up a service's port in /etc/services, for any protocol if `protocol` names none. -1: not
 * found.
 */
static int find_service(const char *service, int protocol)
{
	const char *name = protocol == IPPROTO_TCP ? "tcp" : protocol == IPPROTO_UDP ? "udp" : NULL;
	struct servent entry, *found = NULL;
	char text[1024];

	if (getservbyname_r(service, name, &entry, text, sizeof(text), &found) != 0 ||
	    found == NULL)
		return -1;
	return ntohs((uint16_t)found->s_port);
}

static int service_port(const char *service, const struct evutil_addrinfo *hints)
{
	int port;

	if (service == NULL)
		return 0;
	port = parse_port(service);
	if (port < 0 && (hints->ai_flags & EVUTIL_AI_NUMERICSERV) == 0)
		port = find_service(service, hints->ai_protocol);
	return port;
}

/* Checks the hints and completes them. 0 or an EVUTIL_EAI_… */
int le_dns_hints_begin(struct evutil_addrinfo *hints, const char *node, const char *service,
		       in_port_t *ret_port)
{
	int port;

	if (node == NULL && service == NULL)
		return EVUTIL_EAI_NONAME;
	if (hints->ai_family != PF_UNSPEC && hints->ai_family != PF_INET &&
	    hints->ai_family != PF_INET6)
		return EVUTIL_EAI_FAMILY;
	infer_protocol(hints);
	port = service_port(service, hints);
	if (port < 0)
		return EVUTIL_EAI_NONAME;
	*ret_port = htons((uint16_t)port);
	return 0;
}

static bool is_v4_global(const struct in_addr *addr)
{
	uint32_t n = ntohl(addr->s_addr);

	return n >> 24 != IN_LOOPBACKNET && n >> 16 != 0xa9fe && !IN_MULTICAST(n);
}

static bool is_v6_global(const struct in6_addr *addr)
{
	bool is_unique_local = (addr->s6_addr[0] & 0xfe) == 0xfc;

	return !is_unique_local && !IN6_IS_ADDR_LOOPBACK(addr) && !IN6_IS_ADDR_UNSPECIFIED(addr) &&
	       !IN6_IS_ADDR_V4COMPAT(addr) && !IN6_IS_ADDR_V4MAPPED(addr) &&
	       !IN6_IS_ADDR_LINKLOCAL(addr) && !IN6_IS_ADDR_SITELOCAL(addr) &&
	       !IN6_IS_ADDR_MULTICAST(addr);
}

/* True: by libevent's rules the address may reach other networks (not loopback, link-local, …). */
bool le_dns_is_global(const struct sockaddr *sa)
{
	if (sa->sa_family == AF_INET)
		return is_v4_global(&((const struct sockaddr_in *)(const void *)sa)->sin_addr);
	return sa->sa_family == AF_INET6 &&
	       is_v6_global(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr);
}

/*
 * EVUTIL_AI_ADDRCONFIG: if this host has global addresses of one family only, ask only for that
 * family.
 */
void le_dns_hints_fit_host(struct evutil_addrinfo *hints)
{
	struct ifaddrs *list, *at;
	bool has_v4 = false, has_v6 = false;

	if (!(hints->ai_flags & EVUTIL_AI_ADDRCONFIG) || hints->ai_family != PF_UNSPEC ||
	    getifaddrs(&list) < 0)
		return;
	for (at = list; at != NULL; at = at->ifa_next) {
		if (at->ifa_addr == NULL || !le_dns_is_global(at->ifa_addr))
			continue;
		has_v4 = has_v4 || at->ifa_addr->sa_family == AF_INET;
		has_v6 = has_v6 || at->ifa_addr->sa_family == AF_INET6;
	}
	freeifaddrs(list);
	if (has_v4 && !has_v6)
		hints->ai_family = PF_INET;
	else if (has_v6 && !has_v4)
		hints->ai_family = PF_INET6;
}

/* ---------------------------------------------------------------- entries */

static struct evutil_addrinfo *entry_new(const struct sockaddr *sa, size_t len, int type,
					 int protocol)
{
	struct evutil_addrinfo *ai = ec_calloc(1, sizeof(*ai) + len);

	if (ai == NULL)
		return NULL;
	ai->ai_family = sa->sa_family;
	ai->ai_socktype = type;
	ai->ai_protocol = protocol;
	ai->ai_addrlen = (socklen_t)len;
	ai->ai_addr = (struct sockaddr *)(void *)(ai + 1);
	memcpy(ai->ai_addr, sa, len);
	return ai;
}

static int append(struct evutil_addrinfo **list, const struct sockaddr *sa, size_t len, int type,
		  int protocol)
{
	while (*list != NULL)
		list = &(*list)->ai_next;
	*list = entry_new(sa, len, type, protocol);
	return *list == NULL ? EVUTIL_EAI_MEMORY : 0;
}

/* Appends one entry; or two, for streams and for datagrams, if the hints name no type. */
static int append_hinted(struct evutil_addrinfo **list, const struct sockaddr *sa, size_t len,
			 const struct evutil_addrinfo *hints)
{
	int r;

	if (hints->ai_socktype != 0 || hints->ai_protocol != 0)
		return append(list, sa, len, hints->ai_socktype, hints->ai_protocol);
	r = append(list, sa, len, SOCK_STREAM, IPPROTO_TCP);
	return r != 0 ? r : append(list, sa, len, SOCK_DGRAM, IPPROTO_UDP);
}

int le_dns_append_v4(struct evutil_addrinfo **list, const void *addr, in_port_t port,
		     const struct evutil_addrinfo *hints)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = port };

	memcpy(&sin.sin_addr, addr, sizeof(sin.sin_addr));
	return append_hinted(list, (const struct sockaddr *)&sin, sizeof(sin), hints);
}

static int append_v6_scoped(struct evutil_addrinfo **list, const void *addr, in_port_t port,
			    unsigned scope, const struct evutil_addrinfo *hints)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6,
				     .sin6_port = port,
				     .sin6_scope_id = scope };

	memcpy(&sin6.sin6_addr, addr, sizeof(sin6.sin6_addr));
	return append_hinted(list, (const struct sockaddr *)&sin6, sizeof(sin6), hints);
}

int le_dns_append_v6(struct evutil_addrinfo **list, const void *addr, in_port_t port,
		     const struct evutil_addrinfo *hints)
{
	return append_v6_scoped(list, addr, port, 0, hints);
}

/* ---------------------------------------------------------------- without a nameserver */

/* For a NULL node: addresses of this host, to listen on (EVUTIL_AI_PASSIVE) or to connect to. */
static int append_own(struct evutil_addrinfo **list, in_port_t port,
		      const struct evutil_addrinfo *hints)
{
	bool is_passive = (hints->ai_flags & EVUTIL_AI_PASSIVE) != 0;
	struct in_addr v4 = { .s_addr = htonl(is_passive ? INADDR_ANY : INADDR_LOOPBACK) };
	struct evutil_addrinfo fit = *hints;
	int r = 0;

	le_dns_hints_fit_host(&fit);
	if (fit.ai_family != PF_INET6)
		r = le_dns_append_v4(list, &v4, port, &fit);
	if (r == 0 && fit.ai_family != PF_INET)
		r = le_dns_append_v6(list, is_passive ? &in6addr_any : &in6addr_loopback, port,
				     &fit);
	return r;
}

/*
 * Appends the address that `node` spells, if its family is wanted. If *list stays NULL, `node` is
 * a name.
 */
int le_dns_append_numeric(struct evutil_addrinfo **list, const char *node, in_port_t port,
			  const struct evutil_addrinfo *hints)
{
	struct in6_addr v6;
	struct in_addr v4;
	unsigned scope;

	if (node == NULL)
		return append_own(list, port, hints);
	if (hints->ai_family != PF_INET6 && evutil_inet_pton(AF_INET, node, &v4) == 1)
		return le_dns_append_v4(list, &v4, port, hints);
	if (hints->ai_family != PF_INET && evutil_inet_pton_scope(AF_INET6, node, &v6, &scope) == 1)
		return append_v6_scoped(list, &v6, port, scope, hints);
	return 0;
}

/* Puts a host's entries before those in the list. */
static int prepend_host(struct evutil_addrinfo **list, const struct dns_host *host, in_port_t port,
			const struct evutil_addrinfo *hints)
{
	struct evutil_addrinfo *entries = NULL, **end = &entries;
	int r = 0;

	if (host->addr.sa.sa_family == AF_INET && hints->ai_family != PF_INET6)
		r = le_dns_append_v4(&entries, &host->addr.v4.sin_addr, port, hints);
	else if (host->addr.sa.sa_family == AF_INET6 && hints->ai_family != PF_INET)
		r = append_v6_scoped(&entries, &host->addr.v6.sin6_addr, port,
				     host->addr.v6.sin6_scope_id, hints);
	while (*end != NULL)
		end = &(*end)->ai_next;
	*end = *list;
	*list = entries;
	return r;
}

/* *list is empty. A lookup finds the newest entry first, so prepending gives the file's order. */
int le_dns_append_hosts(struct evutil_addrinfo **list, struct evdns_base *dns, const char *node,
			in_port_t port, const struct evutil_addrinfo *hints)
{
	const struct dns_host *host;
	int r = 0;

	if (le_dns_hosts_find(dns, node, &host) < 0)
		return EVUTIL_EAI_MEMORY;
	for (; r == 0 && host != NULL; host = le_dns_hosts_older(host))
		r = prepend_host(list, host, port, hints);
	return r;
}
