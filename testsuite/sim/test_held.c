/*
 * A base with locks and without colors: its loop's thread holds both locks but in callbacks (core/sched/zero.h), while
 * other threads activate and delete its events, change their priorities, pause it, give it its first color, or run its
 * next loop.
 */
#include <errno.h>
#include <stddef.h>

#include "core/os/atomic.h"
#include "driver.h"
#include "engine.h"
#include "sched.h"

enum { VISITORS = 2, EVENTS = 4, ROUNDS = 4, COLOR = 7, PRIORITIES = 3 };

struct shape {
	unsigned workers;
	bool has_colors;		/* a visitor gives the base its first color, */
	bool only_pauses;		/* … or a callback, while visitors pause the base */
	bool is_moving;			/* two threads run loops in turn */
	bool has_priorities;		/* visitors change them */
};

/* An event, which one visitor uses. */
struct visited {
	struct ec_event ev;
	struct sim_mark mark;
	unsigned wanted, seen;		/* activations */
};

static struct {
	const struct shape *shape;
	struct ec_base *base;
	struct visited visited[EVENTS];	/* of color 0 */
	struct sim_mark color0;
	struct ec_event colored, timer, stop, again;
	_Atomic(unsigned) waiting;	/* visitors that may wait for the end of a callback */
	_Atomic(unsigned) colored_ran;
	_Atomic(unsigned) loops;	/* threads in a loop, if they move */
	_Atomic(bool) is_over;
	unsigned late;			/* callbacks after a break */
	bool is_sent;			/* of the loop's thread: it gave the base its first color */
} t;

static void nothing(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

/* The loop's thread changes its base, too. */
static void own_change(struct visited *v)
{
	static const struct timeval soon = { .tv_usec = 1 };

	switch (sim_random(4)) {
	case 0:
		sim_check(ec_event_add(&t.timer, &soon) == 0);
		break;
	case 1:
		sim_check(ec_event_del(&t.timer, EC_DEL_BLOCK) == 0);
		break;
	case 2:
		sim_check(ec_event_del(&v->ev, EC_DEL_BLOCK) == 0);
		v->wanted = v->seen;
		break;
	default:
		break;
	}
}

static void visited_cb(int fd, short what, void *arg)
{
	struct visited *v = arg;

	(void)fd;
	(void)what;
	sim_mark_enter(&t.color0);
	sim_mark_enter(&v->mark);
	v->seen = v->wanted;
	sim_mark_leave(&v->mark);
	own_change(v);
	sim_mark_leave(&t.color0);
}

static void colored_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	t.colored_ran++;
}

/* Runs again and again, so that no run of a lane ends, until no visitor waits. */
static void again_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (t.shape->only_pauses && !t.is_sent) {
		t.is_sent = true;
		ec_event_active(&t.colored, EC_READ, 1);
	}
	if (ec_load_relaxed(&t.waiting) != 0)
		ec_event_active(&t.again, EC_READ, 1);
}

static void stop_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ec_store_relaxed(&t.is_over, true);
	sim_check(ec_base_loopbreak(t.base) == 0);
}

static void pause_once(void)
{
	sim_check(ec_base_pause(t.base) == 0);
	sim_mark_enter(&t.color0);
	sim_mark_leave(&t.color0);
	sim_check(ec_base_resume(t.base) == 0);
}

static void wait_begin(void)
{
	ec_add_acq_rel(&t.waiting, 1);
	ec_event_active(&t.again, EC_READ, 1);
}

/* The other visitor may activate it meanwhile. */
static void change_priority(struct visited *v)
{
	int r = ec_event_set_pri(&v->ev, (int)sim_random(PRIORITIES));

	sim_check(r == 0 || r == -EBUSY);
}

