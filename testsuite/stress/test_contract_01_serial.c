/*
 * 1. Serial: callbacks of one color never overlap and run in the order in which they became
 * ready. What a callback wrote, the next one of its color sees, on whichever worker.
 */
#include "stress.h"

#define COLORS_NUM 8
#define POSTERS_NUM 3

/* One color: `next` is what each poster's next number must be. Plain: the color guards it. */
struct line {
	struct event_base *base;
	uint32_t color;
	struct guarded guarded;
	unsigned next[POSTERS_NUM];
	uint64_t workers_seen;
};

struct numbered {
	struct line *line;
	unsigned poster;
	unsigned number;
};

static void numbered_fn(void *arg)
{
	struct numbered *n = arg;
	struct line *line = n->line;

	guarded_enter(&line->guarded);
	CHECK(running_color(line->base) == line->color);
	CHECK(line->next[n->poster] == n->number);
	line->next[n->poster]++;
	line->workers_seen |= UINT64_C(1) << (event_base_get_running_worker(line->base) & 63);
	guarded_leave(&line->guarded);
}

struct poster {
	struct event_base *base;
	struct line *lines;
	unsigned lines_num;
	unsigned id;
	unsigned num;
	struct numbered *numbers;
};

static void *poster_main(void *arg)
{
	struct poster *p = arg;
	struct numbered *n = p->numbers;

	for (unsigned i = 0; i < p->num; i++) {
		for (unsigned c = 0; c < p->lines_num; c++, n++) {
			*n = (struct numbered){ &p->lines[c], p->id, i };
			post(p->base, p->lines[c].color, numbered_fn, n);
		}
	}
	return NULL;
}

static void keep_order(unsigned workers, unsigned colors, unsigned num)
{
	struct event_base *base = base_new(workers);
	struct line *lines = calloc(colors, sizeof(*lines));
	struct poster posters[POSTERS_NUM];
	pthread_t threads[POSTERS_NUM];
	struct event *keep;

	CHECK(lines != NULL);
	for (unsigned c = 0; c < colors; c++)
		lines[c] = (struct line){ .base = base, .color = c + 1 };
	for (unsigned i = 0; i < POSTERS_NUM; i++) {
		posters[i] = (struct poster){ base, lines, colors, i, num,
					      calloc((size_t)num * colors, sizeof(struct numbered)) };
		CHECK(posters[i].numbers != NULL);
		threads[i] = thread_start(poster_main, &posters[i]);
	}
	/* The loop runs while they post, and once more for what is left after the last joined. */
	keep = ev_new(base, -1, 0, 0, nothing_cb, NULL);
	event_add(keep, &zero_tv);
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned i = 0; i < POSTERS_NUM; i++)
		thread_join(threads[i]);
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned c = 0; c < colors; c++) {
		assert_int_equal(lines[c].guarded.runs, (uint64_t)num * POSTERS_NUM);
		for (unsigned i = 0; i < POSTERS_NUM; i++)
			assert_int_equal(lines[c].next[i], num);
	}
	for (unsigned i = 0; i < POSTERS_NUM; i++)
		free(posters[i].numbers);
	event_free(keep);
	event_base_free(base);
	free(lines);
}

/* Of each color a million posts, by three threads. */
static void test_contract_01_serial_million_posts_keep_their_order(void **state)
{
	(void)state;
	keep_order(4, 2, (rounds(1000000) + 2) / POSTERS_NUM);
}

static void test_contract_01_serial_posts_of_many_colors(void **state)
{
	(void)state;
	keep_order(4, 64, rounds(10000));
	keep_order(2, 64, rounds(10000));
	keep_order(1, 64, rounds(2000));
}

/*
 * Unequal colors, so that idle workers steal: one of each eight gets nearly all the work. Colors
 * that hop from worker to worker keep their order.
 */
struct hop {
	struct line line;
	struct numbered number;
	unsigned left;
	unsigned work;
};

static void hop_fn(void *arg)
{
	struct hop *hop = arg;

	spin(hop->work);
	numbered_fn(&hop->number);
	if (hop->left-- > 0) {
		hop->number.number++;
		post(hop->line.base, hop->line.color, hop_fn, hop);
	}
}

static void test_contract_01_serial_under_stealing(void **state)
{
	struct event_base *base = base_new(4);
	struct event_worker_stats stats;
	struct hop hops[COLORS_NUM * 4] = { 0 };
	unsigned num = rounds(2000);
	uint64_t callbacks = 0;

	(void)state;
	for (unsigned c = 0; c < COLORS_NUM * 4; c++) {
		hops[c].line = (struct line){ .base = base, .color = c + 1 };
		hops[c].number = (struct numbered){ &hops[c].line, 0, 0 };
		hops[c].left = num - 1;
		hops[c].work = c % 8 == 0 ? 2000 : 10;
		post(base, c + 1, hop_fn, &hops[c]);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned c = 0; c < COLORS_NUM * 4; c++)
		assert_int_equal(hops[c].line.next[0], num);
	for (unsigned w = 0; w < event_base_get_workers(base); w++) {
		assert_int_equal(event_base_get_stats(base, w, &stats, sizeof(stats)), 0);
		callbacks += stats.callbacks;
	}
	assert_int_equal(callbacks, (uint64_t)num * COLORS_NUM * 4);
	event_base_free(base);
}

