/*
 * Requests of the program. An event in the color of the request reports the answer, never the call
 * itself. So the program has the pointer to its request before the answer comes.
 */
#include "request.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "event/le.h"

/* ---------------------------------------------------------------- reports */

static void report(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_request *req = arg;
	struct evdns_base *dns = req->dns;
	const struct dns_report *r = &req->report;
	char *name = r->data;
	void *addresses = NULL;

	(void)fd;
	(void)what;
	if (r->result == DNS_ERR_NONE)
		addresses = req->type == DNS_PTR ? (void *)&name : r->data;
	if (req->fn != NULL)
		req->fn(r->result, (char)r->type, r->count, r->ttl, addresses, req->owner);
	le_dns_lock(dns);
	event_debug_unassign(&req->report_event);
	le_dns_request_free_locked(req);
	le_dns_put_locked(dns);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	const struct evdns_request *req = (const struct evdns_request *)s->object;

	(void)what;
	return s->fn == (uintptr_t)report && ec_subject_calls(s, (uintptr_t)req->fn);
}

EC_SUBJECT(subject)

static void report_later(struct evdns_request *req, const struct dns_answer *answer)
{
	le_dns_request_keep(req, answer);
	ec_event_defer(le_ec(&req->report_event));
}

/* ---------------------------------------------------------------- asking */

static size_t longest_name(const struct evdns_base *dns, const char *name, int flags)
{
	return (flags & DNS_QUERY_NO_SEARCH) ? strlen(name) :
					       le_dns_search_longest(dns->search, name);
}

static int set_name(struct evdns_request *req, const char *name, int flags)
{
	return (flags & DNS_QUERY_NO_SEARCH) ? le_dns_query_make(req, name) :
					       le_dns_search_begin(req, name);
}

struct evdns_request *le_dns_host_request(struct evdns_base *dns, int type, const char *name,
					  void (*done)(struct evdns_request *,
						       const struct dns_answer *),
					  void *owner)
{
	struct evdns_request *req =
		le_dns_request_new(dns, type, longest_name(dns, name, 0), done);

	if (req == NULL)
		return NULL;
	req->owner = owner;
	if (set_name(req, name, 0) < 0) {
		le_dns_request_drop(req);
		return NULL;
	}
	return req;
}

static struct evdns_request *resolve_locked(struct evdns_base *dns, int type, const char *name,
					    int flags, evdns_callback_type fn, void *arg)
{
	struct evdns_request *req =
		le_dns_request_new(dns, type, longest_name(dns, name, flags), report_later);

	if (req == NULL)
		return NULL;
	if (set_name(req, name, flags) < 0) {
		le_dns_request_drop(req);
		return NULL;
	}
	req->fn = fn;
	req->owner = arg;
	le_dns_assign_report_event(dns, &req->report_event, report, req);
	le_dns_request_start(req);
	return req;
}

static struct evdns_request *resolve(struct evdns_base *dns, int type, const char *name, int flags,
				     evdns_callback_type fn, void *arg)
{
	struct evdns_request *req;

	le_dns_lock(dns);
	le_dns_log(EC_LOG_DEBUG, "Resolve requested for %s", name);
	req = resolve_locked(dns, type, name, flags, fn, arg);
	le_dns_unlock(dns);
	return req;
}

struct evdns_request *evdns_base_resolve_ipv4(struct evdns_base *dns, const char *name, int flags,
					      evdns_callback_type callback, void *ptr)
{
	return resolve(dns, DNS_IPv4_A, name, flags, callback, ptr);
}

struct evdns_request *evdns_base_resolve_ipv6(struct evdns_base *dns, const char *name, int flags,
					      evdns_callback_type callback, void *ptr)
{
	return resolve(dns, DNS_IPv6_AAAA, name, flags, callback, ptr);
}

struct evdns_request *evdns_base_resolve_reverse(struct evdns_base *dns, const struct in_addr *in,
						 int flags, evdns_callback_type callback, void *ptr)
{
	const unsigned char *b = (const unsigned char *)&in->s_addr;
	char name[64];

	(void)flags;
	(void)snprintf(name, sizeof(name), "%d.%d.%d.%d.in-addr.arpa", b[3], b[2], b[1], b[0]);
	return resolve(dns, DNS_PTR, name, DNS_QUERY_NO_SEARCH, callback, ptr);
}

struct evdns_request *evdns_base_resolve_reverse_ipv6(struct evdns_base *dns,
						      const struct in6_addr *in, int flags,
						      evdns_callback_type callback, void *ptr)
{
	static const char hex[] = "0123456789abcdef";
	char name[80], *at = name;

	(void)flags;
	for (int i = 15; i >= 0; i--) {
		*at++ = hex[in->s6_addr[i] & 0x0f];
		*at++ = '.';
		*at++ = hex[in->s6_addr[i] >> 4];
		*at++ = '.';
	}
	memcpy(at, "ip6.arpa", sizeof("ip6.arpa"));
	return resolve(dns, DNS_PTR, name, DNS_QUERY_NO_SEARCH, callback, ptr);
}

/* If the answer has arrived, it is too late to cancel: the answer is reported. */
void evdns_cancel_request(struct evdns_base *dns, struct evdns_request *req)
{
	if (dns == NULL)
		dns = req->dns;
	le_dns_lock(dns);
	if (req->state != DNS_DONE)
		le_dns_request_finish(req, DNS_ERR_CANCEL);
	le_dns_unlock(dns);
}
