/*
 * Bases meet: callbacks of several bases delete each other's events, pause each other's bases and run each other's
 * loops. No order of the threads ends in a deadlock; where no circle is possible, nobody is told of one, and
 * each deletion and each pause keeps its promise. One of two bases gets the signals, whichever comes first.
 */
#include <signal.h>
#include <stddef.h>

#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { BASES = 3, EVENTS = 2, ACTS = 3 };

enum act { DELETE = 1, PAUSE = 2, PAUSE_OWN = 4, LOOP = 8 };

struct shape {
	unsigned workers, bases;
	unsigned acts[BASES];		/* what callbacks of each base may do, to the others */
	unsigned foreign;		/* … and a thread that runs no loop */
	bool has_circles;
};

struct victim {
	struct ec_event ev;
	unsigned base;
	unsigned running;
	bool stands;			/* in a call that may wait */
};

static struct {
	const struct shape *shape;
	struct ec_base *base[BASES];
	bool is_paused[BASES];
	struct victim victim[BASES][EVENTS];
	unsigned added, caught;
} t;

/* Callbacks of the base that run, but those that wait in a call of the library. */
static unsigned running(unsigned base)
{
	unsigned i, num = 0;

	for (i = 0; i < EVENTS; i++)
		num += t.victim[base][i].running != 0 && !t.victim[base][i].stands;
	return num;
}

/* ---------------------------------------------------------------- what they do */

static void delete_one(unsigned base, const struct victim *me)
{
	struct victim *v = &t.victim[base][sim_random(EVENTS)];

	sim_note("deletes %u", base);
	sim_check(ec_event_del(&v->ev, EC_DEL_BLOCK) == 0);
	if (sim_warnings() == 0 && v != me && !v->stands)
		sim_check(v->running == 0);
}

static void pause_one(unsigned base)
{
	sim_note("pauses %u", base);
	if (ec_base_pause(t.base[base]) < 0) {
		sim_check(t.shape->has_circles);
		return;
	}
	sim_note("has paused %u", base);
	/* Who pauses stands, and so is not counted. */
	if (sim_warnings() == 0)
		sim_check(running(base) == 0 && !t.is_paused[base]);
	t.is_paused[base] = true;
	EC_POINT();
	if (sim_random(2) == 0)
		sim_sleep(2000);
	if (sim_warnings() == 0)
		sim_check(running(base) == 0);
	t.is_paused[base] = false;
	sim_check(ec_base_resume(t.base[base]) == 0);
}

static void act(unsigned acts, unsigned own, const struct victim *me)
{
	unsigned other = sim_random(t.shape->bases);
	enum act choice = (enum act)(1u << sim_random(4));

	if ((acts & choice) == 0)
		return;
	if (choice == PAUSE_OWN) {
		pause_one(own);
		return;
	}
	if (other == own)
		return;
	if (choice == DELETE)
		delete_one(other, me);
	else if (choice == PAUSE)
		pause_one(other);
	else
		(void)ec_base_loop(t.base[other], EC_LOOP_NONBLOCK);	/* -EBUSY: it runs elsewhere */
}

static void run(int fd, short what, void *arg)
{
	struct victim *v = arg;
	unsigned i, worker;

	(void)fd;
	(void)what;
	worker = ec_base_running_worker(t.base[v->base]);
	sim_check(worker < t.shape->workers);
	v->running++;
	EC_POINT();
	v->stands = true;
	for (i = 0; i < ACTS; i++)
		act(t.shape->acts[v->base], v->base, v);
	v->stands = false;
	EC_POINT();
	sim_check(ec_base_running_worker(t.base[v->base]) == worker);
	v->running--;
}

static void foreign_main(void *arg)
{
	unsigned i;

	(void)arg;
	for (i = 0; i < ACTS; i++)
		act(t.shape->foreign, UINT32_MAX, NULL);
}

static void loop_main(void *arg)
{
	struct ec_base *base = arg;

	(void)ec_base_loop(base, EC_LOOP_NONBLOCK);
}

/* ---------------------------------------------------------------- the frame */

static void base_begin(unsigned b)
{
	struct victim *v;
	unsigned i;

	t.base[b] = b == 0 ? sim_base_new(t.shape->workers, "epoll") : sim_base_more(t.shape->workers);
	t.is_paused[b] = false;
	for (i = 0; i < EVENTS; i++) {
		v = &t.victim[b][i];
		*v = (struct victim){ .base = b };
		sim_check(ec_event_init(&v->ev, t.base[b], -1, EC_PERSIST, run, v) == 0);
		sim_check(ec_event_set_color(&v->ev, i + (b + t.shape->workers) % 2) == 0);
		sim_check(ec_color_set_cost(t.base[b], i + 1, 100000) == 0);
	}
}

