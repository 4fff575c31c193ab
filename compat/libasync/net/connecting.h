/*
 * What a tcpconnect_t is: a connection attempt, to one host or to one of several.
 */
#ifndef NET_CONNECTING_H
#define NET_CONNECTING_H

#include "async.h"
#include "dns.h"

struct tcpconnect_t {
	tcpconnect_t() {}
	tcpconnect_t(const tcpconnect_t &) = delete;
	tcpconnect_t &operator=(const tcpconnect_t &) = delete;

	/* Release all; no callback runs. The object is gone afterwards. */
	virtual void drop() = 0;

protected:
	virtual ~tcpconnect_t() {}
};

namespace libasync
{

/* All fields are the color's of `cb`, once the first step is armed. */
class connecting : public tcpconnect_t
{
	u_int16_t port;
	cbi cb;
	str *namep;
	int fd = -1;
	int pending_err = 0;
	dnsreq_t *request = nullptr;
	timecb_t *soon = nullptr;
	/* What begin() needs. */
	in_addr addr = {};
	str hostname;
	bool is_named = false, is_search = false;
	bool is_posted = false, is_cancelled = false;

	void begin();
	void begin_posted();
	void launch();

	void start(const struct sockaddr *sa, socklen_t len);
	void start(const in_addr &address);
	void start(const in6_addr &address);
	void ready();
	void resolved(ptr<hostent> h, int err);
	void fail_later(int err);
	void fail_now();
	void finish(int result, int err);

public:
	connecting(u_int16_t p, cbi c, str *n) : port(p), cb(c), namep(n) {}
	void launch(const in_addr &a);
	void launch(str host, bool dnssearch);
	void drop() override;
};

} // namespace libasync

#endif
