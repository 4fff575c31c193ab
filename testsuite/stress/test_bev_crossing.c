/*
 * Bufferevents of several colors and threads that meet: the deadlocks that users of libevent report, each
 * ended by alarm() if it is one. Bufferevents that write to each other; that free each other; one that
 * another thread disables and frees while its callbacks run; a rate-limit group over colors; pairs
 * whose halves have different colors.
 */
#include "stress.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/util.h>

enum { ROUNDS = IS_SANITIZED ? 500 : 5000 };

static struct event_base *base;

static void nothing(void *arg)
{
	(void)arg;
}

/* With a color in use before the loop starts: from then on the base is for all threads. */
static void base_start(void)
{
	struct event_config *cfg = event_config_new();

	assert_int_equal(event_config_set_workers(cfg, 4, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	assert_int_equal(event_base_post(base, 1, nothing, NULL), 0);
	assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

static bool is_filtered;			/* `colored` makes filters */

static struct bufferevent *colored(int fd, ev_uint32_t color, int options)
{
	struct bufferevent *bev;

	assert_int_equal(evutil_make_socket_nonblocking(fd), 0);
	bev = bufferevent_socket_new(base, fd, options | BEV_OPT_CLOSE_ON_FREE);
	assert_non_null(bev);
	assert_int_equal(bufferevent_set_color(bev, color), 0);
	/* It shares the color and the lock. */
	if (is_filtered)
		bev = bufferevent_filter_new(bev, NULL, NULL, options | BEV_OPT_CLOSE_ON_FREE, NULL, NULL);
	assert_non_null(bev);
	return bev;
}

/* ---------------------------------------------------------------- writing to each other */

static void *run_loop(void *arg)
{
	(void)arg;
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	return NULL;
}

static pthread_t loop_start(void)
{
	struct latch runs;
	pthread_t loop;

	latch_init(&runs, 1);
	CHECK(event_base_post(base, 0, latch_down_cb, &runs) == 0);
	loop = thread_start(run_loop, NULL);
	latch_wait(&runs);
	latch_fini(&runs);
	return loop;
}

struct proxy {
	struct bufferevent *bev, *other;
	struct evbuffer *scratch;
};

static void forward(struct bufferevent *bev, void *arg)
{
	struct proxy *p = arg;

	CHECK(bufferevent_write_buffer(p->other, bufferevent_get_input(bev)) == 0);
}

static void *pump(void *arg)
{
	int fd = *(int *)arg;
	uint32_t word, i;
	size_t got;
	ssize_t n;

	for (i = 0; i < ROUNDS; i++) {
		CHECK(write(fd, &i, sizeof(i)) == (ssize_t)sizeof(i));
		for (got = 0; got < sizeof(word); got += (size_t)n) {
			n = read(fd, (char *)&word + got, sizeof(word) - got);
			CHECK(n > 0);
		}
		/* From the other side, which counts as well. */
		CHECK(word == i);
	}
	return NULL;
}

/* Two sockets, each proxied to the other in its own color, both ways at once. */
static void two_that_write_to_each_other(void **state)
{
	int left[2], right[2];
	struct proxy a, b;
	pthread_t threads[2], loop;

	(void)state;
	base_start();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, left), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, right), 0);
	a.bev = b.other = colored(left[1], 1, BEV_OPT_THREADSAFE);
	b.bev = a.other = colored(right[1], 2, BEV_OPT_THREADSAFE);
	bufferevent_setcb(a.bev, forward, NULL, NULL, &a);
	bufferevent_setcb(b.bev, forward, NULL, NULL, &b);
	assert_int_equal(bufferevent_enable(a.bev, EV_READ), 0);
	assert_int_equal(bufferevent_enable(b.bev, EV_READ), 0);
	assert_int_equal(pthread_create(&threads[0], NULL, pump, &left[0]), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, pump, &right[0]), 0);
	loop = loop_start();
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_int_equal(pthread_join(threads[1], NULL), 0);
	assert_int_equal(event_base_loopbreak(base), 0);
	assert_int_equal(pthread_join(loop, NULL), 0);
	bufferevent_free(a.bev);
	bufferevent_free(b.bev);
	event_base_free(base);
	close(left[0]);
	close(right[0]);
}

/* ---------------------------------------------------------------- freeing */

static atomic_bool is_freed[2];
static struct bufferevent *victims[2];

