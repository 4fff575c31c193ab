/*
 * 15. Lifetime: an event may go to another base, or be assigned anew, or lie where an event of a
 * freed base lay, whenever it is neither pending nor active: nothing of its former life counts. A
 * callback may free its own event in every kind of callback: it is not called again.
 */
#include "stress.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>

enum { EVENTS = 1000 };

/* ---------------------------------------------------------------- from base to base */

/* When it goes: what the first base has behind it. */
enum when { BEFORE_RUN, AFTER_RUN, AFTER_FREE, WHENS };

/* How it goes. */
enum how { BY_SET, BY_ASSIGN, BY_NOTHING, HOWS };

enum kind { IO, PERSISTENT_IO, TIMER, PERSISTENT_TIMER, COMMON_TIMER, SIGNALLED, ACTIVATED, SHARED, KINDS };

struct traveller {
	struct event ev;
	struct event_base *base;
	enum kind kind;
	uint32_t color;
	int fd;
	atomic_uint runs;
};

struct journey {
	unsigned from, to;		/* workers */
	enum when when;
	enum how how;
	bool is_to_color_0;
	int fd[2];			/* fd[1] can always be written to */
	struct traveller at[EVENTS];
};

static void traveller_cb(evutil_socket_t fd, short what, void *arg)
{
	struct traveller *t = arg;

	(void)fd;
	(void)what;
	CHECK(running_color(t->base) == t->color);
	atomic_fetch_add(&t->runs, 1);
	CHECK(event_del(&t->ev) == 0);
}

static void traveller_assign(struct traveller *t, struct event_base *base)
{
	static const short events[KINDS] = {
		[IO] = EV_WRITE,
		[PERSISTENT_IO] = EV_WRITE | EV_PERSIST,
		[PERSISTENT_TIMER] = EV_PERSIST,
		[COMMON_TIMER] = EV_PERSIST,
		[SIGNALLED] = EV_SIGNAL | EV_PERSIST,
		[SHARED] = EV_WRITE,
	};
	int fd = t->kind == SIGNALLED ? SIGUSR1 : t->fd;

	CHECK(event_assign(&t->ev, base, fd, events[t->kind], traveller_cb, t) == 0);
}

static void traveller_color(struct traveller *t, uint32_t color)
{
	t->color = color;
	if (color != 0 && t->kind == SHARED)
		CHECK(event_set_color_shared(&t->ev, color) == 0);
	else
		CHECK(event_set_color(&t->ev, color) == 0);
}

static void traveller_new(struct journey *j, unsigned i, struct event_base *base)
{
	struct traveller *t = &j->at[i];

	*t = (struct traveller){ .kind = (enum kind)(i % KINDS), .fd = -1 };
	if (t->kind == IO || t->kind == PERSISTENT_IO || t->kind == SHARED) {
		t->fd = dup(j->fd[1]);
		CHECK(t->fd >= 0);
	}
	traveller_assign(t, base);
	traveller_color(t, i % 7 == 0 ? 0 : i);
}

/* Ready, or soon. */
static void traveller_start(struct traveller *t, struct event_base *base, const struct timeval *common)
{
	static const struct timeval moment = { 0, 100 };
	static const struct timeval *delay[KINDS] = {
		[PERSISTENT_IO] = &hour_tv,
		[TIMER] = &zero_tv,
		[PERSISTENT_TIMER] = &moment,
	};

	t->base = base;
	if (t->kind == ACTIVATED)
		event_active(&t->ev, EV_READ, 1);
	else
		CHECK(event_add(&t->ev, t->kind == COMMON_TIMER ? common : delay[t->kind]) == 0);
}

/* All start, and each runs once. */
static void stay(struct journey *j, struct event_base *base)
{
	static const struct timeval moment = { 0, 200 };
	const struct timeval *common = event_base_init_common_timeout(base, &moment);

	CHECK(common != NULL);
	for (unsigned i = 0; i < EVENTS; i++) {
		atomic_store(&j->at[i].runs, 0);
		traveller_start(&j->at[i], base, common);
	}
	raise(SIGUSR1);
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned i = 0; i < EVENTS; i++)
		assert_int_equal(atomic_load(&j->at[i].runs), 1);
}

