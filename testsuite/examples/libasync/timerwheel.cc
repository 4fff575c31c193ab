/*
 * A timer wheel: many timers that are due at ticks, and one delaycb for all of them. Starting a timer and stopping it
 * take constant time.
 *
 * usage: timerwheel TICKS...
 *
 * It starts a timer for each number of ticks, stops every third one, and prints the others when they are due.
 */
#include "async.h"
#include "list.h"
#include "parseopt.h"
#include "str.h"

class wheel
{
public:
	struct timer {
		tailq_entry<timer> link;
		u_int slot;
		u_int rounds; /* turns of the wheel until it is due */
		cbv cb;

		explicit timer(cbv c) : slot(0), rounds(0), cb(c) {}
	};

	wheel() : now(0), running(0) {}
	timer *start(u_int ticks, cbv cb);
	void stop(timer *t);
	u_int time() const { return now; }
	bool is_empty() const { return !running; }

private:
	enum { slots = 16, tick_ns = 100000 };

	tailq<timer, &timer::link> tab[slots];
	u_int now;
	size_t running;

	void tick();
};

wheel::timer *wheel::start(u_int ticks, cbv cb)
{
	timer *t = New timer(cb);

	t->slot = (now + ticks) % slots;
	t->rounds = (ticks - 1) / slots;
	tab[t->slot].insert_tail(t);
	if (!running++)
		delaycb(0, tick_ns, wrap(this, &wheel::tick));
	return t;
}

void wheel::stop(timer *t)
{
	tab[t->slot].remove(t);
	running--;
	delete t;
}

void wheel::tick()
{
	timer *next;

	now++;
	for (timer *t = tab[now % slots].first; t; t = next) {
		next = tab[now % slots].next(t);
		if (t->rounds) {
			t->rounds--;
			continue;
		}

		cbv cb = t->cb;
		stop(t);
		cb();
	}
	if (running)
		delaycb(0, tick_ns, wrap(this, &wheel::tick));
}

static wheel w;

static void due(u_int number)
{
	printf("tick %u: timer %u\n", w.time(), number);
	if (w.is_empty())
		exit(0);
}

int main(int argc, char **argv)
{
	vec<wheel::timer *> timers;

	for (int i = 1; i < argc; i++) {
		u_int ticks;

		if (!convertint(argv[i], &ticks) || ticks < 1) {
			fprintf(stderr, "%s: not a number of ticks\n", argv[i]);
			return 1;
		}
		timers.push_back(w.start(ticks, wrap(due, i)));
	}
	for (size_t i = 2; i < timers.size(); i += 3)
		w.stop(timers[i]);
	if (w.is_empty())
		return 0;
	amain();
}
