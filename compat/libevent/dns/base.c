/*
 * An evdns_base: its mutex, its references, its deadlines and its log.
 *
 * Hundreds of requests have deadlines, and almost no deadline passes. So one event serves a list of
 * deadlines in order of time. The event is never late. If its deadline was removed, it fires early
 * and is set to the next deadline.
 */
#include "request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <event2/smp.h>

#include "event/le.h"
#include "util/gai.h"

enum { MSEC = 1000 * 1000, SEC_NS = 1000 * MSEC };

void le_dns_lock(struct evdns_base *dns)
{
	le_mutex_lock(&dns->mu);
}

void le_dns_unlock(struct evdns_base *dns)
{
	le_mutex_unlock(&dns->mu);
}

/* Before the last put, evdns_base_free() has removed everything else. */
void le_dns_put_locked(struct evdns_base *dns)
{
	bool is_last = --dns->refs == 0;

	le_dns_unlock(dns);
	if (!is_last)
		return;
	ec_free(dns->ids);
	ec_free(dns);
}

/* ---------------------------------------------------------------- log */

/* As in libevent, the program's function also gets messages that are not warnings. */
void le_dns_log(enum ec_severity severity, const char *fmt, ...)
{
	evdns_debug_log_fn_type fn = (evdns_debug_log_fn_type)ec_slot_get(EC_SLOT_DNS_LOG_FN);
	char text[512];
	va_list ap;

	if (fn == NULL && severity == EC_LOG_DEBUG && !ec_log_debug_on())
		return;
	va_start(ap, fmt);
	if (fn == NULL) {
		ec_vlog(severity, EC_NO_ERRNO, fmt, ap);
	} else {
		(void)vsnprintf(text, sizeof(text), fmt, ap);
		fn(severity == EC_LOG_WARN, text);
	}
	va_end(ap);
}

void evdns_set_log_fn(evdns_debug_log_fn_type fn)
{
	ec_slot_set(EC_SLOT_DNS_LOG_FN, (uintptr_t)fn);
}

/* ---------------------------------------------------------------- for requests */

bool le_dns_random(void *ret, size_t len)
{
	return ec_random_bytes(ret, len) == 0;
}

/* <event2/dns.h> documents that the next two functions do nothing. */
void evdns_set_transaction_id_fn(ev_uint16_t (*fn)(void))
{
	(void)fn;
}

void evdns_set_random_bytes_fn(void (*fn)(char *, size_t))
{
	(void)fn;
}

void le_dns_assign_report_event(struct evdns_base *dns, struct event *ev, event_callback_fn fn, void *arg)
{
	uint32_t color;

	le_event_assign(ev, dns->event_base, -1, 0, fn, arg);
	if (dns->event_base != NULL && ec_base_running_color(le_base(dns->event_base), &color) == 0)
		(void)event_set_color(ev, color);
}

/* ---------------------------------------------------------------- deadlines */

static void arm(struct evdns_base *dns)
{
	struct dns_timer *first;
	struct timeval tv;
	int64_t in_ns;

	if (ec_list_is_empty(&dns->timers) || dns->is_closed)
		return;
	first = ec_container_of(dns->timers.next, struct dns_timer, link);
	if (dns->timer_at_ns != 0 && dns->timer_at_ns <= first->at_ns)
		return;
	in_ns = first->at_ns - ec_monotonic_ns();
	if (in_ns < 0)
		in_ns = 0;
	tv.tv_sec = (time_t)(in_ns / SEC_NS);
	tv.tv_usec = (suseconds_t)(in_ns % SEC_NS / 1000 + 1);
	if (tv.tv_usec > 999999)
		tv.tv_usec = 999999;
	dns->timer_was_used = true;
	if (event_add(&dns->timer_event, &tv) < 0) {
		le_dns_log(EC_LOG_WARN, "Error from libevent when adding a timer for DNS requests");
		return;
	}
	dns->timer_at_ns = first->at_ns;
}

static void unlink_timer(struct dns_timer *timer)
{
	if (!timer->is_on)
		return;
	ec_list_remove(&timer->link);
	timer->is_on = false;
}

static void timers_fire(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_base *dns = arg;
	struct dns_timer *timer;
	int64_t now_ns;

	(void)fd;
	(void)what;
	le_dns_lock(dns);
	dns->timer_at_ns = 0;
	now_ns = ec_monotonic_ns();
	while (!ec_list_is_empty(&dns->timers)) {
		timer = ec_container_of(dns->timers.next, struct dns_timer, link);
		if (timer->at_ns > now_ns)
			break;
		unlink_timer(timer);
		timer->fn(timer);
	}
	arm(dns);
	le_dns_unlock(dns);
}

void le_dns_timer_start(struct evdns_base *dns, struct dns_timer *timer, int64_t in_ns)
{
	struct ec_list *at;

	unlink_timer(timer);
	at = dns->timers.prev;
	timer->at_ns = ec_monotonic_ns() + in_ns;
	/* Search from the end: a new deadline is usually the latest. */
	while (at != &dns->timers &&
	       ec_container_of(at, struct dns_timer, link)->at_ns > timer->at_ns)
		at = at->prev;
	ec_list_insert_after(at, &timer->link);
	timer->is_on = true;
	arm(dns);
}

