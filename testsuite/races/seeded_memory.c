/*
 * Races about memory that two colors share.
 */
#include <time.h>

#include <event2/buffer.h>

#include "seeded.h"

static const struct timeval soon = { 0, 1000 }, later = { 0, 3000 };

/* ---------------------------------------------------------------- counter: two colors count in one variable */

static unsigned long counter;

static void count(void *arg)
{
	(void)arg;
	counter++;
}

static void counter_of_posts(void)
{
	post(base, 1, count, NULL);
	post(base, color_or(2, 1), count, NULL);
	run();
}

/* ---------------------------------------------------------------- timers: the same by two timers */

static void on_count(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned long *)arg;
}

static void counter_of_timers(void)
{
	struct event *a = event_of(1, -1, 0, on_count, &counter);
	struct event *b = event_of(color_or(2, 1), -1, 0, on_count, &counter);

	CHECK(event_add(a, &soon) == 0 && event_add(b, &later) == 0);
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(a);
	event_free(b);
	run();
}

/* ---------------------------------------------------------------- zero: one event has no color */

static void counter_of_zero(void)
{
	struct event *a = event_of(0, -1, 0, on_count, &counter);
	struct event *b = event_of(color_or(7, 0), -1, 0, on_count, &counter);

	CHECK(event_add(b, &soon) == 0 && event_add(a, &later) == 0);
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(a);
	event_free(b);
	run();
}

/* ---------------------------------------------------------------- config: a reload while others read */

static struct {
	int limit;
	char name[16];
} config;

static int limits;

static void reload(void *arg)
{
	(void)arg;
	config.limit = 5;
}

static void use_config(void *arg)
{
	(void)arg;
	limits += config.limit;
}

static void read_while_written(void)
{
	post(base, 3, use_config, NULL);
	post(base, color_or(4, 3), reload, NULL);
	run();
	CHECK(limits == 0 && config.limit == 5);
}

/* ---------------------------------------------------------------- readers: a shared color that writes */

static void readers_that_write(void)
{
	static unsigned long own[2];
	struct event *ev[2];
	unsigned i;

	for (i = 0; i < 2; i++) {
		ev[i] = must(event_new(base, -1, 0, on_count, is_repaired ? &own[i] : &counter));
		CHECK(event_set_color_shared(ev[i], 9) == 0);
		CHECK(event_add(ev[i], i == 0 ? &soon : &later) == 0);
	}
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(ev[0]);
	event_free(ev[1]);
	run();
}

/* ---------------------------------------------------------------- lazy: the first one to come makes it */

static char *banner;

static void use_banner(void *arg)
{
	(void)arg;
	if (banner == NULL)
		banner = must(strdup("220 ready"));
}

static void lazy_start(void)
{
	if (is_repaired)
		use_banner(NULL);
	post(base, 1, use_banner, NULL);
	post(base, 2, use_banner, NULL);
	run();
	free(banner);
}

/* ---------------------------------------------------------------- list: all connections in one list */

struct conn {
	struct conn *next;
};

static struct conn *conns;

static void enlist(void *arg)
{
	struct conn *c = arg;

	c->next = conns;
	conns = c;
}

static void list_of_all(void)
{
	static struct conn a, b;

	post(base, 10, enlist, &a);
	post(base, color_or(11, 10), enlist, &b);
	run();
}

/* ---------------------------------------------------------------- bits: two flags in one word */

static struct {
	unsigned is_closing : 1, is_slow : 1;
} flags;

static void set_closing(void *arg)
{
	(void)arg;
	flags.is_closing = 1;
}

static void set_slow(void *arg)
{
	(void)arg;
	flags.is_slow = 1;
}

static void bits_of_a_word(void)
{
	post(base, 1, set_closing, NULL);
	post(base, color_or(2, 1), set_slow, NULL);
	run();
	CHECK(flags.is_closing && flags.is_slow);
}

/* ---------------------------------------------------------------- static: a function that keeps its result */

static const char *stamp(unsigned n)
{
	static char text[32];

	snprintf(text, sizeof(text), "%u seconds", n);
	return text;
}

static void log_stamp(void *arg)
{
	CHECK(stamp((unsigned)(uintptr_t)arg)[0] != '\0');
}

static void static_result(void)
{
	post(base, 1, log_stamp, (void *)1);
	post(base, color_or(2, 1), log_stamp, (void *)2);
	run();
}

/* ---------------------------------------------------------------- library: what the library reads */

static char page[64] = "page";

static void send_page(void *arg)
{
	struct evbuffer *buf = must(evbuffer_new());

	(void)arg;
	CHECK(evbuffer_add(buf, page, sizeof(page)) == 0);
	evbuffer_free(buf);
}

static void change_page(void *arg)
{
	(void)arg;
	page[3] = 'E';
}

static void read_by_library(void)
{
	post(base, 1, send_page, NULL);
	post(base, color_or(2, 1), change_page, NULL);
	run();
}

const struct seeded seeded_memory[] = {
	{ "counter", counter_of_posts }, { "timers", counter_of_timers }, { "zero", counter_of_zero },
	{ "config", read_while_written }, { "readers", readers_that_write }, { "lazy", lazy_start },
	{ "list", list_of_all }, { "bits", bits_of_a_word }, { "static", static_result },
	{ "library", read_by_library }, { NULL, NULL },
};
