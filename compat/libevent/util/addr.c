/*
 * Addresses: parsing, printing, comparing, resolving.
 */
#include <event2/util.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/ec.h"

enum { ADDR_MAX = 128 }; /* longest address in a text, with its scope */

/*
 * As in RFC 5952, with one exception: like stock, and unlike the C library, this does not print an
 * embedded IPv4 address if the first 96 bits and the last 16 bits are zero.
 */
const char *evutil_inet_ntop(int af, const void *src, char *dst, size_t len)
{
	static const unsigned char zeros[12];
	const unsigned char *bytes = src;
	int n;

	if (af == AF_INET6 && memcmp(bytes, zeros, 12) == 0 && (bytes[12] != 0 || bytes[13] != 0) &&
	    bytes[14] == 0 && bytes[15] == 0) {
		n = snprintf(dst, len, "::%x:0", (unsigned)bytes[12] << 8 | bytes[13]);
		return n < 0 || (size_t)n >= len ? NULL : dst;
	}
	return inet_ntop(af, src, dst, len > ADDR_MAX ? ADDR_MAX : (socklen_t)len);
}

/*
 * Parses four numbers with dots between them, and no text after them. Like stock, this accepts more
 * than the C library: blanks or a sign before each number, and any number of leading zeros. Each
 * number is truncated to 32 bits first.
 */
static int parse_v4(const char *src, unsigned char dst[4])
{
	unsigned char bytes[4];
	unsigned value;
	char *end;
	int i;

	for (i = 0; i < 4; i++) {
		value = (unsigned)strtoul(src, &end, 10);
		if (end == src || value > 255 || *end != (i < 3 ? '.' : '\0'))
			return 0;
		bytes[i] = (unsigned char)value;
		src = end + 1;
	}
	memcpy(dst, bytes, sizeof(bytes));
	return 1;
}

/*
 * The C library parses the address, but refuses two forms that stock accepts. So these are
 * rewritten first: an IPv4 tail that only parse_v4 accepts, and one colon too many at the end.
 */
static int parse_v6(const char *src, void *dst)
{
	char text[INET6_ADDRSTRLEN + sizeof("ffff:ffff")];
	const char *tail = strrchr(src, ':');
	size_t len = strlen(src);
	unsigned char v4[4];

	if (tail == NULL)
		return 0;
	tail++;
	if (strchr(tail, '.') != NULL) {
		if (tail - src > INET6_ADDRSTRLEN || *tail < '0' || *tail > '9' ||
		    parse_v4(tail, v4) == 0)
			return 0;
		(void)snprintf(text, sizeof(text), "%.*s%x:%x", (int)(tail - src), src,
			       (unsigned)v4[0] << 8 | v4[1], (unsigned)v4[2] << 8 | v4[3]);
		return inet_pton(AF_INET6, text, dst);
	}
	if (len > INET6_ADDRSTRLEN)
		return 0;
	memcpy(text, src, len + 1);
	if (*tail == '\0' && len > 1 && src[len - 2] != ':' && strchr(src, '.') == NULL)
		text[len - 1] = '\0';
	return inet_pton(AF_INET6, text, dst);
}

/* 1: parsed; 0: not an address; -1: no such family. */
int evutil_inet_pton(int af, const char *src, void *dst)
{
	if (af == AF_INET)
		return parse_v4(src, dst);
	if (af == AF_INET6)
		return parse_v6(src, dst);
	return -1;
}

/* Parses "fe80::1%eth0" or "fe80::1%2": the address, and the index of the scope. */
int evutil_inet_pton_scope(int af, const char *src, void *dst, unsigned *index)
{
	const char *percent = strchr(src, '%');
	char text[ADDR_MAX], *end;
	size_t len;

	*index = 0;
	if (af != AF_INET6 || percent == NULL)
		return evutil_inet_pton(af, src, dst);
	len = (size_t)(percent - src);
	if (len >= sizeof(text))
		return 0;
	*index = if_nametoindex(percent + 1);
	if (*index == 0) {
		*index = (unsigned)strtoul(percent + 1, &end, 10);
		if (*end != '\0')
			return 0;
	}
	memcpy(text, src, len);
	text[len] = '\0';
	return parse_v6(text, dst);
}

/*
 * Split "addr", "addr:port", "[v6]:port", "[v6]" or "v6". The form decides `is_v6`. -1: none of
 * these forms.
 */