/* Pending, so that they have been where their color's home is. */
static void look_in(struct journey *j, struct event_base *base)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		j->at[i].base = base;
		CHECK(event_add(&j->at[i].ev, &hour_tv) == 0);
	}
	for (unsigned i = 0; i < EVENTS; i++)
		CHECK(event_del(&j->at[i].ev) == 0);
}

static void travel(struct journey *j, unsigned i, struct event_base *base)
{
	struct traveller *t = &j->at[i];

	if (j->how == BY_SET) {
		CHECK(event_base_set(base, &t->ev) == 0);
	} else if (j->how == BY_ASSIGN) {
		traveller_assign(t, base);
		CHECK(event_get_color(&t->ev) == 0);
		traveller_color(t, t->color);
	}
	if (j->is_to_color_0)
		traveller_color(t, 0);
}

static void go(struct journey *j)
{
	struct event_base *from = base_new(j->from), *to;

	pipe_new(j->fd);
	for (unsigned i = 0; i < EVENTS; i++)
		traveller_new(j, i, from);
	if (j->when == BEFORE_RUN)
		look_in(j, from);
	else
		stay(j, from);
	/* As a rule the next one lies where this one lay. */
	if (j->when == AFTER_FREE)
		event_base_free(from);
	to = base_new(j->to);
	/* Else it is another base's, or lies in one that is freed. */
	if (j->how != BY_NOTHING || to == from) {
		for (unsigned i = 0; i < EVENTS; i++)
			travel(j, i, to);
		stay(j, to);
		stay(j, to);
		for (unsigned i = 0; i < EVENTS; i++)
			CHECK(event_del(&j->at[i].ev) == 0);
	}
	event_base_free(to);
	if (j->when != AFTER_FREE)
		event_base_free(from);
	for (unsigned i = 0; i < EVENTS; i++)
		close(j->at[i].fd);
	pipe_close(j->fd);
}

static void go_all(unsigned from, unsigned to)
{
	static struct journey j;

	for (unsigned n = 0; n < 2 * WHENS * HOWS; n++) {
		j.from = from;
		j.to = to;
		j.when = n % WHENS;
		j.how = n / WHENS % HOWS;
		j.is_to_color_0 = n / WHENS / HOWS != 0;
		if (j.how == BY_NOTHING && j.when != AFTER_FREE)
			continue;
		go(&j);
	}
}

static void test_contract_15_lifetime_in_two_bases(void **state)
{
	static const unsigned workers[][2] = { { 2, 2 }, { 4, 2 }, { 4, 1 }, { 1, 4 }, { 8, 1 }, { 2, 8 } };

	(void)state;
	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		go_all(workers[i][0], workers[i][1]);
}

/* To a base that nobody has colored yet: there is nothing to look into, and nothing to start for a look. */
static void test_contract_15_lifetime_in_a_base_without_colors(void **state)
{
	struct event_base *from = base_new(8), *to = base_new(8);
	static struct event evs[EVENTS];

	(void)state;
	for (unsigned i = 0; i < EVENTS; i++) {
		CHECK(event_assign(&evs[i], from, -1, 0, nothing_cb, NULL) == 0);
		CHECK(event_set_color(&evs[i], i + 1) == 0);
		CHECK(event_add(&evs[i], &hour_tv) == 0);
	}
	for (unsigned i = 0; i < EVENTS; i++) {
		CHECK(event_del(&evs[i]) == 0);
		CHECK(event_base_set(to, &evs[i]) == 0);
		CHECK(event_pending(&evs[i], EV_TIMEOUT, NULL) == 0);
		CHECK(event_remove_timer(&evs[i]) == 0);
		CHECK(event_del(&evs[i]) == 0);
	}
	event_base_free(from);
	event_base_free(to);
}

