/*
 * 6. Deletion: after event_del(ev) returns, the callback is not running and will not run, if
 * the caller is in another thread or another color. Two callbacks that delete each other's
 * event must not deadlock. The noblock, block and finalize kinds keep their meaning.
 */
#include "stress.h"

static atomic_uint warnings_num;

static void count_log(int severity, const char *msg)
{
	(void)msg;
	if (severity >= EVENT_LOG_WARN)
		atomic_fetch_add(&warnings_num, 1);
}

/* A callback that is always about to run, on a descriptor that is always ready. */
struct target {
	struct event_base *base;
	struct event *ev;
	int fd[2];
	/* Plain: event_del() is what keeps writer and callback apart. */
	unsigned is_gone;
	unsigned runs;
};

static void target_cb(evutil_socket_t fd, short what, void *arg)
{
	struct target *t = arg;

	(void)fd;
	(void)what;
	CHECK(t->is_gone == 0);
	t->runs++;
	spin(30);
	CHECK(t->is_gone == 0);
}

static void target_new(struct target *t, struct event_base *base, uint32_t color)
{
	*t = (struct target){ .base = base };
	pipe_new(t->fd);
	t->ev = ev_new(base, t->fd[1], EV_WRITE | EV_PERSIST, color, target_cb, t);
	CHECK(event_add(t->ev, NULL) == 0);
}

static void target_free(struct target *t)
{
	event_free(t->ev);
	pipe_close(t->fd);
}

/* Deleted, marked, added again: by a foreign thread. */
struct deleter {
	struct event_base *base;
	struct target *targets;
	unsigned num;
	unsigned rounds;
};

static void delete_and_add(struct target *t)
{
	CHECK(event_del(t->ev) == 0);
	t->is_gone = 1;
	CHECK(event_pending(t->ev, EV_WRITE, NULL) == 0);
	spin(30);
	t->is_gone = 0;
	CHECK(event_add(t->ev, NULL) == 0);
}

static void *deleter_main(void *arg)
{
	struct deleter *d = arg;

	for (unsigned i = 0; i < d->rounds; i++)
		delete_and_add(&d->targets[i % d->num]);
	for (unsigned i = 0; i < d->num; i++)
		CHECK(event_del(d->targets[i].ev) == 0);
	CHECK(event_base_loopexit(d->base, NULL) == 0);
	return NULL;
}

static void test_contract_06_deletion_from_another_thread(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers += 3) {
		struct event_base *base = base_new(workers);
		struct target targets[6];
		struct deleter d = { base, targets, 6, rounds(20000) };
		pthread_t thread;

		for (uint32_t i = 0; i < 6; i++)
			target_new(&targets[i], base, i + 1);
		thread = thread_start(deleter_main, &d);
		assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
		thread_join(thread);
		for (unsigned i = 0; i < 6; i++)
			target_free(&targets[i]);
		event_base_free(base);
	}
}

/* The same from a callback of another color. */
struct color_deleter {
	struct event_base *base;
	struct target *targets;
	uint32_t color;
	unsigned left;
};

static void color_deleter_fn(void *arg)
{
	struct color_deleter *d = arg;

	if (d->left-- > 0) {
		delete_and_add(&d->targets[d->left % 4]);
		post(d->base, d->color, color_deleter_fn, d);
		return;
	}
	for (unsigned i = 0; i < 4; i++)
		CHECK(event_del(d->targets[i].ev) == 0);
}

static void test_contract_06_deletion_from_another_color(void **state)
{
	/* Color 0 deletes too: the loop's thread waits for a worker. */
	static const uint32_t colors[] = { 100, 0 };

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct event_base *base = base_new(4);
		struct target targets[4];
		struct color_deleter d = { base, targets, colors[k], rounds(10000) };

		for (uint32_t i = 0; i < 4; i++)
			target_new(&targets[i], base, i + 1);
		post(base, d.color, color_deleter_fn, &d);
		assert_int_equal(event_base_dispatch(base), 1);
		for (unsigned i = 0; i < 4; i++)
			target_free(&targets[i]);
		event_base_free(base);
	}
}

