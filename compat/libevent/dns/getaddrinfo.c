/*
 * evdns_getaddrinfo: requests for A and AAAA records, and one list of addresses, IPv4 first.
 *
 *   1. Each wanted family is a half, with a request of its own.
 *   2. One half is answered: the other gets `getaddrinfo-allow-skew` more time.
 *   3. Both are answered, or that time is over: done. An event reports the result. Until the event
 *      runs, the program may cancel: the event then reports EVUTIL_EAI_CANCEL.
 *
 * half_done() runs with the mutex held. The program's callback is called once, at the end.
 */
#include "addrinfo.h"

#include <string.h>

#include "event/le.h"
#include "request.h"

struct half {
	struct evdns_request *req;	/* NULL: answered, or the family is not wanted */
	struct evutil_addrinfo *list;
};

struct evdns_getaddrinfo_request {
	/* const */
	struct evdns_base *dns;		/* a reference */
	struct evutil_addrinfo hints;
	in_port_t port;
	evdns_getaddrinfo_cb fn;
	void *arg;

	/* dns->mu */
	struct ec_list link;		/* of dns->getaddrinfos, until it is done */
	bool is_done;
	struct half v4;
	struct half v6;
	int result;			/* 0 or EVUTIL_EAI_…, of the half that was answered last */
	struct dns_timer skew;
	char cname[DNS_NAME_SIZE];	/* empty: none */
	struct event report_event;
};

static void free_lists(struct evdns_getaddrinfo_request *gai)
{
	evutil_freeaddrinfo(gai->v4.list);
	evutil_freeaddrinfo(gai->v6.list);
	gai->v4.list = NULL;
	gai->v6.list = NULL;
}

/* ---------------------------------------------------------------- the end */

static void set_canonname(struct evdns_getaddrinfo_request *gai, struct evutil_addrinfo *list)
{
	if (list != NULL && gai->cname[0] != '\0' &&
	    (gai->hints.ai_flags & EVUTIL_AI_CANONNAME) != 0)
		list->ai_canonname = ec_strdup(gai->cname);
}

static struct evutil_addrinfo *take_list(struct evdns_getaddrinfo_request *gai)
{
	struct evutil_addrinfo *list = gai->v4.list, **end = &list;

	while (*end != NULL)
		end = &(*end)->ai_next;
	*end = gai->v6.list;
	gai->v4.list = NULL;
	gai->v6.list = NULL;
	return list;
}

static void report(evutil_socket_t fd, short what, void *arg)
{
	struct evdns_getaddrinfo_request *gai = arg;
	struct evdns_base *dns = gai->dns;
	struct evutil_addrinfo *list;
	int result;

	(void)fd;
	(void)what;
	le_dns_lock(dns);
	list = take_list(gai);
	result = list != NULL ? 0 : gai->result;
	le_dns_unlock(dns);
	set_canonname(gai, list);
	gai->fn(result, list, gai->arg);
	event_debug_unassign(&gai->report_event);
	ec_free(gai);
	le_dns_lock(dns);
	le_dns_put_locked(dns);
}

/* For observe/subject.h. */
static bool subject(struct ec_subject *s, short what)
{
	const struct evdns_getaddrinfo_request *gai = (const struct evdns_getaddrinfo_request *)s->object;

	(void)what;
	return s->fn == (uintptr_t)report && ec_subject_calls(s, (uintptr_t)gai->fn);
}

EC_SUBJECT(subject)

/* Ends a half that has no answer yet. */
static void drop(struct half *half)
{
	struct evdns_request *req = half->req;

	if (req == NULL)
		return;
	half->req = NULL;
	le_dns_request_stop(req);
	le_dns_request_drop(req);
}

static void detach(struct evdns_getaddrinfo_request *gai)
{
	le_dns_timer_stop(gai->dns, &gai->skew);
	drop(&gai->v4);
	drop(&gai->v6);
	ec_list_remove(&gai->link);
	gai->is_done = true;
}

static void finish(struct evdns_getaddrinfo_request *gai)
{
	detach(gai);
	ec_event_defer(le_ec(&gai->report_event));
}

static void skew_is_over(struct dns_timer *timer)
{
	struct evdns_getaddrinfo_request *gai =
		ec_container_of(timer, struct evdns_getaddrinfo_request, skew);
	struct evdns_base *dns = gai->dns;

	finish(gai);
	le_dns_requests_pump(dns);
}