/* Whatever was in the memory. */
static void test_contract_15_lifetime_begins_in_any_memory(void **state)
{
	static struct traveller t;
	int fd[2];

	(void)state;
	pipe_new(fd);
	for (unsigned n = 0; n < 256 * 4; n++) {
		struct event_base *base = base_new(n / 256 == 0 ? 1 : 2);

		memset(&t, (int)n, sizeof(t));
		t.kind = n % 2 == 0 ? IO : TIMER;
		t.fd = fd[1];
		t.color = 0;
		atomic_store(&t.runs, 0);
		traveller_assign(&t, base);
		CHECK(event_get_color(&t.ev) == 0);
		if (n % 4 < 2)
			traveller_color(&t, 5);
		traveller_start(&t, base, NULL);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&t.runs), 1);
		event_base_free(base);
	}
	pipe_close(fd);
}

/* An idle event is memory: what it was lies elsewhere then. */
static void test_contract_15_lifetime_in_moved_memory(void **state)
{
	struct event_base *base = base_new(4);
	static struct traveller here, there;
	int fd[2];

	(void)state;
	pipe_new(fd);
	for (unsigned n = 0; n < rounds(400); n++) {
		here = (struct traveller){ .kind = (enum kind)(n % KINDS), .fd = fd[1] };
		traveller_assign(&here, base);
		traveller_color(&here, n % 3);
		for (unsigned i = 0; i < 2; i++) {
			traveller_start(&here, base, &hour_tv);
			CHECK(event_del(&here.ev) == 0);
			there = here;
			memset(&here, 0xa5, sizeof(here));
			here = there;
			memset(&there, 0x5a, sizeof(there));
		}
		atomic_store(&here.runs, 0);
		traveller_start(&here, base, &zero_tv);
		raise(SIGUSR1);
		event_active(&here.ev, EV_READ, 1);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&here.runs), 1);
	}
	event_base_free(base);
	pipe_close(fd);
}

/* ---------------------------------------------------------------- signals */

/* Events of one signal in different colors, and threads that raise it. */
enum { HEARERS_MAX = 3, RAISERS = 3 };

struct hearer {
	struct event *ev;
	struct concert *concert;
	unsigned heard;			/* plain: of one color */
	atomic_uint is_done;
};

struct concert {
	struct event_base *base;
	struct hearer hearer[HEARERS_MAX];
	unsigned hearers, total;
	atomic_uint done;
	struct latch inside, go_on;
	bool holds;
};

static void hearer_cb(evutil_socket_t fd, short what, void *arg)
{
	struct hearer *h = arg;
	struct concert *c = h->concert;

	CHECK(fd == SIGUSR2 && what == EV_SIGNAL);
	if (h->heard++ == 0 && c->holds) {
		latch_down(&c->inside);
		latch_wait(&c->go_on);
	}
	CHECK(h->heard <= c->total);
	if (h->heard == c->total && atomic_fetch_add(&c->done, 1) + 1 == c->hearers)
		CHECK(event_base_loopexit(c->base, NULL) == 0);
}

static void concert_init(struct concert *c, unsigned workers, const uint32_t *colors, unsigned hearers, unsigned total)
{
	*c = (struct concert){ .base = base_new(workers), .hearers = hearers, .total = total };
	for (unsigned i = 0; i < hearers; i++) {
		c->hearer[i].concert = c;
		c->hearer[i].ev = ev_new(c->base, SIGUSR2, EV_SIGNAL | EV_PERSIST, colors[i], hearer_cb, &c->hearer[i]);
		CHECK(event_add(c->hearer[i].ev, NULL) == 0);
	}
}

static void concert_fini(struct concert *c)
{
	for (unsigned i = 0; i < c->hearers; i++)
		event_free(c->hearer[i].ev);
	event_base_free(c->base);
}

static const unsigned signal_workers[] = { 1, 2, 4 };

/* Each raise is a delivery: the handler has run when it returns. */
static void *raise_three(void *arg)
{
	struct concert *c = arg;

	latch_wait(&c->inside);
	for (unsigned i = 0; i < 3; i++)
		raise(SIGUSR2);
	latch_down(&c->go_on);
	return NULL;
}