static void meet(const void *arg)
{
	int ids[BASES];
	unsigned b, i;

	t.shape = arg;
	for (b = 0; b < t.shape->bases; b++)
		base_begin(b);
	for (b = 0; b < t.shape->bases; b++)
		for (i = 0; i < EVENTS; i++)
			ec_event_active(&t.victim[b][i].ev, EC_READ, 1);
	for (b = 1; b < t.shape->bases; b++)
		ids[b] = sim_start("loop", loop_main, t.base[b]);
	ids[0] = t.shape->foreign != 0 ? sim_start("foreign", foreign_main, NULL) : -1;
	loop_main(t.base[0]);
	for (b = 0; b < t.shape->bases; b++)
		if (ids[b] >= 0)
			sim_join(ids[b]);
	sim_check(t.shape->has_circles || sim_warnings() == 0);
	for (b = t.shape->bases; b-- > 0;)
		ec_base_free(t.base[b]);
}

/* ---------------------------------------------------------------- a loop in a callback of a base that is paused */

static void loop_in(int fd, short what, void *arg)
{
	struct victim *v = arg;
	int r;

	(void)fd;
	(void)what;
	v->running++;
	r = ec_base_loop(t.base[1], EC_LOOP_NO_EXIT_ON_EMPTY);
	sim_check(r >= 0);
	v->running--;
}

static void stop(void *arg)
{
	(void)arg;
	sim_check(ec_base_loopbreak(t.base[1]) == 0);
}

/* It pauses the inner base, and waits for the outer callback, whose loop only this thread ends. */
static void holder_main(void *arg)
{
	struct victim *v = &t.victim[0][0];

	(void)arg;
	sim_check(ec_base_pause(t.base[1]) == 0);
	if (sim_random(2) == 0)
		sim_check(ec_event_del(&v->ev, EC_DEL_BLOCK) == 0);
	sim_check(ec_base_pause(t.base[0]) == 0);
	sim_check(ec_base_resume(t.base[0]) == 0);
	sim_check(ec_base_resume(t.base[1]) == 0);
	sim_check(ec_base_post(t.base[1], 0, stop, NULL) == 0);
}

static void gate(const void *arg)
{
	struct victim *v;
	unsigned b;
	int id;

	t.shape = arg;
	for (b = 0; b < 2; b++)
		base_begin(b);
	v = &t.victim[0][0];
	sim_check(ec_event_init(&v->ev, t.base[0], -1, EC_PERSIST, loop_in, v) == 0);
	sim_check(ec_event_set_color(&v->ev, 1 + sim_random(2)) == 0);
	for (b = 0; b < 2; b++)
		ec_event_active(&t.victim[b][0].ev, EC_READ, 1);
	id = sim_start("holder", holder_main, NULL);
	loop_main(t.base[0]);
	sim_join(id);
	for (b = 2; b-- > 0;)
		ec_base_free(t.base[b]);
}

/* ---------------------------------------------------------------- a thread that pauses deletes who waits to pause */

static void pausing(int fd, short what, void *arg)
{
	unsigned i;

	(void)fd;
	(void)what;
	(void)arg;
	for (i = 0; i < ACTS; i++) {
		sim_check(ec_base_pause(t.base[0]) == 0);
		sim_check(ec_base_resume(t.base[0]) == 0);
	}
}

static void pauser_main(void *arg)
{
	struct victim *v = &t.victim[0][0];

	(void)arg;
	sim_check(ec_base_pause(t.base[0]) == 0);
	sim_check(ec_event_del(&v->ev, EC_DEL_BLOCK) == 0);
	sim_check(ec_base_resume(t.base[0]) == 0);
}

/* It is the deletion that does not wait: the callback has its turn. */
static void pauser(const void *arg)
{
	struct victim *v = &t.victim[0][0];
	int id;

	t.shape = arg;
	base_begin(0);
	sim_check(ec_event_init(&v->ev, t.base[0], -1, EC_PERSIST, pausing, v) == 0);
	sim_check(ec_event_set_color(&v->ev, 1) == 0);
	ec_event_active(&v->ev, EC_READ, 1);
	id = sim_start("pauser", pauser_main, NULL);
	loop_main(t.base[0]);
	sim_join(id);
	sim_check(sim_warnings() <= 1);
	ec_base_free(t.base[0]);
}

/* ---------------------------------------------------------------- two loops add their first signal */

static void signaled(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	t.caught++;
}

static void adds_signal(int fd, short what, void *arg)
{
	struct victim *v = arg;

	(void)fd;
	(void)what;
	sim_check(ec_event_add(&v->ev, NULL) == 0);
	t.added++;
}

static void signal_loop_main(void *arg)
{
	struct victim *v = arg;

	sim_check(ec_event_init(&v->ev, t.base[v->base], v->base == 0 ? SIGUSR1 : SIGUSR2, EC_SIGNAL | EC_PERSIST,
				signaled, NULL) == 0);
	ec_event_active(&t.victim[v->base][1].ev, EC_READ, 1);
	sim_check(ec_base_loop(t.base[v->base], EC_LOOP_NO_EXIT_ON_EMPTY) >= 0);
}

