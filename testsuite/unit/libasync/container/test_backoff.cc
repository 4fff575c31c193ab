/*
 * backoff.h: when requests are sent again, on timers that the test owns.
 */
#define LIBASYNC_CHECKED

/* The queue of this file calls these instead of the loop's. */
#define timecb_t timer_of_test
#define delaycb delay_of_test
#define timecb_remove remove_of_test
#include "backoff.h"

#include <atomic>
#include <map>
#include <vector>

#include "container/elements.h"

struct timecb_t {
	cbv cb;
};

namespace
{

std::multimap<long, timecb_t *> timers;
long now;

void pass(long seconds)
{
	const long end = now + seconds;

	while (!timers.empty() && timers.begin()->first <= end) {
		timecb_t *t = timers.begin()->second;

		now = timers.begin()->first;
		timers.erase(timers.begin());

		cbv cb = t->cb;

		delete t;
		(*cb)();
	}
	now = end;
}

} // namespace

timecb_t *delaycb(time_t sec, u_int32_t nsec, cbv cb)
{
	timecb_t *t = new timecb_t{ cb };

	assert_int_equal(nsec, 0);
	timers.insert({ now + sec, t });
	return t;
}

void timecb_remove(timecb_t *t)
{
	if (!t)
		return;
	for (auto i = timers.begin(); i != timers.end(); ++i)
		if (i->second == t) {
			timers.erase(i);
			delete t;
			return;
		}
	fail_msg("the timer is dead");
}

namespace
{

struct request;
void answered(request *);

struct request {
	tmoq_entry<request> link;
	std::vector<std::pair<long, int>> sent;
	long timed_out_at = -1;
	int removed_at_sending = -1;

	void xmit(int sendno)
	{
		sent.push_back({ now, sendno });
		if (sendno == removed_at_sending)
			answered(this);
	}
	void timeout() { timed_out_at = now; }
};

typedef tmoq<request, &request::link> queue;
queue *q;

void answered(request *r)
{
	q->remove(r);
}

typedef std::vector<std::pair<long, int>> times;

void tmoq_sends_ever_more_rarely(void **)
{
	queue here;
	request a, b;

	q = &here;
	now = 100;
	here.start(&a);
	assert_true(a.sent == times({ { 100, 0 } }));
	pass(1);
	here.start(&b);
	pass(1000);
	assert_true(a.sent == times({ { 100, 0 }, { 102, 1 }, { 106, 2 }, { 114, 3 }, { 130, 4 } }));
	assert_true(b.sent == times({ { 101, 0 }, { 103, 1 }, { 107, 2 }, { 115, 3 }, { 131, 4 } }));
	assert_int_equal(a.timed_out_at, 162);
	assert_int_equal(b.timed_out_at, 163);
	assert_true(timers.empty());

	/* A request can be started anew. */
	a.sent.clear();
	here.start(&a);
	assert_true(a.sent == times({ { now, 0 } }));
	here.remove(&a);
	assert_true(timers.empty());
}

void tmoq_takes_its_pauses_from_its_parameters(void **)
{
	tmoq<request, &request::link, 1, 2> quick;
	request r;

	now = 0;
	quick.start(&r);
	pass(100);
	assert_true(r.sent == times({ { 0, 0 }, { 1, 1 } }));
	assert_int_equal(r.timed_out_at, 3);
}

void tmoq_forgets_what_is_answered(void **)
{
	queue here;
	request a, b, c;

	q = &here;
	now = 0;
	a.removed_at_sending = 0;
	b.removed_at_sending = 2;
	here.start(&a);
	here.start(&b);
	here.start(&c);
	pass(3);
	here.remove(&c);
	pass(1000);
	assert_int_equal(a.sent.size(), 1);
	assert_int_equal(b.sent.size(), 3);
	assert_int_equal(c.sent.size(), 2);
	assert_int_equal(a.timed_out_at, -1);
	assert_true(timers.empty());
}

void tmoq_that_dies_leaves_no_timer(void **)
{
	request a, b;
	{
		queue here;

		q = &here;
		here.start(&a);
		here.start(&b);
		assert_int_equal(timers.size(), 2);
	}
	assert_true(timers.empty());
	pass(100);
	assert_int_equal(a.sent.size(), 1);
}

struct colored {
	std::atomic<uint32_t> seen{ 0 };
	std::atomic<bool> is_done{ false };
	queue here;
	request r;
};

void finish(colored *c)
{
	c->is_done = true;
}

/* A worker may run this: the test's clock and timers are its own until it ends. */
void start_in_color(colored *c)
{
	c->here.start(&c->r);
	c->seen = timers.begin()->second->cb->get_color().value();
	c->here.remove(&c->r);
	cpucb(wrap(finish, c));
}

/* The timer has the color in which the request was started. */
void tmoq_keeps_its_color(void **)
{
	colored c;

	assert_int_equal(libasync::tmoq_color().value(), 0);
	cpucb(cwrap(start_in_color, &c, color(5)));
	while (!c.is_done)
		acheck();
	assert_int_equal(c.seen, 5);
	assert_true(timers.empty());
}

void tmoq_ends_the_program_when_misused(void **)
{
	request a;			/* goes after the queue, which still has it */
	queue here;

	q = &here;
	must_abort("tmoq: the request to remove is in no queue", [&] { here.remove(&a); });
	here.start(&a);
	must_abort("tmoq: the request is in a queue already", [&] { here.start(&a); });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tmoq_sends_ever_more_rarely),
		cmocka_unit_test(tmoq_takes_its_pauses_from_its_parameters),
		cmocka_unit_test(tmoq_forgets_what_is_answered),
		cmocka_unit_test(tmoq_that_dies_leaves_no_timer),
		cmocka_unit_test(tmoq_ends_the_program_when_misused),
		cmocka_unit_test(tmoq_keeps_its_color),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