/* A callback that stands in a latch: deleted by one who waits, and by one who does not. */
struct held {
	struct event_base *base;
	struct event *ev;
	struct latch inside, go_on;
	atomic_uint ended;
	atomic_uint finalized;
};

static void held_init(struct held *h, struct event_base *base)
{
	h->base = base;
	latch_init(&h->inside, 1);
	latch_init(&h->go_on, 1);
	atomic_init(&h->ended, 0);
	atomic_init(&h->finalized, 0);
}

static void held_fini(struct held *h)
{
	latch_fini(&h->inside);
	latch_fini(&h->go_on);
}

static void held_cb(evutil_socket_t fd, short what, void *arg)
{
	struct held *h = arg;

	(void)fd;
	(void)what;
	latch_down(&h->inside);
	latch_wait(&h->go_on);
	atomic_fetch_add(&h->ended, 1);
}

static void *del_waits_main(void *arg)
{
	struct held *h = arg;

	latch_wait(&h->inside);
	CHECK(event_del_noblock(h->ev) == 0);
	/* That returned although the callback still runs. */
	CHECK(atomic_load(&h->ended) == 0);
	latch_down(&h->go_on);
	CHECK(event_del(h->ev) == 0);
	CHECK(atomic_load(&h->ended) == 1);
	return NULL;
}

static void test_contract_06_deletion_waits_for_the_callback(void **state)
{
	struct event_base *base = base_new(2);

	(void)state;
	for (unsigned i = 0; i < rounds(500); i++) {
		struct held h;
		pthread_t thread;

		held_init(&h, base);
		/* A color is in use from the first round on; then color 0 has its turn too. */
		h.ev = ev_new(base, -1, 0, (i + 1) % 3, held_cb, &h);
		event_active(h.ev, EV_READ, 1);
		thread = thread_start(del_waits_main, &h);
		assert_int_equal(event_base_dispatch(base), 1);
		thread_join(thread);
		event_free(h.ev);
		held_fini(&h);
	}
	event_base_free(base);
}

/* An event with EV_FINALIZE: event_del() does not wait, event_del_block() does. */
static void *finalize_flag_main(void *arg)
{
	struct held *h = arg;

	latch_wait(&h->inside);
	CHECK(event_del(h->ev) == 0);
	CHECK(atomic_load(&h->ended) == 0);
	latch_down(&h->go_on);
	CHECK(event_del_block(h->ev) == 0);
	CHECK(atomic_load(&h->ended) == 1);
	return NULL;
}

static void test_contract_06_deletion_of_a_finalize_event(void **state)
{
	struct event_base *base = base_new(2);

	(void)state;
	for (unsigned i = 0; i < rounds(200); i++) {
		struct held h;
		pthread_t thread;

		held_init(&h, base);
		h.ev = ev_new(base, -1, EV_FINALIZE, 1, held_cb, &h);
		event_active(h.ev, EV_READ, 1);
		thread = thread_start(finalize_flag_main, &h);
		assert_int_equal(event_base_dispatch(base), 1);
		thread_join(thread);
		event_free(h.ev);
		held_fini(&h);
	}
	event_base_free(base);
}

/* The finalizer runs after the callback has ended, on its color. */
static void finalize_fn(struct event *ev, void *arg)
{
	struct held *h = arg;

	(void)ev;
	CHECK(atomic_load(&h->ended) == 1);
	CHECK(running_color(h->base) == 5);
	atomic_fetch_add(&h->finalized, 1);
}

static void *finalizer_main(void *arg)
{
	struct held *h = arg;

	latch_wait(&h->inside);
	CHECK(event_free_finalize(0, h->ev, finalize_fn) == 0);
	CHECK(atomic_load(&h->finalized) == 0);
	latch_down(&h->go_on);
	return NULL;
}

static void test_contract_06_deletion_finalizer_runs_after_the_callback(void **state)
{
	struct event_base *base = base_new(3);

	(void)state;
	for (unsigned i = 0; i < rounds(200); i++) {
		struct held h;
		pthread_t thread;

		held_init(&h, base);
		h.ev = ev_new(base, -1, EV_PERSIST | (i % 2 ? EV_FINALIZE : 0), 5, held_cb, &h);
		event_add(h.ev, &hour_tv);
		event_active(h.ev, EV_READ, 1);
		thread = thread_start(finalizer_main, &h);
		assert_int_equal(event_base_dispatch(base), 1);
		thread_join(thread);
		assert_int_equal(atomic_load(&h.finalized), 1);
		held_fini(&h);
	}
	event_base_free(base);
}