/* After the last deadline the event is removed, because a pending event keeps the loop running. */
void le_dns_timer_stop(struct evdns_base *dns, struct dns_timer *timer)
{
	unlink_timer(timer);
	if (!ec_list_is_empty(&dns->timers) || dns->timer_at_ns == 0)
		return;
	dns->timer_at_ns = 0;
	(void)event_del_noblock(&dns->timer_event);
}

/* ---------------------------------------------------------------- life */

static void set_defaults(struct evdns_base *dns)
{
	dns->timeout_ns = 5LL * SEC_NS;
	dns->skew_ns = 3LL * SEC_NS;
	dns->probe_ns = 10LL * SEC_NS;
	dns->attempts = 3;
	dns->timeouts_max = 3;
	dns->inflight_max = 64;
	dns->edns_size = 512;
	dns->is_case_random = true;
}

static struct evdns_base *base_new(struct event_base *event_base)
{
	/* glibc's calloc does not use its per-thread cache of free blocks. */
	struct evdns_base *dns = ec_malloc(sizeof(*dns));

	if (dns == NULL)
		return NULL;
	memset(dns, 0, sizeof(*dns));
	le_dns_search_init(&dns->first_search, 1);
	dns->search = &dns->first_search;
	dns->event_base = event_base;
	dns->reinits_num = event_base == NULL ? 0 : ec_base_reinits(le_base(event_base));
	dns->refs = 1;
	ec_list_init(&dns->timers);
	ec_list_init(&dns->servers);
	ec_list_init(&dns->waiting);
	ec_list_init(&dns->getaddrinfos);
	ec_list_init(&dns->inflight);
	le_event_assign(&dns->timer_event, event_base, -1, 0, timers_fire, dns);
	set_defaults(dns);
	return dns;
}

enum {
	BASE_FLAGS = EVDNS_BASE_INITIALIZE_NAMESERVERS | EVDNS_BASE_DISABLE_WHEN_INACTIVE |
		     EVDNS_BASE_NAMESERVERS_NO_DEFAULT,
};

struct evdns_base *evdns_base_new(struct event_base *event_base, int flags)
{
	struct evdns_base *dns;
	int options = DNS_OPTIONS_ALL;

	/* In libevent 2.0 this was a boolean, so old programs pass any nonzero number. */
	if (flags & ~BASE_FLAGS) {
		le_dns_log(EC_LOG_WARN, "Unrecognized flag passed to evdns_base_new(). "
			   "Assuming you meant EVDNS_BASE_INITIALIZE_NAMESERVERS.");
		flags |= EVDNS_BASE_INITIALIZE_NAMESERVERS;
	}
	dns = base_new(event_base != NULL ? event_base : le_event_base(ec_current_base()));
	if (dns == NULL)
		return NULL;
	le_getaddrinfo_offer(evdns_getaddrinfo, evdns_getaddrinfo_cancel);
	dns->is_idle_quiet = (flags & EVDNS_BASE_DISABLE_WHEN_INACTIVE) != 0;
	if (flags & EVDNS_BASE_INITIALIZE_NAMESERVERS) {
		if (flags & EVDNS_BASE_NAMESERVERS_NO_DEFAULT)
			options |= DNS_OPTION_NAMESERVERS_NO_DEFAULT;
		if (evdns_base_resolv_conf_parse(dns, options, "/etc/resolv.conf") == 4) {
			evdns_base_free(dns, 0);
			return NULL;
		}
	}
	return dns;
}

void evdns_base_free(struct evdns_base *dns, int fail_requests)
{
	struct ec_list servers;
	bool has_callbacks;

	if (dns == NULL)
		dns = (struct evdns_base *)ec_slot_get(EC_SLOT_DNS_BASE);
	if ((uintptr_t)dns == ec_slot_get(EC_SLOT_DNS_BASE))
		ec_slot_set(EC_SLOT_DNS_BASE, 0);
	le_dns_lock(dns);
	dns->is_closed = true;
	le_dns_getaddrinfos_abort(dns, fail_requests != 0);
	le_dns_servers_detach(dns, &servers);
	le_dns_requests_abort(dns, fail_requests != 0);
	le_dns_hosts_clear(dns);
	le_dns_search_put(dns->search);
	has_callbacks = dns->timer_was_used || !ec_list_is_empty(&servers);
	if (has_callbacks) {
		/* Wait for callbacks. They need the mutex to end, and find nothing to do. */
		le_dns_unlock(dns);
		if (dns->event_base != NULL)
			event_del(&dns->timer_event);
		le_dns_servers_free(&servers);
		le_dns_lock(dns);
	}
	event_debug_unassign(&dns->timer_event);
	le_dns_put_locked(dns);
}

const char *evdns_err_to_string(int err)
{
	switch (err) {
	case DNS_ERR_NONE: return "no error";
	case DNS_ERR_FORMAT: return "misformatted query";
	case DNS_ERR_SERVERFAILED: return "server failed";
	case DNS_ERR_NOTEXIST: return "name does not exist";
	case DNS_ERR_NOTIMPL: return "query not implemented";
	case DNS_ERR_REFUSED: return "refused";
	case DNS_ERR_TRUNCATED: return "reply truncated or ill-formed";
	case DNS_ERR_UNKNOWN: return "unknown";
	case DNS_ERR_TIMEOUT: return "request timed out";
	case DNS_ERR_SHUTDOWN: return "dns subsystem shut down";
	case DNS_ERR_CANCEL: return "dns request canceled";
	case DNS_ERR_NODATA: return "no records in the reply";
	default: return "[Unknown error code]";
	}
}
