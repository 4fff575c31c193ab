/*
 * compat/libevent/bufferevent/post.c: callbacks posted to a bufferevent run in its color, between its other ones,
 * exactly once each, whatever becomes of the bufferevent.
 */
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <event2/bufferevent.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/smp.h>

#include "fault.h"

static struct event_base *base;
static struct bufferevent *pair[2];
static char said[64];
static unsigned said_num;

/* Callbacks of one color write it, or of colors that are ordered by posts. */
static void say(char c)
{
	assert_true(said_num < sizeof(said) - 1);
	said[said_num++] = c;
	said[said_num] = '\0';
}

static int setup(void **state)
{
	struct event_config *cfg = event_config_new();

	(void)state;
	said_num = 0;
	said[0] = '\0';
	if (cfg == NULL || event_config_set_workers(cfg, 2, NULL, NULL) < 0)
		return -1;
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	if (base == NULL || bufferevent_pair_new(base, BEV_OPT_THREADSAFE, pair) < 0)
		return -1;
	return 0;
}

/* What is left of the pair is freed with the base. */
static int teardown(void **state)
{
	(void)state;
	(void)fault_end();
	if (pair[0] != NULL)
		bufferevent_free(pair[0]);
	if (pair[1] != NULL)
		bufferevent_free(pair[1]);
	if (base != NULL)
		event_base_free(base);
	return fault_alive() == 0 ? 0 : -1;
}

static void free_one(unsigned i)
{
	bufferevent_free(pair[i]);
	pair[i] = NULL;
}

static void check_color(uint32_t want)
{
	uint32_t color;

	assert_int_equal(event_base_get_running_color(base, &color), 0);
	assert_int_equal(color, want);
}

/* Lower case: with its bufferevent. Upper case: it was freed. */
static void spell(struct bufferevent *bev, void *arg)
{
	say((char)((bev != NULL ? 'a' : 'A') + *(char *)arg - 'a'));
}

static void spell_in_7(struct bufferevent *bev, void *arg)
{
	check_color(7);
	spell(bev, arg);
}

static void spell_in_8(struct bufferevent *bev, void *arg)
{
	check_color(8);
	spell(bev, arg);
}

static void post_ok(bufferevent_post_cb fn, const char *letter)
{
	assert_int_equal(bufferevent_post(pair[0], fn, (void *)(uintptr_t)letter), 0);
}

static void on_input(struct bufferevent *bev, void *arg)
{
	(void)arg;
	evbuffer_drain(bufferevent_get_input(bev), 100);
	say('!');
}

static void posts_run_in_order_in_the_color(void **state)
{
	(void)state;
	assert_int_equal(bufferevent_set_color(pair[0], 7), 0);
	post_ok(spell_in_7, "a");
	post_ok(spell_in_7, "b");
	post_ok(spell_in_7, "c");
	assert_string_equal(said, "");
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "abc");
}

static void callbacks_that_are_due_go_first(void **state)
{
	(void)state;
	bufferevent_setcb(pair[0], on_input, NULL, NULL, NULL);
	assert_int_equal(bufferevent_enable(pair[0], EV_READ), 0);
	bufferevent_trigger(pair[0], EV_READ, BEV_OPT_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
	post_ok(spell, "a");
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	assert_string_equal(said, "!a");
}

static void a_post_moves_with_the_bufferevent(void **state)
{
	(void)state;
	assert_int_equal(bufferevent_set_color(pair[0], 7), 0);
	post_ok(spell_in_8, "a");
	assert_int_equal(bufferevent_set_color(pair[0], 8), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "a");
}

/* ---------------------------------------------------------------- the end */

static void a_post_to_a_freed_bufferevent_gets_none(void **state)
{
	(void)state;
	assert_int_equal(bufferevent_set_color(pair[0], 7), 0);
	post_ok(spell_in_7, "a");
	post_ok(spell_in_7, "b");
	free_one(0);
	assert_string_equal(said, "");
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "AB");
}

static void free_it(struct bufferevent *bev, void *arg)
{
	(void)arg;
	assert_ptr_equal(bev, pair[0]);
	say('-');
	free_one(0);
}

static void a_post_may_free_the_bufferevent(void **state)
{
	(void)state;
	post_ok(spell, "a");
	post_ok(free_it, "");
	post_ok(spell, "b");
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "a-B");
}

/* Its callbacks are gone as well. */
static void another_reference_does_not_help(void **state)
{
	struct bufferevent *bev = pair[0];

	(void)state;
	bufferevent_incref(bev);
	post_ok(spell, "a");
	free_one(0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "A");
	assert_int_equal(bufferevent_decref(bev), 1);
}

static void the_last_reference_ends_it(void **state)
{
	struct bufferevent *bev = pair[0];

	(void)state;
	post_ok(spell, "a");
	pair[0] = NULL;
	assert_int_equal(bufferevent_decref(bev), 1);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "A");
}

static void the_end_of_the_base_calls_what_is_left(void **state)
{
	(void)state;
	post_ok(spell, "a");
	free_one(0);
	free_one(1);
	event_base_free(base);
	base = NULL;
	assert_string_equal(said, "A");
}

/* ---------------------------------------------------------------- who may post */

static void nothing(void *arg)
{
	(void)arg;
}

