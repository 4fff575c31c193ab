/*
 * tcpconnect_srv: the records of a service, tried one after the other.
 *
 * All is in the color of the callback. The question for the service and the one for the host go out together; the
 * host's address is used if there is no such service. An attempt that has not ended after 4 seconds goes on, and
 * the next one begins beside it.
 */
#include "async.h"
#include "dns.h"

#include <vector>

#include "net/connecting.h"
#include "net/question.h"

namespace
{

enum { SECONDS_APART = 4 };

struct srv_copy : srvlist {
	ref<srvlist> all; /* holds what the others point to */

	/* From record `from` on. */
	srv_copy(ref<srvlist> list, u_int from) : srvlist(*list), all(list)
	{
		s_srvs += from;
		s_nsrv -= from;
	}
};

class srv_connecting : public tcpconnect_t
{
	str hostname, service;
	u_int16_t defport;
	bool is_search;
	cbi cb;
	ptr<srvlist> *srvlp;
	str *np;

	ptr<srvlist> list;
	u_int next = 0;	     /* the record to try next */
	u_int waiting = 0;   /* attempts that have not ended */
	int last_err = ENOENT;
	std::vector<tcpconnect_t *> attempts;
	std::vector<str> names;
	dnsreq_t *of_service = nullptr, *of_host = nullptr;
	bool has_no_service = false;
	timecb_t *timer = nullptr;
	bool is_posted = false, is_cancelled = false;

	void begin();
	void begin_posted();
	void got_service(ptr<srvlist> l, int err);
	void got_host(ptr<hostent> h, int err);
	ptr<hostent> host;
	int host_err = 0;
	bool has_host = false;

	void try_host();
	void try_next();
	void time_for_next();
	void attempted(size_t i, int fd);
	void finish(int fd, int err);

public:
	srv_connecting(str h, str s, u_int16_t p, bool search, cbi c, ptr<srvlist> *lp, str *n)
		: hostname(h), service(s), defport(p), is_search(search), cb(c), srvlp(lp), np(n)
	{
	}
	void use(ref<srvlist> l) { list = l; }
	tcpconnect_t *launch();
	void drop() override;
};

tcpconnect_t *srv_connecting::launch()
{
	/* Also in the own color: an answer must not come before the handle. */
	is_posted = true;
	libasync::post(cwrap(this, &srv_connecting::begin_posted, cb->get_color()));
	return this;
}

void srv_connecting::begin_posted()
{
	is_posted = false;
	if (is_cancelled)
		delete this;
	else
		begin();
}

void srv_connecting::begin()
{
	color c = cb->get_color();

	if (list != NULL) {
		try_next();
		return;
	}
	of_host = libasync::host_by_name(hostname, cwrap(this, &srv_connecting::got_host, c), is_search, false, true);
	of_service = dns_srvbyname(hostname.cstr(), "tcp", service.cstr(), cwrap(this, &srv_connecting::got_service, c),
				   is_search);
}

void srv_connecting::got_service(ptr<srvlist> l, int)
{
	of_service = nullptr;
	/* One record for the name "." says that there is no such service (RFC 2782). */
	if (l != NULL && l->s_nsrv == 1 && l->s_srvs[0].name[0] == '\0') {
		finish(-1, ENOENT);
		return;
	}
	if (l == NULL) {
		has_no_service = true;
		if (has_host)
			try_host();
		return;
	}
	if (of_host != nullptr)
		dnsreq_cancel(of_host);
	of_host = nullptr;
	list = l;
	try_next();
}

void srv_connecting::got_host(ptr<hostent> h, int err)
{
	of_host = nullptr;
	has_host = true;
	host = h;
	host_err = err;
	if (has_no_service)
		try_host();
}

void srv_connecting::try_host()
{
	char text[INET6_ADDRSTRLEN];

	if (host == NULL) {
		finish(-1, dns_tmperr(host_err) ? EAGAIN : ENOENT);
		return;
	}
	inet_ntop(host->h_addrtype, host->h_addr_list[0], text, sizeof(text));
	names.push_back(str(host->h_name));
	attempts.push_back(nullptr);
	waiting = 1;
	attempts[0] =
		tcpconnect(str(text), defport, cwrap(this, &srv_connecting::attempted, size_t(0), cb->get_color()));
}

void srv_connecting::try_next()
{
	size_t i = attempts.size();

	if (list == NULL || next >= list->s_nsrv) {
		if (waiting == 0)
			finish(-1, last_err);
		return;
	}
	const srvrec &rec = list->s_srvs[next++];

	if (timer != nullptr)
		timecb_remove(timer);
	timer = delaycb(SECONDS_APART, 0, cwrap(this, &srv_connecting::time_for_next, cb->get_color()));
	names.push_back(str(rec.name));
	attempts.push_back(nullptr);
	waiting++;
	attempts[i] = tcpconnect(str(rec.name), rec.port,
				 cwrap(this, &srv_connecting::attempted, i, cb->get_color()), false);
}

void srv_connecting::time_for_next()
{
	timer = nullptr;
	try_next();
}

void srv_connecting::attempted(size_t i, int fd)
{
	attempts[i] = nullptr;
	waiting--;
	if (fd >= 0) {
		if (np != nullptr)
			*np = names[i];
		finish(fd, 0);
		return;
	}
	last_err = errno;
	try_next();
}

void srv_connecting::drop()
{
	is_cancelled = true;
	if (is_posted)
		return;
	for (tcpconnect_t *a : attempts) {
		if (a != nullptr)
			tcpconnect_cancel(a);
	}
	dnsreq_cancel(of_service);
	dnsreq_cancel(of_host);
	if (timer != nullptr)
		timecb_remove(timer);
	delete this;
}

void srv_connecting::finish(int fd, int err)
{
	cbi done = cb;

	if (srvlp != nullptr && list != NULL)
		*srvlp = New refcounted<srv_copy>(ref<srvlist>(list), next);
	drop();
	errno = err;
	(*done)(fd);
}

} // namespace

tcpconnect_t *tcpconnect_srv(str hostname, str service, u_int16_t defport, cbi cb, bool dnssearch, ptr<srvlist> *srvlp,
			     str *np)
{
	return (New srv_connecting(hostname, service, defport, dnssearch, cb, srvlp, np))->launch();
}

tcpconnect_t *tcpconnect_srv_retry(ref<srvlist> srvl, cbi cb, str *np)
{
	srv_connecting *c = New srv_connecting(NULL, NULL, 0, false, cb, nullptr, np);

	c->use(srvl);
	return c->launch();
}
