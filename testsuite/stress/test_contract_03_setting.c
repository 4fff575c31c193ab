/*
 * 3. Setting: event_set_color() works on an event that is neither pending nor active; else it
 * returns -1 and changes nothing.
 */
#include "stress.h"

static void refuses(struct event *ev, uint32_t color)
{
	uint32_t before = event_get_color(ev);

	assert_int_equal(event_set_color(ev, color), -1);
	assert_int_equal(event_get_color(ev), before);
	assert_int_equal(event_set_color_shared(ev, color), -1);
	assert_int_equal(event_get_color(ev), before);
}

static void accepts(struct event *ev, uint32_t color)
{
	assert_int_equal(event_set_color(ev, color), 0);
	assert_int_equal(event_get_color(ev), color);
}

static void test_contract_03_setting_of_an_idle_event(void **state)
{
	static const uint32_t colors[] = { 1, 0, 2, UINT32_MAX, 0x80000000U, 0, 5 };
	struct event_base *base = base_new(2);
	struct event *ev = event_new(base, -1, 0, nothing_cb, NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(colors) / sizeof(colors[0]); i++)
		accepts(ev, colors[i]);
	assert_int_equal(event_set_color_shared(ev, 77), 0);
	assert_int_equal(event_get_color(ev), 77);
	assert_int_equal(event_set_color_shared(ev, 0), -1);
	assert_int_equal(event_get_color(ev), 77);
	accepts(ev, 6);
	event_free(ev);
	event_base_free(base);
}

static void test_contract_03_setting_of_a_pending_event(void **state)
{
	struct event_base *base = base_new(2);
	struct event *evs[3];
	int fd[2];

	(void)state;
	pipe_new(fd);
	evs[0] = event_new(base, -1, 0, nothing_cb, NULL);
	evs[1] = event_new(base, fd[0], EV_READ, nothing_cb, NULL);
	evs[2] = event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, nothing_cb, NULL);
	for (int i = 0; i < 3; i++) {
		accepts(evs[i], 3);
		assert_int_equal(event_add(evs[i], &hour_tv), 0);
		refuses(evs[i], 4);
		refuses(evs[i], 0);
		refuses(evs[i], 3);
		assert_int_equal(event_del(evs[i]), 0);
		accepts(evs[i], 4);
		event_active(evs[i], EV_READ, 1);
		refuses(evs[i], 5);
		assert_int_equal(event_del(evs[i]), 0);
		accepts(evs[i], 5);
		event_free(evs[i]);
	}
	pipe_close(fd);
	event_base_free(base);
}

/* Not assigned: zeroed memory, as programs have it. */
static void test_contract_03_setting_of_no_event(void **state)
{
	struct event ev;

	(void)state;
	memset(&ev, 0, sizeof(ev));
	assert_int_equal(event_set_color(&ev, 1), -1);
	assert_int_equal(event_set_color_shared(&ev, 1), -1);
	assert_int_equal(event_get_color(&ev), 0);
}

/* Each kind of event runs on the color that was set. */
struct kinds {
	struct event_base *base;
	atomic_uint ran;
};

static void kind_cb(evutil_socket_t fd, short what, void *arg)
{
	struct kinds *k = arg;
	struct event *ev = event_base_get_running_event(k->base);

	(void)fd;
	(void)what;
	CHECK(running_color(k->base) == event_get_color(ev));
	atomic_fetch_add(&k->ran, 1);
}

static void test_contract_03_setting_is_where_it_runs(void **state)
{
	static const struct timeval soon = { 0, 1000 };
	struct event_base *base = base_new(4);
	struct kinds k = { .base = base };
	struct event *evs[5];
	int fd[2];

	(void)state;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	evs[0] = ev_new(base, -1, 0, 100, kind_cb, &k);
	evs[1] = ev_new(base, fd[0], EV_READ, 101, kind_cb, &k);
	evs[2] = ev_new(base, fd[1], EV_WRITE, 102, kind_cb, &k);
	evs[3] = ev_new(base, SIGUSR1, EV_SIGNAL, 103, kind_cb, &k);
	evs[4] = ev_new(base, -1, 0, 104, kind_cb, &k);
	for (unsigned round = 0; round < rounds(200); round++) {
		atomic_store(&k.ran, 0);
		event_add(evs[0], round % 2 ? &soon : &zero_tv);
		event_add(evs[1], NULL);
		event_add(evs[2], NULL);
		event_add(evs[3], NULL);
		event_active(evs[4], EV_WRITE, 1);
		put(fd[1]);
		raise(SIGUSR1);
		assert_int_equal(event_base_dispatch(base), 1);
		assert_int_equal(atomic_load(&k.ran), 5);
		CHECK(take(fd[0]));
		/* All change their color; the next round runs them there. */
		for (unsigned i = 0; i < 5; i++)
			accepts(evs[i], (uint32_t)(1000 * round + i));
	}
	for (int i = 0; i < 5; i++)
		event_free(evs[i]);
	close(fd[0]);
	close(fd[1]);
	event_base_free(base);
}

/* A callback gives its own event, which is idle while it runs, the next color, and adds it. */
struct walk {
	struct event_base *base;
	struct event *ev;
	struct guarded guarded;
	uint32_t last;
};

static void walk_cb(evutil_socket_t fd, short what, void *arg)
{
	struct walk *w = arg;
	uint32_t color = running_color(w->base);

	(void)fd;
	(void)what;
	CHECK(event_get_color(w->ev) == color);
	w->guarded.runs++;
	if (color == w->last)
		return;
	CHECK(event_set_color(w->ev, color + 1) == 0);
	/* The rest of this callback is still of the old color. */
	CHECK(running_color(w->base) == color);
	CHECK(event_add(w->ev, &zero_tv) == 0);
}

static void test_contract_03_setting_in_its_own_callback(void **state)
{
	struct event_base *base = base_new(4);
	struct walk w = { .base = base, .last = rounds(2000) };

	(void)state;
	w.ev = ev_new(base, -1, 0, 0, walk_cb, &w);
	event_add(w.ev, &zero_tv);
	assert_int_equal(event_base_dispatch(base), 1);
	assert_int_equal(w.guarded.runs, w.last + 1);
	event_free(w.ev);
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_03_setting_of_an_idle_event),
		TEST(test_contract_03_setting_of_a_pending_event),
		TEST(test_contract_03_setting_of_no_event),
		TEST(test_contract_03_setting_is_where_it_runs),
		TEST(test_contract_03_setting_in_its_own_callback),
	};

	return RUN(tests);
}