/* ---------------------------------------------------------------- a half's answer */

static int error_of(int result)
{
	switch (result) {
	case DNS_ERR_NONE: return 0;
	case DNS_ERR_CANCEL: return EVUTIL_EAI_CANCEL;
	case DNS_ERR_NOTEXIST: return EVUTIL_EAI_NONAME;
	default: return EVUTIL_EAI_FAIL;
	}
}

static int append_answer(struct evdns_getaddrinfo_request *gai, const struct dns_answer *answer)
{
	int r = 0;

	for (int i = 0; r == 0 && i < answer->count; i++) {
		if (answer->type == DNS_IPv4_A)
			r = le_dns_append_v4(&gai->v4.list, answer->of.a[i], gai->port,
					     &gai->hints);
		else
			r = le_dns_append_v6(&gai->v6.list, answer->of.aaaa[i], gai->port,
					     &gai->hints);
	}
	return r;
}

static void half_done(struct evdns_request *req, const struct dns_answer *answer)
{
	struct evdns_getaddrinfo_request *gai = req->owner;
	struct evdns_base *dns = gai->dns;
	struct half *half = req->type == DNS_IPv4_A ? &gai->v4 : &gai->v6;
	int r = error_of(answer->result);

	if (r == 0)
		r = append_answer(gai, answer);
	if (r == EVUTIL_EAI_MEMORY) {
		/* Report no part of a list: the program would take it for the whole one. */
		evutil_freeaddrinfo(half->list);
		half->list = NULL;
	}
	gai->result = r;
	if (answer->cname[0] != '\0')
		memcpy(gai->cname, answer->cname, sizeof(gai->cname));
	half->req = NULL;
	le_dns_request_drop(req);

	if (gai->v4.req == NULL && gai->v6.req == NULL)
		finish(gai);
	else
		le_dns_timer_start(dns, &gai->skew, dns->skew_ns);
}

/* ---------------------------------------------------------------- asking */

/*
 * Starts a request only after both are made: le_dns_request_start() may call half_done() with an
 * error at once. (Never with an answer, because only the loop reads those.)
 */
static int ask(struct evdns_getaddrinfo_request *gai, const char *node)
{
	struct evdns_base *dns = gai->dns;

	if (gai->hints.ai_family != PF_INET6)
		gai->v4.req = le_dns_host_request(dns, DNS_IPv4_A, node, half_done, gai);
	if (gai->hints.ai_family != PF_INET)
		gai->v6.req = le_dns_host_request(dns, DNS_IPv6_AAAA, node, half_done, gai);
	if (gai->v4.req == NULL && gai->v6.req == NULL)
		return -1;
	if (gai->v4.req != NULL)
		le_dns_request_start(gai->v4.req);
	if (gai->v6.req != NULL)
		le_dns_request_start(gai->v6.req);
	return 0;
}

static struct evdns_getaddrinfo_request *gai_new(struct evdns_base *dns,
						 const struct evutil_addrinfo *hints,
						 in_port_t port, evdns_getaddrinfo_cb fn, void *arg)
{
	struct evdns_getaddrinfo_request *gai = ec_calloc(1, sizeof(*gai));

	if (gai == NULL)
		return NULL;
	gai->dns = dns;
	gai->hints = *hints;
	gai->port = port;
	gai->fn = fn;
	gai->arg = arg;
	gai->skew.fn = skew_is_over;
	le_dns_assign_report_event(dns, &gai->report_event, report, gai);
	dns->refs++;
	ec_list_push_back(&dns->getaddrinfos, &gai->link);
	return gai;
}

static void gai_free(struct evdns_getaddrinfo_request *gai)
{
	detach(gai);
	free_lists(gai);
	gai->dns->refs--;
	event_debug_unassign(&gai->report_event);
	ec_free(gai);
}

/* *list: the hosts file has the addresses. *ret: a request was started. Neither: an error. */
static int begin(struct evdns_base *dns, const char *node, in_port_t port,
		 struct evutil_addrinfo *hints, struct evutil_addrinfo **list,
		 struct evdns_getaddrinfo_request **ret, evdns_getaddrinfo_cb fn, void *arg)
{
	struct evdns_getaddrinfo_request *gai;
	int r = le_dns_append_hosts(list, dns, node, port, hints);

