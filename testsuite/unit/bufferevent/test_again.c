/*
 * A deferred callback that has a reason to be called again, each time. It is, as often as with libevent, but the loop
 * polls meanwhile: what is ready besides it has its turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/smp.h>

enum { FULL = 5, CALLS_MAX = 1000, SETTLED = 3 };

static struct event_base *base;
static struct bufferevent *bev;
static struct evbuffer *buf;
static int calls, others, other_calls;

static void other_is_ready(evutil_socket_t fd, short what, void *arg)
{
	char byte;

	(void)what;
	(void)arg;
	assert_int_equal(read(fd, &byte, 1), 1);
	other_calls = calls;
	if (++others == SETTLED)
		event_base_loopbreak(base);
}

/* The loop never polls, and so would not end. */
static void count(void)
{
	if (++calls - other_calls > CALLS_MAX)
		event_base_loopbreak(base);
}

static void leave_it_full(struct bufferevent *b, void *arg)
{
	(void)b;
	(void)arg;
	count();
}

static void trigger(struct bufferevent *b, void *arg)
{
	const short *what = arg;

	count();
	bufferevent_trigger(b, *what, BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
}

static void trigger_event(struct bufferevent *b, short what, void *arg)
{
	(void)arg;
	count();
	bufferevent_trigger_event(b, what, BEV_TRIG_DEFER_CALLBACKS);
}

static void add_one(struct evbuffer *b, const struct evbuffer_cb_info *info, void *arg)
{
	(void)info;
	(void)arg;
	count();
	assert_int_equal(evbuffer_add(b, "x", 1), 0);
}

/* ---------------------------------------------------------------- what begins it */

static const short reading = EV_READ, writing = EV_WRITE;

static void full(int fd)
{
	bufferevent_setcb(bev, leave_it_full, NULL, NULL, NULL);
	bufferevent_setwatermark(bev, EV_READ, 0, FULL);
	assert_int_equal(write(fd, "hello world", 11), 11);
}

static void reads(int fd)
{
	(void)fd;
	bufferevent_setcb(bev, trigger, NULL, NULL, (void *)(uintptr_t)&reading);
	bufferevent_trigger(bev, EV_READ, BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
}

static void writes(int fd)
{
	(void)fd;
	bufferevent_setcb(bev, NULL, trigger, NULL, (void *)(uintptr_t)&writing);
	bufferevent_trigger(bev, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
}

static void events(int fd)
{
	(void)fd;
	bufferevent_setcb(bev, NULL, NULL, trigger_event, NULL);
	bufferevent_trigger_event(bev, BEV_EVENT_EOF, BEV_TRIG_DEFER_CALLBACKS);
}

static void grows(int fd)
{
	(void)fd;
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	assert_non_null(evbuffer_add_cb(buf, add_one, NULL));
	assert_int_equal(evbuffer_add(buf, "x", 1), 0);
}

/* ---------------------------------------------------------------- the test */

static void goes_on(void (*begin)(int fd), int options, unsigned workers, uint32_t color)
{
	struct event_config *cfg = event_config_new();
	struct event *other;
	int fd[2], side[2];

	assert_int_equal(event_config_set_workers(cfg, workers, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, side), 0);
	evutil_make_socket_nonblocking(fd[0]);
	calls = others = other_calls = 0;
	bev = bufferevent_socket_new(base, fd[0], options);
	buf = evbuffer_new();
	assert_non_null(bev);
	assert_non_null(buf);
	if (color != 0)
		assert_int_equal(bufferevent_set_color(bev, color), 0);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	begin(fd[1]);
	other = event_new(base, side[0], EV_READ | EV_PERSIST, other_is_ready, NULL);
	if (color != 0)
		assert_int_equal(event_set_color(other, color), 0);
	assert_int_equal(event_add(other, NULL), 0);
	assert_int_equal(write(side[1], "abc", SETTLED), SETTLED);
	assert_int_equal(event_base_dispatch(base), 0);
	assert_int_equal(others, SETTLED);
	assert_true(calls > 1);

	event_free(other);
	bufferevent_free(bev);
	evbuffer_free(buf);
	event_base_free(base);
	close(fd[0]);
	close(fd[1]);
	close(side[0]);
	close(side[1]);
}

static void with_all(void (*begin)(int fd))
{
	goes_on(begin, 0, 1, 0);
	goes_on(begin, BEV_OPT_DEFER_CALLBACKS, 1, 0);
	goes_on(begin, 0, 1, 7);
	goes_on(begin, 0, 2, 7);
}

static void input_that_stays_full(void **state)
{
	(void)state;
	with_all(full);
}

static void reads_triggered_again(void **state)
{
	(void)state;
	with_all(reads);
}

static void writes_triggered_again(void **state)
{
	(void)state;
	with_all(writes);
}

static void events_triggered_again(void **state)
{
	(void)state;
	with_all(events);
}

static void a_buffer_that_grows_in_its_callback(void **state)
{
	(void)state;
	goes_on(grows, 0, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_that_stays_full),
		cmocka_unit_test(reads_triggered_again),
		cmocka_unit_test(writes_triggered_again),
		cmocka_unit_test(events_triggered_again),
		cmocka_unit_test(a_buffer_that_grows_in_its_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
