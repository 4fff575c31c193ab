/*
 * 12. Shared colors: shared callbacks of a color overlap each other, never an exclusive one. A
 * waiting exclusive callback is not starved.
 */
#include "stress.h"

#define READERS_NUM 6

static struct event *shared_new(struct event_base *base, uint32_t color, event_callback_fn fn, void *arg)
{
	struct event *ev = event_new(base, -1, EV_PERSIST, fn, arg);

	CHECK(ev != NULL);
	CHECK(event_set_color_shared(ev, color) == 0);
	CHECK(event_get_color(ev) == color);
	return ev;
}

/* They overlap: each waits inside for all the others. */
struct together {
	struct event_base *base;
	struct latch all_in;
	uint32_t color;
};

static void together_cb(evutil_socket_t fd, short what, void *arg)
{
	struct together *t = arg;

	(void)fd;
	(void)what;
	CHECK(running_color(t->base) == t->color);
	latch_meet(&t->all_in);
}

static void test_contract_12_shared_overlap_each_other(void **state)
{
	(void)state;
	for (unsigned num = 2; num <= 4; num++) {
		struct together t = { .base = base_new(num), .color = 7 };
		struct event *evs[4];

		for (unsigned i = 0; i < num; i++)
			evs[i] = shared_new(t.base, 7, together_cb, &t);
		for (unsigned round = 0; round < rounds(200); round++) {
			latch_init(&t.all_in, num);
			for (unsigned i = 0; i < num; i++)
				event_active(evs[i], EV_READ, 1);
			assert_int_equal(event_base_dispatch(t.base), 1);
			latch_fini(&t.all_in);
		}
		for (unsigned i = 0; i < num; i++)
			event_free(evs[i]);
		event_base_free(t.base);
	}
}

/* Readers see what the last writer wrote, whole: plain words that must be equal. */
struct book {
	struct event_base *base;
	struct event *readers[READERS_NUM];
	unsigned words[8];
	atomic_uint reading;
	atomic_bool is_writing;
	atomic_uint reads;
	unsigned writes_left;
};

static void read_cb(evutil_socket_t fd, short what, void *arg)
{
	struct book *b = arg;

	(void)fd;
	(void)what;
	atomic_fetch_add(&b->reading, 1);
	CHECK(!atomic_load(&b->is_writing));
	for (unsigned i = 1; i < 8; i++)
		CHECK(b->words[i] == b->words[0]);
	spin(100);
	CHECK(!atomic_load(&b->is_writing));
	atomic_fetch_sub(&b->reading, 1);
	atomic_fetch_add(&b->reads, 1);
}

static void write_fn(void *arg)
{
	struct book *b = arg;

	CHECK(!atomic_exchange(&b->is_writing, true));
	CHECK(atomic_load(&b->reading) == 0);
	for (unsigned i = 0; i < 8; i++)
		b->words[i]++;
	spin(100);
	CHECK(atomic_load(&b->reading) == 0);
	atomic_store(&b->is_writing, false);
	if (b->writes_left == 0)
		return;
	b->writes_left--;
	for (unsigned i = 0; i < READERS_NUM; i++)
		event_active(b->readers[i], EV_READ, 1);
	post(b->base, 3, write_fn, b);
}

static void test_contract_12_shared_never_overlap_an_exclusive_one(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		struct book b = { .base = base_new(workers), .writes_left = rounds(3000) };

		for (unsigned i = 0; i < READERS_NUM; i++)
			b.readers[i] = shared_new(b.base, 3, read_cb, &b);
		post(b.base, 3, write_fn, &b);
		assert_int_equal(event_base_dispatch(b.base), 1);
		assert_int_equal(b.words[0], rounds(3000) + 1);
		assert_true(atomic_load(&b.reads) > 0);
		for (unsigned i = 0; i < READERS_NUM; i++)
			event_free(b.readers[i]);
		event_base_free(b.base);
	}
}

/* Exclusive events, not only posts. */
struct mixed {
	struct book book;
	struct event *writer;
};

static void write_cb(evutil_socket_t fd, short what, void *arg)
{
	struct mixed *m = arg;
	struct book *b = &m->book;

	(void)fd;
	(void)what;
	CHECK(!atomic_exchange(&b->is_writing, true));
	CHECK(atomic_load(&b->reading) == 0);
	for (unsigned i = 0; i < 8; i++)
		b->words[i]++;
	atomic_store(&b->is_writing, false);
	if (b->writes_left-- > 0) {
		event_active(m->writer, EV_READ, 1);
		for (unsigned i = 0; i < READERS_NUM; i++)
			event_active(b->readers[i], EV_READ, 1);
	}
}

static void test_contract_12_shared_and_exclusive_events(void **state)
{
	struct mixed m = { .book = { .base = base_new(3), .writes_left = rounds(3000) } };

	(void)state;
	for (unsigned i = 0; i < READERS_NUM; i++)
		m.book.readers[i] = shared_new(m.book.base, 3, read_cb, &m.book);
	m.writer = ev_new(m.book.base, -1, 0, 3, write_cb, &m);
	event_active(m.writer, EV_READ, 1);
	assert_int_equal(event_base_dispatch(m.book.base), 1);
	assert_int_equal(m.book.words[0], rounds(3000) + 1);
	for (unsigned i = 0; i < READERS_NUM; i++)
		event_free(m.book.readers[i]);
	event_free(m.writer);
	event_base_free(m.book.base);
}

