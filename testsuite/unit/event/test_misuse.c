/*
 * What debug mode says of misused colors (core/sched/misuse.c): a warning for each mistake, and not a word about what
 * the contract of colors allows. Each case in a process of its own, with one worker and with two.
 */
#include "misuse.h"

#include <stdatomic.h>

#include <event2/bufferevent.h>
#include <event2/http.h>

#include "core/os/clock.h"

static ev_uint32_t own;

/* ---------------------------------------------------------------- the color of an event */

static void color_of_pending(void)
{
	begin();
	assign(nothing_cb, FIRST);
	check(event_add(&ev, &hour_tv) == 0);
	check(event_set_color(&ev, SECOND) == -1 && errno == EBUSY);
	check(event_get_color(&ev) == FIRST);
	event_del(&ev);
	end();
}

static void color_of_active(void)
{
	begin();
	assign(nothing_cb, FIRST);
	event_active(&ev, EV_TIMEOUT, 1);
	check(event_set_color_shared(&ev, SECOND) == -1 && errno == EBUSY);
	loop();
	end();
}

static void color_of_nothing(void)
{
	begin();
	check(event_set_color(&ev, FIRST) == -1 && errno == EINVAL);
	end();
}

static void color_0_shared(void)
{
	begin();
	assign(nothing_cb, FIRST);
	check(event_set_color_shared(&ev, 0) == -1 && errno == EINVAL);
	end();
}

/* Sets another color of the event whose callback runs, and adds it. */
static void *recolor(void *arg)
{
	bool waits = arg != NULL;

	sem_wait(&began);
	if (waits) {
		sem_post(&may_end);
		check(event_del(&ev) == 0);
	}
	check(event_set_color(&ev, SECOND) == 0);
	check(event_add(&ev, &hour_tv) == 0);
	check(event_del_noblock(&ev) == 0);
	if (!waits)
		sem_post(&may_end);
	return NULL;
}

static void recolor_elsewhere(void *waits)
{
	pthread_t thread;

	begin();
	assign(wait_and_end_cb, FIRST);
	check(event_add(&ev, &zero_tv) == 0);
	check(pthread_create(&thread, NULL, recolor, waits) == 0);
	loop();
	check(pthread_join(thread, NULL) == 0);
	check(ran == 1);
	end();
}

static void color_while_it_runs(void)
{
	if (workers_num == 1) {
		(void)fprintf(stderr, "may overlap: not with one worker\n");
		return;
	}
	recolor_elsewhere(NULL);
}

static void color_after_event_del(void)
{
	recolor_elsewhere(&ran);
}

static void move_on_cb(evutil_socket_t s, short what, void *arg)
{
	(void)s;
	(void)what;
	(void)arg;
	if (++ran == 1) {
		check(event_set_color(&ev, SECOND) == 0);
		check(event_add(&ev, &zero_tv) == 0);
	}
}

static void color_in_the_own_callback(void)
{
	begin();
	assign(move_on_cb, FIRST);
	check(event_add(&ev, &zero_tv) == 0);
	loop();
	check(ran == 2);
	end();
}

static void color_between_uses(void)
{
	begin();
	assign(nothing_cb, FIRST);
	check(event_add(&ev, &hour_tv) == 0);
	check(event_del(&ev) == 0);
	check(event_set_color_shared(&ev, SECOND) == 0);
	check(event_add(&ev, &zero_tv) == 0);
	loop();
	check(event_set_color(&ev, 0) == 0);
	end();
}

/* ---------------------------------------------------------------- the color of a bufferevent and of a connection */

static event_post_fn then;
static int options;

static struct bufferevent *bev_enabled(void)
{
	struct bufferevent *bev;
	int fd[2];