static void free_the_other(struct bufferevent *bev, void *arg)
{
	int other = bev == victims[0] ? 1 : 0;

	(void)arg;
	bufferevent_free(victims[other]);
	atomic_store(&is_freed[other], true);
}

/* Each in its callback frees the other, perhaps at once. */
static void free_each_other(void)
{
	int fds[2][2], i, j;

	for (i = 0; i < ROUNDS / 20; i++) {
		base_start();
		for (j = 0; j < 2; j++) {
			atomic_store(&is_freed[j], false);
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[j]), 0);
			victims[j] = colored(fds[j][1], (ev_uint32_t)j + 1, BEV_OPT_THREADSAFE);
			bufferevent_setcb(victims[j], free_the_other, NULL, NULL, NULL);
			assert_int_equal(bufferevent_enable(victims[j], EV_READ), 0);
			assert_int_equal(write(fds[j][0], "x", 1), 1);
		}
		/* Who was freed first may have been called already: then both are. */
		for (j = 0; j < 2; j++)
			bufferevent_incref(victims[j]);
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		while (!atomic_load(&is_freed[0]) && !atomic_load(&is_freed[1]))
			assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
		for (j = 0; j < 2; j++) {
			if (!atomic_load(&is_freed[j]))
				bufferevent_free(victims[j]);
			assert_int_equal(bufferevent_decref(victims[j]), 1);
		}
		event_base_free(base);
		for (j = 0; j < 2; j++)
			close(fds[j][0]);
	}
}

static void callbacks_that_free_each_other(void **state)
{
	(void)state;
	free_each_other();
}

/* Their callbacks run in the events of the sockets below. */
static void callbacks_of_filters_that_free_each_other(void **state)
{
	(void)state;
	is_filtered = true;
	free_each_other();
	is_filtered = false;
}

/* ---------------------------------------------------------------- from another thread */

static atomic_int is_over;
static unsigned *shared_count;

static void count(struct bufferevent *bev, void *arg)
{
	char bytes[4096];

	(void)arg;
	while (bufferevent_read(bev, bytes, sizeof(bytes)) != 0)
		;
	(*shared_count)++;
}

static void *feed(void *arg)
{
	int fd = *(int *)arg;

	while (!atomic_load(&is_over)) {
		if (write(fd, "0123456789", 10) < 0)
			/* The other end is closed: with bytes that it did not read, or without. */
			CHECK(errno == EAGAIN || errno == EPIPE || errno == ECONNRESET);
	}
	return NULL;
}

/* What the callback uses is freed as soon as bufferevent_free has returned in another thread. */
static void free_in_another_thread(void)
{
	pthread_t loop, feeder;
	struct bufferevent *bev;
	int fds[2], i, j;

	base_start();
	loop = loop_start();
	for (i = 0; i < 50; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		assert_int_equal(evutil_make_socket_nonblocking(fds[0]), 0);
		shared_count = calloc(1, sizeof(*shared_count));
		assert_non_null(shared_count);
		bev = colored(fds[1], 7, BEV_OPT_THREADSAFE);
		bufferevent_setcb(bev, count, NULL, NULL, NULL);
		atomic_store(&is_over, 0);
		assert_int_equal(pthread_create(&feeder, NULL, feed, &fds[0]), 0);
		for (j = 0; j < 50; j++) {
			assert_int_equal(bufferevent_enable(bev, EV_READ), 0);
			assert_int_equal(bufferevent_write(bev, "x", 1), 0);
			bufferevent_lock(bev);
			(*shared_count)++;
			bufferevent_unlock(bev);
			assert_int_equal(bufferevent_disable(bev, EV_READ), 0);
		}
		assert_int_equal(bufferevent_enable(bev, EV_READ), 0);
		bufferevent_free(bev);
		free(shared_count);
		atomic_store(&is_over, 1);
		assert_int_equal(pthread_join(feeder, NULL), 0);
		close(fds[0]);
	}
	assert_int_equal(event_base_loopbreak(base), 0);
	assert_int_equal(pthread_join(loop, NULL), 0);
	event_base_free(base);
}

static void freed_in_another_thread(void **state)
{
	(void)state;
	free_in_another_thread();
}

static void filter_freed_in_another_thread(void **state)
{
	(void)state;
	is_filtered = true;
	free_in_another_thread();
	is_filtered = false;
}

/* ---------------------------------------------------------------- a group over colors */

enum { MEMBERS = 8, AMOUNT = 20000 };

static atomic_int finished;

struct member {
	struct bufferevent *bev;
	size_t got;
};

