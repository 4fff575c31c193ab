/*
 * 16. Bases meet: a callback of one base may run, pause, delete in, or free another base. Waits that form
 * a circle, across bases, pauses and deletions, are found: one line is logged, and the call that
 * closes the circle returns without waiting.
 */
#include "stress.h"

static atomic_uint warnings_num;

static void count_log(int severity, const char *msg)
{
	(void)msg;
	if (severity >= EVENT_LOG_WARN)
		atomic_fetch_add(&warnings_num, 1);
}

static void no_work_fn(void *arg)
{
	(void)arg;
}

static void *loop_main(void *arg)
{
	CHECK(event_base_dispatch(arg) >= 0);
	return NULL;
}

/* ---------------------------------------------------------------- a loop in a callback */

/* Callback X of base A runs the loop of B, where one callback is on the loop's thread and one on a worker. */
struct nested {
	struct event_base *a, *b;
	struct event *x;
	struct latch both_inside;
	void (*meet)(struct nested *n);
	unsigned ran;
	uint32_t color;			/* of X */
};

static void nested_fn(void *arg)
{
	struct nested *n = arg;

	latch_meet(&n->both_inside);
	n->meet(n);
}

static void nested_x_cb(evutil_socket_t fd, short what, void *arg)
{
	struct nested *n = arg;

	(void)fd;
	(void)what;
	post(n->b, 0, nested_fn, n);
	post(n->b, 5, nested_fn, n);
	CHECK(event_base_dispatch(n->b) == 1);
	n->ran++;
}

static void run_nested(void (*meet)(struct nested *n), unsigned warnings_least, unsigned warnings_most)
{
	struct nested n = { .a = base_new(2), .b = base_new(2), .meet = meet };

	event_set_log_callback(count_log);
	for (unsigned i = 0; i < rounds(200); i++) {
		atomic_store(&warnings_num, 0);
		latch_init(&n.both_inside, 2);
		n.color = i % 2;
		n.x = ev_new(n.a, -1, EV_PERSIST, n.color, nested_x_cb, &n);
		post(n.a, 9, no_work_fn, NULL);
		event_active(n.x, EV_READ, 1);
		assert_int_equal(event_base_dispatch(n.a), 1);
		assert_int_equal(n.ran, i + 1);
		assert_in_range(atomic_load(&warnings_num), warnings_least, warnings_most);
		event_free(n.x);
		latch_fini(&n.both_inside);
	}
	event_set_log_callback(NULL);
	event_base_free(n.b);
	event_base_free(n.a);
}

static void deletes_outer(struct nested *n)
{
	CHECK(event_del(n->x) == 0);
	CHECK(event_del_block(n->x) == 0);
}

/* On the loop's thread it is its own callback's event; elsewhere each of the two calls closes a circle. */
static void test_contract_16_bases_meet_nested_deletes_outer(void **state)
{
	(void)state;
	run_nested(deletes_outer, 2, 2);
}

static void pauses_outer(struct nested *n)
{
	CHECK(event_base_pause(n->a) == 0);
	CHECK(event_base_resume(n->a) == 0);
}

/*
 * The worker's pause waits for X, whose loop waits for the worker: a circle. But if X's thread comes to its own pause
 * meanwhile, it is at rest until the worker resumes: then there is no circle, and no warning.
 */
static void test_contract_16_bases_meet_nested_pauses_outer(void **state)
{
	(void)state;
	run_nested(pauses_outer, 0, 2);
}

/* Which the calling thread is in, however deep. */
static void asks_outer(struct nested *n)
{
	uint32_t color = 99;

	if (event_base_get_running_worker(n->b) != 0)
		return;
	CHECK(event_base_get_running_worker(n->a) >= 0);
	CHECK(event_base_get_running_color(n->a, &color) == 0 && color == n->color);
	CHECK(event_base_get_running_event(n->a) == n->x);
	CHECK(event_base_get_running_color(n->b, &color) == 0 && color == 0);
}

static void test_contract_16_bases_meet_nested_knows_outer(void **state)
{
	(void)state;
	run_nested(asks_outer, 0, 0);
}

/* ---------------------------------------------------------------- each deletes the other's */

enum { BASES_MAX = 3 };

