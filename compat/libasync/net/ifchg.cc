/*
 * Changes of interfaces: a comparison of their addresses now and then.
 */
#include "amisc.h"
#include "async.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "net/ifchg.h"

/* Calls that are posted hold it too. own: `is_removed`, the color's of `cb` */
struct ifchgcb_t : public virtual refcount {
	cbv cb;
	bool is_removed = false;

	explicit ifchgcb_t(cbv c) : cb(c) {}
	void call()
	{
		if (!is_removed)
			(*cb)();
	}
};

namespace
{

enum { SECONDS = 60 };

struct state {
	std::mutex mutex;
	/* mutex */
	std::vector<u_int32_t> addresses;
	std::vector<ref<ifchgcb_t>> all;
	bool is_watching = false;
};

/* Never destroyed: a callback may be removed at exit. */
state &interfaces()
{
	static state *s = new state;

	return *s;
}

std::vector<u_int32_t> current_addresses()
{
	vec<in_addr> now;
	std::vector<u_int32_t> ret;

	if (!myipaddrs(&now))
		return ret;
	for (const in_addr &a : now)
		ret.push_back(a.s_addr);
	std::sort(ret.begin(), ret.end());
	return ret;
}

void poll()
{
	libasync::interfaces_compare(current_addresses());
}

} // namespace

void libasync::interfaces_compare(const std::vector<u_int32_t> &now)
{
	state &s = interfaces();
	std::vector<ref<ifchgcb_t>> all;

	{
		std::lock_guard<std::mutex> hold(s.mutex);
		if (now == s.addresses)
			return;
		s.addresses = now;
		all = s.all;
	}
	for (const ref<ifchgcb_t> &chg : all)
		libasync::post(cwrap(chg, &ifchgcb_t::call, chg->cb->get_color()));
}

ifchgcb_t *ifchgcb(cbv cb)
{
	state &s = interfaces();
	ref<ifchgcb_t> chg = New refcounted<ifchgcb_t>(cb);
	std::lock_guard<std::mutex> hold(s.mutex);

	s.all.push_back(chg);
	if (!s.is_watching) {
		s.is_watching = true;
		s.addresses = current_addresses();
		lazycb(SECONDS, wrap(poll));
	}
	return chg.get();
}

void ifchgcb_remove(ifchgcb_t *chg)
{
	state &s = interfaces();

	if (chg == nullptr)
		return;
	chg->is_removed = true;
	std::lock_guard<std::mutex> hold(s.mutex);
	for (size_t i = 0; i < s.all.size(); i++) {
		if (s.all[i].get() == chg) {
			s.all.erase(s.all.begin() + static_cast<ptrdiff_t>(i));
			return;
		}
	}
}
