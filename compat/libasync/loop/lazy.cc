/*
 * Calls that wait for the loop to turn: lazycb, which never makes it turn, yieldcb and cpucb_tail, which wait for its
 * end.
 */
#include "async.h"

#include <cstdint>
#include <list>

#include "log/die.h"
#include "loop/loop.h"

struct lazycb_t {
	/* const */
	cbv cb;
	int64_t interval_ns;

	/* table_lock */
	int64_t next_ns;		/* not before */
	bool is_queued = false;		/* a post will call it */
	bool is_removed = false;

	lazycb_t(cbv c, int64_t interval, int64_t next) : cb(std::move(c)), interval_ns(interval), next_ns(next) {}
};

/* A call at the end of the turn: a timer that is due when the loop polls next. */
struct yieldcb_t {
	struct ec_event ev;
	cbv cb;

	explicit yieldcb_t(cbv c) : cb(std::move(c)) {}
};

namespace
{

/* table_lock */
std::list<lazycb_t *> &lazies = *new std::list<lazycb_t *>;

void run_lazy(lazycb_t *l)
{
	cbv cb = l->cb;
	bool is_removed;

	{
		libasync::table_lock lock;

		l->is_queued = false;
		is_removed = l->is_removed;
	}
	if (is_removed)
		delete l;
	else
		cb();
}

lazycb_t *take_due(int64_t now)
{
	libasync::table_lock lock;

	for (lazycb_t *l : lazies) {
		if (l->is_queued || now < l->next_ns)
			continue;
		l->is_queued = true;
		l->next_ns = now + l->interval_ns;
		return l;
	}
	return nullptr;
}

void run_yield(int, short, void *arg)
{
	yieldcb_t *y = static_cast<yieldcb_t *>(arg);
	cbv cb = std::move(y->cb);

	delete y;
	libasync::note_turn();
	cb();
}

void free_yield(struct ec_event *, void *arg)
{
	delete static_cast<yieldcb_t *>(arg);
}

} // namespace

namespace libasync
{

unsigned lazies_num;

void run_lazies()
{
	int64_t now = ec_monotonic_ns();
	lazycb_t *l;

	while ((l = take_due(now)) != nullptr)
		post(cwrap(run_lazy, l, l->cb->get_color()));
}

} // namespace libasync

lazycb_t *lazycb(time_t min_interval, cbv cb)
{
	int64_t interval = int64_t(min_interval) * 1000000000;
	lazycb_t *l = new lazycb_t(std::move(cb), interval, ec_monotonic_ns() + interval);
	libasync::table_lock lock;

	lazies.push_back(l);
	(void)__atomic_fetch_add(&libasync::lazies_num, 1, __ATOMIC_RELAXED);
	return l;
}

void lazycb_remove(lazycb_t *l)
{
	bool is_queued;

	if (l == nullptr)
		return;
	{
		libasync::table_lock lock;

		lazies.remove(l);
		(void)__atomic_fetch_sub(&libasync::lazies_num, 1, __ATOMIC_RELAXED);
		l->is_removed = true;
		is_queued = l->is_queued;
	}
	if (!is_queued)
		delete l;
}

yieldcb_t *yieldcb(cbv cb)
{
	static const timeval at_once = { 0, 0 };
	uint32_t number = cb->get_color().value();
	yieldcb_t *y = new yieldcb_t(std::move(cb));

	(void)ec_event_init(&y->ev, libasync::engine(), -1, 0, run_yield, y);
	(void)ec_event_set_color(&y->ev, number);
	libasync::check(ec_event_add(&y->ev, &at_once), "yieldcb");
	return y;
}

void yieldcb_remove(yieldcb_t *y)
{
	if (y == nullptr)
		return;
	if (libasync::is_own_color(y->cb->get_color().value())) {
		(void)ec_event_del(&y->ev, EC_DEL_NOBLOCK);
		delete y;
	} else {
		libasync::check(ec_event_finalize(&y->ev, free_yield, false), "yieldcb_remove");
	}
}

void cpucb_tail(cbv cb)
{
	(void)yieldcb(std::move(cb));
}