struct ring {
	struct ring_base {
		struct ring *ring;
		unsigned i;
		struct event_base *base;
		struct event *ev;
	} at[BASES_MAX];
	unsigned num, last;		/* the one that deletes when all others have */
	struct latch all_inside;
	atomic_uint ended;
};

static void ring_cb(evutil_socket_t fd, short what, void *arg)
{
	struct ring_base *me = arg;
	struct ring *r = me->ring;

	(void)fd;
	(void)what;
	latch_meet(&r->all_inside);
	/* An event that is being deleted is pending no more: all others wait then, or are about to. */
	for (unsigned i = 0; me->i == r->last && i < r->num; i++)
		while (i != (r->last + 1) % r->num && event_pending(r->at[i].ev, EV_TIMEOUT, NULL))
			sched_yield();
	CHECK(event_del(r->at[(me->i + 1) % r->num].ev) == 0);
	atomic_fetch_add(&r->ended, 1);
}

static void delete_around(unsigned num, unsigned workers)
{
	struct ring r = { .num = num };
	pthread_t threads[BASES_MAX];

	event_set_log_callback(count_log);
	for (unsigned i = 0; i < num; i++)
		r.at[i] = (struct ring_base){ &r, i, base_new(workers), NULL };
	for (unsigned round = 0; round < rounds(200); round++) {
		r.last = round % num;
		atomic_store(&r.ended, 0);
		atomic_store(&warnings_num, 0);
		latch_init(&r.all_inside, num);
		for (unsigned i = 0; i < num; i++) {
			r.at[i].ev = ev_new(r.at[i].base, -1, EV_PERSIST, 1 + round % 2, ring_cb, &r.at[i]);
			CHECK(event_add(r.at[i].ev, &hour_tv) == 0);
			event_active(r.at[i].ev, EV_READ, 1);
		}
		for (unsigned i = 0; i < num; i++)
			threads[i] = thread_start(loop_main, r.at[i].base);
		for (unsigned i = 0; i < num; i++)
			thread_join(threads[i]);
		assert_int_equal(atomic_load(&r.ended), num);
		assert_int_equal(atomic_load(&warnings_num), 1);
		for (unsigned i = 0; i < num; i++)
			event_free(r.at[i].ev);
		latch_fini(&r.all_inside);
	}
	event_set_log_callback(NULL);
	for (unsigned i = 0; i < num; i++)
		event_base_free(r.at[i].base);
}

static void test_contract_16_bases_meet_delete_each_other(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++)
		delete_around(2, workers);
}

static void test_contract_16_bases_meet_delete_in_a_ring(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++)
		delete_around(3, workers);
}

/* ---------------------------------------------------------------- pauses and deletions */

/* Two callbacks, of one base or of two, each of which does something to the other. */
struct two {
	struct side {
		struct two *two;
		struct side *other;
		struct event_base *base;
		struct event *ev;
		void (*act)(struct side *s);
		bool comes_last;	/* the other one has deleted this one's event */
	} at[2];
	struct latch both_inside;
	atomic_uint ended;
};

static void deletes(struct side *s)
{
	CHECK(event_del(s->other->ev) == 0);
}

static void pauses(struct side *s)
{
	CHECK(event_base_pause(s->other->base) == 0);
	CHECK(event_base_pause(s->other->base) == 0);
	CHECK(event_base_resume(s->other->base) == 0);
	CHECK(event_base_resume(s->other->base) == 0);
	CHECK(event_base_resume(s->other->base) == -1);
}

static void two_cb(evutil_socket_t fd, short what, void *arg)
{
	struct side *s = arg;

	(void)fd;
	(void)what;
	latch_meet(&s->two->both_inside);
	while (s->comes_last && event_pending(s->ev, EV_TIMEOUT, NULL))
		sched_yield();
	s->act(s);
	atomic_fetch_add(&s->two->ended, 1);
}