/*
 * A ring of callbacks, each running, each deleting the next one's event. All are inside before
 * any deletes, so the cycle is there every time.
 */
#define RING_MAX 4

struct ring {
	struct event_base *base;
	struct event *evs[RING_MAX];
	struct latch all_inside;
	atomic_uint deleted;
	unsigned num;
	int (*del)(struct event *ev);
};

struct ring_arg {
	struct ring *ring;
	unsigned i;
};

static void ring_cb(evutil_socket_t fd, short what, void *arg)
{
	struct ring_arg *a = arg;
	struct ring *r = a->ring;

	(void)fd;
	(void)what;
	/* The first, which may be color 0, has its thread before the others look for one. */
	for (unsigned i = 1; a->i == 0 && i < r->num; i++)
		event_active(r->evs[i], EV_READ, 1);
	latch_meet(&r->all_inside);
	CHECK(r->del(r->evs[(a->i + 1) % r->num]) == 0);
	atomic_fetch_add(&r->deleted, 1);
}

static void delete_in_a_ring(unsigned num, uint32_t first_color, int (*del)(struct event *))
{
	struct event_base *base = base_new(num);
	struct ring r = { .base = base, .num = num, .del = del };
	struct ring_arg ring_args[RING_MAX];

	event_set_log_callback(count_log);
	for (unsigned round = 0; round < rounds(200); round++) {
		atomic_store(&r.deleted, 0);
		atomic_store(&warnings_num, 0);
		latch_init(&r.all_inside, num);
		for (unsigned i = 0; i < num; i++) {
			ring_args[i] = (struct ring_arg){ &r, i };
			r.evs[i] = ev_new(base, -1, EV_PERSIST, first_color + i, ring_cb, &ring_args[i]);
			event_add(r.evs[i], &hour_tv);
		}
		event_active(r.evs[0], EV_READ, 1);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&r.deleted), num);
		/* Who would have closed the cycle said so, if it came to that. */
		assert_true(atomic_load(&warnings_num) <= num);
		for (unsigned i = 0; i < num; i++)
			event_free(r.evs[i]);
		latch_fini(&r.all_inside);
	}
	event_set_log_callback(NULL);
	event_base_free(base);
}

static void test_contract_06_deletion_of_each_other(void **state)
{
	(void)state;
	delete_in_a_ring(2, 1, event_del);
	delete_in_a_ring(2, 1, event_del_block);
}

/* One of them is color 0, on the loop's thread. */
static void test_contract_06_deletion_of_each_other_with_color_0(void **state)
{
	(void)state;
	delete_in_a_ring(2, 0, event_del);
}

static void test_contract_06_deletion_in_a_ring(void **state)
{
	(void)state;
	delete_in_a_ring(3, 1, event_del);
	delete_in_a_ring(4, 0, event_del);
}

/*
 * The cycle for certain: the second deletes only when the first waits in its own event_del(), or is about to. What
 * tells it: the first holds the second's event deleted, so that it is no longer pending. The one that waits last
 * returns at once, the other one after the end of that one's callback.
 */
struct pair {
	struct event_base *base;
	struct event *a, *b;
	struct latch both_inside;
	atomic_bool has_a_ended, has_b_ended;
	atomic_uint late;		/* returns after the other's end */
};

static void pair_a_cb(evutil_socket_t fd, short what, void *arg)
{
	struct pair *p = arg;

	(void)fd;
	(void)what;
	latch_meet(&p->both_inside);
	CHECK(event_del(p->b) == 0);
	atomic_fetch_add(&p->late, atomic_load(&p->has_b_ended));
	atomic_store(&p->has_a_ended, true);
}

