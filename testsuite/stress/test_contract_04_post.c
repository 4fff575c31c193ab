/*
 * 4. Post: from any thread; posts of one color run in posting order, ahead of callbacks of
 * descriptors that wait on that worker.
 */
#include "stress.h"

#define READERS_NUM 10

static void count_fn(void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static void test_contract_04_post_before_the_loop(void **state)
{
	struct event_base *base = base_new(4);
	atomic_uint ran;

	(void)state;
	atomic_init(&ran, 0);
	for (uint32_t i = 0; i < 1000; i++)
		post(base, i % 10, count_fn, &ran);
	assert_int_equal(atomic_load(&ran), 0);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(atomic_load(&ran), 1000);
	/* What is left when the base is freed does not run. */
	post(base, 3, count_fn, &ran);
	post(base, 0, count_fn, &ran);
	event_base_free(base);
	assert_int_equal(atomic_load(&ran), 1000);
}

/* A chain of posts keeps the loop, and ends it with its end. */
struct chain {
	struct event_base *base;
	unsigned left;
	uint32_t colors;
	unsigned trail;
};

static void chain_fn(void *arg)
{
	struct chain *c = arg;

	c->trail++;
	if (c->left-- > 0)
		post(c->base, c->left % c->colors, chain_fn, c);
}

static void test_contract_04_post_keeps_the_loop_running(void **state)
{
	struct event_base *base = base_new(4);

	(void)state;
	for (uint32_t colors = 1; colors <= 5; colors++) {
		struct chain c = { base, rounds(5000), colors, 0 };

		post(base, 1, chain_fn, &c);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(c.trail, rounds(5000) + 1);
	}
	event_base_free(base);
}

/* From a thread that knows nothing of the base's loop, which sleeps: each waits for the answer. */
struct ping {
	struct event_base *base;
	uint32_t color;
	int fd[2];
};

static void pong_fn(void *arg)
{
	struct ping *p = arg;

	CHECK(running_color(p->base) == p->color);
	put(p->fd[1]);
}

struct ping_thread {
	struct event_base *base;
	unsigned num;
	uint32_t from;
};

static void *ping_main(void *arg)
{
	struct ping_thread *t = arg;
	struct ping p = { .base = t->base };
	char c;

	CHECK(pipe(p.fd) == 0);
	for (unsigned i = 0; i < t->num; i++) {
		p.color = (t->from + i) % 7;
		post(t->base, p.color, pong_fn, &p);
		CHECK(read(p.fd[0], &c, 1) == 1);
	}
	pipe_close(p.fd);
	return NULL;
}

static void *pings_main(void *arg)
{
	struct ping_thread ts[3];
	pthread_t threads[3];
	struct event_base *base = arg;

	for (unsigned i = 0; i < 3; i++) {
		ts[i] = (struct ping_thread){ base, rounds(3000), i };
		threads[i] = thread_start(ping_main, &ts[i]);
	}
	for (unsigned i = 0; i < 3; i++)
		thread_join(threads[i]);
	CHECK(event_base_loopexit(base, NULL) == 0);
	return NULL;
}

static void test_contract_04_post_wakes_whoever_sleeps(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		struct event_base *base = base_new(workers);
		atomic_uint ran;
		pthread_t thread;

		atomic_init(&ran, 0);
		/* A color in use makes the base safe from other threads before they start. */
		post(base, 1, count_fn, &ran);
		assert_int_equal(event_base_dispatch(base), 1);
		thread = thread_start(pings_main, base);
		assert_int_equal(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY), 0);
		thread_join(thread);
		event_base_free(base);
	}
}

/* Many descriptors are ready in one turn; the first to run posts, and the post is next. */
struct ahead {
	struct event_base *base;
	unsigned reads;
	unsigned posts;
	bool must_be_post;
};

static void ahead_fn(void *arg)
{
	struct ahead *a = arg;

	a->posts++;
	a->must_be_post = false;
}

static void ahead_cb(evutil_socket_t fd, short what, void *arg)
{
	struct ahead *a = arg;

	(void)what;
	CHECK(!a->must_be_post);
	CHECK(take(fd));
	a->reads++;
	post(a->base, running_color(a->base), ahead_fn, a);
	a->must_be_post = true;
}

static void test_contract_04_post_goes_ahead_of_descriptors(void **state)
{
	struct event_base *base = base_new(1);
	struct ahead a = { .base = base };
	struct event *evs[READERS_NUM];
	int fd[READERS_NUM][2];

	(void)state;
	for (unsigned i = 0; i < READERS_NUM; i++) {
		pipe_new(fd[i]);
		evs[i] = ev_new(base, fd[i][0], EV_READ, 5, ahead_cb, &a);
		event_add(evs[i], NULL);
		put(fd[i][1]);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(a.reads, READERS_NUM);
	assert_int_equal(a.posts, READERS_NUM);
	for (unsigned i = 0; i < READERS_NUM; i++) {
		event_free(evs[i]);
		pipe_close(fd[i]);
	}
	event_base_free(base);
}

/* Priorities of posts; those of one are in order; none beyond what the base has. */
struct pri {
	struct event_base *base;
	unsigned trail[64];
	unsigned num;
};

struct pri_post {
	struct pri *pri;
	unsigned id;
};

static void pri_fn(void *arg)
{
	struct pri_post *p = arg;

	p->pri->trail[p->pri->num++] = p->id;
}

static void test_contract_04_post_with_priorities(void **state)
{
	struct event_base *base = base_new(1);
	struct pri pri = { .base = base };
	struct pri_post posts[12];

	(void)state;
	assert_int_equal(event_base_priority_init(base, 4), 0);
	assert_int_equal(event_base_post_priority(base, 3, 4, pri_fn, posts), -1);
	assert_int_equal(event_base_post_priority(base, 3, -1, pri_fn, posts), -1);
	for (unsigned i = 0; i < 12; i++) {
		int priority = (int)(3 - i % 4);

		posts[i] = (struct pri_post){ &pri, (unsigned)priority * 100 + i };
		assert_int_equal(event_base_post_priority(base, 3, priority, pri_fn, &posts[i]), 0);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(pri.num, 12);
	for (unsigned i = 1; i < 12; i++)
		assert_true(pri.trail[i - 1] < pri.trail[i]);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_04_post_before_the_loop),
		TEST(test_contract_04_post_keeps_the_loop_running),
		TEST(test_contract_04_post_wakes_whoever_sleeps),
		TEST(test_contract_04_post_goes_ahead_of_descriptors),
		TEST(test_contract_04_post_with_priorities),
	};

	return RUN(tests);
}