static void raise_in_callback(unsigned workers, uint32_t color)
{
	struct concert c;
	pthread_t thread;

	concert_init(&c, workers, &color, 1, 4);
	c.holds = true;
	latch_init(&c.inside, 1);
	latch_init(&c.go_on, 1);
	thread = thread_start(raise_three, &c);
	raise(SIGUSR2);
	assert_int_equal(event_base_loop(c.base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	thread_join(thread);
	assert_int_equal(c.hearer[0].heard, 4);
	latch_fini(&c.inside);
	latch_fini(&c.go_on);
	concert_fini(&c);
}

static void test_contract_15_lifetime_signals_in_a_callback(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rounds(100); i++) {
		for (unsigned k = 0; k < 3; k++) {
			raise_in_callback(signal_workers[k], 0);
			raise_in_callback(signal_workers[k], 5);
		}
	}
}

static void *raise_many(void *arg)
{
	struct concert *c = arg;

	for (unsigned i = 0; i < c->total / RAISERS; i++)
		raise(SIGUSR2);
	return NULL;
}

/* Nobody else works: some wait in queues while more come. */
static void busy_fn(void *arg)
{
	struct concert *c = arg;

	spin(1000);
	if (atomic_load(&c->done) < c->hearers)
		post(c->base, 7, busy_fn, c);
}

static void storm(unsigned workers, const uint32_t *colors, unsigned hearers)
{
	pthread_t threads[RAISERS];
	struct concert c;

	concert_init(&c, workers, colors, hearers, rounds(3000) * RAISERS);
	post(c.base, 7, busy_fn, &c);
	for (unsigned i = 0; i < RAISERS; i++)
		threads[i] = thread_start(raise_many, &c);
	assert_int_equal(event_base_loop(c.base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	for (unsigned i = 0; i < RAISERS; i++)
		thread_join(threads[i]);
	for (unsigned i = 0; i < hearers; i++)
		assert_int_equal(c.hearer[i].heard, c.total);
	concert_fini(&c);
}

static void test_contract_15_lifetime_signals_in_a_storm(void **state)
{
	static const uint32_t colors[][HEARERS_MAX] = { { 5 }, { 0, 5 }, { 5, 6, 0 }, { 5, 5, 5 } };
	static const unsigned nums[] = { 1, 2, 3, 3 };

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		for (unsigned i = 0; i < 4; i++)
			storm(signal_workers[k], colors[i], nums[i]);
	}
}

/* Deleted, freed, or assigned anew by its own callback, with calls that are due, and more that come. */
enum last_act { DELETES, BLOCKS, FREES, FINALIZES, ADDS_AND_FREES, RECOLORS_AND_FREES, ACTS };

struct last {
	struct event_base *base;
	struct event *ev;
	struct event *witness;		/* of the same signal, in color 0 */
	enum last_act act;
	unsigned runs, seen_num;
	struct latch inside, seen;
};

/* The loop's thread runs none of it. */
static void hold_fn(void *arg)
{
	struct last *l = arg;

	latch_wait(&l->inside);
}

static void witness_cb(evutil_socket_t fd, short what, void *arg)
{
	struct last *l = arg;

	(void)fd;
	(void)what;
	if (++l->seen_num < 4)
		return;
	CHECK(event_del(l->witness) == 0);
	latch_down(&l->seen);
}

static void finalized_cb(struct event *ev, void *arg)
{
	(void)ev;
	(void)arg;
}

static void last_cb(evutil_socket_t fd, short what, void *arg)
{
	struct last *l = arg;

	(void)fd;
	(void)what;
	CHECK(l->runs++ == 0);
	latch_down(&l->inside);
	/* The loop's thread, if that is another one, makes both active anew. Workers block signals: not raise(). */
	CHECK(kill(getpid(), SIGUSR2) == 0);
	if (event_base_get_running_worker(l->base) != 0)
		latch_wait(&l->seen);
	if (l->act == ADDS_AND_FREES)
		CHECK(event_add(l->ev, &hour_tv) == 0);
	if (l->act == RECOLORS_AND_FREES) {
		CHECK(event_del(l->ev) == 0);
		CHECK(event_set_color(l->ev, event_get_color(l->ev) + 1) == 0);
	}
	if (l->act == DELETES)
		CHECK(event_del(l->ev) == 0);
	else if (l->act == BLOCKS)
		CHECK(event_del_block(l->ev) == 0);
	else if (l->act == FINALIZES)
		CHECK(event_free_finalize(0, l->ev, finalized_cb) == 0);
	else
		event_free(l->ev);
}

static void end_in_callback(unsigned workers, uint32_t color, enum last_act act, short persist)
{
	struct last l = { .base = base_new(workers), .act = act };

	latch_init(&l.inside, 1);
	latch_init(&l.seen, 1);
	l.witness = ev_new(l.base, SIGUSR2, EV_SIGNAL | EV_PERSIST, 0, witness_cb, &l);
	CHECK(event_add(l.witness, NULL) == 0);
	l.ev = ev_new(l.base, SIGUSR2, EV_SIGNAL | persist, color, last_cb, &l);
	CHECK(event_add(l.ev, NULL) == 0);
	for (unsigned i = 0; i < 3; i++)
		raise(SIGUSR2);
	if (workers > 1 && color != 0)
		post(l.base, 0, hold_fn, &l);
	assert_int_equal(event_base_dispatch(l.base), 1);
	assert_int_equal(l.runs, 1);
	assert_int_equal(l.seen_num, 4);
	event_free(l.witness);
	latch_fini(&l.inside);
	latch_fini(&l.seen);
	if (act == DELETES || act == BLOCKS)
		event_free(l.ev);
	event_base_free(l.base);
}

static void test_contract_15_lifetime_ends_in_its_signal(void **state)
{
	(void)state;
	for (unsigned i = 0; i < rounds(20); i++) {
		for (unsigned n = 0; n < 3 * 2 * ACTS * 2; n++)
			end_in_callback(signal_workers[n % 3], n / 3 % 2 * 5, (enum last_act)(n / 6 % ACTS),
					n / 6 / ACTS ? EV_PERSIST : 0);
	}
}

/* The signals that it was not told of yet are the new one's, which waits for them. */
struct again {
	struct event_base *base;
	struct event *ev;
	uint32_t color;
	unsigned old_runs, new_runs;
	bool is_added;
};

static void new_life_cb(evutil_socket_t fd, short what, void *arg)
{
	struct again *a = arg;

	(void)fd;
	CHECK(what == EV_SIGNAL);
	CHECK(running_color(a->base) == a->color);
	if (++a->new_runs == 2)
		CHECK(event_del(a->ev) == 0);
}

static void old_life_cb(evutil_socket_t fd, short what, void *arg)
{
	struct again *a = arg;

	(void)what;
	CHECK(a->old_runs++ == 0);
	CHECK(event_del_noblock(a->ev) == 0 || !a->is_added);
	CHECK(event_assign(a->ev, a->base, (int)fd, EV_SIGNAL | EV_PERSIST, new_life_cb, a) == 0);
	CHECK(event_set_color(a->ev, a->color) == 0);
	if (a->is_added)
		CHECK(event_add(a->ev, NULL) == 0);
}

static void test_contract_15_lifetime_begins_in_its_signal(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 3 * 2 * 2; n++) {
		struct again a = { .color = n / 3 % 2 * 6, .is_added = n / 6 != 0 };

		a.base = base_new(signal_workers[n % 3]);
		a.ev = ev_new(a.base, SIGUSR2, EV_SIGNAL, n / 3 % 2 * 5, old_life_cb, &a);
		CHECK(event_add(a.ev, NULL) == 0);
		for (unsigned i = 0; i < 3; i++)
			raise(SIGUSR2);
		assert_int_equal(event_base_dispatch(a.base), 1);
		assert_int_equal(a.old_runs, 1);
		assert_int_equal(a.new_runs, a.is_added ? 2 : 0);
		event_free(a.ev);
		event_base_free(a.base);
	}
}

/* ---------------------------------------------------------------- freed in its own callback */

struct mortal {
	struct event_base *base;
	struct event *ev;
	atomic_uint runs;
};

static void mortal_cb(evutil_socket_t fd, short what, void *arg)
{
	struct mortal *m = arg;

	(void)fd;
	(void)what;
	CHECK(atomic_fetch_add(&m->runs, 1) == 0);
	event_free(m->ev);
	/* What comes to lie there is none of the engine's. */
	m->ev = NULL;
	free(memset(malloc(sizeof(struct event)), 0xff, sizeof(struct event)));
}

static void mortal_fn(void *arg)
{
	mortal_cb(-1, 0, arg);
}

static void mortal_final(struct event *ev, void *arg)
{
	struct mortal *m = arg;

	CHECK(ev == m->ev);
	mortal_cb(-1, 0, m);
}

static void die_in_callback(unsigned workers, uint32_t color, enum kind kind, int fd)
{
	static const short events[KINDS] = {
		[IO] = EV_WRITE,
		[PERSISTENT_IO] = EV_WRITE | EV_PERSIST,
		[PERSISTENT_TIMER] = EV_PERSIST,
		[COMMON_TIMER] = EV_PERSIST,
		[SIGNALLED] = EV_SIGNAL | EV_PERSIST,
		[SHARED] = EV_WRITE | EV_PERSIST,
	};
	static const struct timeval moment = { 0, 10 };
	struct mortal m = { .base = base_new(workers) };
	const struct timeval *tv = kind == COMMON_TIMER ? event_base_init_common_timeout(m.base, &moment) :
				   kind == PERSISTENT_IO ? &hour_tv : &moment;

	m.ev = event_new(m.base, kind == SIGNALLED ? SIGUSR2 : fd, events[kind], mortal_cb, &m);
	CHECK(m.ev != NULL);
	if (kind == SHARED && color != 0)
		CHECK(event_set_color_shared(m.ev, color) == 0);
	else
		CHECK(event_set_color(m.ev, color) == 0);
	if (kind == ACTIVATED)
		event_active(m.ev, EV_READ, 1);
	else
		CHECK(event_add(m.ev, tv) == 0);
	if (kind == SIGNALLED) {
		raise(SIGUSR2);
		raise(SIGUSR2);
	}
	assert_int_equal(event_base_dispatch(m.base), 1);
	assert_int_equal(atomic_load(&m.runs), 1);
	event_base_free(m.base);
}

static void test_contract_15_lifetime_ends_in_its_callback(void **state)
{
	int fd[2];

	(void)state;
	pipe_new(fd);
	for (unsigned i = 0; i < rounds(20); i++) {
		for (unsigned n = 0; n < 3 * 2 * KINDS; n++)
			die_in_callback(signal_workers[n % 3], n / 3 % 2 * 5, (enum kind)(n / 6), fd[1]);
	}
	pipe_close(fd);
}

/* By a post, and by its finalizer. */
static void test_contract_15_lifetime_ends_in_a_post(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 3 * 2; n++) {
		struct event_base *base = base_new(signal_workers[n % 3]);
		struct mortal a = { .base = base }, b = { .base = base };

		a.ev = ev_new(base, -1, EV_PERSIST, n / 3 * 5, nothing_cb, NULL);
		CHECK(event_add(a.ev, &hour_tv) == 0);
		event_active(a.ev, EV_READ, 1);
		post(base, n / 3 * 5, mortal_fn, &a);
		b.ev = ev_new(base, -1, EV_PERSIST, n / 3 * 5, nothing_cb, &b);
		CHECK(event_add(b.ev, &hour_tv) == 0);
		CHECK(event_finalize(0, b.ev, mortal_final) == 0);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&a.runs), 1);
		assert_int_equal(atomic_load(&b.runs), 1);
		event_base_free(base);
	}
}

