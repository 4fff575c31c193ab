/*
 * Deleting events: once event_del has returned to another thread or color, the callback does not
 * run and will not, so the event's memory may go; two callbacks that delete each other's
 * event both return, and one line is logged; the finalizer comes after the last callback.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/lock/sync.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"
#include "system.h"

enum { ROUNDS = 3, EVENTS = 2 };

struct shape {
	unsigned workers;
	bool is_shared;
	bool is_foreign;		/* the deleter is no worker of the base, else a callback */
	bool is_activated;		/* by event_active; else by a descriptor */
	bool is_evthread;		/* the base is locked from the start */
	bool is_poll;			/* the poller that keeps no set in the kernel */
	bool is_recolored;		/* now and then */
};

struct victim {
	struct ec_event *ev;
	int fd;
	bool is_in, is_deleted, is_finalized;
	unsigned runs;
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct victim victim[EVENTS];
	_Atomic(unsigned) done;
	_Atomic(unsigned) started;
} t;

/* A base that is locked without colors stays so. */
static uint32_t color(uint32_t number)
{
	return t.shape->is_evthread ? 0 : number;
}

static void stop(void *arg)
{
	(void)arg;
	sim_check(ec_base_loopbreak(t.base) == 0);
}

/* By a post, which waits for the loop if that has not begun; a loopbreak then would be forgotten. */
static void stop_loop(void)
{
	sim_check(ec_base_post(t.base, 0, stop, NULL) == 0);
}

/* ---------------------------------------------------------------- one deletes, one runs */

static void victim_run(int fd, short what, void *arg)
{
	struct victim *v = arg;

	(void)fd;
	(void)what;
	sim_note("victim runs");
	sim_check(!v->is_deleted && !v->is_in);
	/*
	 * Its descriptor may be one that was closed and opened anew: what came for that is not for this.
	 * With poll, which has only the number, nobody can tell, as in libevent.
	 */
	if (!t.shape->is_activated && !t.shape->is_poll)
		sim_check(sim_fd_bytes(v->fd) != 0);
	v->is_in = true;
	v->runs++;
	if (sim_random(2) == 0)
		sim_sleep(3000);
	EC_POINT();
	sim_check(!v->is_deleted);
	v->is_in = false;
}

static void victim_new(struct victim *v, uint32_t color)
{
	*v = (struct victim){ .ev = malloc(sizeof(*v->ev)), .fd = sim_fd_open() };
	sim_check(v->ev != NULL);
	sim_check(ec_event_init(v->ev, t.base, v->fd, EC_READ | EC_PERSIST, victim_run, v) == 0);
	if (t.shape->is_shared)
		sim_check(ec_event_set_color_shared(v->ev, color) == 0);
	else
		sim_check(ec_event_set_color(v->ev, color) == 0);
	sim_check(ec_event_add(v->ev, NULL) == 0);
	if (t.shape->is_activated)
		ec_event_active(v->ev, EC_READ, 1);
	else if (sim_random(2) == 0)
		sim_fd_write(v->fd);
}

static void victim_delete(struct victim *v)
{
	sim_check(ec_event_del(v->ev, EC_DEL_BLOCK) == 0);
	sim_note("deleted");
	sim_check(!v->is_in);
	v->is_deleted = true;
	free(v->ev);
	v->ev = NULL;
	sim_fd_close(v->fd);
}

static void delete_rounds(void)
{
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		victim_new(&t.victim[0], color(100 + i));
		if (sim_random(2) == 0)
			sim_sleep(sim_random(8000));
		victim_delete(&t.victim[0]);
	}
	stop_loop();
}

static void deleter_main(void *arg)
{
	(void)arg;
	delete_rounds();
}

static void deleter_post(void *arg)
{
	(void)arg;
	delete_rounds();
}

static void nothing(void *arg)
{
	(void)arg;
}

static void begin(const void *arg)
{
	t.shape = arg;
	if (t.shape->is_evthread)
		sim_threads_on();
	t.base = sim_base_new(t.shape->workers, t.shape->is_poll ? "poll" : "epoll");
	t.done = t.started = 0;
	/* Colored from here on, so that any thread may call. */
	if (!t.shape->is_evthread)
		sim_check(ec_color_set_cost(t.base, 7, 100000) == 0);
}

static void end(void)
{
	sim_base_free(t.base);
}