static void run_two(struct two *t)
{
	pthread_t thread = 0;

	atomic_store(&t->ended, 0);
	atomic_store(&warnings_num, 0);
	latch_init(&t->both_inside, 2);
	for (unsigned i = 0; i < 2; i++) {
		t->at[i].ev = ev_new(t->at[i].base, -1, EV_PERSIST, i + 1, two_cb, &t->at[i]);
		CHECK(event_add(t->at[i].ev, &hour_tv) == 0);
		event_active(t->at[i].ev, EV_READ, 1);
	}
	if (t->at[0].base != t->at[1].base)
		thread = thread_start(loop_main, t->at[1].base);
	CHECK(event_base_dispatch(t->at[0].base) >= 0);
	if (t->at[0].base != t->at[1].base)
		thread_join(thread);
	assert_int_equal(atomic_load(&t->ended), 2);
	for (unsigned i = 0; i < 2; i++)
		event_free(t->at[i].ev);
	latch_fini(&t->both_inside);
}

static void ends_after(struct side *s)
{
	/* A loop that waits for an event which nobody deletes is to end all the same. */
	CHECK(event_base_loopexit(s->base, NULL) == 0);
}

static void deletes_and_ends(struct side *s)
{
	deletes(s);
	ends_after(s);
}

static void pauses_and_ends(struct side *s)
{
	pauses(s);
	ends_after(s);
}

static void meet(unsigned bases, void (*first)(struct side *), void (*second)(struct side *), bool has_order)
{
	struct two t;

	event_set_log_callback(count_log);
	for (unsigned i = 0; i < 2; i++) {
		t.at[i] = (struct side){ .two = &t, .other = &t.at[1 - i] };
		t.at[i].base = i == 0 || bases == 2 ? base_new(2) : t.at[0].base;
	}
	t.at[0].act = first;
	t.at[1].act = second;
	t.at[1].comes_last = has_order;
	for (unsigned round = 0; round < rounds(200); round++) {
		run_two(&t);
		if (has_order)
			assert_int_equal(atomic_load(&warnings_num), 1);
		else
			assert_in_range(atomic_load(&warnings_num), 0, 2);
	}
	event_set_log_callback(NULL);
	event_base_free(t.at[0].base);
	if (bases == 2)
		event_base_free(t.at[1].base);
}

/* The pause comes when the deletion waits: the second one to come is not to wait. */
static void test_contract_16_bases_meet_delete_then_pause(void **state)
{
	(void)state;
	for (unsigned bases = 1; bases <= 2; bases++)
		meet(bases, deletes_and_ends, pauses_and_ends, true);
}

/* In either order. */
static void test_contract_16_bases_meet_pause_against_delete(void **state)
{
	(void)state;
	for (unsigned bases = 1; bases <= 2; bases++)
		meet(bases, pauses_and_ends, deletes_and_ends, false);
}

static void test_contract_16_bases_meet_pause_each_other(void **state)
{
	(void)state;
	for (unsigned bases = 1; bases <= 2; bases++)
		meet(bases, pauses_and_ends, pauses_and_ends, false);
}

/* A thread that pauses deletes the event of a callback that waits in its own pause. */
struct paused {
	struct event_base *base;
	struct event *ev;
	struct latch both;
	unsigned ran;
};

static void paused_cb(evutil_socket_t fd, short what, void *arg)
{
	struct paused *p = arg;

	(void)fd;
	(void)what;
	latch_meet(&p->both);
	for (unsigned i = 0; i < 20; i++) {
		CHECK(event_base_pause(p->base) == 0);
		CHECK(event_base_resume(p->base) == 0);
	}
	p->ran++;
}

static void *paused_main(void *arg)
{
	struct paused *p = arg;

	latch_meet(&p->both);
	CHECK(event_base_pause(p->base) == 0);
	CHECK(event_del(p->ev) == 0);
	CHECK(event_base_resume(p->base) == 0);
	return NULL;
}

static void test_contract_16_bases_meet_pauser_deletes_pausing(void **state)
{
	struct paused p = { .base = base_new(2) };

	(void)state;
	event_set_log_callback(count_log);
	p.ev = ev_new(p.base, -1, EV_PERSIST, 1, paused_cb, &p);
	for (unsigned i = 0; i < rounds(500); i++) {
		pthread_t thread;

		atomic_store(&warnings_num, 0);
		latch_init(&p.both, 2);
		CHECK(event_add(p.ev, &hour_tv) == 0);
		event_active(p.ev, EV_READ, 1);
		thread = thread_start(paused_main, &p);
		assert_int_equal(event_base_dispatch(p.base), 1);
		thread_join(thread);
		assert_in_range(atomic_load(&warnings_num), 0, 1);
		assert_int_equal(p.ran, i + 1);
		latch_fini(&p.both);
	}
	event_set_log_callback(NULL);
	event_free(p.ev);
	event_base_free(p.base);
}