static void visitor_main(void *arg)
{
	struct visited *first = arg, *v;
	unsigned i, color_at = ROUNDS;

	if (t.shape->has_colors && !t.shape->only_pauses && first == t.visited)
		color_at = sim_random(ROUNDS);
	for (i = 0; i < ROUNDS; i++) {
		if (i == color_at)
			ec_event_active(&t.colored, EC_READ, 1);
		v = &first[sim_random(EVENTS / VISITORS)];
		switch (t.shape->only_pauses ? 1 : sim_random(4)) {
		case 0:
			wait_begin();
			sim_check(ec_event_del(&v->ev, EC_DEL_BLOCK) == 0);
			sim_check(!v->mark.is_in);
			ec_sub_acq_rel(&t.waiting, 1);
			v->wanted = v->seen;
			break;
		case 1:
			wait_begin();
			pause_once();
			ec_sub_acq_rel(&t.waiting, 1);
			break;
		default:
			if (t.shape->has_priorities)
				change_priority(&t.visited[sim_random(EVENTS)]);
			v->wanted++;
			ec_event_active(&v->ev, EC_READ, 1);
		}
	}
}

/* One loop at a time; it does not wait, so that each thread gets its turns. */
static void loop_once(void)
{
	while (ec_swap_acq_rel(&t.loops, 1) != 0)
		ec_cpu_relax();
	sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	ec_store_release(&t.loops, 0);
	ec_cpu_relax();
}

static void loop_main(void *arg)
{
	(void)arg;
	while (!ec_load_relaxed(&t.is_over)) {
		if (t.shape->is_moving)
			loop_once();
		else
			sim_check(ec_base_loop(t.base, EC_LOOP_NO_EXIT_ON_EMPTY) >= 0);
	}
}

static void make(const struct shape *shape)
{
	unsigned i;

	sim_threads_on();
	t.shape = shape;
	t.base = sim_base_new(shape->workers, "epoll");
	sim_check(!shape->has_priorities || ec_base_priority_init(t.base, PRIORITIES) == 0);
	t.color0 = (struct sim_mark){ .is_in = false };
	t.colored_ran = t.loops = t.waiting = 0;
	t.is_over = t.is_sent = false;
	t.late = 0;
	for (i = 0; i < EVENTS; i++) {
		t.visited[i] = (struct visited){ .wanted = 0 };
		sim_check(ec_event_init(&t.visited[i].ev, t.base, -1, i % 2 == 0 ? EC_PERSIST : 0, visited_cb,
					&t.visited[i]) == 0);
	}
	sim_check(ec_event_init(&t.timer, t.base, -1, 0, nothing, NULL) == 0);
	sim_check(ec_event_init(&t.again, t.base, -1, 0, again_cb, NULL) == 0);
	sim_check(ec_event_init(&t.stop, t.base, -1, 0, stop_cb, NULL) == 0);
	sim_check(ec_event_init(&t.colored, t.base, -1, 0, colored_cb, NULL) == 0);
	sim_check(ec_event_set_color(&t.colored, COLOR) == 0);
}

/* No activation is lost. */
static void check_all(void)
{
	unsigned i;

	for (i = 0; i < EVENTS; i++)
		sim_check(t.visited[i].seen == t.visited[i].wanted);
	sim_check(t.colored_ran == (t.shape->has_colors ? 1 : 0));
}

static void body(const void *arg)
{
	int loops[2] = { 0, 0 }, visitors[VISITORS];
	unsigned i;

	make(arg);
	if (t.shape->is_moving)
		loops[0] = sim_start("other loop", loop_main, NULL);
	loops[1] = sim_start("loop", loop_main, NULL);
	for (i = 0; i < VISITORS; i++)
		visitors[i] = sim_start("visitor", visitor_main, &t.visited[i * (EVENTS / VISITORS)]);
	for (i = 0; i < VISITORS; i++)
		sim_join(visitors[i]);
	ec_event_active(&t.stop, EC_READ, 1);
	for (i = t.shape->is_moving ? 0 : 1; i < 2; i++)
		sim_join(loops[i]);
	while (ec_base_num_events(t.base, EC_COUNT_ACTIVE) != 0)
		sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	check_all();
	sim_check(ec_event_del(&t.timer, EC_DEL_BLOCK) == 0);
	sim_base_free(t.base);
}