	if (r != 0 || *list != NULL)
		return r;
	gai = gai_new(dns, hints, port, fn, arg);
	if (gai == NULL)
		return EVUTIL_EAI_MEMORY;
	if (ask(gai, node) < 0) {
		gai_free(gai);
		return EVUTIL_EAI_FAIL;
	}
	*ret = gai;
	return 0;
}

/*
 * EVUTIL_AI_NUMERICHOST needs no nameserver. As in libevent, evutil_getaddrinfo() parses the
 * address. The common case makes the same entry here, which is cheaper: nothing is copied.
 */
static int get_numeric(const char *node, const char *service, const struct evutil_addrinfo *hints,
		       struct evutil_addrinfo **ret)
{
	struct evutil_addrinfo own = *hints;
	in_port_t port;
	int r;

	if (node == NULL || hints->ai_flags != EVUTIL_AI_NUMERICHOST || hints->ai_protocol != 0 ||
	    (hints->ai_socktype != SOCK_STREAM && hints->ai_socktype != SOCK_DGRAM) ||
	    (service != NULL && (*service < '0' || *service > '9')))
		return evutil_getaddrinfo(node, service, hints, ret);
	own.ai_flags |= EVUTIL_AI_NUMERICSERV;
	r = le_dns_hints_begin(&own, node, service, &port);
	if (r == 0)
		r = le_dns_append_numeric(ret, node, port, &own);
	if (*ret == NULL && r != EVUTIL_EAI_MEMORY)
		return evutil_getaddrinfo(node, service, hints, ret);
	if (*ret != NULL)
		(*ret)->ai_flags = hints->ai_flags;
	return r;
}

/* Answers at once, with *list or an error, if it can. 0 and no list: `node` is a name. */
static int get_at_once(const char *node, const char *service, struct evutil_addrinfo *hints,
		       in_port_t *ret_port, struct evutil_addrinfo **list)
{
	int r;

	if (hints->ai_flags & EVUTIL_AI_NUMERICHOST)
		return get_numeric(node, service, hints, list);
	r = le_dns_hints_begin(hints, node, service, ret_port);
	return r != 0 ? r : le_dns_append_numeric(list, node, *ret_port, hints);
}

struct evdns_getaddrinfo_request *evdns_getaddrinfo(struct evdns_base *dns, const char *node,
						    const char *service,
						    const struct evutil_addrinfo *hints_in,
						    evdns_getaddrinfo_cb cb, void *arg)
{
	struct evutil_addrinfo hints = { .ai_family = PF_UNSPEC }, *list = NULL;
	struct evdns_getaddrinfo_request *gai = NULL;
	in_port_t port = 0;
	int r;

	if (dns == NULL)
		dns = (struct evdns_base *)ec_slot_get(EC_SLOT_DNS_BASE);
	if (dns == NULL) {
		cb(EVUTIL_EAI_FAIL, NULL, arg);
		return NULL;
	}
	if (hints_in != NULL)
		hints = *hints_in;
	r = get_at_once(node, service, &hints, &port, &list);
	if (r == 0 && list == NULL) {
		le_dns_hints_fit_host(&hints);
		le_dns_lock(dns);
		r = begin(dns, node, port, &hints, &list, &gai, cb, arg);
		le_dns_unlock(dns);
	}
	if (gai != NULL)
		return gai;
	if (r != 0) {
		evutil_freeaddrinfo(list);
		list = NULL;
	}
	cb(r, list, arg);
	return NULL;
}

/* Also works if the answer has arrived, but is not reported yet. */
void evdns_getaddrinfo_cancel(struct evdns_getaddrinfo_request *gai)
{
	struct evdns_base *dns = gai->dns;

	le_dns_lock(dns);
	free_lists(gai);
	gai->result = EVUTIL_EAI_CANCEL;
	if (!gai->is_done) {
		finish(gai);
		le_dns_requests_pump(dns);
	}
	le_dns_unlock(dns);
}

void le_dns_getaddrinfos_abort(struct evdns_base *dns, bool is_reported)
{
	struct evdns_getaddrinfo_request *gai;

	while (!ec_list_is_empty(&dns->getaddrinfos)) {
		gai = ec_container_of(dns->getaddrinfos.next, struct evdns_getaddrinfo_request,
				      link);
		if (!is_reported) {
			gai_free(gai);
			continue;
		}
		if (gai->v4.list == NULL && gai->v6.list == NULL)
			gai->result = EVUTIL_EAI_FAIL;
		finish(gai);
	}
}