static void del_waits(const void *arg)
{
	int id = -1;

	begin(arg);
	if (t.shape->is_foreign)
		id = sim_start("deleter", deleter_main, NULL);
	else
		sim_check(ec_base_post(t.base, 7, deleter_post, NULL) == 0);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	if (id >= 0)
		sim_join(id);
	sim_check(sim_warnings() == 0);
	end();
}

/* ---------------------------------------------------------------- from color to color */

enum { RUNS_MAX = 4 };

/* Its callback gives its event another color, and may make it active there: who deletes it waits for each run. */
static struct {
	unsigned begun, ended;
	bool is_over[RUNS_MAX + 1];
} wander;

static void wanderer_run(int fd, short what, void *arg)
{
	struct victim *v = arg;
	unsigned n = wander.begun++;

	(void)fd;
	(void)what;
	sim_note("wanderer runs");
	if (n < RUNS_MAX) {
		(void)ec_event_set_color(v->ev, color(101 + n));
		if (sim_random(3) != 0)
			ec_event_active(v->ev, EC_READ, 1);
	}
	if (sim_random(2) == 0)
		sim_sleep(3000);
	EC_POINT();
	if (n <= RUNS_MAX)
		wander.is_over[n] = true;
	wander.ended++;
}

static void wanderer_delete(struct victim *v)
{
	unsigned begun = wander.begun, i;

	sim_check(ec_event_del(v->ev, EC_DEL_BLOCK) == 0);
	for (i = 0; i < begun && i <= RUNS_MAX; i++)
		sim_check(wander.is_over[i]);
}

static void wander_off(void *arg)
{
	struct victim *v = arg;
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		if (sim_random(2) == 0)
			sim_sleep(sim_random(6000));
		wanderer_delete(v);
	}
	stop_loop();
}

static void recolor(const void *arg)
{
	struct victim *v = &t.victim[0];
	int id = -1;

	begin(arg);
	memset(&wander, 0, sizeof(wander));
	*v = (struct victim){ .ev = malloc(sizeof(*v->ev)), .fd = -1 };
	sim_check(v->ev != NULL);
	sim_check(ec_event_init(v->ev, t.base, -1, 0, wanderer_run, v) == 0);
	sim_check(ec_event_set_color(v->ev, color(100)) == 0);
	ec_event_active(v->ev, EC_READ, 1);
	if (t.shape->is_foreign)
		id = sim_start("deleter", wander_off, v);
	else
		sim_check(ec_base_post(t.base, 7, wander_off, v) == 0);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	if (id >= 0)
		sim_join(id);
	sim_check(wander.ended == wander.begun);
	sim_check(ec_event_del(v->ev, EC_DEL_BLOCK) == 0);
	sim_check(ec_base_num_events(t.base, EC_COUNT_ADDED | EC_COUNT_ACTIVE) == 0);
	free(v->ev);
	end();
}

/* The finalizer comes after all of them, too, by whichever thread. */
static void wanderer_finalized(struct ec_event *ev, void *arg)
{
	struct victim *v = arg;

	sim_note("finalizer");
	sim_check(ev == v->ev && !v->is_finalized && wander.ended == wander.begun);
	v->is_finalized = true;
	stop_loop();
}

static void wanderer_end(void *arg)
{
	struct victim *v = arg;

	if (sim_random(2) == 0)
		sim_sleep(sim_random(8000));
	sim_check(ec_event_finalize(v->ev, wanderer_finalized, false) == 0);
}

static void recolor_finalize(const void *arg)
{
	struct victim *v = &t.victim[0];
	int id;

	begin(arg);
	memset(&wander, 0, sizeof(wander));
	*v = (struct victim){ .ev = malloc(sizeof(*v->ev)), .fd = -1 };
	sim_check(v->ev != NULL);
	sim_check(ec_event_init(v->ev, t.base, -1, 0, wanderer_run, v) == 0);
	sim_check(ec_event_set_color(v->ev, color(100)) == 0);
	ec_event_active(v->ev, EC_READ, 1);
	id = sim_start("finalizer", wanderer_end, v);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	sim_join(id);
	sim_check(v->is_finalized);
	free(v->ev);
	end();
}

/* ---------------------------------------------------------------- each deletes the other */

