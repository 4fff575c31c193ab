/*
 * 5. Threads: once a base has colors in use, event_add, event_del, event_active,
 * event_base_once, post, loopbreak and loopexit are safe from any callback and any thread,
 * without evthread_use_pthreads().
 */
#include "stress.h"

#define THREADS_NUM 4
#define EVENTS_NUM 24

/* What all threads and callbacks hammer at. `stop` ends the foreign threads' part. */
struct storm {
	struct event_base *base;
	struct event *evs[EVENTS_NUM];
	int fd[EVENTS_NUM][2];
	struct guarded guarded[EVENTS_NUM];
	atomic_uint callbacks;
	atomic_uint onces;
	atomic_uint onces_added;
	atomic_bool is_over;		/* posts that are left do nothing: events are being freed */
	unsigned num;
};

struct storm_arg {
	struct storm *storm;
	unsigned id;
};

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 10;
}

static void storm_cb(evutil_socket_t fd, short what, void *arg)
{
	struct storm_arg *a = arg;
	struct storm *s = a->storm;

	/* Events of one color share a plain object: color of event i is i % 8 + 1. */
	guarded_enter(&s->guarded[a->id % 8]);
	if (what & EV_READ && fd >= 0)
		drain(fd);
	guarded_leave(&s->guarded[a->id % 8]);
	atomic_fetch_add(&s->callbacks, 1);
}

static void once_cb(evutil_socket_t fd, short what, void *arg)
{
	struct storm *s = arg;

	(void)fd;
	(void)what;
	atomic_fetch_add(&s->onces, 1);
}

static void post_fn(void *arg)
{
	struct storm_arg *a = arg;
	struct storm *s = a->storm;
	unsigned i = a->id;

	guarded_enter(&s->guarded[i % 8]);
	guarded_leave(&s->guarded[i % 8]);
	if (atomic_load(&s->is_over))
		return;
	/* Callbacks of one color operate on events of the others. */
	event_active(s->evs[(i + 5) % EVENTS_NUM], EV_WRITE, 1);
	event_add(s->evs[(i + 11) % EVENTS_NUM], i % 2 ? &zero_tv : NULL);
}

static struct storm_arg args[EVENTS_NUM];

static void *storm_main(void *arg)
{
	struct storm_arg *self = arg;
	struct storm *s = self->storm;
	unsigned seed = self->id * 7919 + 1;
	struct timeval soon = { 0, 0 };

	for (unsigned n = 0; n < s->num; n++) {
		unsigned i = next_random(&seed) % EVENTS_NUM;

		soon.tv_usec = (suseconds_t)(next_random(&seed) % 500);
		switch (next_random(&seed) % 9) {
		case 0:
		case 1:
			CHECK(event_add(s->evs[i], &soon) == 0);
			break;
		case 2:
			CHECK(event_add(s->evs[i], NULL) == 0);
			break;
		case 3:
			CHECK(event_del(s->evs[i]) == 0);
			break;
		case 4:
			event_active(s->evs[i], EV_WRITE, 1);
			break;
		case 5:
			(void)!write(s->fd[i][1], "x", 1);
			break;
		case 6:
			CHECK(event_base_once(s->base, -1, EV_TIMEOUT, once_cb, s, &soon) == 0);
			atomic_fetch_add(&s->onces_added, 1);
			break;
		case 7:
			post(s->base, i % 8 + 1, post_fn, &args[i]);
			break;
		case 8:
			(void)event_pending(s->evs[i], EV_READ | EV_TIMEOUT, NULL);
			CHECK(event_remove_timer(s->evs[i]) == 0);
			break;
		}
	}
	return NULL;
}

static void *storms_main(void *arg)
{
	struct storm *s = arg;
	struct storm_arg ids[THREADS_NUM];
	pthread_t threads[THREADS_NUM];

	for (unsigned i = 0; i < THREADS_NUM; i++) {
		ids[i] = (struct storm_arg){ s, i };
		threads[i] = thread_start(storm_main, &ids[i]);
	}
	for (unsigned i = 0; i < THREADS_NUM; i++)
		thread_join(threads[i]);
	CHECK(event_base_loopexit(s->base, NULL) == 0);
	return NULL;
}