static void pair_b_cb(evutil_socket_t fd, short what, void *arg)
{
	struct pair *p = arg;

	(void)fd;
	(void)what;
	latch_meet(&p->both_inside);
	while (event_pending(p->b, EV_TIMEOUT, NULL))
		sched_yield();
	CHECK(event_del(p->a) == 0);
	atomic_fetch_add(&p->late, atomic_load(&p->has_a_ended));
	atomic_store(&p->has_b_ended, true);
}

static void test_contract_06_deletion_cycle_returns_and_is_logged(void **state)
{
	struct event_base *base = base_new(2);
	struct pair p = { .base = base };
	unsigned cycles = 0;

	(void)state;
	event_set_log_callback(count_log);
	p.a = ev_new(base, -1, EV_PERSIST, 1, pair_a_cb, &p);
	p.b = ev_new(base, -1, EV_PERSIST, 2, pair_b_cb, &p);
	for (unsigned i = 0; i < rounds(200); i++) {
		atomic_store(&warnings_num, 0);
		atomic_store(&p.has_a_ended, false);
		atomic_store(&p.has_b_ended, false);
		atomic_store(&p.late, 0);
		latch_init(&p.both_inside, 2);
		event_add(p.a, &hour_tv);
		event_add(p.b, &hour_tv);
		event_active(p.a, EV_READ, 1);
		event_active(p.b, EV_READ, 1);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&p.late), 1);
		cycles += atomic_load(&warnings_num) != 0;
		latch_fini(&p.both_inside);
	}
	assert_int_equal(cycles, rounds(200));
	event_set_log_callback(NULL);
	event_free(p.a);
	event_free(p.b);
	event_base_free(base);
}

/* In its own callback, and of another event of the same color: at once. */
struct own {
	struct event_base *base;
	struct event *self, *other;
	unsigned runs;
};

static void own_cb(evutil_socket_t fd, short what, void *arg)
{
	struct own *o = arg;

	(void)fd;
	(void)what;
	o->runs++;
	CHECK(event_del_block(o->self) == 0);
	CHECK(event_del_block(o->other) == 0);
	CHECK(event_pending(o->other, EV_READ | EV_TIMEOUT, NULL) == 0);
}

static void test_contract_06_deletion_of_ones_own(void **state)
{
	struct event_base *base = base_new(2);
	struct own o = { .base = base };

	(void)state;
	o.self = ev_new(base, -1, EV_PERSIST, 1, own_cb, &o);
	o.other = ev_new(base, -1, EV_PERSIST, 1, own_cb, &o);
	for (unsigned i = 0; i < rounds(1000); i++) {
		event_add(o.self, &zero_tv);
		event_add(o.other, &hour_tv);
		event_active(o.other, EV_READ, 1);
		event_active(o.self, EV_READ, 1);
		assert_int_equal(event_base_dispatch(base), 1);
	}
	/* Of the two that were active one ran and deleted the other. */
	assert_int_equal(o.runs, rounds(1000));
	event_free(o.self);
	event_free(o.other);
	event_base_free(base);
}

/*
 * A callback gives its own event, which is idle, another color: who deletes the event waits for that callback all the
 * same, and for each one that began in a new color before it had come to its end.
 */
enum recolored_after { STAYS_IDLE, IS_ADDED, IS_ASSIGNED, RUNS_TWICE, AFTERS };

struct recolored {
	struct event_base *base;
	struct event *ev;
	enum recolored_after after;
	int (*del)(struct event *ev);
	struct latch inside, go_on;
	atomic_uint begun, ended;
	atomic_uint finalized;
};

static void recolored_cb(evutil_socket_t fd, short what, void *arg)
{
	struct recolored *r = arg;
	unsigned n = atomic_fetch_add(&r->begun, 1);

	(void)what;
	if (r->after == IS_ASSIGNED)
		CHECK(event_assign(r->ev, r->base, (int)fd, 0, recolored_cb, r) == 0);
	CHECK(event_set_color(r->ev, 6 + n) == 0);
	if (r->after != STAYS_IDLE)
		CHECK(event_add(r->ev, &hour_tv) == 0);
	if (r->after == RUNS_TWICE && n == 0)
		event_active(r->ev, EV_READ, 1);
	latch_down(&r->inside);
	latch_wait(&r->go_on);
	spin(1000);
	atomic_fetch_add(&r->ended, 1);
}

