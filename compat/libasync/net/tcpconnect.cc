/*
 * tcpconnect: a name, an address, a connection.
 *
 * A request is a chain of steps, all in the color of its callback: the resolver's callback and the descriptor's
 * have that color. So no step needs a lock, and a cancel in that color finds the request between two steps. If the
 * caller has another color, the first step is posted; a cancel that comes before leaves a note for it.
 */
#include "async.h"
#include "dns.h"

#include "net/connecting.h"
#include "net/question.h"

using libasync::connecting;

namespace libasync
{

/* Finish soon: the caller of tcpconnect must have its handle first. */
void connecting::fail_later(int err)
{
	pending_err = err;
	soon = delaycb(0, 0, cwrap(this, &connecting::fail_now, cb->get_color()));
}

void connecting::fail_now()
{
	soon = nullptr;
	finish(-1, pending_err);
}

void connecting::start(const struct sockaddr *sa, socklen_t len)
{
	int on = 1;

	fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		fail_later(errno);
		return;
	}
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (connect(fd, sa, len) < 0 && errno != EINPROGRESS) {
		fail_later(errno);
		return;
	}
	fdcb(fd, selwrite, cwrap(this, &connecting::ready, cb->get_color()));
}

void connecting::start(const in_addr &address)
{
	struct sockaddr_in sin = {};

	sin.sin_family = AF_INET;
	sin.sin_port = htons(port);
	sin.sin_addr = address;
	start(reinterpret_cast<struct sockaddr *>(&sin), sizeof(sin));
}

void connecting::start(const in6_addr &address)
{
	struct sockaddr_in6 sin = {};

	sin.sin6_family = AF_INET6;
	sin.sin6_port = htons(port);
	sin.sin6_addr = address;
	start(reinterpret_cast<struct sockaddr *>(&sin), sizeof(sin));
}

void connecting::ready()
{
	int err = 0;
	socklen_t len = sizeof(err);
	int connected = fd;

	fdcb(fd, selwrite, NULL);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err != 0) {
		finish(-1, err);
		return;
	}
	fd = -1;
	finish(connected, 0);
}

void connecting::resolved(ptr<hostent> h, int err)
{
	request = nullptr;
	if (h == NULL || h->h_addr_list[0] == nullptr) {
		if (err != EMFILE && err != ENFILE)
			err = dns_tmperr(err) ? EAGAIN : ENOENT;
		finish(-1, err);
		return;
	}
	if (namep != nullptr)
		*namep = str(h->h_name);
	if (h->h_addrtype == AF_INET6) {
		in6_addr found;

		memcpy(&found, h->h_addr_list[0], sizeof(found));
		start(found);
	} else {
		in_addr found;

		memcpy(&found, h->h_addr_list[0], sizeof(found));
		start(found);
	}
}

void connecting::begin()
{
	in_addr literal;
	in6_addr literal6;

	if (!is_named) {
		start(addr);
	} else if (hostname == NULL || strlen(hostname.cstr()) != hostname.len()) {
		fail_later(ENOENT);
	} else if (inet_aton(hostname.cstr(), &literal) != 0) {
		if (namep != nullptr)
			*namep = hostname;
		start(literal);
	} else if (inet_pton(AF_INET6, hostname.cstr(), &literal6) == 1) {
		if (namep != nullptr)
			*namep = hostname;
		start(literal6);
	} else {
		request = host_by_name(hostname, cwrap(this, &connecting::resolved, cb->get_color()), is_search,
				       false, true);
	}
}

void connecting::begin_posted()
{
	is_posted = false;
	if (is_cancelled)
		delete this;
	else
		begin();
}

void connecting::launch()
{
	if (is_own_color(cb->get_color().value())) {
		begin();
		return;
	}
	is_posted = true;
	post(cwrap(this, &connecting::begin_posted, cb->get_color()));
}

void connecting::launch(const in_addr &a)
{
	addr = a;
	launch();
}

void connecting::launch(str host, bool dnssearch)
{
	is_named = true;
	hostname = host;
	is_search = dnssearch;
	launch();
}

void connecting::drop()
{
	is_cancelled = true;
	if (is_posted)
		return;
	if (request != nullptr)
		dnsreq_cancel(request);
	if (soon != nullptr)
		timecb_remove(soon);
	if (fd >= 0) {
		fdcb(fd, selwrite, NULL);
		close(fd);
	}
	delete this;
}

void connecting::finish(int result, int err)
{
	cbi done = cb;

	drop();
	errno = err;
	(*done)(result);
}

} // namespace libasync

tcpconnect_t *tcpconnect(in_addr addr, u_int16_t port, cbi cb)
{
	connecting *c = New connecting(port, cb, nullptr);

	c->launch(addr);
	return c;
}

tcpconnect_t *tcpconnect(str hostname, u_int16_t port, cbi cb, bool dnssearch, str *namep)
{
	connecting *c = New connecting(port, cb, namep);

	c->launch(hostname, dnssearch);
	return c;
}

void tcpconnect_cancel(tcpconnect_t *tc)
{
	if (tc != nullptr)
		tc->drop();
}
