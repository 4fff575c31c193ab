/*
 * What a timer costs while 100 000 others wait, beside an event of the engine: make it, make and remove it, make and
 * run it. The callback is made and freed with it.
 *
 * usage: timers SHAPE NUM
 */
#include "async.h"

#include <event2/event.h>
#include <vector>

#include "shapes.h"

namespace
{

enum { WAITING = 100000 };

volatile long total;

OPAQUE void tick()
{
	total = total + 1;
}

void tick_event(int, short, void *)
{
	tick();
}

void tick_and_free(int, short, void *arg)
{
	tick();
	event_free(static_cast<event *>(arg));
}

/* Each a millisecond after the one before, and over again. */
timecb_t *make_timer(long i)
{
	return delaycb(1 + i % 1000, u_int32_t(i / 1000 % 1000 * 1000000), wrap(tick));
}

event *make_event(long i)
{
	timeval tv = { 1 + i % 1000, i / 1000 % 1000 * 1000 };
	event *ev = event_new(libasync::base(), -1, 0, tick_event, nullptr);

	(void)event_add(ev, &tv);
	return ev;
}

void make_waiting()
{
	for (long i = 0; i < WAITING; i++)
		(void)make_timer(i);
}

void make_waiting_events()
{
	for (long i = 0; i < WAITING; i++)
		(void)make_event(i);
}

void run_timer(long num)
{
	make_waiting();
	for (long i = 0; i < num; i++)
		(void)make_timer(i);
}

void run_event(long num)
{
	make_waiting_events();
	for (long i = 0; i < num; i++)
		(void)make_event(i);
}

/* In the order of their making. */
void run_timer_remove(long num)
{
	std::vector<timecb_t *> made(static_cast<size_t>(num));

	make_waiting();
	for (long i = 0; i < num; i++)
		made[size_t(i)] = make_timer(i);
	for (timecb_t *t : made)
		timecb_remove(t);
}

void run_event_free(long num)
{
	std::vector<event *> made(static_cast<size_t>(num));

	make_waiting_events();
	for (long i = 0; i < num; i++)
		made[size_t(i)] = make_event(i);
	for (event *ev : made)
		event_free(ev);
}

/* A timeout of a connection: it is made for each request, and removed. */
void run_timer_again(long num)
{
	make_waiting();
	for (long i = 0; i < num; i++)
		timecb_remove(make_timer(i));
}

void run_event_again(long num)
{
	make_waiting_events();
	for (long i = 0; i < num; i++)
		event_free(make_event(i));
}

void run_timer_fire(long num)
{
	long before = total;

	make_waiting();
	for (long i = 0; i < num; i++)
		(void)delaycb(0, 1, wrap(tick));
	while (total < before + num)
		acheck();
}

void run_event_fire(long num)
{
	static const timeval soon = { 0, 1 };
	long before = total;

	make_waiting_events();
	for (long i = 0; i < num; i++)
		(void)event_add(event_new(libasync::base(), -1, 0, tick_and_free, event_self_cbarg()), &soon);
	while (total < before + num)
		(void)event_base_loop(libasync::base(), EVLOOP_ONCE);
}

const shape shapes[] = {
	{ "timer", run_timer },
	{ "event", run_event },
	{ "timer_remove", run_timer_remove },
	{ "event_free", run_event_free },
	{ "timer_again", run_timer_again },
	{ "event_again", run_event_again },
	{ "timer_fire", run_timer_fire },
	{ "event_fire", run_event_fire },
};

} // namespace

int main(int argc, char **argv)
{
	return run_shape(shapes, argc, argv);
}