static void member_read(struct bufferevent *bev, void *arg)
{
	struct member *m = arg;
	char bytes[1024];
	size_t n;

	while ((n = bufferevent_read(bev, bytes, sizeof(bytes))) != 0)
		m->got += n;
	CHECK(m->got <= AMOUNT);
	if (m->got == AMOUNT && atomic_fetch_add(&finished, 1) + 1 == MEMBERS)
		CHECK(event_base_loopbreak(base) == 0);
}

static void a_group_over_colors(void **state)
{
	struct timeval tick = { 0, 2000 };
	struct ev_token_bucket_cfg *cfg = ev_token_bucket_cfg_new(4000, 8000, 4000, 8000, &tick);
	struct bufferevent_rate_limit_group *group;
	static struct member members[MEMBERS];
	ev_uint64_t total_in = 0, total_out = 0;
	static char block[AMOUNT];
	int fds[MEMBERS][2], i;

	(void)state;
	base_start();
	atomic_store(&finished, 0);
	group = bufferevent_rate_limit_group_new(base, cfg);
	assert_non_null(group);
	for (i = 0; i < MEMBERS; i++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]), 0);
		members[i].got = 0;
		members[i].bev = colored(fds[i][1], (ev_uint32_t)i + 1, 0);
		bufferevent_setcb(members[i].bev, member_read, NULL, NULL, &members[i]);
		assert_int_equal(bufferevent_add_to_rate_limit_group(members[i].bev, group), 0);
		assert_int_equal(write(fds[i][0], block, AMOUNT), AMOUNT);
		assert_int_equal(bufferevent_enable(members[i].bev, EV_READ), 0);
	}
	assert_int_equal(event_base_loop(base, 0), 0);
	bufferevent_rate_limit_group_get_totals(group, &total_in, &total_out);
	assert_int_equal(total_in, MEMBERS * AMOUNT);
	for (i = 0; i < MEMBERS; i++) {
		bufferevent_free(members[i].bev);
		close(fds[i][0]);
	}
	bufferevent_rate_limit_group_free(group);
	ev_token_bucket_cfg_free(cfg);
	event_base_free(base);
}

/* ---------------------------------------------------------------- a pair over colors */

enum { PAIR_WORDS = ROUNDS * 10 };

static uint32_t pair_sent, pair_got;

static void pair_send(struct bufferevent *bev, void *arg)
{
	uint32_t words[32];
	size_t n;

	(void)arg;
	for (n = 0; n < 32 && pair_sent < PAIR_WORDS; n++)
		words[n] = pair_sent++;
	if (n != 0)
		CHECK(bufferevent_write(bev, words, n * sizeof(words[0])) == 0);
}

static void pair_read(struct bufferevent *bev, void *arg)
{
	ev_uint32_t color;
	uint32_t word;

	(void)arg;
	CHECK(event_base_get_running_color(base, &color) == 0 && color == bufferevent_get_color(bev));
	while (evbuffer_get_length(bufferevent_get_input(bev)) >= sizeof(word)) {
		CHECK(bufferevent_read(bev, &word, sizeof(word)) == sizeof(word));
		CHECK(word == pair_got);
		pair_got++;
	}
}

static void a_pair_over_colors(void **state)
{
	struct bufferevent *pair[2];

	(void)state;
	base_start();
	pair_sent = pair_got = 0;
	assert_int_equal(bufferevent_pair_new(base, 0, pair), 0);
	assert_int_equal(bufferevent_set_color(pair[0], 1), 0);
	assert_int_equal(bufferevent_set_color(pair[1], 2), 0);
	bufferevent_setcb(pair[0], NULL, pair_send, NULL, NULL);
	bufferevent_setcb(pair[1], pair_read, NULL, NULL, NULL);
	bufferevent_setwatermark(pair[1], EV_READ, 0, 400);
	assert_int_equal(bufferevent_enable(pair[1], EV_READ), 0);
	pair_send(pair[0], NULL);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(pair_got, PAIR_WORDS);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_that_write_to_each_other),
		cmocka_unit_test(callbacks_that_free_each_other),
		cmocka_unit_test(callbacks_of_filters_that_free_each_other),
		cmocka_unit_test(freed_in_another_thread),
		cmocka_unit_test(filter_freed_in_another_thread),
		cmocka_unit_test(a_group_over_colors),
		cmocka_unit_test(a_pair_over_colors),
	};

	signal(SIGPIPE, SIG_IGN);
	alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