/* Readers that make themselves active again until the writer has run: it runs. */
struct starved {
	struct event_base *base;
	struct event *readers[READERS_NUM];
	atomic_bool has_written;
};

static void again_cb(evutil_socket_t fd, short what, void *arg)
{
	struct starved *s = arg;

	(void)fd;
	(void)what;
	spin(50);
	if (!atomic_load(&s->has_written))
		event_active(event_base_get_running_event(s->base), EV_READ, 1);
}

static void written_fn(void *arg)
{
	struct starved *s = arg;

	atomic_store(&s->has_written, true);
}

static void test_contract_12_shared_do_not_starve_an_exclusive_one(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		struct starved s = { .base = base_new(workers) };

		for (unsigned i = 0; i < READERS_NUM; i++)
			s.readers[i] = shared_new(s.base, 3, again_cb, &s);
		for (unsigned round = 0; round < rounds(100); round++) {
			atomic_store(&s.has_written, false);
			for (unsigned i = 0; i < READERS_NUM; i++)
				event_active(s.readers[i], EV_READ, 1);
			post(s.base, 3, written_fn, &s);
			assert_int_equal(event_base_dispatch(s.base), 1);
			assert_true(atomic_load(&s.has_written));
		}
		for (unsigned i = 0; i < READERS_NUM; i++)
			event_free(s.readers[i]);
		event_base_free(s.base);
	}
}

/* A reader deletes another that runs at the same time: it is of the same color, yet it waits. */
struct victim {
	struct event_base *base;
	struct event *deleter, *victim;
	struct latch both_in;
	atomic_bool has_ended;
};

static void victim_cb(evutil_socket_t fd, short what, void *arg)
{
	struct victim *v = arg;

	(void)fd;
	(void)what;
	latch_meet(&v->both_in);
	spin(500);
	atomic_store(&v->has_ended, true);
}

static void deleter_cb(evutil_socket_t fd, short what, void *arg)
{
	struct victim *v = arg;

	(void)fd;
	(void)what;
	latch_meet(&v->both_in);
	CHECK(event_del(v->victim) == 0);
	CHECK(atomic_load(&v->has_ended));
}

static void test_contract_12_shared_deletion_waits(void **state)
{
	struct victim v = { .base = base_new(2) };

	(void)state;
	v.victim = shared_new(v.base, 5, victim_cb, &v);
	v.deleter = shared_new(v.base, 5, deleter_cb, &v);
	for (unsigned round = 0; round < rounds(300); round++) {
		latch_init(&v.both_in, 2);
		atomic_store(&v.has_ended, false);
		event_active(v.victim, EV_READ, 1);
		event_active(v.deleter, EV_READ, 1);
		assert_int_equal(event_base_dispatch(v.base), 1);
		latch_fini(&v.both_in);
	}
	event_free(v.victim);
	event_free(v.deleter);
	event_base_free(v.base);
}

/* A callback gives its own event to the readers of another color, which run while it still does, or after it. */
struct given {
	struct event_base *base;
	struct event *ev;
	atomic_uint read, posted;
};

static void given_post(void *arg)
{
	atomic_fetch_add(&((struct given *)arg)->posted, 1);
}

static void given_cb(evutil_socket_t fd, short what, void *arg)
{
	struct given *g = arg;

	(void)fd;
	(void)what;
	if (running_color(g->base) == 6) {
		atomic_fetch_add(&g->read, 1);
		return;
	}
	CHECK(event_set_color_shared(g->ev, 6) == 0);
	event_active(g->ev, EV_READ, 1);
	post(g->base, 6, given_post, g);
	for (unsigned i = 0; i < 50 && atomic_load(&g->posted) == 0; i++)
		sched_yield();
	for (unsigned i = 0; i < 20; i++)		/* another worker finds the color while this callback runs */
		sched_yield();
}

static void test_contract_12_shared_event_from_another_color(void **state)
{
	(void)state;
	for (unsigned round = 0; round < rounds(100); round++) {
		struct given g = { .base = base_new(3) };

		atomic_init(&g.read, 0);
		atomic_init(&g.posted, 0);
		g.ev = ev_new(g.base, -1, 0, 5, given_cb, &g);
		event_active(g.ev, EV_READ, 1);
		assert_int_equal(event_base_dispatch(g.base), 1);
		assert_int_equal(atomic_load(&g.read), 1);
		assert_int_equal(atomic_load(&g.posted), 1);
		event_free(g.ev);
		event_base_free(g.base);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_12_shared_overlap_each_other),
		TEST(test_contract_12_shared_never_overlap_an_exclusive_one),
		TEST(test_contract_12_shared_and_exclusive_events),
		TEST(test_contract_12_shared_do_not_starve_an_exclusive_one),
		TEST(test_contract_12_shared_deletion_waits),
		TEST(test_contract_12_shared_event_from_another_color),
	};

	return RUN(tests);
}