static unsigned recolored_runs(const struct recolored *r)
{
	return r->after == RUNS_TWICE ? 2 : 1;
}

static void recolored_delete(void *arg)
{
	struct recolored *r = arg;

	latch_wait(&r->inside);
	if (r->del == event_del_noblock) {
		CHECK(r->del(r->ev) == 0);
		CHECK(atomic_load(&r->ended) == 0);
		latch_down(&r->go_on);
		return;
	}
	latch_down(&r->go_on);
	CHECK(r->del(r->ev) == 0);
	CHECK(atomic_load(&r->ended) == recolored_runs(r));
	CHECK(event_pending(r->ev, EV_TIMEOUT | EV_READ, NULL) == 0);
}

static void *recolored_delete_main(void *arg)
{
	recolored_delete(arg);
	return NULL;
}

static void recolored_init(struct recolored *r, struct event_base *base, enum recolored_after after)
{
	*r = (struct recolored){ .base = base, .after = after };
	r->ev = ev_new(base, -1, 0, 5, recolored_cb, r);
	latch_init(&r->inside, recolored_runs(r));
	latch_init(&r->go_on, 1);
	event_active(r->ev, EV_READ, 1);
}

static void delete_recolored(struct event_base *base, enum recolored_after after, int (*del)(struct event *),
			     bool is_foreign)
{
	struct recolored r;
	pthread_t thread;

	recolored_init(&r, base, after);
	r.del = del;
	if (is_foreign)
		thread = thread_start(recolored_delete_main, &r);
	else
		post(base, 9, recolored_delete, &r);
	assert_int_equal(event_base_dispatch(base), 1);
	if (is_foreign)
		thread_join(thread);
	assert_int_equal(atomic_load(&r.ended), recolored_runs(&r));
	event_free(r.ev);
	latch_fini(&r.inside);
	latch_fini(&r.go_on);
}

static void test_contract_06_deletion_after_a_recolor(void **state)
{
	static int (*const del[])(struct event *) = { event_del, event_del_block, event_del_noblock };
	struct event_base *base = base_new(4);

	(void)state;
	for (unsigned i = 0; i < rounds(100); i++) {
		for (unsigned n = 0; n < AFTERS * 3 * 2; n++)
			delete_recolored(base, (enum recolored_after)(n % AFTERS), del[n / AFTERS % 3],
					 n / AFTERS / 3 != 0);
	}
	event_base_free(base);
}

/* It goes from color to color, and others take it away, give it colors and call for it, at any time. */
struct wanderer {
	struct event_base *base;
	struct event *ev;
	unsigned rounds;
	atomic_uint runs, done;
};

static void wanderer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct wanderer *w = arg;
	unsigned n = atomic_fetch_add(&w->runs, 1);

	(void)fd;
	(void)what;
	(void)event_set_color(w->ev, n % 5);
	CHECK(event_add(w->ev, n % 2 ? &zero_tv : &hour_tv) == 0);
}

static void *wanderer_main(void *arg)
{
	struct wanderer *w = arg;

	for (unsigned i = 0; i < w->rounds; i++) {
		if (i % 3 == 0)
			CHECK(event_del(w->ev) == 0);
		else if (i % 3 == 1)
			(void)event_set_color(w->ev, i % 7);
		else
			event_active(w->ev, EV_READ, 1);
	}
	if (atomic_fetch_add(&w->done, 1) == 1)
		CHECK(event_base_loopexit(w->base, NULL) == 0);
	return NULL;
}

static void test_contract_06_deletion_of_a_wanderer(void **state)
{
	struct event_base *base = base_new(4);
	struct wanderer w = { .base = base, .rounds = rounds(20000) };
	pthread_t threads[2];

	(void)state;
	w.ev = ev_new(base, -1, 0, 5, wanderer_cb, &w);
	CHECK(event_add(w.ev, &hour_tv) == 0);
	for (unsigned i = 0; i < 2; i++)
		threads[i] = thread_start(wanderer_main, &w);
	assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	for (unsigned i = 0; i < 2; i++)
		thread_join(threads[i]);
	CHECK(event_del(w.ev) == 0);
	CHECK(event_pending(w.ev, EV_TIMEOUT | EV_READ, NULL) == 0);
	assert_int_equal(event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE), 0);
	event_free(w.ev);
	event_base_free(base);
}