/* ---------------------------------------------------------------- bufferevents */

/* With the timer of a limit of its own, or parked by its group's, where it goes. */
struct mover {
	struct event_base *base;
	struct bufferevent *bev[2];
	size_t left;
};

static void mover_read_cb(struct bufferevent *bev, void *arg)
{
	struct mover *m = arg;
	size_t len = evbuffer_get_length(bufferevent_get_input(bev));

	CHECK(len <= m->left);
	m->left -= len;
	CHECK(evbuffer_drain(bufferevent_get_input(bev), len) == 0);
	if (m->left != 0)
		return;
	for (int i = 0; i < 2; i++)
		CHECK(bufferevent_disable(m->bev[i], EV_READ | EV_WRITE) == 0);
	CHECK(event_base_loopexit(m->base, NULL) == 0);
}

static void mover_run(struct mover *m, uint32_t color)
{
	static const char text[2000];

	m->left = sizeof(text);
	for (int i = 0; i < 2; i++) {
		CHECK(bufferevent_set_color(m->bev[i], color) == 0);
		CHECK(bufferevent_enable(m->bev[i], i == 0 ? EV_WRITE : EV_READ) == 0);
	}
	CHECK(bufferevent_write(m->bev[0], text, sizeof(text)) == 0);
	assert_int_equal(event_base_loop(m->base, 0), 0);
	assert_int_equal(m->left, 0);
}