	check(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	check(evutil_make_socket_nonblocking(fd[0]) == 0 && evutil_make_socket_nonblocking(fd[1]) == 0);
	bev = bufferevent_socket_new(base, fd[0], options | BEV_OPT_CLOSE_ON_FREE);
	check(bev != NULL && bufferevent_set_color(bev, FIRST) == 0);
	check(bufferevent_enable(bev, EV_READ) == 0);
	return bev;
}

static void drop_post(struct bufferevent *bev, void *arg)
{
	(void)bev;
	(void)arg;
}

static void set_color_post(void *arg)
{
	ran = bufferevent_set_color(arg, SECOND) == 0;
	bufferevent_free(arg);
}

static void post_post(void *arg)
{
	ran = bufferevent_post(arg, drop_post, NULL) == 0;
	bufferevent_free(arg);
}

/* In the color that the bufferevent gets: so it needs no lock. */
static void make_post(void *arg)
{
	(void)arg;
	check(event_base_post(base, OTHER, then, bev_enabled()) == 0);
}

static void in_another_color(event_post_fn fn, int opts)
{
	begin();
	then = fn;
	options = opts;
	check(event_base_post(base, FIRST, make_post, NULL) == 0);
	loop();
	check(ran == (options != 0));
	end();
}

static void color_of_bufferevent_without_lock(void)
{
	in_another_color(set_color_post, 0);
}

static void color_of_bufferevent_with_lock(void)
{
	in_another_color(set_color_post, BEV_OPT_THREADSAFE);
}

static void post_to_bufferevent_without_lock(void)
{
	in_another_color(post_post, 0);
}

static void post_to_bufferevent_with_lock(void)
{
	in_another_color(post_post, BEV_OPT_THREADSAFE);
}

static void request_cb(struct evhttp_request *req, void *arg)
{
	(void)req;
	(void)arg;
}

static void color_of_connection_in_use(void)
{
	struct evhttp_connection *conn;

	begin();
	conn = evhttp_connection_base_new(base, NULL, "127.0.0.1", 1);
	check(conn != NULL && evhttp_connection_set_color(conn, FIRST) == 0);
	check(evhttp_make_request(conn, evhttp_request_new(request_cb, NULL), EVHTTP_REQ_GET, "/") == 0);
	check(evhttp_connection_set_color(conn, SECOND) == -1 && errno == EBUSY);
	evhttp_connection_free(conn);
	end();
}

/* ---------------------------------------------------------------- released colors */

static void released(void)
{
	own = event_color_new(base);
	check(own > EVENT_COLOR_OWN_MAX);
	check(event_color_release(base, own) == 0);
}

static void release_twice(void)
{
	begin();
	released();
	check(event_color_release(base, own) == -1);
	end();
}

static void release_of_a_number(void)
{
	begin();
	check(event_color_release(base, FIRST) == -1);
	end();
}

static void post_to_released(void)
{
	begin();
	released();
	check(event_base_post(base, own, count_post, NULL) == 0);
	loop();
	check(ran == 1);
	end();
}

static void release_and_post(void *arg)
{
	(void)arg;
	check(event_color_release(base, own) == 0);
	check(event_base_post(base, own, count_post, NULL) == 0);
}

static void post_after_the_own_release(void)
{
	begin();
	own = event_color_new(base);
	check(event_base_post(base, own, release_and_post, NULL) == 0);
	loop();
	check(ran == 1);
	end();
}

static void add_of_released(void)
{
	begin();
	assign(nothing_cb, 0);
	released();
	check(event_set_color(&ev, own) == 0);
	check(event_add(&ev, &zero_tv) == 0);
	loop();
	end();
}

static void release(void *arg)
{
	(void)arg;
	check(event_color_release(base, own) == 0);
	ran++;
}

/* The color has a pending event, queued posts, and runs: all of that keeps it. */
static void release_of_a_color_in_use(void)
{
	begin();
	own = event_color_new(base);
	assign(nothing_cb, own);
	check(event_add(&ev, &zero_tv) == 0);
	check(event_base_post(base, own, release, NULL) == 0);
	check(event_base_post(base, own, count_post, NULL) == 0);
	loop();
	check(ran == 2);
	end();
}

/* A color is a number: any other may be used, too. */
static void numbers_of_nobody(void)
{
	begin();
	check(event_color_new(base) != 0);
	check(event_base_post(base, UINT32_MAX, count_post, NULL) == 0);
	check(event_base_post(base, EVENT_COLOR_OWN_MAX, count_post, NULL) == 0);
	loop();
	check(ran == 2);
	end();
}

static void read_cb(struct bufferevent *bev, void *arg)
{
	(void)arg;
	check(event_color_release(base, own) == 0);
	bufferevent_free(bev);
	ran++;
}

/* The library posts and adds what ends a bufferevent by itself. */
static void bufferevent_of_a_released_color(void)
{
	struct bufferevent *bev;
	int fd[2];

	begin();
	own = event_color_new(base);
	check(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	check(evutil_make_socket_nonblocking(fd[0]) == 0);
	bev = bufferevent_socket_new(base, fd[0], BEV_OPT_CLOSE_ON_FREE);
	check(bev != NULL && bufferevent_set_color(bev, own) == 0);
	bufferevent_setcb(bev, read_cb, NULL, NULL, NULL);
	check(bufferevent_set_timeouts(bev, &hour_tv, &hour_tv) == 0);
	check(bufferevent_enable(bev, EV_READ) == 0);
	check(write(fd[1], "x", 1) == 1);
	loop();
	check(ran == 1);
	close(fd[1]);
	end();
}

/* ---------------------------------------------------------------- callbacks that wait */

/* Time passes with each look at the clock. */
static int64_t fast_clock(void)
{
	enum { STEP_NS = 10000000 };
	static _Atomic(int64_t) now_ns = STEP_NS;

	return atomic_fetch_add(&now_ns, STEP_NS);
}

static void go_on_after_the_warning(int severity, const char *msg)
{
	log_to_stderr(severity, msg);
	if (severity >= EVENT_LOG_WARN)
		sem_post(&may_end);
}

static void end_post(void *arg)
{
	(void)arg;
	ran++;
	sem_post(&may_end);
}

/* Posts to the color `*arg`, and waits for that post. */
static void post_and_wait(void *arg)
{
	check(event_base_post(base, *(ev_uint32_t *)arg, end_post, NULL) == 0);
	sem_wait(&may_end);
}

static void wait_for_color(ev_uint32_t color)
{
	if (workers_num == 1) {
		if (color == FIRST)
			(void)fprintf(stderr, "color 1 has run for more than a second: not seen with one worker\n");
		return;
	}
	begin();
	ec_clock_set_source(fast_clock);
	event_set_log_callback(go_on_after_the_warning);
	check(event_base_post(base, FIRST, post_and_wait, &color) == 0);
	loop();
	check(ran == 1);
	end();
}

static void wait_for_the_own_color(void)
{
	wait_for_color(FIRST);
}

static void wait_for_another_color(void)
{
	wait_for_color(SECOND);
}

/* ---------------------------------------------------------------- */

int main(void)
{
	static const struct mistake mistakes[] = {
		{ color_of_pending, "event_set_color: event 0x" },
		{ color_of_pending, "is pending or active, and keeps color 1; set the color before event_add()" },
		{ color_of_active, "event_set_color_shared: event 0x" },
		{ color_of_nothing, "is not initialized; call event_new() or event_assign() first" },
		{ color_0_shared, "color 0 cannot be shared; give the event another color" },
		{ color_while_it_runs, "may overlap" },
		{ color_of_bufferevent_without_lock, "bufferevent_set_color: bufferevent 0x" },
		{ post_to_bufferevent_without_lock, "bufferevent_post: bufferevent 0x" },
		{ color_of_connection_in_use, "is a server's, or has had a request" },
		{ release_twice, "color 3221225472 is not one of event_color_new(), or was released before" },
		{ release_of_a_number, "event_color_release: color 1 is not one of event_color_new()" },
		{ post_to_released, "event_base_post: color 3221225472 was released" },
		{ post_after_the_own_release, "event_base_post: color 3221225472 was released" },
		{ add_of_released, "event_add: color 3221225472 was released" },
		{ wait_for_the_own_color, "color 1 has run for more than a second" },
	};
	static void (*const allowed[])(void) = {
		color_after_event_del,
		color_in_the_own_callback,
		color_between_uses,
		color_of_bufferevent_with_lock,
		post_to_bufferevent_with_lock,
		release_of_a_color_in_use,
		numbers_of_nobody,
		bufferevent_of_a_released_color,
		wait_for_another_color,
	};

	return try_all((struct tries){
		.mistakes = mistakes,
		.mistakes_num = sizeof(mistakes) / sizeof(mistakes[0]),
		.allowed = allowed,
		.allowed_num = sizeof(allowed) / sizeof(allowed[0]),
	});
}