/* Two threads pause two bases, each the other's first: one of them cannot have both. */
struct cross {
	struct event_base *base[2];
	struct latch both;
	atomic_uint refused;
};

struct crosser {
	struct cross *cross;
	unsigned first;
};

static void *crosser_main(void *arg)
{
	struct crosser *c = arg;
	struct event_base *first = c->cross->base[c->first], *second = c->cross->base[1 - c->first];

	CHECK(event_base_pause(first) == 0);
	latch_meet(&c->cross->both);
	if (event_base_pause(second) == 0)
		CHECK(event_base_resume(second) == 0);
	else
		atomic_fetch_add(&c->cross->refused, 1);
	CHECK(event_base_resume(first) == 0);
	return NULL;
}

static void test_contract_16_bases_meet_crossed_pauses(void **state)
{
	struct cross c = { .base = { base_new(2), base_new(2) } };
	struct crosser crossers[2] = { { &c, 0 }, { &c, 1 } };
	pthread_t thread;

	(void)state;
	event_set_log_callback(count_log);
	post(c.base[0], 1, no_work_fn, NULL);
	post(c.base[1], 1, no_work_fn, NULL);
	for (unsigned i = 0; i < rounds(500); i++) {
		atomic_store(&c.refused, 0);
		atomic_store(&warnings_num, 0);
		latch_init(&c.both, 2);
		thread = thread_start(crosser_main, &crossers[0]);
		(void)crosser_main(&crossers[1]);
		thread_join(thread);
		assert_int_equal(atomic_load(&c.refused), 1);
		assert_int_equal(atomic_load(&warnings_num), 1);
		latch_fini(&c.both);
	}
	event_set_log_callback(NULL);
	event_base_free(c.base[0]);
	event_base_free(c.base[1]);
}

/* ---------------------------------------------------------------- loops of paused bases */

/* Nobody else can resume what this thread has paused. */
static void test_contract_16_bases_meet_loop_of_the_own_pause(void **state)
{
	(void)state;
	event_set_log_callback(count_log);
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct event_base *base = base_new(workers);

		atomic_store(&warnings_num, 0);
		post(base, 1, no_work_fn, NULL);
		assert_int_equal(event_base_pause(base), 0);
		assert_int_equal(event_base_dispatch(base), -1);
		assert_int_equal(atomic_load(&warnings_num), 1);
		assert_int_equal(event_base_resume(base), 0);
		assert_int_equal(event_base_dispatch(base), 1);
		event_base_free(base);
	}
	event_set_log_callback(NULL);
}

/* A thread pauses B, and waits for a callback of A that runs the loop of B. */
struct gate {
	struct event_base *a, *b;
	struct event *x;
	struct latch inside, paused;
	bool waits_first;
	unsigned ran;
};

static void gate_x_cb(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;

	(void)fd;
	(void)what;
	latch_down(&g->inside);
	latch_wait(&g->paused);
	while (g->waits_first && event_pending(g->x, EV_TIMEOUT, NULL))
		sched_yield();
	post(g->b, 0, no_work_fn, NULL);
	CHECK(event_base_dispatch(g->b) == 1);
	g->ran++;
}

static void *gate_main(void *arg)
{
	struct gate *g = arg;

	latch_wait(&g->inside);
	CHECK(event_base_pause(g->b) == 0);
	latch_down(&g->paused);
	CHECK(event_del(g->x) == 0);
	CHECK(event_base_pause(g->a) == 0);
	CHECK(event_base_resume(g->a) == 0);
	CHECK(event_base_resume(g->b) == 0);
	return NULL;
}