static void move_bufferevents(unsigned from, unsigned to, bool in_group)
{
	static const struct timeval tick = { 0, 1000 };
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(500, 500, 500, 500, &tick);
	struct event_base *keeper = base_new(1), *first;
	struct bufferevent_rate_limit_group *group = bufferevent_rate_limit_group_new(keeper, cfg);
	struct mover m = { .base = base_new(from) };
	int fd[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) == 0 && cfg != NULL && group != NULL);
	for (int i = 0; i < 2; i++) {
		m.bev[i] = bufferevent_socket_new(m.base, fd[i], BEV_OPT_CLOSE_ON_FREE);
		CHECK(m.bev[i] != NULL);
		bufferevent_setcb(m.bev[i], mover_read_cb, NULL, NULL, &m);
		if (in_group)
			CHECK(bufferevent_add_to_rate_limit_group(m.bev[i], group) == 0);
		else
			CHECK(bufferevent_set_rate_limit(m.bev[i], cfg) == 0);
	}
	if (!in_group)
		mover_run(&m, 5);
	for (int i = 0; i < 2; i++)
		CHECK(bufferevent_disable(m.bev[i], EV_READ | EV_WRITE) == 0);
	first = m.base;
	event_base_free(first);
	m.base = base_new(to);
	for (int i = 0; i < 2; i++) {
		CHECK(bufferevent_base_set(m.base, m.bev[i]) == 0);
		if (in_group)
			CHECK(bufferevent_remove_from_rate_limit_group(m.bev[i]) == 0);
	}
	mover_run(&m, 5);
	mover_run(&m, 0);
	for (int i = 0; i < 2; i++)
		bufferevent_free(m.bev[i]);
	event_base_free(m.base);
	bufferevent_rate_limit_group_free(group);
	event_base_free(keeper);
	ev_token_bucket_cfg_free(cfg);
}

static void test_contract_15_lifetime_of_bufferevents(void **state)
{
	static const unsigned workers[][2] = { { 2, 2 }, { 4, 2 }, { 4, 1 }, { 1, 4 } };

	(void)state;
	for (unsigned i = 0; i < 4 * 2; i++)
		move_bufferevents(workers[i / 2][0], workers[i / 2][1], i % 2 != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_15_lifetime_in_two_bases),
		TEST(test_contract_15_lifetime_in_a_base_without_colors),
		TEST(test_contract_15_lifetime_begins_in_any_memory),
		TEST(test_contract_15_lifetime_in_moved_memory),
		TEST(test_contract_15_lifetime_signals_in_a_callback),
		TEST(test_contract_15_lifetime_signals_in_a_storm),
		TEST(test_contract_15_lifetime_ends_in_its_signal),
		TEST(test_contract_15_lifetime_begins_in_its_signal),
		TEST(test_contract_15_lifetime_ends_in_its_callback),
		TEST(test_contract_15_lifetime_ends_in_a_post),
		TEST(test_contract_15_lifetime_of_bufferevents),
	};

	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	return RUN(tests);
}