/* Either base may get the signals. It sleeps, so it must be the one that the handler wakes. */
static void signals(const void *arg)
{
	struct victim *v;
	int ids[2];
	unsigned b;

	t.shape = arg;
	t.added = t.caught = 0;
	sim_threads_on();
	for (b = 0; b < 2; b++) {
		base_begin(b);
		v = &t.victim[b][1];
		sim_check(ec_event_init(&v->ev, t.base[b], -1, 0, adds_signal, &t.victim[b][0]) == 0);
	}
	for (b = 0; b < 2; b++)
		ids[b] = sim_start("loop", signal_loop_main, &t.victim[b][0]);
	while (t.added != 2)
		sim_sleep(1000);
	sim_meet();
	sim_check(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0);
	for (b = 0; b < 10 && t.caught == 0; b++)
		sim_sleep(1000000);
	sim_check(t.caught != 0);
	for (b = 0; b < 2; b++)
		sim_check(ec_base_loopbreak(t.base[b]) == 0);
	for (b = 0; b < 2; b++) {
		sim_join(ids[b]);
		sim_check(ec_event_del(&t.victim[b][0].ev, EC_DEL_BLOCK) == 0);
	}
	for (b = 2; b-- > 0;)
		ec_base_free(t.base[b]);
}

/* ---------------------------------------------------------------- the base that has the signals is freed */

static void free_main(void *arg)
{
	ec_base_free(arg);
}

/* Meanwhile another base gets its first signal event, and a signal. It is the only one then, so it gets the signal. */
static void signal_freed(const void *arg)
{
	struct ec_event *ev;
	unsigned b;
	int id;

	t.shape = arg;
	t.caught = 0;
	sim_threads_on();
	for (b = 0; b < 2; b++) {
		base_begin(b);
		sim_check(ec_event_init(&t.victim[b][0].ev, t.base[b], b == 0 ? SIGUSR1 : SIGUSR2,
					EC_SIGNAL | EC_PERSIST, signaled, NULL) == 0);
	}
	sim_check(ec_event_add(&t.victim[0][0].ev, NULL) == 0);
	id = sim_start("free", free_main, t.base[0]);
	ev = &t.victim[1][0].ev;
	sim_check(ec_event_add(ev, NULL) == 0);
	sim_check(raise(SIGUSR2) == 0);
	sim_check(ec_base_loop(t.base[1], EC_LOOP_NONBLOCK) == 0);
	sim_join(id);
	sim_check(t.caught == 1);
	sim_check(ec_event_del(ev, EC_DEL_BLOCK) == 0);
	ec_base_free(t.base[1]);
}

#define CASE(n, fn, ...) { .name = n, .body = fn, .arg = &(const struct shape){ __VA_ARGS__ } }

int main(int argc, char **argv)
{
	const struct sim_case cases[] = {
		CASE("delete", meet, .workers = 2, .bases = 2, .acts = { DELETE, DELETE }, .has_circles = true),
		CASE("delete-alone", meet, .workers = 1, .bases = 2, .acts = { DELETE, DELETE }, .has_circles = true),
		CASE("delete-three", meet, .workers = 2, .bases = 3, .acts = { DELETE, DELETE, DELETE },
		     .has_circles = true),
		CASE("pause", meet, .workers = 2, .bases = 2, .acts = { DELETE | PAUSE | PAUSE_OWN, DELETE | PAUSE },
		     .foreign = DELETE | PAUSE, .has_circles = true),
		CASE("nested", meet, .workers = 2, .bases = 2, .acts = { LOOP | DELETE, DELETE | PAUSE | PAUSE_OWN },
		     .foreign = PAUSE, .has_circles = true),
		CASE("all", meet, .workers = 2, .bases = 3,
		     .acts = { LOOP | DELETE | PAUSE, LOOP | DELETE | PAUSE, LOOP | DELETE | PAUSE | PAUSE_OWN },
		     .foreign = DELETE | PAUSE, .has_circles = true),
		CASE("one-way", meet, .workers = 2, .bases = 2, .acts = { DELETE | PAUSE }, .foreign = DELETE),
		CASE("own", meet, .workers = 3, .bases = 1, .acts = { PAUSE_OWN }, .foreign = PAUSE),
		CASE("pauser", pauser, .workers = 2, .bases = 1),
		CASE("gate", gate, .workers = 2, .bases = 2, .has_circles = true),
		CASE("gate-alone", gate, .workers = 1, .bases = 2, .has_circles = true),
		CASE("signals", signals, .workers = 1, .bases = 2),
		CASE("signal-freed", signal_freed, .workers = 1, .bases = 2),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
