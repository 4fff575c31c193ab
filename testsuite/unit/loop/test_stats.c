/*
 * core/loop/stats.c: how many callbacks of a color wait, and how many of its events are pending, in each kind of base.
 */
#include "table.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <event2/thread.h>

#include "core/ec.h"
#include "core/sched/base.h"

enum { ROUNDS = 500 };

/* How the base is. */
struct kind {
	unsigned workers;
	bool is_colored;
};

static struct {
	struct ec_base *base;
	struct ec_event io, timer, sig, far;	/* pending */
	struct ec_event active, ready;		/* active */
	uint32_t color;
	unsigned ran;
	int fd[2];
} t;

static void expect_at(int line, uint32_t color, uint32_t queued, uint32_t events)
{
	struct ec_color_stats s = { .queued = 0 };
	int r = ec_base_color_stats(t.base, color, &s);

	if ((r != 0 && r != -ENOENT) || s.queued != queued || s.events != events)
		fail_msg("line %d, color %u: %d; %u queued, %u pending", line, color, r, s.queued, s.events);
}

#define EXPECT(color, queued, events) expect_at(__LINE__, color, queued, events)

static void nothing(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void nothing_fn(void *arg)
{
	(void)arg;
}

static void make(struct ec_event *ev, int fd, short events, ec_event_fn fn)
{
	assert_int_equal(ec_event_init(ev, t.base, fd, events, fn, NULL), 0);
	assert_int_equal(ec_event_set_color(ev, t.color), 0);
}

static void begin(const struct kind *k, uint32_t color)
{
	struct ec_config cfg = { .max_callbacks = INT_MAX, .flags = EC_BASE_IGNORE_ENV, .workers_num = k->workers };

	t.ran = 0;
	t.color = color;
	assert_int_equal(pipe(t.fd), 0);
	assert_int_equal(ec_base_new(&cfg, &t.base), 0);
	if (k->is_colored)
		assert_int_equal(ec_color_set_cost(t.base, 7, 1), 0);
}

static void end(void)
{
	ec_base_free(t.base);
	close(t.fd[0]);
	close(t.fd[1]);
}

/* An event with a descriptor and a deadline is one event. So is one in the queue of a common timeout. */
static void add_all(void)
{
	const struct timeval second = { 1, 0 }, hour = { 3600, 0 };

	make(&t.io, t.fd[0], EC_READ | EC_PERSIST, nothing);
	make(&t.timer, -1, 0, nothing);
	make(&t.sig, SIGUSR1, EC_SIGNAL | EC_PERSIST, nothing);
	make(&t.far, -1, EC_PERSIST, nothing);
	assert_int_equal(ec_event_add(&t.io, &hour), 0);
	EXPECT(t.color, 0, 1);
	assert_int_equal(ec_event_add(&t.timer, &hour), 0);
	EXPECT(t.color, 0, 2);
	assert_int_equal(ec_event_add(&t.sig, &hour), 0);
	EXPECT(t.color, 0, 3);
	assert_int_equal(ec_event_add(&t.far, ec_base_common_timeout(t.base, &second)), 0);
	EXPECT(t.color, 0, 4);
}

static void del_all(void)
{
	assert_int_equal(ec_event_del(&t.io, EC_DEL_BLOCK), 0);
	EXPECT(t.color, 0, 3);
	assert_int_equal(ec_event_del(&t.timer, EC_DEL_BLOCK), 0);
	assert_int_equal(ec_event_del(&t.sig, EC_DEL_BLOCK), 0);
	EXPECT(t.color, 0, 1);
	assert_int_equal(ec_event_del(&t.far, EC_DEL_BLOCK), 0);
	EXPECT(t.color, 0, 0);
}

/* Two events are active, and one of them is also pending. */
static void activate(void)
{
	make(&t.active, -1, 0, nothing);
	make(&t.ready, -1, EC_PERSIST, nothing);
	assert_int_equal(ec_event_add(&t.ready, &(struct timeval){ 3600, 0 }), 0);
	ec_event_active(&t.active, EC_READ, 1);
	ec_event_active(&t.ready, EC_READ, 1);
	EXPECT(t.color, 2, 1);
	assert_true(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	EXPECT(t.color, 0, 1);
	assert_int_equal(ec_event_del(&t.ready, EC_DEL_BLOCK), 0);
	EXPECT(t.color, 0, 0);
}

/* The callback itself does not wait any more. A post of it to its own color does. */
static void post_again(void *arg)
{
	EXPECT(t.color, 0, 0);
	assert_int_equal(ec_base_post(t.base, t.color, t.ran < ROUNDS ? post_again : nothing_fn, arg), 0);
	EXPECT(t.color, 1, 0);
	t.ran++;
}

static void active_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	post_again(arg);
}

static void run(void)
{
	make(&t.active, -1, 0, active_cb);
	ec_event_active(&t.active, EC_READ, 1);
	while (ec_base_loop(t.base, EC_LOOP_NONBLOCK) == 0)
		;
	assert_int_equal(t.ran, ROUNDS + 1);
	EXPECT(t.color, 0, 0);
}

static void all(const struct kind *k, uint32_t color)
{
	begin(k, color);
	add_all();
	EXPECT(color + 1, 0, 0);
	del_all();
	activate();
	run();
	end();
}

static void color_0_without_colors(void **state)
{
	(void)state;
	all(&(struct kind){ .workers = 3 }, 0);
}

static void with_one_worker(void **state)
{
	const struct kind one = { .workers = 1, .is_colored = true };

	(void)state;
	all(&one, 0);
	all(&one, 5);
}

static void with_several_workers(void **state)
{
	const struct kind several = { .workers = 3, .is_colored = true };

	(void)state;
	all(&several, 0);
	all(&several, 5);
}

static void shared_cb(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	EXPECT(5, 0, 0);
	t.ran++;
}

/* Runs, hints and reserved posts refer to a color, and are no events. */
static void what_is_no_event(void **state)
{
	struct ec_reserved *post;

	(void)state;
	begin(&(struct kind){ .workers = 3, .is_colored = true }, 5);
	EXPECT(7, 0, 0);
	assert_int_equal(ec_color_set_penalty(t.base, 7, 2), 0);
	EXPECT(7, 0, 0);
	assert_int_equal(ec_event_init(&t.active, t.base, -1, 0, shared_cb, NULL), 0);
	assert_int_equal(ec_event_set_color_shared(&t.active, 5), 0);
	ec_event_active(&t.active, EC_READ, 1);
	EXPECT(5, 1, 0);
	assert_true(ec_base_loop(t.base, EC_LOOP_NONBLOCK) >= 0);
	assert_int_equal(t.ran, 1);
	assert_int_equal(ec_post_reserve(t.base, 5, &post), 0);
	EXPECT(5, 0, 0);
	add_all();
	del_all();
	activate();
	ec_post_reserved(post, nothing_fn, NULL);
	EXPECT(5, 1, 0);
	end();
}

/* evthread is on for the rest of the process. */
static void color_0_with_locks_and_without_colors(void **state)
{
	assert_int_equal(evthread_use_pthreads(), 0);
	color_0_without_colors(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(color_0_without_colors),
		cmocka_unit_test(with_one_worker),
		cmocka_unit_test(with_several_workers),
		cmocka_unit_test(what_is_no_event),
		cmocka_unit_test(color_0_with_locks_and_without_colors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
