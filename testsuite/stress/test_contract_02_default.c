/*
 * 2. Default: an event has color 0 until told otherwise; color is not inherited; color 0 runs
 * only on the thread that called event_base_loop(); a program without colors never gets a
 * second thread.
 */
#include "stress.h"
#include "../threads.h"

static void test_contract_02_default_event_has_color_0(void **state)
{
	struct event_base *base = base_new(4);
	struct event ev, *made = event_new(base, -1, 0, nothing_cb, NULL);

	(void)state;
	assert_int_equal(event_get_color(made), 0);
	memset(&ev, 0xff, sizeof(ev));
	assert_int_equal(event_assign(&ev, base, -1, 0, nothing_cb, NULL), 0);
	assert_int_equal(event_get_color(&ev), 0);
	/* Assigned again, it starts from the beginning. */
	assert_int_equal(event_set_color(&ev, 7), 0);
	assert_int_equal(event_assign(&ev, base, -1, 0, nothing_cb, NULL), 0);
	assert_int_equal(event_get_color(&ev), 0);
	event_free(made);
	event_base_free(base);
}

/* Made in a colored callback, without a color of its own: runs as color 0, on the loop's thread. */
struct creation {
	struct event_base *base;
	pthread_t loop;
	struct event made;
	unsigned ran;
};

static void made_cb(evutil_socket_t fd, short what, void *arg)
{
	struct creation *c = arg;

	(void)fd;
	(void)what;
	CHECK(pthread_equal(pthread_self(), c->loop));
	CHECK(event_base_get_running_worker(c->base) == 0);
	CHECK(running_color(c->base) == 0);
	c->ran++;
}

static void creator_fn(void *arg)
{
	struct creation *c = arg;

	CHECK(running_color(c->base) == 9);
	CHECK(event_assign(&c->made, c->base, -1, 0, made_cb, c) == 0);
	CHECK(event_get_color(&c->made) == 0);
	CHECK(event_add(&c->made, &zero_tv) == 0);
	CHECK(event_base_once(c->base, -1, EV_TIMEOUT, made_cb, c, NULL) == 0);
}

static void test_contract_02_default_color_is_not_inherited(void **state)
{
	struct event_base *base = base_new(4);
	struct creation c = { .base = base, .loop = pthread_self() };

	(void)state;
	for (unsigned i = 0; i < rounds(200); i++) {
		c.ran = 0;
		post(base, 9, creator_fn, &c);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(c.ran, 2);
	}
	event_base_free(base);
}

/* Color 0 under load of others: posts, activations, descriptors, timers, from every side. */
struct zero {
	struct event_base *base;
	pthread_t loop;
	struct guarded guarded;
	struct event *active, *timer, *reader;
	int fd[2];
	atomic_uint left;
	unsigned noise_left[8];
};

static void zero_step(struct zero *z)
{
	CHECK(pthread_equal(pthread_self(), z->loop));
	CHECK(event_base_get_running_worker(z->base) == 0);
	CHECK(running_color(z->base) == 0);
	guarded_enter(&z->guarded);
	spin(20);
	guarded_leave(&z->guarded);
}

static void zero_fn(void *arg)
{
	zero_step(arg);
}

static void zero_cb(evutil_socket_t fd, short what, void *arg)
{
	struct zero *z = arg;

	zero_step(z);
	if (what & EV_READ && fd >= 0)
		drain(fd);
	if (what & EV_TIMEOUT && atomic_load(&z->left) == 0) {
		event_del(z->timer);
		event_del(z->reader);
	}
}

/* Each colored callback asks color 0 for work in every way there is. */
static void noise_fn(void *arg)
{
	struct zero *z = arg;
	uint32_t color = running_color(z->base);

	spin(100);
	post(z->base, 0, zero_fn, z);
	event_active(z->active, EV_WRITE, 1);
	if (color == 1)
		(void)!write(z->fd[1], "x", 1);
	if (z->noise_left[color - 1]-- > 0)
		post(z->base, color, noise_fn, z);
	else
		atomic_fetch_sub(&z->left, 1);
}