static void test_contract_16_bases_meet_paused_loop_in_a_callback(void **state)
{
	(void)state;
	event_set_log_callback(count_log);
	for (unsigned workers = 1; workers <= 2; workers++) {
		struct gate g = { .a = base_new(2), .b = base_new(workers) };

		post(g.b, 3, no_work_fn, NULL);
		assert_int_equal(event_base_dispatch(g.b), 1);
		for (unsigned i = 0; i < rounds(200); i++) {
			pthread_t thread;

			atomic_store(&warnings_num, 0);
			g.waits_first = i % 2;
			latch_init(&g.inside, 1);
			latch_init(&g.paused, 1);
			g.x = ev_new(g.a, -1, EV_PERSIST, i % 3, gate_x_cb, &g);
			post(g.a, 9, no_work_fn, NULL);
			CHECK(event_add(g.x, &hour_tv) == 0);
			event_active(g.x, EV_READ, 1);
			thread = thread_start(gate_main, &g);
			assert_int_equal(event_base_dispatch(g.a), 1);
			thread_join(thread);
			assert_int_equal(g.ran, i + 1);
			assert_in_range(atomic_load(&warnings_num), 1, 2);
			event_free(g.x);
			latch_fini(&g.inside);
			latch_fini(&g.paused);
		}
		event_base_free(g.b);
		event_base_free(g.a);
	}
	event_set_log_callback(NULL);
}

/* ---------------------------------------------------------------- the end of a base */

/* A callback of A frees B: one of whose threads waits for that callback, and whose finalizer does. */
struct freed {
	struct event_base *a, *b;
	struct event *x;
	struct latch both;
	unsigned ran;
	atomic_uint deleted;
};

static void freed_start(struct event_base *base, unsigned worker, void *arg)
{
	struct freed *f = arg;

	(void)base;
	(void)worker;
	latch_meet(&f->both);
	CHECK(event_del(f->x) == 0);
	atomic_fetch_add(&f->deleted, 1);
}

static void freed_finalizer(struct event *ev, void *arg)
{
	struct freed *f = arg;

	(void)ev;
	CHECK(event_del(f->x) == 0);
	CHECK(event_base_pause(f->a) == 0);
	CHECK(event_base_resume(f->a) == 0);
	atomic_fetch_add(&f->deleted, 1);
}

static void freed_x_cb(evutil_socket_t fd, short what, void *arg)
{
	struct freed *f = arg;
	struct event *ev = ev_new(f->b, -1, 0, 0, nothing_cb, f);

	(void)fd;
	(void)what;
	latch_meet(&f->both);
	CHECK(event_free_finalize(0, ev, freed_finalizer) == 0);
	event_base_free(f->b);
	f->ran++;
}

static void test_contract_16_bases_meet_free_in_a_callback(void **state)
{
	(void)state;
	event_set_log_callback(count_log);
	for (unsigned i = 0; i < rounds(200); i++) {
		struct freed f = { .a = base_new(2) };

		atomic_store(&warnings_num, 0);
		latch_init(&f.both, 2);
		f.b = base_new_start(2, freed_start, &f);
		f.x = ev_new(f.a, -1, EV_PERSIST, i % 2, freed_x_cb, &f);
		post(f.a, 9, no_work_fn, NULL);
		event_active(f.x, EV_READ, 1);
		post(f.b, 1, no_work_fn, NULL);
		assert_int_equal(event_base_dispatch(f.b), 1);
		assert_int_equal(event_base_dispatch(f.a), 1);
		assert_int_equal(f.ran, 1);
		assert_int_equal(atomic_load(&f.deleted), 2);
		assert_in_range(atomic_load(&warnings_num), 0, 1);
		event_free(f.x);
		event_base_free(f.a);
		latch_fini(&f.both);
	}
	event_set_log_callback(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_16_bases_meet_nested_deletes_outer),
		TEST(test_contract_16_bases_meet_nested_pauses_outer),
		TEST(test_contract_16_bases_meet_nested_knows_outer),
		TEST(test_contract_16_bases_meet_delete_each_other),
		TEST(test_contract_16_bases_meet_delete_in_a_ring),
		TEST(test_contract_16_bases_meet_delete_then_pause),
		TEST(test_contract_16_bases_meet_pause_against_delete),
		TEST(test_contract_16_bases_meet_pause_each_other),
		TEST(test_contract_16_bases_meet_pauser_deletes_pausing),
		TEST(test_contract_16_bases_meet_crossed_pauses),
		TEST(test_contract_16_bases_meet_loop_of_the_own_pause),
		TEST(test_contract_16_bases_meet_paused_loop_in_a_callback),
		TEST(test_contract_16_bases_meet_free_in_a_callback),
	};

	return RUN(tests);
}