static int split(const char *str, char *addr, const char **port, int *is_v6)
{
	const char *colon = strchr(str, ':'), *end;
	size_t len;

	*port = NULL;
	if (*str == '[') {
		end = strchr(str, ']');
		if (end == NULL)
			return -1;
		len = (size_t)(end - (str + 1));
		if (len > ADDR_MAX - 1)
			return -1;
		memcpy(addr, str + 1, len);
		addr[len] = '\0';
		if (end[1] == ':')
			*port = end + 2; /* anything else after the bracket is ignored */
		*is_v6 = 1;
		return 0;
	}
	*is_v6 = colon != NULL && strchr(colon + 1, ':') != NULL;
	len = colon != NULL && !*is_v6 ? (size_t)(colon - str) : strlen(str);
	if (len > ADDR_MAX - 1)
		return -1;
	memcpy(addr, str, len);
	addr[len] = '\0';
	if (colon != NULL && !*is_v6)
		*port = colon + 1;
	return 0;
}

static int parse_port(const char *text, in_port_t *ret)
{
	int port = 0;

	if (text != NULL) {
		port = atoi(text);
		if (port <= 0 || port > 65535)
			return -1;
	}
	*ret = htons((uint16_t)port);
	return 0;
}

int evutil_parse_sockaddr_port(const char *str, struct sockaddr *out, int *outlen)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char addr[ADDR_MAX];
	const char *port_text;
	unsigned scope;
	in_port_t port;
	const void *from;
	int is_v6, len;

	if (split(str, addr, &port_text, &is_v6) < 0 || parse_port(port_text, &port) < 0)
		return -1;
	if (is_v6) {
		sin6.sin6_port = port;
		if (evutil_inet_pton_scope(AF_INET6, addr, &sin6.sin6_addr, &scope) != 1)
			return -1;
		sin6.sin6_scope_id = scope;
		from = &sin6;
		len = (int)sizeof(sin6);
	} else {
		sin.sin_port = port;
		if (evutil_inet_pton(AF_INET, addr, &sin.sin_addr) != 1)
			return -1;
		from = &sin;
		len = (int)sizeof(sin);
	}
	if (len > *outlen)
		return -1;
	memset(out, 0, (size_t)*outlen);
	memcpy(out, from, (size_t)len);
	*outlen = len;
	return 0;
}

static int compare(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

int evutil_sockaddr_cmp(const struct sockaddr *a, const struct sockaddr *b, int include_port)
{
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	int r = (int)a->sa_family - (int)b->sa_family;

	if (r != 0)
		return r;
	if (a->sa_family == AF_INET) {
		r = compare(a4->sin_addr.s_addr, b4->sin_addr.s_addr);
		return r == 0 && include_port ? (int)a4->sin_port - (int)b4->sin_port : r;
	}
	if (a->sa_family == AF_INET6) {
		r = memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr));
		return r == 0 && include_port ? (int)a6->sin6_port - (int)b6->sin6_port : r;
	}
	return 1;
}

/* ---------------------------------------------------------------- getaddrinfo */

/*
 * Copies an entry of the C library to memory of the program's allocator. Other parts of the face
 * make lists there, too, and evutil_freeaddrinfo cannot distinguish the two kinds.
 */
static struct evutil_addrinfo *entry_copy(const struct addrinfo *ai)
{
	struct evutil_addrinfo *copy = ec_malloc(sizeof(*copy) + ai->ai_addrlen);

	if (copy == NULL)
		return NULL;
	*copy = *ai;
	copy->ai_addr = (struct sockaddr *)(copy + 1);
	memcpy(copy->ai_addr, ai->ai_addr, ai->ai_addrlen);
	copy->ai_next = NULL;
	copy->ai_canonname = NULL;
	if (ai->ai_canonname != NULL) {
		copy->ai_canonname = ec_strdup(ai->ai_canonname);
		if (copy->ai_canonname == NULL) {
			ec_free(copy);
			return NULL;
		}
	}
	return copy;
}

void evutil_freeaddrinfo(struct evutil_addrinfo *ai)
{
	struct evutil_addrinfo *next;

	for (; ai != NULL; ai = next) {
		next = ai->ai_next;
		ec_free(ai->ai_canonname);
		ec_free(ai);
	}
}

