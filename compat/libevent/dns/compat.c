/*
 * The functions of libevent 1.4, which take no evdns_base. They use a global one, which
 * evdns_init() makes. If there is none, functions that add or set something make it. A slot of the
 * engine holds the pointer, because the libevent face has no state.
 */
#include "dns.h"

#include <netinet/in.h>

#include <event2/dns_compat.h>

struct evdns_base *evdns_get_global_base(void)
{
	return (struct evdns_base *)ec_slot_get(EC_SLOT_DNS_BASE);
}

/* NULL: no memory. */
static struct evdns_base *global_or_new(void)
{
	struct evdns_base *dns = evdns_get_global_base();

	if (dns != NULL)
		return dns;
	dns = evdns_base_new(NULL, 0);
	ec_slot_set(EC_SLOT_DNS_BASE, (uintptr_t)dns);
	return dns;
}

int evdns_init(void)
{
	struct evdns_base *dns = evdns_base_new(NULL, EVDNS_BASE_INITIALIZE_NAMESERVERS);

	if (dns == NULL)
		return -1;
	if (evdns_base_count_nameservers(dns) == 0) {
		evdns_base_free(dns, 0);
		return -1;
	}
	ec_slot_set(EC_SLOT_DNS_BASE, (uintptr_t)dns);
	return 0;
}

void evdns_shutdown(int fail_requests)
{
	struct evdns_base *dns = evdns_get_global_base();

	if (dns != NULL)
		evdns_base_free(dns, fail_requests);
	evdns_set_log_fn(NULL);
}

/* ---------------------------------------------------------------- nameservers */

int evdns_nameserver_add(unsigned long int address)
{
	struct evdns_base *dns = global_or_new();

	return dns == NULL ? -1 : evdns_base_nameserver_add(dns, address);
}

int evdns_nameserver_ip_add(const char *ip_as_string)
{
	struct evdns_base *dns = global_or_new();

	return dns == NULL ? -1 : evdns_base_nameserver_ip_add(dns, ip_as_string);
}

int evdns_count_nameservers(void)
{
	return evdns_base_count_nameservers(evdns_get_global_base());
}

int evdns_clear_nameservers_and_suspend(void)
{
	return evdns_base_clear_nameservers_and_suspend(evdns_get_global_base());
}

int evdns_resume(void)
{
	return evdns_base_resume(evdns_get_global_base());
}

/* ---------------------------------------------------------------- settings */

int evdns_set_option(const char *option, const char *val, int flags)
{
	struct evdns_base *dns = global_or_new();

	(void)flags;
	return dns == NULL ? -1 : evdns_base_set_option(dns, option, val);
}

int evdns_resolv_conf_parse(int flags, const char *const filename)
{
	struct evdns_base *dns = global_or_new();

	return dns == NULL ? -1 : evdns_base_resolv_conf_parse(dns, flags, filename);
}

void evdns_search_clear(void)
{
	struct evdns_base *dns = global_or_new();

	if (dns != NULL)
		evdns_base_search_clear(dns);
}

void evdns_search_add(const char *domain)
{
	struct evdns_base *dns = global_or_new();

	if (dns != NULL)
		evdns_base_search_add(dns, domain);
}

void evdns_search_ndots_set(const int ndots)
{
	struct evdns_base *dns = global_or_new();

	if (dns != NULL)
		evdns_base_search_ndots_set(dns, ndots);
}

/* ---------------------------------------------------------------- questions */

static int result_of(const struct evdns_request *req)
{
	return req == NULL ? -1 : 0;
}

int evdns_resolve_ipv4(const char *name, int flags, evdns_callback_type callback, void *ptr)
{
	return result_of(
		evdns_base_resolve_ipv4(evdns_get_global_base(), name, flags, callback, ptr));
}

int evdns_resolve_ipv6(const char *name, int flags, evdns_callback_type callback, void *ptr)
{
	return result_of(
		evdns_base_resolve_ipv6(evdns_get_global_base(), name, flags, callback, ptr));
}

int evdns_resolve_reverse(const struct in_addr *in, int flags, evdns_callback_type callback,
			  void *ptr)
{
	return result_of(
		evdns_base_resolve_reverse(evdns_get_global_base(), in, flags, callback, ptr));
}

int evdns_resolve_reverse_ipv6(const struct in6_addr *in, int flags, evdns_callback_type callback,
			       void *ptr)
{
	return result_of(
		evdns_base_resolve_reverse_ipv6(evdns_get_global_base(), in, flags, callback, ptr));
}
