/*
 * What a dnsreq is: a question that waits for its answer.
 *
 * It lives in the color of its callback: there it begins, hears from sockets, timers and evdns, and ends. If the caller
 * has another color, begin() is posted. The handle is valid at once all the same: a cancel before begin() only leaves a
 * note for it.
 */
#ifndef NET_QUESTION_H
#define NET_QUESTION_H

#include "async.h"
#include "dns.h"

struct dnsreq {
	dnsreq(const dnsreq &) = delete;
	dnsreq &operator=(const dnsreq &) = delete;

	/* Begin, now or in the color. */
	dnsreq_t *launch();
	void cancel();

protected:
	color home;

	explicit dnsreq(color c) : home(c) {}
	virtual ~dnsreq() {}
	virtual void begin() = 0;
	/* Release all that waits, and the object, now or when evdns knows of it. */
	virtual void drop() = 0;
	/* Run fn (which must not use this object) soon; a cancel before then prevents it. Then the object is gone. */
	template <class F> void finish_later(F fn);

private:
	bool is_posted = false;
	bool is_cancelled = false;

	void begin_posted();
	void end_posted(cbv fn);
};

template <class F> void dnsreq::finish_later(F fn)
{
	is_posted = true;
	libasync::post(cwrap(this, &dnsreq::end_posted, cbv(cwrap(fn, home)), home));
}

namespace libasync
{

/* dns_hostbyname, and with is_any also hosts that have only IPv6 addresses. */
dnsreq_t *host_by_name(str name, cbhent cb, bool search, bool addrok, bool is_any);

} // namespace libasync

#endif
