/*
 * Calls that wait for the loop to turn: lazycb, which never makes it turn, yieldcb and cpucb_tail, which wait for its
 * end.
 *
 * A poll begins a turn. The lazy calls that are due are posted then, so they run at its head: after what was posted
 * before, ahead of descriptors, signals and timers. A post keeps the loop from sleeping, so the next poll begins no
 * turn for them unless some other callback has run meanwhile.
 */
#include "async.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <utility>

#include "log/die.h"
#include "loop/loop.h"

struct lazycb_t {
	/* const */
	cbv cb;
	uint32_t color;
	int64_t interval_ns;

	/* table_lock */
	int64_t next_ns;		/* not before */
	uint64_t turn = 0;		/* that of its last call */
	bool is_queued = false;		/* a post will call it */
	bool is_removed = false;

	lazycb_t(cbv c, int64_t interval, int64_t next)
		: cb(std::move(c)), color(cb->get_color().value()), interval_ns(interval), next_ns(next)
	{
	}
};

/*
 * A call at the end of the turn: a timer that is due when the loop polls next. Those of one color may be timers of
 * several workers, whose clocks differ. So the one that comes up runs all that were made before it.
 */
struct yieldcb_t {
	/* const */
	struct ec_event ev;
	cbv cb;
	std::pair<uint32_t, uint64_t> key; /* color, number */

	explicit yieldcb_t(cbv c) : cb(std::move(c)) {}
};

namespace
{

/* table_lock */
std::list<lazycb_t *> &lazies = *new std::list<lazycb_t *>;
typedef std::map<std::pair<uint32_t, uint64_t>, yieldcb_t *> yield_map;
yield_map &yields = *new yield_map;
uint64_t next_yield;
uint64_t turn = 1;			/* how many polls followed a callback */

/* No callback that begins a turn: note_call() does not hear of it. */
void run_lazy(void *arg)
{
	lazycb_t *l = static_cast<lazycb_t *>(arg);
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

void post_lazy(lazycb_t *l)
{
	if (ec_base_post(libasync::engine(), l->color, run_lazy, l) < 0)
		libasync::die("lazycb: %s", strerror(errno));
}

/* The next one to call in this turn, which is queued then. NULL: there is no more. */
lazycb_t *take_due(int64_t now)
{
	libasync::table_lock lock;

	for (lazycb_t *l : lazies) {
		if (l->is_queued || l->turn == turn || now < l->next_ns)
			continue;
		l->is_queued = true;
		l->turn = turn;
		l->next_ns = libasync::time_after(now, l->interval_ns);
		return l;
	}
	return nullptr;
}

/* The first one of the color up to `key`, which has begun then; NULL: there is none. */
yieldcb_t *take_yield(const std::pair<uint32_t, uint64_t> &key)
{
	libasync::table_lock lock;
	auto first = yields.lower_bound({ key.first, 0 });
	yieldcb_t *y;

	if (first == yields.end() || first->first > key)
		return nullptr;
	y = first->second;
	yields.erase(first);
	return y;
}

void run_yield(int, short, void *arg)
{
	yieldcb_t *const y = static_cast<yieldcb_t *>(arg);
	const std::pair<uint32_t, uint64_t> key = y->key;

	while (yieldcb_t *first = take_yield(key)) {
		cbv cb = std::move(first->cb);

		if (first != y)
			(void)ec_event_del(&first->ev, EC_DEL_NOBLOCK);
		delete first;
		libasync::note_call();
		cb();
	}
}

void free_yield(struct ec_event *, void *arg)
{
	delete static_cast<yieldcb_t *>(arg);
}

} // namespace

namespace libasync
{

unsigned lazies_num;

unsigned has_called;

void begin_turn()
{
	int64_t now = ec_monotonic_ns();
	lazycb_t *l;

	if (__atomic_exchange_n(&has_called, 0, __ATOMIC_RELAXED) != 0) {
		table_lock lock;

		turn++;
	}
	while ((l = take_due(now)) != nullptr)
		post_lazy(l);
}

} // namespace libasync

lazycb_t *lazycb(time_t min_interval, cbv cb)
{
	int64_t interval = libasync::to_ns(min_interval, 0);
	lazycb_t *l = new lazycb_t(std::move(cb), interval, libasync::time_after(ec_monotonic_ns(), interval));
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
	struct ec_base *base = libasync::engine();
	uint32_t number = cb->get_color().value();
	yieldcb_t *y = new yieldcb_t(std::move(cb));
	libasync::table_lock lock;

	y->key = { number, ++next_yield };
	yields[y->key] = y;
	(void)ec_event_init(&y->ev, base, -1, 0, run_yield, y);
	(void)ec_event_set_color(&y->ev, number);
	libasync::check(ec_event_add(&y->ev, &at_once), "yieldcb");
	return y;
}

void yieldcb_remove(yieldcb_t *y)
{
	if (y == nullptr)
		return;
	{
		libasync::table_lock lock;

		yields.erase(y->key);
	}
	if (libasync::is_own_color(y->key.first)) {
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