static void deletes_other(int fd, short what, void *arg)
{
	struct victim *v = arg, *other = v == &t.victim[0] ? &t.victim[1] : &t.victim[0];

	(void)fd;
	(void)what;
	ec_add_acq_rel(&t.started, 1);
	/* Often both are here at once. */
	if (sim_random(2) == 0)
		sim_sleep(5000);
	sim_check(ec_event_del(other->ev, EC_DEL_BLOCK) == 0);
	sim_note("has deleted the other");
	ec_add_acq_rel(&t.done, 1);
}

static void mutual(const void *arg)
{
	unsigned i;

	begin(arg);
	for (i = 0; i < EVENTS; i++) {
		struct victim *v = &t.victim[i];

		*v = (struct victim){ .ev = malloc(sizeof(*v->ev)), .fd = -1 };
		sim_check(v->ev != NULL);
		sim_check(ec_event_init(v->ev, t.base, -1, EC_PERSIST, deletes_other, v) == 0);
		sim_check(ec_event_set_color(v->ev, color(100 + i)) == 0);
		ec_event_active(v->ev, EC_READ, 1);
	}
	sim_check(ec_base_loop(t.base, 0) == 1);
	/* A callback that was deleted before it began did not run; one that ran came to its end. */
	sim_check(t.started >= 1 && t.done == t.started);
	sim_check(sim_warnings() <= 1);
	sim_check(t.started == 2 || sim_warnings() == 0);
	for (i = 0; i < EVENTS; i++)
		free(t.victim[i].ev);
	end();
}

/* ---------------------------------------------------------------- finalizers */

static void finalized(struct ec_event *ev, void *arg)
{
	struct victim *v = arg;

	sim_note("finalizer");
	sim_check(ev == v->ev && !v->is_in && !v->is_finalized);
	v->is_finalized = true;
	v->is_deleted = true;
	stop_loop();
}

static void finalizer_main(void *arg)
{
	(void)arg;
	if (sim_random(2) == 0)
		sim_sleep(sim_random(8000));
	sim_check(ec_event_finalize(t.victim[0].ev, finalized, true) == 0);
}

static void finalize(const void *arg)
{
	struct victim *v = &t.victim[0];
	int id;

	begin(arg);
	*v = (struct victim){ .ev = ec_malloc(sizeof(*v->ev)), .fd = sim_fd_open() };
	sim_check(v->ev != NULL);
	sim_check(ec_event_init(v->ev, t.base, v->fd, EC_READ | EC_PERSIST, victim_run, v) == 0);
	sim_check(ec_event_set_color(v->ev, color(100)) == 0);
	sim_check(ec_event_add(v->ev, NULL) == 0);
	sim_fd_write(v->fd);
	id = sim_start("finalizer", finalizer_main, NULL);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	sim_join(id);
	sim_check(v->is_finalized);
	end();
}

/* ---------------------------------------------------------------- storms */

static void count_run(int fd, short what, void *arg)
{
	struct victim *v = arg;

	(void)fd;
	(void)what;
	/* In two colors it may run twice at once. */
	sim_check(!v->is_in || t.shape->is_recolored);
	v->is_in = true;
	v->runs++;
	EC_POINT();
	v->is_in = false;
}

/* Adds, activates and deletes an event that others treat likewise. */
static void stormer_main(void *arg)
{
	static const struct timeval moment = { .tv_usec = 1 };
	struct victim *v = arg;
	unsigned i;

	for (i = 0; i < 4; i++) {
		if (t.shape->is_recolored)
			(void)ec_event_set_color(v->ev, 100 + sim_random(2));
		switch (sim_random(4)) {
		case 0:
			sim_check(ec_event_add(v->ev, sim_random(2) == 0 ? NULL : &moment) == 0);
			break;
		case 1:
			ec_event_active(v->ev, EC_READ, 1);
			break;
		case 2:
			sim_check(ec_event_del(v->ev, EC_DEL_BLOCK) == 0);
			break;
		case 3:
			(void)ec_event_pending(v->ev, EC_READ | EC_TIMEOUT, NULL);
			break;
		}
	}
}

