/*
 * Debug mode and the life of an event's memory: once an event is added no more, in whichever way that came about, its
 * memory may hold anything and become an event again; while it is added, it must not be assigned.
 */
#include "child.h"

#include <fcntl.h>
#include <stdbool.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/smp.h>

static struct event_base *base;
static struct event ev;
static int fd[2];

static const struct timeval zero_tv = { 0, 0 }, tiny_tv = { 0, 1 }, hour_tv = { 3600, 0 };

static uint32_t color;
static unsigned workers_num;

static void base_new(void)
{
	struct event_config *cfg = event_config_new();

	check(cfg != NULL);
	check(event_config_set_workers(cfg, workers_num, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	check(base != NULL);
	event_config_free(cfg);
}

static void nothing_cb(evutil_socket_t s, short what, void *arg)
{
	(void)s;
	(void)what;
	(void)arg;
}

static void del_cb(evutil_socket_t s, short what, void *arg)
{
	(void)s;
	(void)what;
	(void)arg;
	check(event_del(&ev) == 0);
}

static void break_cb(evutil_socket_t s, short what, void *arg)
{
	(void)s;
	(void)what;
	(void)arg;
	check(event_base_loopbreak(base) == 0);
}

static void finalizer(struct event *e, void *arg)
{
	(void)e;
	(void)arg;
}

static void assign(evutil_socket_t s, short events, event_callback_fn fn)
{
	check(event_assign(&ev, base, s, events, fn, NULL) == 0);
	check(event_set_color(&ev, color) == 0);
}

static void add(const struct timeval *tv)
{
	check(event_add(&ev, tv) == 0);
}

static void turn(void)
{
	check(event_base_loop(base, EVLOOP_ONCE) >= 0);
}

static void base_renew(void)
{
	event_base_free(base);
	base_new();
}

/* ---------------------------------------------------------------- ways in which an event stops being added */

static void timer_fires(void)
{
	assign(-1, 0, nothing_cb);
	add(&zero_tv);
	turn();
}

static void descriptor_fires(void)
{
	assign(fd[1], EV_WRITE, nothing_cb);
	add(NULL);
	turn();
}

static void timeout_of_descriptor_fires(void)
{
	assign(fd[0], EV_READ, nothing_cb);
	add(&zero_tv);
	turn();
}

static void signal_fires(void)
{
	assign(SIGUSR1, EV_SIGNAL, nothing_cb);
	add(NULL);
	check(raise(SIGUSR1) == 0);
	turn();
}

static void active_by_hand(void)
{
	assign(fd[0], EV_READ, nothing_cb);
	add(&hour_tv);
	event_active(&ev, EV_READ, 1);
	turn();
}

/* Its own callback deletes it, after its timeout has started anew. */
static void persistent_ends_itself(void)
{
	assign(-1, EV_PERSIST, del_cb);
	add(&tiny_tv);
	turn();
}

static void deleted(void)
{
	assign(fd[0], EV_READ, nothing_cb);
	add(NULL);
	check(event_del(&ev) == 0);
}

static void deleted_noblock(void)
{
	assign(-1, 0, nothing_cb);
	add(&hour_tv);
	check(event_del_noblock(&ev) == 0);
}

static void deleted_block(void)
{
	assign(SIGUSR1, EV_SIGNAL | EV_PERSIST, nothing_cb);
	add(&hour_tv);
	check(event_del_block(&ev) == 0);
}

static void timer_removed(void)
{
	assign(-1, 0, nothing_cb);
	add(&hour_tv);
	check(event_remove_timer(&ev) == 0);
}

static void finalized(void)
{
	assign(fd[0], EV_READ, nothing_cb);
	add(&hour_tv);
	check(event_finalize(0, &ev, finalizer) == 0);
	turn();
}

static void base_freed_with_timer(void)
{
	assign(-1, 0, nothing_cb);
	add(&hour_tv);
	base_renew();
}

static void base_freed_with_common_timer(void)
{
	const struct timeval *common = event_base_init_common_timeout(base, &hour_tv);

	check(common != NULL);
	assign(-1, EV_PERSIST, nothing_cb);
	add(common);
	base_renew();
}

static void base_freed_with_descriptor(void)
{
	assign(fd[0], EV_READ | EV_PERSIST, nothing_cb);
	add(NULL);
	base_renew();
}

static void base_freed_with_descriptor_and_timer(void)
{
	assign(fd[0], EV_READ, nothing_cb);
	add(&hour_tv);
	base_renew();
}

static void base_freed_with_signal(void)
{
	assign(SIGUSR1, EV_SIGNAL | EV_PERSIST, nothing_cb);
	add(NULL);
	base_renew();
}

static void base_freed_without_finalizers(void)
{
	assign(-1, 0, nothing_cb);
	add(&hour_tv);
	event_base_free_nofinalize(base);
	base_new();
}

/* Expired, but the loop was broken before: neither has its timeout started anew, nor has its callback run. */
static void base_freed_with_expired(void)
{
	struct event breaker;

	check(event_assign(&breaker, base, -1, 0, break_cb, NULL) == 0);
	check(event_set_color(&breaker, color) == 0);
	check(event_add(&breaker, &zero_tv) == 0);
	assign(-1, EV_PERSIST, nothing_cb);
	add(&tiny_tv);
	turn();
	base_renew();
}

/* No poller watches a regular file. */
static void add_refused(void)
{
	int file = open("/proc/self/exe", O_RDONLY | O_NONBLOCK);

	check(file >= 0);
	assign(file, EV_READ, nothing_cb);
	check(event_add(&ev, NULL) == -1);
	close(file);
}

static void added_for_nothing(void)
{
	assign(-1, 0, nothing_cb);
	add(NULL);
}

/* While it is active, its descriptor is not watched anew. */
static void added_while_active(void)
{
	assign(fd[0], EV_READ, nothing_cb);
	event_active(&ev, EV_READ, 1);
	add(NULL);
	turn();
}

static const struct way {
	const char *name;
	void (*fn)(void);
} ways[] = {
#define WAY(name) \
	{ \
#name, name \
	}
	WAY(timer_fires),
	WAY(descriptor_fires),
	WAY(timeout_of_descriptor_fires),
	WAY(signal_fires),
	WAY(active_by_hand),
	WAY(persistent_ends_itself),
	WAY(deleted),
	WAY(deleted_noblock),
	WAY(deleted_block),
	WAY(timer_removed),
	WAY(finalized),
	WAY(base_freed_with_timer),
	WAY(base_freed_with_common_timer),
	WAY(base_freed_with_descriptor),
	WAY(base_freed_with_descriptor_and_timer),
	WAY(base_freed_with_signal),
	WAY(base_freed_without_finalizers),
	WAY(base_freed_with_expired),
	WAY(add_refused),
	WAY(added_for_nothing),
	WAY(added_while_active),
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static const struct way *way;

static void begin(void)
{
	event_enable_debug_mode();
	base_new();
	check(pipe2(fd, O_NONBLOCK) == 0);
}

static void reuse(void)
{
	begin();
	way->fn();
	memset(&ev, 0xff, sizeof(ev));
	assign(-1, 0, nothing_cb);
	add(&zero_tv);
	turn();
	event_base_free(base);
	libevent_global_shutdown();
}

static void memory_of_an_event_that_was_added_is_an_event_again(void **state)
{
	static const uint32_t colors[] = { 0, 5 };
	struct child child;
	size_t i, j;

	(void)state;
	for (workers_num = 1; workers_num <= 2; workers_num++) {
		for (i = 0; i < 2; i++) {
			color = colors[i];
			for (j = 0; j < WAYS; j++) {
				way = &ways[j];
				print_message("%s, color %u, %u workers\n", way->name, color, workers_num);
				child_passes(&child, reuse);
			}
		}
	}
}

/* ---------------------------------------------------------------- what is added stays known */

static void assign_a_persistent_timer_that_fired(void)
{
	begin();
	assign(-1, EV_PERSIST, nothing_cb);
	add(&tiny_tv);
	turn();
	assign(-1, 0, nothing_cb);
}

static void assign_a_persistent_descriptor_that_fired(void)
{
	begin();
	assign(fd[1], EV_WRITE | EV_PERSIST, nothing_cb);
	add(NULL);
	turn();
	assign(fd[1], EV_WRITE, nothing_cb);
}

static void assign_a_descriptor_without_its_timer(void)
{
	begin();
	assign(fd[0], EV_READ, nothing_cb);
	add(&hour_tv);
	check(event_remove_timer(&ev) == 0);
	assign(fd[0], EV_READ, nothing_cb);
}

static void assign_what_was_added_again(void)
{
	begin();
	timer_fires();
	add(&hour_tv);
	assign(-1, 0, nothing_cb);
}

/* The second call is for nothing, and the event is still added. */
static void assign_what_was_added_twice(void)
{
	begin();
	assign(-1, 0, nothing_cb);
	add(&hour_tv);
	add(NULL);
	assign(-1, 0, nothing_cb);
}

static void an_event_that_is_still_added_is_not_assigned(void **state)
{
	static void (*const cases[])(void) = {
		assign_a_persistent_timer_that_fired,
		assign_a_persistent_descriptor_that_fired,
		assign_a_descriptor_without_its_timer,
		assign_what_was_added_again,
		assign_what_was_added_twice,
	};
	struct child child;
	size_t i;

	(void)state;
	workers_num = 2;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		color = 0;
		child_aborts(&child, cases[i], "called on an already added event");
		color = 5;
		child_aborts(&child, cases[i], "called on an already added event");
	}
}

/* ---------------------------------------------------------------- events that the library makes */

static void color_post(void *arg)
{
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);

	(void)arg;
	check(bev != NULL && bufferevent_set_color(bev, color) == 0);
	bufferevent_free(bev);
}

static void color_a_bufferevent(void)
{
	begin();
	check(event_base_post(base, color, color_post, NULL) == 0);
	turn();
	event_base_free(base);
	libevent_global_shutdown();
}

static void a_callback_colors_a_bufferevent(void **state)
{
	struct child child;

	(void)state;
	color = 5;
	for (workers_num = 1; workers_num <= 2; workers_num++)
		child_passes(&child, color_a_bufferevent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_an_event_that_was_added_is_an_event_again),
		cmocka_unit_test(an_event_that_is_still_added_is_not_assigned),
		cmocka_unit_test(a_callback_colors_a_bufferevent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