/* The first color of the base comes from the callback that is waited for. */
static void first_color_cb(evutil_socket_t fd, short what, void *arg)
{
	struct recolored *r = arg;

	(void)fd;
	(void)what;
	atomic_fetch_add(&r->begun, 1);
	post(r->base, 9, recolored_delete, r);
	latch_down(&r->inside);
	latch_wait(&r->go_on);
	spin(1000);
	atomic_fetch_add(&r->ended, 1);
}

static void test_contract_06_deletion_in_the_first_color(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rounds(100); i++) {
		struct recolored r = { .base = base_new(2), .del = event_del };

		r.ev = ev_new(r.base, -1, 0, 0, first_color_cb, &r);
		latch_init(&r.inside, 1);
		latch_init(&r.go_on, 1);
		event_active(r.ev, EV_READ, 1);
		assert_int_equal(event_base_dispatch(r.base), 1);
		assert_int_equal(atomic_load(&r.ended), 1);
		event_free(r.ev);
		event_base_free(r.base);
		latch_fini(&r.inside);
		latch_fini(&r.go_on);
	}
}

/* The finalizer, too, comes after all of them. */
static void recolored_finalized(struct event *ev, void *arg)
{
	struct recolored *r = arg;

	CHECK(ev == r->ev);
	CHECK(atomic_load(&r->ended) == recolored_runs(r));
	atomic_fetch_add(&r->finalized, 1);
}

static void *recolored_finalize_main(void *arg)
{
	struct recolored *r = arg;

	latch_wait(&r->inside);
	CHECK(event_free_finalize(0, r->ev, recolored_finalized) == 0);
	latch_down(&r->go_on);
	return NULL;
}

static void own_finalizer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct recolored *r = arg;

	(void)fd;
	(void)what;
	CHECK(event_set_color(r->ev, 6) == 0);
	CHECK(event_free_finalize(0, r->ev, recolored_finalized) == 0);
	spin(20000);
	atomic_fetch_add(&r->ended, 1);
}

static void test_contract_06_deletion_finalizer_after_a_recolor(void **state)
{
	struct event_base *base = base_new(4);
	struct recolored r;
	pthread_t thread;

	(void)state;
	for (unsigned i = 0; i < rounds(100); i++) {
		for (unsigned after = 0; after < AFTERS; after++) {
			recolored_init(&r, base, (enum recolored_after)after);
			thread = thread_start(recolored_finalize_main, &r);
			assert_int_equal(event_base_dispatch(base), 1);
			thread_join(thread);
			assert_int_equal(atomic_load(&r.finalized), 1);
			latch_fini(&r.inside);
			latch_fini(&r.go_on);
		}
		r = (struct recolored){ .base = base };
		r.ev = ev_new(base, -1, 0, 5, own_finalizer_cb, &r);
		event_active(r.ev, EV_READ, 1);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&r.finalized), 1);
	}
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_06_deletion_from_another_thread),
		TEST(test_contract_06_deletion_from_another_color),
		TEST(test_contract_06_deletion_waits_for_the_callback),
		TEST(test_contract_06_deletion_of_a_finalize_event),
		TEST(test_contract_06_deletion_finalizer_runs_after_the_callback),
		TEST(test_contract_06_deletion_of_each_other),
		TEST(test_contract_06_deletion_of_each_other_with_color_0),
		TEST(test_contract_06_deletion_in_a_ring),
		TEST(test_contract_06_deletion_cycle_returns_and_is_logged),
		TEST(test_contract_06_deletion_of_ones_own),
		TEST(test_contract_06_deletion_after_a_recolor),
		TEST(test_contract_06_deletion_of_a_wanderer),
		TEST(test_contract_06_deletion_in_the_first_color),
		TEST(test_contract_06_deletion_finalizer_after_a_recolor),
	};

	return RUN(tests);
}