/* The protocol of a socket type, which the hints may name or leave open; or -1. */
static int protocol_of(int socktype, int protocol)
{
	int usual = socktype == SOCK_STREAM ? IPPROTO_TCP : socktype == SOCK_DGRAM ? IPPROTO_UDP : -1;

	return protocol == 0 || protocol == usual ? usual : -1;
}

/* A port in decimal, at most 65535; or -1. */
static int port_of(const char *service)
{
	int port = 0, i;

	if (service == NULL)
		return 0;
	for (i = 0; i < 5 && service[i] >= '0' && service[i] <= '9'; i++)
		port = port * 10 + (service[i] - '0');
	return i > 0 && service[i] == '\0' && port <= 65535 ? port : -1;
}

/*
 * The common case, for which the C library takes four times as long. Makes the entry if the node is
 * an address in the usual notation, the service is NULL or a port, and the hints name a socket
 * type. NULL: another case, or no memory.
 */
static struct evutil_addrinfo *numeric_entry(const char *node, const char *service,
					     const struct evutil_addrinfo *hints)
{
	const int known = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct evutil_addrinfo entry = *hints;
	int port = port_of(service);

	entry.ai_protocol = protocol_of(hints->ai_socktype, hints->ai_protocol);
	if (node == NULL || port < 0 || entry.ai_protocol < 0 || (hints->ai_flags & ~known) != 0)
		return NULL;
	entry.ai_canonname = NULL;
	sin.sin_port = sin6.sin6_port = htons((uint16_t)port);
	if (hints->ai_family != AF_INET6 && inet_pton(AF_INET, node, &sin.sin_addr) == 1) {
		entry.ai_addr = (struct sockaddr *)&sin;
		entry.ai_addrlen = sizeof(sin);
	} else if (hints->ai_family != AF_INET && inet_pton(AF_INET6, node, &sin6.sin6_addr) == 1) {
		entry.ai_addr = (struct sockaddr *)&sin6;
		entry.ai_addrlen = sizeof(sin6);
	} else {
		return NULL;
	}
	if (hints->ai_family != PF_UNSPEC && hints->ai_family != entry.ai_addr->sa_family)
		return NULL;
	entry.ai_family = entry.ai_addr->sa_family;
	return entry_copy(&entry);
}

/* Linux returns one entry for each socket type if the hints name none. */
int evutil_getaddrinfo(const char *nodename, const char *servname,
		       const struct evutil_addrinfo *hints_in, struct evutil_addrinfo **res)
{
	struct evutil_addrinfo hints = { .ai_family = PF_UNSPEC }, *first, **at = &first;
	struct addrinfo *list = NULL, *ai;
	int r;

	if (hints_in != NULL)
		hints = *hints_in;
	if (nodename == NULL && servname == NULL)
		return EVUTIL_EAI_NONAME;
	first = numeric_entry(nodename, servname, &hints);
	if (first != NULL) {
		*res = first;
		return 0;
	}
	r = getaddrinfo(nodename, servname, &hints, &list);
	if (r != 0)
		return r;
	for (ai = list; ai != NULL; ai = ai->ai_next) {
		*at = entry_copy(ai);
		if (*at == NULL) {
			evutil_freeaddrinfo(first);
			freeaddrinfo(list);
			return EVUTIL_EAI_MEMORY;
		}
		at = &(*at)->ai_next;
	}
	freeaddrinfo(list);
	*res = first;
	return 0;
}

const char *evutil_gai_strerror(int err)
{
	switch (err) {
	case EVUTIL_EAI_CANCEL: return "Request canceled";
	case 0: return "No error";
	case EVUTIL_EAI_ADDRFAMILY: return "address family for nodename not supported";
	case EVUTIL_EAI_AGAIN: return "temporary failure in name resolution";
	case EVUTIL_EAI_BADFLAGS: return "invalid value for ai_flags";
	case EVUTIL_EAI_FAIL: return "non-recoverable failure in name resolution";
	case EVUTIL_EAI_FAMILY: return "ai_family not supported";
	case EVUTIL_EAI_MEMORY: return "memory allocation failure";
	case EVUTIL_EAI_NODATA: return "no address associated with nodename";
	case EVUTIL_EAI_NONAME: return "nodename nor servname provided, or not known";
	case EVUTIL_EAI_SERVICE: return "servname not supported for ai_socktype";
	case EVUTIL_EAI_SOCKTYPE: return "ai_socktype not supported";
	case EVUTIL_EAI_SYSTEM: return "system error";
	default: return gai_strerror(err);
	}
}