/* Events made active by one callback run in the order in which it did so. */
#define ACTIVES_NUM 50

struct actives {
	struct event_base *base;
	struct event *evs[ACTIVES_NUM];
	unsigned next;
	unsigned rounds_left;
};

static void in_turn_cb(evutil_socket_t fd, short what, void *arg);

static void start_all(void *arg)
{
	struct actives *a = arg;

	a->next = 0;
	for (unsigned i = 0; i < ACTIVES_NUM; i++)
		event_active(a->evs[i], EV_READ, 1);
}

static struct actives *all_of(struct event *ev)
{
	return event_get_callback_arg(ev);
}

static void in_turn_cb(evutil_socket_t fd, short what, void *arg)
{
	struct actives *a = arg;

	(void)fd;
	(void)what;
	CHECK(event_base_get_running_event(a->base) == a->evs[a->next]);
	CHECK(all_of(a->evs[a->next]) == a);
	if (++a->next == ACTIVES_NUM && --a->rounds_left > 0)
		post(a->base, running_color(a->base), start_all, a);
}

static void test_contract_01_serial_events_in_the_order_they_became_ready(void **state)
{
	struct event_base *base = base_new(4);
	struct actives a[COLORS_NUM];

	(void)state;
	for (unsigned c = 0; c < COLORS_NUM; c++) {
		a[c] = (struct actives){ .base = base, .rounds_left = rounds(200) };
		for (unsigned i = 0; i < ACTIVES_NUM; i++)
			a[c].evs[i] = ev_new(base, -1, 0, c + 1, in_turn_cb, &a[c]);
		post(base, c + 1, start_all, &a[c]);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned c = 0; c < COLORS_NUM; c++) {
		assert_int_equal(a[c].rounds_left, 0);
		for (unsigned i = 0; i < ACTIVES_NUM; i++)
			event_free(a[c].evs[i]);
	}
	event_base_free(base);
}

/* Descriptors, timers, activations and posts of one color, all at once, meet one plain object. */
struct mixed {
	struct event_base *base;
	struct guarded guarded;
	struct event *reader, *timer, *active;
	int fd[2];
	unsigned left;
};

static void mixed_step(struct mixed *m)
{
	guarded_enter(&m->guarded);
	spin(50);
	guarded_leave(&m->guarded);
	if (m->left == 0) {
		event_del(m->reader);
		event_del(m->timer);
		return;
	}
	m->left--;
}

static void mixed_post_fn(void *arg)
{
	mixed_step(arg);
}

static void mixed_cb(evutil_socket_t fd, short what, void *arg)
{
	struct mixed *m = arg;

	mixed_step(m);
	if (m->left == 0)
		return;
	if (what & EV_READ && fd >= 0) {
		take(fd);
		put(m->fd[1]);
	}
	if (what & EV_TIMEOUT) {
		event_active(m->active, EV_WRITE, 1);
		post(m->base, running_color(m->base), mixed_post_fn, m);
	}
}

static void test_contract_01_serial_all_kinds_of_callbacks(void **state)
{
	static const struct timeval soon = { 0, 10 };
	struct event_base *base = base_new(4);
	struct mixed m[COLORS_NUM];

	(void)state;
	for (unsigned c = 0; c < COLORS_NUM; c++) {
		m[c] = (struct mixed){ .base = base, .left = rounds(2000) };
		pipe_new(m[c].fd);
		m[c].reader = ev_new(base, m[c].fd[0], EV_READ | EV_PERSIST, c + 1, mixed_cb, &m[c]);
		m[c].timer = ev_new(base, -1, EV_PERSIST, c + 1, mixed_cb, &m[c]);
		m[c].active = ev_new(base, -1, 0, c + 1, mixed_cb, &m[c]);
		event_add(m[c].reader, NULL);
		event_add(m[c].timer, &soon);
		put(m[c].fd[1]);
	}
	assert_int_equal(event_base_dispatch(base), 1);
	for (unsigned c = 0; c < COLORS_NUM; c++) {
		assert_true(m[c].guarded.runs >= rounds(2000));
		event_free(m[c].reader);
		event_free(m[c].timer);
		event_free(m[c].active);
		pipe_close(m[c].fd);
	}
	event_base_free(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_01_serial_million_posts_keep_their_order),
		TEST(test_contract_01_serial_posts_of_many_colors),
		TEST(test_contract_01_serial_under_stealing),
		TEST(test_contract_01_serial_events_in_the_order_they_became_ready),
		TEST(test_contract_01_serial_all_kinds_of_callbacks),
	};

	return RUN(tests);
}
