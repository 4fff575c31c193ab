/*
 * compat/libevent/buffer/callback.c: who is told of what, when, and what they may do meanwhile.
 */
#include "help.h"
#include "failing_alloc.h"

#include <event2/event.h>
#include <event2/smp.h>

#include "compat/libevent/buffer/buffer.h"

static char trace[1024];

static int clear_trace(void **state)
{
	trace[0] = '\0';
	return failing_setup(state);
}

static void append_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void append_trace(const char *fmt, ...)
{
	size_t len = strlen(trace);
	va_list ap;

	va_start(ap, fmt);
	assert_true((size_t)vsnprintf(trace + len, sizeof(trace) - len, fmt, ap) < sizeof(trace) - len);
	va_end(ap);
}

static void assert_trace(const char *expected)
{
	assert_string_equal(trace, expected);
	trace[0] = '\0';
}

static void note(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buf;
	append_trace("%s:%zu+%zu-%zu ", (const char *)arg, info->orig_size, info->n_added, info->n_deleted);
}

static void note_old(struct evbuffer *buf, size_t before, size_t after, void *arg)
{
	(void)buf;
	append_trace("%s:%zu>%zu ", (const char *)arg, before, after);
}

static void *name(const char *s)
{
	return (void *)(uintptr_t)s;
}

static void each_change_is_told_the_newest_first(void **state)
{
	struct evbuffer *buf = buf_new();

	(void)state;
	assert_non_null(evbuffer_add_cb(buf, note, name("a")));
	assert_non_null(evbuffer_add_cb(buf, note, name("b")));
	evbuffer_add(buf, "12345", 5);
	assert_trace("b:0+5-0 a:0+5-0 ");
	evbuffer_drain(buf, 2);
	assert_trace("b:5+0-2 a:5+0-2 ");
	evbuffer_add(buf, "", 0);
	evbuffer_drain(buf, 0);
	evbuffer_add_reference(buf, "", 0, NULL, NULL);
	assert_trace("");
	evbuffer_free(buf);
}

static void one_is_removed_by_its_function_and_argument(void **state)
{
	static char a[] = "a", b[] = "b";
	struct evbuffer *buf = buf_new();

	(void)state;
	evbuffer_add_cb(buf, note, a);
	evbuffer_add_cb(buf, note, b);
	assert_int_equal(evbuffer_remove_cb(buf, note, NULL), -1);
	assert_int_equal(evbuffer_remove_cb(buf, note, b), 0);
	assert_int_equal(evbuffer_remove_cb(buf, note, b), -1);
	evbuffer_add(buf, "1", 1);
	assert_trace("a:0+1-0 ");
	evbuffer_free(buf);
}

static void both_buffers_of_a_move_are_told(void **state)
{
	struct evbuffer *a = buf_with("12345"), *b = buf_new();

	(void)state;
	evbuffer_add_cb(a, note, name("a"));
	evbuffer_add_cb(b, note, name("b"));
	evbuffer_add_buffer(b, a);
	assert_trace("a:5+0-5 b:0+5-0 ");
	evbuffer_remove_buffer(b, a, 2);
	assert_trace("a:0+2-0 b:5+0-2 ");
	evbuffer_prepend_buffer(a, b);
	assert_trace("b:3+0-3 a:2+3-0 ");
	evbuffer_add_buffer_reference(b, a);
	assert_trace("b:0+5-0 ");
	evbuffer_free(b);
	evbuffer_free(a);
	assert_trace("");
}

static void a_disabled_one_misses_what_happens(void **state)
{
	struct evbuffer *buf = buf_new();
	struct evbuffer_cb_entry *a = evbuffer_add_cb(buf, note, name("a"));

	(void)state;
	assert_int_equal(evbuffer_cb_clear_flags(buf, a, EVBUFFER_CB_ENABLED), 0);
	evbuffer_add(buf, "1", 1);
	assert_int_equal(evbuffer_cb_set_flags(buf, a, 0), 0);
	evbuffer_add(buf, "2", 1);
	assert_trace("");
	assert_int_equal(evbuffer_cb_set_flags(buf, a, EVBUFFER_CB_ENABLED), 0);
	assert_int_equal(evbuffer_cb_clear_flags(buf, a, ~(ev_uint32_t)EVBUFFER_CB_ENABLED), 0);
	evbuffer_add(buf, "3", 1);
	assert_trace("a:2+1-0 ");
	evbuffer_free(buf);
}