/* From the first color in use on, other threads may use the base. */
static void use_color_7(void)
{
	assert_int_equal(bufferevent_set_color(pair[0], 7), 0);
	assert_int_equal(event_base_post(base, 7, nothing, NULL), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
}

static void *post_from_thread(void *arg)
{
	(void)arg;
	post_ok(spell_in_7, "a");
	post_ok(spell_in_7, "b");
	return NULL;
}

static void any_thread_may_post_to_one_with_a_lock(void **state)
{
	pthread_t thread;

	(void)state;
	use_color_7();
	assert_int_equal(pthread_create(&thread, NULL, post_from_thread, NULL), 0);
	while (said_num < 2)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(said, "ab");
}

static struct bufferevent *plain;

static void make_plain(void *arg)
{
	(void)arg;
	plain = bufferevent_socket_new(base, -1, 0);
	assert_non_null(plain);
	assert_int_equal(bufferevent_set_color(plain, 7), 0);
	assert_int_equal(bufferevent_post(plain, spell_in_7, (void *)(uintptr_t)"a"), 0);
}

static void post_to_plain(void *arg)
{
	(void)arg;
	errno = 0;
	assert_int_equal(bufferevent_post(plain, spell, NULL), -1);
	assert_int_equal(errno, EBUSY);
	say('x');
}

static void only_its_own_color_may_post_to_one_without(void **state)
{
	(void)state;
	assert_int_equal(event_base_post(base, 7, make_plain, NULL), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(event_base_post(base, 8, post_to_plain, NULL), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "ax");
	bufferevent_free(plain);
}

static void none_and_nothing_are_refused(void **state)
{
	(void)state;
	errno = 0;
	assert_int_equal(bufferevent_post(NULL, spell, NULL), -1);
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_int_equal(bufferevent_post(pair[0], NULL, NULL), -1);
	assert_int_equal(errno, EINVAL);
}

/* ---------------------------------------------------------------- turns */

static struct {
	unsigned left;
	bool has_run;			/* the other color's post */
} turns;

static void run_other(void *arg)
{
	(void)arg;
	turns.has_run = true;
}

static void post_again(struct bufferevent *bev, void *arg)
{
	if (turns.left-- == 5)
		assert_int_equal(event_base_post(base, 0, run_other, NULL), 0);
	if (turns.left != 0)
		assert_int_equal(bufferevent_post(bev, post_again, arg), 0);
	else
		assert_true(turns.has_run);
}

static void a_post_that_posts_itself_leaves_turns_to_others(void **state)
{
	(void)state;
	turns.left = 5;
	turns.has_run = false;
	post_ok(post_again, "");
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_int_equal(turns.left, 0);
	assert_true(turns.has_run);
}

/* While another thread is between bufferevent_lock and _unlock, no callback runs. */
static struct {
	pthread_mutex_t mu;
	pthread_cond_t cond;
	unsigned step;
} stage = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };

static void go_to(unsigned step)
{
	pthread_mutex_lock(&stage.mu);
	stage.step = step;
	pthread_cond_broadcast(&stage.cond);
	pthread_mutex_unlock(&stage.mu);
}

static void wait_for(unsigned step)
{
	pthread_mutex_lock(&stage.mu);
	while (stage.step < step)
		pthread_cond_wait(&stage.cond, &stage.mu);
	pthread_mutex_unlock(&stage.mu);
}

static void *hold(void *arg)
{
	(void)arg;
	bufferevent_lock(pair[0]);
	go_to(1);
	wait_for(2);
	say('h');
	bufferevent_unlock(pair[0]);
	return NULL;
}

static void a_post_waits_for_who_holds_the_bufferevent(void **state)
{
	pthread_t thread;

	(void)state;
	stage.step = 0;
	use_color_7();
	assert_int_equal(pthread_create(&thread, NULL, hold, NULL), 0);
	wait_for(1);
	/* The holder has the mutex; what waits for the callbacks it excludes is tested where the lock is free. */
	go_to(2);
	post_ok(spell_in_7, "a");
	while (said_num < 2)
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_string_equal(said, "ha");
}

/* ---------------------------------------------------------------- memory */

static int post_one(void *arg)
{
	(void)arg;
	if (bufferevent_post(pair[0], spell, (void *)(uintptr_t)"a") < 0)
		return -errno;
	return 0;
}

static void without_memory_nothing_is_posted(void **state)
{
	(void)state;
	assert_int_equal(bufferevent_set_color(pair[0], 7), 0);
	fault_alloc_at(1);
	assert_int_equal(post_one(NULL), -ENOMEM);
	assert_true(fault_end());
	(void)event_base_loop(base, EVLOOP_NONBLOCK);
	assert_string_equal(said, "");
	assert_int_equal(post_one(NULL), 0);
	assert_int_equal(event_base_loop(base, 0), 1);
	assert_string_equal(said, "a");
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(posts_run_in_order_in_the_color),
		TEST(callbacks_that_are_due_go_first),
		TEST(a_post_moves_with_the_bufferevent),
		TEST(a_post_to_a_freed_bufferevent_gets_none),
		TEST(a_post_may_free_the_bufferevent),
		TEST(another_reference_does_not_help),
		TEST(the_last_reference_ends_it),
		TEST(the_end_of_the_base_calls_what_is_left),
		TEST(any_thread_may_post_to_one_with_a_lock),
		TEST(only_its_own_color_may_post_to_one_without),
		TEST(none_and_nothing_are_refused),
		TEST(a_post_that_posts_itself_leaves_turns_to_others),
		TEST(a_post_waits_for_who_holds_the_bufferevent),
		TEST(without_memory_nothing_is_posted),
	};

	return cmocka_run_group_tests(tests, fault_init, fault_fini);
}