static void test_contract_02_default_color_0_stays_on_the_loop_thread(void **state)
{
	static const struct timeval soon = { 0, 100 };
	struct event_base *base = base_new(4);
	struct zero z = { .base = base, .loop = pthread_self() };

	(void)state;
	atomic_init(&z.left, 8);
	pipe_new(z.fd);
	z.active = event_new(base, -1, 0, zero_cb, &z);
	z.timer = event_new(base, -1, EV_PERSIST, zero_cb, &z);
	z.reader = event_new(base, z.fd[0], EV_READ | EV_PERSIST, zero_cb, &z);
	event_add(z.timer, &soon);
	event_add(z.reader, NULL);
	for (unsigned i = 0; i < 8; i++) {
		z.noise_left[i] = rounds(2000);
		post(base, i + 1, noise_fn, &z);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	assert_true(z.guarded.runs >= 8 * rounds(2000));
	event_free(z.active);
	event_free(z.timer);
	event_free(z.reader);
	pipe_close(z.fd);
	event_base_free(base);
}

/* Each call of event_base_loop() may come from another thread; color 0 goes with it. */
static void *loop_main(void *arg)
{
	struct zero *z = arg;

	z->loop = pthread_self();
	CHECK(event_base_dispatch(z->base) == 1);
	return NULL;
}

static void test_contract_02_default_color_0_follows_the_loop(void **state)
{
	struct event_base *base = base_new(2);
	struct zero z = { .base = base };

	(void)state;
	atomic_init(&z.left, 1);
	z.active = event_new(base, -1, 0, zero_cb, &z);
	for (unsigned i = 0; i < 20; i++) {
		atomic_store(&z.left, 1);
		z.noise_left[1] = 20;
		post(base, 2, noise_fn, &z);
		post(base, 0, zero_fn, &z);
		thread_join(thread_start(loop_main, &z));
	}
	assert_true(z.guarded.runs > 0);
	event_free(z.active);
	event_base_free(base);
}

/* A program that uses everything but color: one thread at each of its callbacks. */
struct plain {
	struct event_base *base;
	struct event *reader, *timer, *sig;
	int fd[2];
	unsigned left;
	unsigned threads;
};

static void plain_cb(evutil_socket_t fd, short what, void *arg)
{
	struct plain *p = arg;

	CHECK(threads_num() == p->threads);
	if (what & EV_READ)
		take(fd);
	if (p->left == 0) {
		event_del(p->reader);
		event_del(p->timer);
		event_del(p->sig);
		return;
	}
	p->left--;
	if (what & EV_READ)
		put(p->fd[1]);
	if (p->left % 10 == 0)
		raise(SIGUSR1);
	CHECK(event_base_once(p->base, -1, EV_TIMEOUT, nothing_cb, NULL, NULL) == 0);
}

static void run_plain(struct event_base *base)
{
	static const struct timeval soon = { 0, 50 };
	struct plain p = { .base = base, .left = 200, .threads = threads_num() };

	pipe_new(p.fd);
	p.reader = event_new(base, p.fd[0], EV_READ | EV_PERSIST, plain_cb, &p);
	p.timer = event_new(base, -1, EV_PERSIST, plain_cb, &p);
	p.sig = event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, plain_cb, &p);
	event_add(p.reader, NULL);
	event_add(p.timer, &soon);
	event_add(p.sig, NULL);
	put(p.fd[1]);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(p.left, 0);
	assert_int_equal(threads_num(), p.threads);
	event_free(p.reader);
	event_free(p.timer);
	event_free(p.sig);
	pipe_close(p.fd);
	event_base_free(base);
}

static void test_contract_02_default_no_thread_without_colors(void **state)
{
	(void)state;
	run_plain(base_new(4));
	setenv("EVENT_WORKERS", "4", 1);
	run_plain(event_base_new());
	unsetenv("EVENT_WORKERS");
}

/* Colors in one base give no thread to another. */
static void test_contract_02_default_threads_belong_to_their_base(void **state)
{
	struct event_base *colored = base_new(3), *plain = base_new(3);
	struct creation c = { .base = colored, .loop = pthread_self() };
	unsigned before = threads_num(), with;

	(void)state;
	post(colored, 9, creator_fn, &c);
	assert_int_equal(event_base_dispatch(colored), 1);
	with = threads_num();
	assert_in_range(with, before, before + 2);
	run_plain(plain);
	assert_in_range(threads_num(), before, before + 2);
	event_base_free(colored);
	assert_int_equal(threads_num(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: a process keeps no thread of a base that is gone, but the sanitizers' own. */
		TEST(test_contract_02_default_no_thread_without_colors),
		TEST(test_contract_02_default_event_has_color_0),
		TEST(test_contract_02_default_color_is_not_inherited),
		TEST(test_contract_02_default_color_0_stays_on_the_loop_thread),
		TEST(test_contract_02_default_color_0_follows_the_loop),
		TEST(test_contract_02_default_threads_belong_to_their_base),
	};

	return RUN(tests);
}