/* ---------------------------------------------------------------- visits of all events */

/* An event that one thread deletes, or the loop's callback ends, while other threads visit all. */
struct listed {
	struct ec_event ev;
	_Atomic(bool) is_gone;		/* as if it were freed: nobody may visit it */
};

static struct {
	struct listed deleted[2], fired[2];
	_Atomic(bool) is_colored;	/* a visitor gave the base its first color: it would have to pause it now */
} l;

static void listed_is_gone(struct listed *e)
{
	ec_store_relaxed(&e->is_gone, true);
	EC_POINT();
	ec_store_relaxed(&e->is_gone, false);
}

static void fired_cb(int fd, short what, void *arg)
{
	struct listed *e = arg;

	(void)fd;
	(void)what;
	listed_is_gone(e);
	if (!ec_load_relaxed(&t.is_over))
		ec_event_active(&e->ev, EC_READ, 1);
}

static struct listed *listed_of(struct ec_event *ev)
{
	unsigned i;

	for (i = 0; i < 2; i++) {
		if (ev == &l.deleted[i].ev)
			return &l.deleted[i];
		if (ev == &l.fired[i].ev)
			return &l.fired[i];
	}
	return NULL;
}

static int look(struct ec_base *base, struct ec_event *ev, void *arg)
{
	struct listed *e = listed_of(ev);
	unsigned i, depth = *(const unsigned *)arg + 1;

	for (i = 0; i < 3 && e != NULL && !ec_load_relaxed(&l.is_colored); i++) {
		sim_check(!ec_load_relaxed(&e->is_gone) || ec_load_relaxed(&l.is_colored));
		EC_POINT();
	}
	(void)ec_event_pending(ev, EC_READ | EC_TIMEOUT, NULL);
	if (depth == 1 && sim_random(4) == 0)
		(void)ec_base_foreach_event(base, look, &depth);
	if (t.shape->has_colors && sim_random(8) == 0 && !ec_swap_acq_rel(&l.is_colored, true))
		ec_event_active(&t.colored, EC_READ, 1);
	return sim_random(8) == 0;
}

static void look_main(void *arg)
{
	unsigned i, depth = 0;
	int r;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		r = ec_base_foreach_event(t.base, look, &depth);
		sim_check(r == 0 || r == 1);
	}
}

static void delete_main(void *arg)
{
	static const struct timeval soon = { .tv_usec = 1 };
	struct listed *e;
	unsigned i;

	(void)arg;
	for (i = 0; i < 2 * ROUNDS; i++) {
		e = &l.deleted[sim_random(2)];
		if (sim_random(2) == 0)
			sim_check(ec_event_add(&e->ev, &soon) == 0);
		else
			ec_event_active(&e->ev, EC_READ, 1);
		EC_POINT();
		sim_check(ec_event_del(&e->ev, EC_DEL_BLOCK) == 0);
		listed_is_gone(e);
	}
}

