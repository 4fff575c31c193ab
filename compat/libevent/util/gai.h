/*
 * Lets a bufferevent find evdns_getaddrinfo. libevent_core must not need libevent_extra. So
 * evdns_base_new stores the two functions of evdns in slots of the engine, which are process-wide.
 */
#ifndef LE_GAI_H
#define LE_GAI_H

#include <event2/dns.h>

#include "core/ec.h"

/* evdns_getaddrinfo(). NULL: `cb` has been called already. */
typedef struct evdns_getaddrinfo_request *(*le_getaddrinfo_fn)(
	struct evdns_base *dns, const char *node, const char *service, const struct evutil_addrinfo *hints,
	evdns_getaddrinfo_cb cb, void *arg);

/* evdns_getaddrinfo_cancel(). `cb` is called later, with EVUTIL_EAI_CANCEL. */
typedef void (*le_getaddrinfo_cancel_fn)(struct evdns_getaddrinfo_request *req);

static inline void le_getaddrinfo_offer(le_getaddrinfo_fn ask, le_getaddrinfo_cancel_fn cancel)
{
	ec_slot_set(EC_SLOT_GETADDRINFO_FN, (uintptr_t)ask);
	ec_slot_set(EC_SLOT_GETADDRINFO_CANCEL_FN, (uintptr_t)cancel);
}

/* NULL: this process has made no resolver. */
static inline le_getaddrinfo_fn le_getaddrinfo_offered(void)
{
	return (le_getaddrinfo_fn)ec_slot_get(EC_SLOT_GETADDRINFO_FN);
}

static inline le_getaddrinfo_cancel_fn le_getaddrinfo_cancel_offered(void)
{
	return (le_getaddrinfo_cancel_fn)ec_slot_get(EC_SLOT_GETADDRINFO_CANCEL_FN);
}

#endif