static void the_old_kind_replaces_all(void **state)
{
	struct evbuffer *buf = buf_new();

	(void)state;
	evbuffer_add_cb(buf, note, name("a"));
	assert_int_equal(evbuffer_setcb(buf, note_old, name("old")), 0);
	evbuffer_add(buf, "123", 3);
	evbuffer_drain(buf, 1);
	assert_trace("old:0>3 old:3>2 ");
	assert_int_equal(evbuffer_setcb(buf, NULL, NULL), 0);
	evbuffer_add(buf, "4", 1);
	assert_trace("");
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- from within */

struct inside {
	struct evbuffer *buf;
	struct evbuffer_cb_entry *self, *other;
	void (*act)(struct inside *in);
};

static void act(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	struct inside *in = arg;

	note(buf, info, name("in"));
	in->act(in);
}

static void remove_self(struct inside *in)
{
	assert_int_equal(evbuffer_remove_cb_entry(in->buf, in->self), 0);
}

static void remove_other(struct inside *in)
{
	if (in->other != NULL)
		assert_int_equal(evbuffer_remove_cb_entry(in->buf, in->other), 0);
	in->other = NULL;
}

static void replace_all(struct inside *in)
{
	assert_int_equal(evbuffer_setcb(in->buf, note_old, name("old")), 0);
}

static void drain_one(struct inside *in)
{
	if (evbuffer_get_length(in->buf) > 0)
		evbuffer_drain(in->buf, 1);
}

static void free_buffer(struct inside *in)
{
	evbuffer_free(in->buf);
}

static struct inside inside_new(void (*fn)(struct inside *in))
{
	struct inside in = { .buf = buf_new(), .act = fn };

	in.other = evbuffer_add_cb(in.buf, note, name("other"));
	return in;
}

static void one_may_remove_itself(void **state)
{
	struct inside in = inside_new(remove_self);

	(void)state;
	in.self = evbuffer_add_cb(in.buf, act, &in);
	evbuffer_add(in.buf, "12", 2);
	assert_trace("in:0+2-0 other:0+2-0 ");
	evbuffer_add(in.buf, "3", 1);
	assert_trace("other:2+1-0 ");
	evbuffer_free(in.buf);
}

static void one_that_is_removed_is_not_told_any_more(void **state)
{
	struct inside in = inside_new(remove_other);

	(void)state;
	in.self = evbuffer_add_cb(in.buf, act, &in);
	evbuffer_add(in.buf, "12", 2);
	assert_trace("in:0+2-0 ");
	assert_int_equal(evbuffer_remove_cb(in.buf, note, name("other")), -1);
	evbuffer_free(in.buf);
}

static void one_may_replace_all(void **state)
{
	struct inside in = inside_new(replace_all);

	(void)state;
	in.self = evbuffer_add_cb(in.buf, act, &in);
	evbuffer_add(in.buf, "12", 2);
	assert_trace("in:0+2-0 ");
	evbuffer_add(in.buf, "3", 1);
	assert_trace("old:2>3 ");
	evbuffer_free(in.buf);
}

static void changes_from_within_are_told_from_within(void **state)
{
	struct inside in = inside_new(drain_one);

	(void)state;
	in.self = evbuffer_add_cb(in.buf, act, &in);
	evbuffer_add(in.buf, "12", 2);
	assert_trace("in:0+2-0 in:2+0-1 in:1+0-1 other:1+0-1 other:2+0-1 other:0+2-0 ");
	evbuffer_free(in.buf);
}

/* The call that made the change, its lock and its list of callbacks still use the buffer. */
static void one_may_free_the_buffer(void **state)
{
	struct inside in = inside_new(free_buffer);

	(void)state;
	in.self = evbuffer_add_cb(in.buf, act, &in);
	assert_int_equal(evbuffer_add(in.buf, "12", 2), 0);
	assert_trace("in:0+2-0 other:0+2-0 ");
}

static void one_may_free_the_other_buffer_of_a_move(void **state)
{
	struct evbuffer *from = buf_with("12345");
	struct inside in = inside_new(free_buffer);

	(void)state;
	evbuffer_add_cb(from, act, &in);
	assert_int_equal(evbuffer_add_buffer(in.buf, from), 0);
	assert_trace("in:5+0-5 other:0+5-0 ");
	evbuffer_free(from);
}

/* A cleanup may use the buffer that it was in: the list is whole again by then. */
static void clean_by_adding(const void *data, size_t len, void *arg)
{
	(void)data;
	(void)len;
	assert_int_equal(evbuffer_add(arg, "clean", 5), 0);
}

static void a_cleanup_may_use_the_buffer(void **state)
{
	struct evbuffer *buf = buf_with("a");

	(void)state;
	evbuffer_add_reference(buf, "ref", 3, clean_by_adding, buf);
	evbuffer_add(buf, "b", 1);
	assert_int_equal(evbuffer_drain(buf, 4), 0);
	assert_holds(buf, "bclean");
	evbuffer_add_reference(buf, "ref", 3, clean_by_adding, buf);
	assert_int_equal(evbuffer_drain(buf, SIZE_MAX), 0);
	assert_holds(buf, "clean");
	evbuffer_add_reference(buf, "ref", 3, clean_by_adding, buf);
	assert_memory_equal(evbuffer_pullup(buf, 8), "cleanref", 8);
	assert_holds(buf, "cleanrefclean");
	evbuffer_free(buf);
}

/* ---------------------------------------------------------------- later */

static void turn(struct event_base *base)
{
	assert_true(event_base_loop(base, EVLOOP_NONBLOCK) >= 0);
}

static void deferred_changes_add_up(void **state)
{
	struct event_base *base = event_base_new();
	struct evbuffer *buf = buf_new();

	(void)state;
	evbuffer_add_cb(buf, note, name("a"));
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	evbuffer_add(buf, "12345", 5);
	evbuffer_drain(buf, 2);
	assert_trace("");
	turn(base);
	assert_trace("a:0+5-2 ");
	turn(base);
	assert_trace("");
	evbuffer_add(buf, "6", 1);
	turn(base);
	assert_trace("a:3+1-0 ");
	evbuffer_free(buf);
	event_base_free(base);
}

static void some_are_told_at_once_all_the_same(void **state)
{
	struct event_base *base = event_base_new();
	struct evbuffer *buf = buf_new();

	(void)state;
	evbuffer_add_cb(buf, note, name("later"));
	assert_non_null(le_buffer_add_cb_now(buf, note, name("now")));
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	evbuffer_add(buf, "12", 2);
	evbuffer_add(buf, "3", 1);
	assert_trace("now:0+2-0 now:2+1-0 ");
	turn(base);
	assert_trace("later:0+3-0 ");
	evbuffer_free(buf);
	event_base_free(base);
}

static void note_growth(void *arg)
{
	append_trace("%s ", (const char *)arg);
}

static void an_owner_is_told_of_growth_only_and_first(void **state)
{
	struct event_base *base = event_base_new();
	struct evbuffer *buf = buf_new(), *other = buf_with("789");

	(void)state;
	le_buffer_set_grown(buf, note_growth, name("grown"));
	evbuffer_add(buf, "12", 2);
	evbuffer_add(buf, "", 0);
	evbuffer_prepend(buf, "0", 1);
	assert_trace("grown grown ");
	evbuffer_drain(buf, 1);
	assert_trace("");
	evbuffer_add_cb(buf, note, name("a"));
	evbuffer_add(buf, "3", 1);
	evbuffer_add_buffer(buf, other);
	assert_trace("grown a:2+1-0 grown a:3+3-0 ");
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	evbuffer_add(buf, "4", 1);
	assert_trace("grown ");
	evbuffer_drain(buf, 8);
	turn(base);
	assert_trace("a:6+1-7 ");
	le_buffer_set_grown(buf, NULL, NULL);
	assert_int_equal(evbuffer_freeze(buf, 0), 0);
	assert_int_equal(evbuffer_add(buf, "5", 1), -1);
	assert_trace("");
	evbuffer_free(buf);
	evbuffer_free(other);
	event_base_free(base);
}

/* As libevent's: what waits is told, and the buffer lives so long. */
static void a_freed_buffer_is_told_what_waits(void **state)
{
	struct event_base *base = event_base_new();
	struct evbuffer *buf = buf_new();

	(void)state;
	evbuffer_add_cb(buf, note, name("a"));
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	evbuffer_add(buf, "12", 2);
	assert_int_equal(evbuffer_defer_callbacks(buf, NULL), -1);
	assert_int_equal(errno, EBUSY);
	evbuffer_free(buf);
	turn(base);
	assert_trace("a:0+2-0 ");
	event_base_free(base);
}

static struct event_base *base_with_one_worker(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	assert_int_equal(event_config_set_workers(cfg, 1, NULL, NULL), 0);
	base = event_base_new_with_config(cfg);
	event_config_free(cfg);
	assert_non_null(base);
	return base;
}

static struct event_base *event_base_of_test;

static void note_color(struct evbuffer *buf, const struct evbuffer_cb_info *info, void *arg)
{
	ev_uint32_t *color = arg;

	(void)buf;
	(void)info;
	assert_int_equal(event_base_get_running_color(event_base_of_test, color), 0);
}

/* What waits keeps the color that it had; the next changes have the new one. */
static void a_color_set_while_changes_wait_is_that_of_the_next(void **state)
{
	struct event_base *base = event_base_of_test = base_with_one_worker();
	struct evbuffer *buf = buf_new();
	ev_uint32_t color = 99;

	(void)state;
	evbuffer_add_cb(buf, note_color, &color);
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	evbuffer_add(buf, "12", 2);
	le_buffer_set_color(buf, 7);
	turn(base);
	assert_int_equal(color, 0);
	evbuffer_add(buf, "34", 2);
	turn(base);
	assert_int_equal(color, 7);
	evbuffer_free(buf);
	event_base_free(base);
}

static void deferring_can_be_ended(void **state)
{
	struct event_base *base = event_base_new();
	struct evbuffer *buf = buf_new();

	(void)state;
	evbuffer_add_cb(buf, note, name("a"));
	assert_int_equal(evbuffer_defer_callbacks(buf, base), 0);
	assert_int_equal(evbuffer_defer_callbacks(buf, NULL), 0);
	evbuffer_add(buf, "12", 2);
	assert_trace("a:0+2-0 ");
	evbuffer_free(buf);
	event_base_free(base);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, clear_trace, failing_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_change_is_told_the_newest_first),
		TEST(one_is_removed_by_its_function_and_argument),
		TEST(both_buffers_of_a_move_are_told),
		TEST(a_disabled_one_misses_what_happens),
		TEST(the_old_kind_replaces_all),
		TEST(one_may_remove_itself),
		TEST(one_that_is_removed_is_not_told_any_more),
		TEST(one_may_replace_all),
		TEST(changes_from_within_are_told_from_within),
		TEST(one_may_free_the_buffer),
		TEST(one_may_free_the_other_buffer_of_a_move),
		TEST(a_cleanup_may_use_the_buffer),
		TEST(deferred_changes_add_up),
		TEST(a_color_set_while_changes_wait_is_that_of_the_next),
		TEST(an_owner_is_told_of_growth_only_and_first),
		TEST(some_are_told_at_once_all_the_same),
		TEST(a_freed_buffer_is_told_what_waits),
		TEST(deferring_can_be_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