static void look_body(const void *arg)
{
	int loop, threads[3];
	unsigned i;

	make(arg);
	ec_store_relaxed(&l.is_colored, false);
	for (i = 0; i < 2; i++) {
		sim_check(ec_event_init(&l.deleted[i].ev, t.base, -1, 0, nothing, NULL) == 0);
		sim_check(ec_event_init(&l.fired[i].ev, t.base, -1, 0, fired_cb, &l.fired[i]) == 0);
		l.deleted[i].is_gone = l.fired[i].is_gone = false;
		ec_event_active(&l.fired[i].ev, EC_READ, 1);
	}
	loop = sim_start("loop", loop_main, NULL);
	threads[0] = sim_start("visitor", look_main, NULL);
	threads[1] = sim_start("visitor", look_main, NULL);
	threads[2] = sim_start("deleter", delete_main, NULL);
	for (i = 0; i < 3; i++)
		sim_join(threads[i]);
	ec_event_active(&t.stop, EC_READ, 1);
	sim_join(loop);
	while (ec_base_num_events(t.base, EC_COUNT_ACTIVE) != 0)
		sim_check(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	sim_base_free(t.base);
}

/* ---------------------------------------------------------------- loopbreak */

/*
 * Runs for ever, in this turn or in the next one. After the break it may run once, and once more if its own
 * look came before the store.
 */
static void endless_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	ec_store_relaxed(&t.waiting, 1);
	sim_check(!ec_load_relaxed(&t.is_over) || ++t.late <= 2);
	if (!ec_load_relaxed(&t.is_over) && sim_random(2) == 0)
		sim_check(ec_base_loopcontinue(t.base) == 0);
	if (sim_random(4) == 0)
		sim_sleep(1);		/* a schedule may let the others run only then */
	ec_event_active(&t.again, EC_READ, 1);
}

static void breaker_main(void *arg)
{
	unsigned i;

	(void)arg;
	while (ec_load_relaxed(&t.waiting) == 0)		/* a break before the loop begins is for no loop */
		sim_sleep(1);
	for (i = sim_random(100); i > 0; i--)
		EC_POINT();
	if (sim_random(2) == 0)
		sim_check(ec_base_loopcontinue(t.base) == 0);	/* from now on the locks are not biased */
	sim_check(ec_base_loopbreak(t.base) == 0);
	ec_store_relaxed(&t.is_over, true);
}

/* Another thread ends the loop, also in the moment in which a turn begins. */
static void break_body(const void *arg)
{
	int breaker;

	make(arg);
	sim_check(ec_event_del(&t.again, EC_DEL_BLOCK) == 0);
	sim_check(ec_event_init(&t.again, t.base, -1, 0, endless_cb, NULL) == 0);
	ec_event_active(&t.again, EC_READ, 1);
	breaker = sim_start("breaker", breaker_main, NULL);
	sim_check(ec_base_loop(t.base, 0) == 0);
	sim_join(breaker);
	sim_base_free(t.base);
}

int main(int argc, char **argv)
{
	static const struct shape plain = { .workers = 2 }, one = { .workers = 1 },
				  moving = { .workers = 2, .is_moving = true },
				  colors = { .workers = 2, .has_colors = true },
				  pauses = { .workers = 2, .has_colors = true, .only_pauses = true },
				  priorities = { .workers = 2, .has_priorities = true },
				  all = { .workers = 2, .has_colors = true, .has_priorities = true },
				  one_color = { .workers = 1, .has_colors = true },
				  moving_colors = { .workers = 2, .has_colors = true, .is_moving = true };
	const struct sim_case cases[] = {
		{ .name = "visitors", .body = body, .arg = &plain },
		{ .name = "visitors-one-worker", .body = body, .arg = &one },
		{ .name = "moving", .body = body, .arg = &moving },
		{ .name = "priorities", .body = body, .arg = &priorities },
		{ .name = "priorities-colors", .body = body, .arg = &all },
		{ .name = "colors", .body = body, .arg = &colors },
		{ .name = "colors-pauses", .body = body, .arg = &pauses },
		{ .name = "colors-one-worker", .body = body, .arg = &one_color },
		{ .name = "moving-colors", .body = body, .arg = &moving_colors },
		{ .name = "foreach", .body = look_body, .arg = &plain },
		{ .name = "foreach-one-worker", .body = look_body, .arg = &one },
		{ .name = "foreach-colors", .body = look_body, .arg = &colors },
		{ .name = "break", .body = break_body, .arg = &plain },
		{ .name = "break-one-worker", .body = break_body, .arg = &one },
		{ .name = NULL },
	};

	return sim_main(argc, argv, cases);
}
