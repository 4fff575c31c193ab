/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_DNS_H
#define LIBASYNC_DNS_H

/*
 * Questions to DNS, by the servers of /etc/resolv.conf, which is read again when it changes.
 *
 * A callback gets what was found and 0, or NULL and an error number: h_errno's (NXDOMAIN is HOST_NOT_FOUND), or
 * errno's. What has no form in DNS, as "a..b", a label of 64 bytes or a name of 254: ARERR_REQINVAL. dns_tmperr tells
 * whether to try again later; dns_strerror says what it means. The callback runs in its own color.
 *
 * A literal address is its own answer: then the callback runs before the call returns, if the caller has its color,
 * and the result is NULL. Otherwise the result is a handle for dnsreq_cancel, which is dead once the callback runs. Any
 * thread may ask. Cancel only in the color of the callback.
 *
 * search: complete the name with the domains of resolv.conf. addrok: an address is a name, too.
 */
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>

#include "amisc.h"

struct dnsreq;
typedef struct dnsreq dnsreq_t;

/* Addresses that came along with an answer. h_addrtype, h_length and h_address as in hostent. */
struct addrhint {
	char *h_name;
	int h_addrtype;
	int h_length;
	char h_address[16];
};

struct mxrec {
	u_int16_t pref;
	char *name;
};

/* By preference, the best first. A list is one block of memory: a ptr<mxlist> holds all its names. */
struct mxlist {
	char *m_name;
	addrhint **m_hints;
	u_int m_nmx;
	mxrec *m_mxes;
};

struct srvrec {
	u_int16_t prio;
	u_int16_t weight;
	u_int16_t port;
	char *name;
};

/* By priority, those of the same one in a random order by weight. */
struct srvlist {
	char *s_name;
	addrhint **s_hints;
	u_int s_nsrv;
	srvrec *s_srvs;
};

struct txtlist {
	char *t_name;
	u_int t_ntxt;
	char **t_txts;
};

typedef callback<void, ptr<hostent>, int>::ref cbhent;
typedef callback<void, ptr<mxlist>, int>::ref cbmxlist;
typedef callback<void, ptr<srvlist>, int>::ref cbsrvlist;
typedef callback<void, ptr<txtlist>, int>::ref cbtxtlist;

/* Errors beyond those of <netdb.h>. */
enum { ARERR_NXREC = 1001, ARERR_TIMEOUT, ARERR_CANTSEND, ARERR_REQINVAL, ARERR_RESPINVAL };

LIBASYNC_EXPORT dnsreq_t *dns_hostbyname(str name, cbhent cb, bool search = false, bool addrok = true);
LIBASYNC_EXPORT dnsreq_t *dns_hostbyaddr(const in_addr addr, cbhent cb);
LIBASYNC_EXPORT dnsreq_t *dns_mxbyname(str name, cbmxlist cb, bool search = false);
LIBASYNC_EXPORT dnsreq_t *dns_srvbyname(str name, cbsrvlist cb, bool search = false);
LIBASYNC_EXPORT dnsreq_t *dns_txtbyname(str name, cbtxtlist cb, bool search = false);

/* Of _srv._proto.name. */
inline dnsreq_t *dns_srvbyname(const char *name, const char *proto, const char *srv, cbsrvlist cb, bool search = false)
{
	return dns_srvbyname(str(strbuf("_%s._%s.%s", srv, proto, name)), cb, search);
}

LIBASYNC_EXPORT void dnsreq_cancel(dnsreq_t *rqp);
LIBASYNC_EXPORT const char *dns_strerror(int err);
/* Not 0: another try may succeed. */
LIBASYNC_EXPORT int dns_tmperr(int err);

#endif