static void storm(const void *arg)
{
	struct victim *v = &t.victim[0];
	int ids[3];
	unsigned i;

	begin(arg);
	*v = (struct victim){ .ev = malloc(sizeof(*v->ev)), .fd = sim_fd_open() };
	sim_check(v->ev != NULL);
	sim_check(ec_event_init(v->ev, t.base, v->fd, (short)(EC_READ | (sim_random(2) == 0 ? EC_PERSIST : 0)),
				count_run, v) == 0);
	sim_check(ec_event_set_color(v->ev, color(100)) == 0);
	for (i = 0; i < 2; i++)
		ids[i] = sim_start("stormer", stormer_main, v);
	ids[2] = sim_start("nothing", nothing, NULL);
	ec_base_add_virtual(t.base);
	sim_check(ec_base_post(t.base, color(100), stormer_main, v) == 0);
	sim_check(ec_base_loopexit(t.base, &(struct timeval){ .tv_usec = 100 }) == 0);
	sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < 3; i++)
		sim_join(ids[i]);
	sim_check(ec_event_del(v->ev, EC_DEL_BLOCK) == 0);
	sim_check(ec_event_pending(v->ev, EC_READ | EC_TIMEOUT, NULL) == 0);
	ec_base_del_virtual(t.base);
	sim_check(ec_base_num_events(t.base, EC_COUNT_ACTIVE) == 0);
	free(v->ev);
	end();
}

/* A foreign thread takes the last event of a loop that sleeps: the loop ends. */
static void last_one_main(void *arg)
{
	struct victim *v = arg;

	sim_check(ec_event_del(v->ev, EC_DEL_BLOCK) == 0);
}

static void last_one(const void *arg)
{
	struct victim *v = &t.victim[0];
	int id;

	begin(arg);
	*v = (struct victim){ .ev = malloc(sizeof(*v->ev)), .fd = sim_fd_open() };
	sim_check(v->ev != NULL);
	sim_check(ec_event_init(v->ev, t.base, v->fd, EC_READ | EC_PERSIST, count_run, v) == 0);
	sim_check(ec_event_set_color(v->ev, color(100)) == 0);
	sim_check(ec_event_add(v->ev, NULL) == 0);
	id = sim_start("deleter", last_one_main, v);
	sim_check(ec_base_loop(t.base, 0) == 1);
	sim_join(id);
	free(v->ev);
	end();
}

#define CASE(n, fn, ...) { .name = n, .body = fn, .arg = &(const struct shape){ __VA_ARGS__ } }

int main(int argc, char **argv)
{
	const struct sim_case cases[] = {
		CASE("foreign", del_waits, .workers = 2, .is_foreign = true),
		CASE("foreign-active", del_waits, .workers = 2, .is_foreign = true, .is_activated = true),
		CASE("foreign-poll", del_waits, .workers = 2, .is_foreign = true, .is_poll = true),
		CASE("foreign-shared", del_waits, .workers = 3, .is_foreign = true, .is_shared = true),
		CASE("callback", del_waits, .workers = 3),
		CASE("callback-active", del_waits, .workers = 3, .is_activated = true),
		CASE("recolor", recolor, .workers = 2),
		CASE("recolor-foreign", recolor, .workers = 3, .is_foreign = true),
		CASE("recolor-alone", recolor, .workers = 1, .is_foreign = true),
		CASE("recolor-finalize", recolor_finalize, .workers = 3),
		CASE("mutual", mutual, .workers = 2),
		CASE("mutual-three", mutual, .workers = 3),
		CASE("finalize", finalize, .workers = 2),
		CASE("storm", storm, .workers = 2),
		CASE("storm-recolor", storm, .workers = 2, .is_recolored = true),
		CASE("storm-poll", storm, .workers = 2, .is_poll = true),
		CASE("last-one", last_one, .workers = 2),
		CASE("foreign-evthread", del_waits, .workers = 1, .is_foreign = true, .is_evthread = true),
		CASE("active-evthread", del_waits, .workers = 1, .is_foreign = true, .is_activated = true,
		     .is_evthread = true),
		CASE("finalize-evthread", finalize, .workers = 1, .is_evthread = true),
		CASE("storm-evthread", storm, .workers = 1, .is_evthread = true),
		CASE("storm-evthread-poll", storm, .workers = 1, .is_evthread = true, .is_poll = true),
		CASE("last-one-evthread", last_one, .workers = 1, .is_evthread = true),
		CASE("foreign-alone", del_waits, .workers = 1, .is_foreign = true),
		CASE("active-alone", del_waits, .workers = 1, .is_foreign = true, .is_activated = true),
		CASE("callback-alone", del_waits, .workers = 1),
		CASE("finalize-alone", finalize, .workers = 1),
		CASE("storm-alone", storm, .workers = 1),
		CASE("last-one-alone", last_one, .workers = 1),
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