static void storm_under(unsigned workers)
{
	struct storm s = { .base = base_new(workers), .num = rounds(20000) };
	pthread_t thread;

	for (unsigned i = 0; i < EVENTS_NUM; i++) {
		args[i] = (struct storm_arg){ &s, i };
		pipe_new(s.fd[i]);
		s.evs[i] = ev_new(s.base, i % 3 == 0 ? -1 : s.fd[i][0],
				  i % 3 == 0 ? 0 : i % 3 == 1 ? EV_READ | EV_PERSIST : EV_READ, i % 8 + 1, storm_cb,
				  &args[i]);
		event_add(s.evs[i], &hour_tv);
	}
	thread = thread_start(storms_main, &s);
	assert_int_equal(event_base_loop(s.base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
	thread_join(thread);
	atomic_store(&s.is_over, true);
	for (unsigned i = 0; i < EVENTS_NUM; i++) {
		assert_int_equal(event_del(s.evs[i]), 0);
		event_free(s.evs[i]);
	}
	/* The onces that are left, and posts: nothing else. */
	assert_int_equal(event_base_dispatch(s.base), 1);
	assert_int_equal(atomic_load(&s.onces), atomic_load(&s.onces_added));
	assert_int_equal(event_base_get_num_events(s.base, EVENT_BASE_COUNT_ADDED | EVENT_BASE_COUNT_ACTIVE), 0);
	for (unsigned i = 0; i < EVENTS_NUM; i++)
		pipe_close(s.fd[i]);
	event_base_free(s.base);
}

static void test_contract_05_threads_storm_two_workers(void **state)
{
	(void)state;
	storm_under(2);
}

static void test_contract_05_threads_storm_eight_workers(void **state)
{
	(void)state;
	storm_under(8);
}

static void test_contract_05_threads_storm_one_worker(void **state)
{
	(void)state;
	storm_under(1);
}

/* Each thread makes, uses and frees events of its own; nothing of them may be touched afterwards. */
struct owner {
	struct event_base *base;
	unsigned id;
	unsigned num;
};

static void own_cb(evutil_socket_t fd, short what, void *arg)
{
	unsigned *ran = arg;

	(void)what;
	/* Plain: read by the owner only after event_del(), which waits for this. */
	++*ran;
	if (fd >= 0)
		drain(fd);
}

static void *owner_main(void *arg)
{
	struct owner *o = arg;
	int fd[2];

	pipe_new(fd);
	for (unsigned n = 0; n < o->num; n++) {
		unsigned *ran = calloc(1, sizeof(*ran));
		struct event *ev;

		CHECK(ran != NULL);
		ev = ev_new(o->base, n % 2 ? fd[0] : -1, n % 2 ? EV_READ | EV_PERSIST : EV_PERSIST, o->id + n % 5 + 1,
			    own_cb, ran);
		CHECK(event_add(ev, n % 3 ? &zero_tv : &hour_tv) == 0);
		if (n % 2)
			(void)!write(fd[1], "x", 1);
		else
			event_active(ev, EV_WRITE, 1);
		CHECK(event_del(ev) == 0);
		*ran += 1;
		event_free(ev);
		free(ran);
	}
	pipe_close(fd);
	return NULL;
}

struct owners {
	struct event_base *base;
	struct latch loop_runs;
};

static void *owners_main(void *arg)
{
	struct owner owners[THREADS_NUM];
	pthread_t threads[THREADS_NUM];
	struct owners *all = arg;
	struct event_base *base = all->base;

	latch_wait(&all->loop_runs);
	for (unsigned i = 0; i < THREADS_NUM; i++) {
		owners[i] = (struct owner){ base, i * 3, rounds(10000) };
		threads[i] = thread_start(owner_main, &owners[i]);
	}
	for (unsigned i = 0; i < THREADS_NUM; i++)
		thread_join(threads[i]);
	CHECK(event_base_loopbreak(base) == 0);
	return NULL;
}

static void test_contract_05_threads_make_and_free_events(void **state)
{
	struct owners all = { .base = base_new(3) };
	struct event *keep = ev_new(all.base, -1, 0, 1, nothing_cb, NULL);
	pthread_t thread;

	(void)state;
	event_add(keep, &hour_tv);
	latch_init(&all.loop_runs, 1);
	assert_int_equal(event_base_post(all.base, 0, latch_down_cb, &all.loop_runs), 0);
	thread = thread_start(owners_main, &all);
	assert_int_equal(event_base_dispatch(all.base), 0);
	thread_join(thread);
	latch_fini(&all.loop_runs);
	event_free(keep);
	event_base_free(all.base);
}

/* The counts and their maxima, while one thread's events come and go and the loop's own are run. */
struct counted {
	struct event_base *base;
	unsigned left;
	atomic_bool has_ended;
};

static void count_next(void *arg)
{
	struct counted *c = arg;

	if (--c->left > 0)
		CHECK(event_base_post(c->base, 0, count_next, c) == 0);
	else
		atomic_store(&c->has_ended, true);
}

static void *counted_main(void *arg)
{
	enum { COLORS = 4 };
	struct counted *c = arg;
	struct event *evs[COLORS];
	int most = 0;

	for (unsigned i = 0; i < COLORS; i++)
		evs[i] = ev_new(c->base, -1, 0, i + 1, nothing_cb, NULL);
	do {
		for (unsigned i = 0; i < COLORS; i++)
			CHECK(event_add(evs[i], &hour_tv) == 0);
		for (unsigned i = 0; i < COLORS; i++)
			CHECK(event_del(evs[i]) == 0);
		CHECK(event_base_get_max_events(c->base, EVENT_BASE_COUNT_ADDED, 0) >= most);
		most = event_base_get_max_events(c->base, EVENT_BASE_COUNT_ADDED, 0);
	} while (!atomic_load(&c->has_ended));
	for (unsigned i = 0; i < COLORS; i++)
		event_free(evs[i]);
	CHECK(event_base_loopbreak(c->base) == 0);
	return NULL;
}

static void test_contract_05_threads_counts(void **state)
{
	struct counted c = { .base = base_new(2), .left = rounds(100000) };
	struct event *keep = ev_new(c.base, -1, 0, 1, nothing_cb, NULL);
	pthread_t thread;

	(void)state;
	event_add(keep, &hour_tv);
	assert_int_equal(event_base_post(c.base, 0, count_next, &c), 0);
	thread = thread_start(counted_main, &c);
	assert_int_equal(event_base_dispatch(c.base), 0);
	thread_join(thread);
	assert_int_equal(c.left, 0);
	assert_in_range(event_base_get_max_events(c.base, EVENT_BASE_COUNT_ACTIVE, 1), 1, 8);
	assert_int_equal(event_base_get_max_events(c.base, EVENT_BASE_COUNT_ACTIVE, 0), 0);
	event_free(keep);
	event_base_free(c.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_05_threads_storm_one_worker),
		TEST(test_contract_05_threads_storm_two_workers),
		TEST(test_contract_05_threads_storm_eight_workers),
		TEST(test_contract_05_threads_make_and_free_events),
		TEST(test_contract_05_threads_counts),
	};

	return RUN(tests);
}
