/*
 * 2. Default: a program that uses no color never gets a second thread and pays no lock or atomic for it.
 *
 * Each program below checks itself that it did what it is watched for (watched.h).
 */
#include "watched.h"

#include <linux/futex.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/thread.h>

enum { ROUNDS = 300 };

/* The next one is select. */
static const char *const methods[] = { "epoll", "poll" };
static unsigned methods_avoided;

static struct event_base *plain_base_new(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base;

	CHECK(cfg != NULL);
	for (unsigned i = 0; i < methods_avoided; i++)
		CHECK(event_config_avoid_method(cfg, methods[i]) == 0);
	CHECK(event_config_set_workers(cfg, 2, NULL, NULL) == 0);
	base = event_base_new_with_config(cfg);
	CHECK(base != NULL);
	event_config_free(cfg);
	CHECK(event_base_priority_init(base, 2) == 0);
	return base;
}

/* ---------------------------------------------------------------- events */

/* Each kind of event goes on until it ran ROUNDS times. */
enum kind { READER, WRITER, TIMER, ACTIVE, ONCE, KINDS };

struct events {
	struct event_base *base;
	struct event *ev[KINDS]; /* but ONCE */
	struct event *again; /* deleted and added, and never runs */
	struct event *sig; /* never comes: its handler interrupts the loop anywhere, so it needs atomics */
	int fd[2], quiet[2];
	unsigned runs[KINDS];
};

static struct events events;

static bool is_last_of(enum kind kind)
{
	return ++events.runs[kind] == ROUNDS;
}

static bool is_done(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		if (events.runs[kind] < ROUNDS)
			return false;
	return true;
}

static void reader_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)arg;
	CHECK(what == EV_READ && take(fd));
	if (is_last_of(READER))
		event_del(events.ev[READER]);
	else
		put(events.fd[1]);
}

static void writer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)arg;
	CHECK(what == EV_WRITE);
	CHECK(event_del(events.again) == 0);
	if (is_last_of(WRITER))
		return;
	CHECK(event_add(events.again, events.runs[WRITER] % 2 == 0 ? &hour_tv : NULL) == 0);
	CHECK(event_add(events.ev[WRITER], &hour_tv) == 0);
}

static void once_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)arg;
	CHECK(what == EV_TIMEOUT);
	events.runs[ONCE]++;
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)arg;
	CHECK(what == EV_TIMEOUT);
	CHECK(event_base_once(events.base, -1, EV_TIMEOUT, once_cb, NULL, NULL) == 0);
	if (is_last_of(TIMER))
		event_del(events.ev[TIMER]);
}

static void active_cb(evutil_socket_t fd, short what, void *arg)
{
	struct event *made = event_new(events.base, -1, 0, nothing_cb, NULL);

	(void)fd;
	(void)arg;
	CHECK(what == EV_READ && made != NULL);
	CHECK(event_priority_set(made, 0) == 0);
	CHECK(event_pending(events.again, EV_READ, NULL) == (events.runs[WRITER] < ROUNDS ? EV_READ : 0));
	event_free(made);
	if (!is_last_of(ACTIVE))
		event_active(events.ev[ACTIVE], EV_READ, 1);
}

static void events_new(void)
{
	struct event_base *base = events.base = plain_base_new();

	pipe_new(events.fd);
	pipe_new(events.quiet);
	events.ev[READER] = event_new(base, events.fd[0], EV_READ | EV_PERSIST, reader_cb, NULL);
	events.ev[WRITER] = event_new(base, events.quiet[1], EV_WRITE, writer_cb, NULL);
	events.ev[TIMER] = event_new(base, -1, EV_PERSIST, timer_cb, NULL);
	events.ev[ACTIVE] = event_new(base, -1, 0, active_cb, NULL);
	events.sig = event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, nothing_cb, NULL);
	events.again = event_new(base, events.quiet[0], EV_READ | EV_PERSIST, nothing_cb, NULL);
	CHECK(event_priority_set(events.ev[ACTIVE], 0) == 0);
}

static void events_program(void)
{
	static const struct timeval soon = { 0, 1 };

	events_new();
	/* Once a process: which base gets the signals is chosen under a lock, for other threads may have bases, too. */
	CHECK(event_add(events.sig, NULL) == 0);
	CHECK(event_del(events.sig) == 0);
	watch_begin();
	CHECK(event_add(events.ev[READER], NULL) == 0);
	CHECK(event_add(events.ev[WRITER], NULL) == 0);
	CHECK(event_add(events.ev[TIMER], &soon) == 0);
	CHECK(event_add(events.sig, NULL) == 0);
	CHECK(event_add(events.again, NULL) == 0);
	event_active(events.ev[ACTIVE], EV_READ, 1);
	put(events.fd[1]);
	while (!is_done())
		CHECK(event_base_loop(events.base, EVLOOP_ONCE) == 0);
	CHECK(event_del(events.sig) == 0);
	watch_end();
}

/* ---------------------------------------------------------------- buffers */

static void added_cb(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *arg)
{
	(void)buffer;
	*(size_t *)arg += info->n_added;
}

static void buffer_work(void)
{
	static const char text[1000] = "text\r\n";
	struct evbuffer *from, *to;
	char out[sizeof(text)];
	size_t added = 0;

	CHECK((from = evbuffer_new()) != NULL && (to = evbuffer_new()) != NULL);
	CHECK(evbuffer_add_cb(to, added_cb, &added) != NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		CHECK(evbuffer_add(from, text, sizeof(text)) == 0);
		CHECK(evbuffer_prepend(from, text, 6) == 0);
		CHECK(evbuffer_add_reference(from, text, sizeof(text), NULL, NULL) == 0);
		CHECK(evbuffer_search_eol(from, NULL, NULL, EVBUFFER_EOL_CRLF).pos == 4);
		CHECK(evbuffer_pullup(from, 1100) != NULL);
		CHECK(evbuffer_drain(from, 6) == 0);
		CHECK(evbuffer_add_buffer(to, from) == 0);
		CHECK(evbuffer_remove(to, out, sizeof(out)) == sizeof(out) && memcmp(out, text, sizeof(out)) == 0);
		CHECK(evbuffer_get_length(to) == (i + 1) * sizeof(text));
	}
	evbuffer_free(from);
	evbuffer_free(to);
	CHECK(added == sizeof(text) * 2 * ROUNDS);
}

/* The first block that a process leaves makes it ready for threads that do: once, under a lock of the C library. */
static void first_block(void)
{
	struct evbuffer *buf = evbuffer_new();

	CHECK(buf != NULL && evbuffer_add(buf, "x", 1) == 0);
	evbuffer_free(buf);
}

static void buffer_program(void)
{
	first_block();
	watch_begin();
	buffer_work();
	watch_end();
}

/* ---------------------------------------------------------------- bufferevents */

static struct bufferevent *echoes[2]; /* client, server */
static unsigned words_left;

static void serve_cb(struct bufferevent *bev, void *arg)
{
	(void)arg;
	CHECK(bufferevent_write_buffer(bev, bufferevent_get_input(bev)) == 0);
}

static void client_cb(struct bufferevent *bev, void *arg)
{
	char *line = evbuffer_readln(bufferevent_get_input(bev), NULL, EVBUFFER_EOL_LF);

	(void)arg;
	CHECK(line != NULL && strcmp(line, "word") == 0);
	free(line);
	if (--words_left > 0) {
		CHECK(evbuffer_add_printf(bufferevent_get_output(bev), "%s\n", "word") == 5);
		return;
	}
	bufferevent_free(echoes[0]);
	bufferevent_free(echoes[1]);
}

/* On the two ends, which it frees. */
static void echo(struct event_base *base)
{
	bufferevent_setcb(echoes[0], client_cb, NULL, NULL, NULL);
	bufferevent_setcb(echoes[1], serve_cb, NULL, NULL, NULL);
	words_left = ROUNDS;
	for (unsigned i = 0; i < 2; i++) {
		CHECK(bufferevent_set_timeouts(echoes[i], &hour_tv, &hour_tv) == 0);
		CHECK(bufferevent_enable(echoes[i], EV_READ | EV_WRITE) == 0);
	}
	CHECK(bufferevent_write(echoes[0], "word\n", 5) == 0);
	CHECK(event_base_dispatch(base) == 1);
	CHECK(words_left == 0);
}

static void pair_work(struct event_base *base)
{
	CHECK(bufferevent_pair_new(base, BEV_OPT_DEFER_CALLBACKS, echoes) == 0);
	echo(base);
}

static void socket_work(struct event_base *base)
{
	evutil_socket_t fd[2];

	CHECK(evutil_socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	for (unsigned i = 0; i < 2; i++) {
		CHECK(evutil_make_socket_nonblocking(fd[i]) == 0);
		echoes[i] = bufferevent_socket_new(base, fd[i], BEV_OPT_CLOSE_ON_FREE);
		CHECK(echoes[i] != NULL);
	}
	echo(base);
}

static void bufferevent_program(void)
{
	struct event_base *base = plain_base_new();

	first_block();
	watch_begin();
	pair_work(base);
	socket_work(base);
	watch_end();
}

/* ---------------------------------------------------------------- what is not serial */

/* Just what the detector is to find, of several sizes and forms, and what only looks like it. */
static void atomics_program(void)
{
	static _Atomic(uint16_t) word;
	static _Atomic(uint64_t) wide;
	static unsigned char bytes[2];
	unsigned long a = 1, b = 2;

	watch_begin();
	atomic_fetch_add(&word, 1);
	atomic_fetch_or(&wide, 256);
	a += atomic_exchange(&wide, 2);
	__asm__ volatile("xchgb %0, %1" : "+q"(bytes[0]), "+m"(bytes[1]));
	__asm__ volatile("xchgq %0, %1" : "+r"(a), "+r"(b));
	atomic_store_explicit(&word, (uint16_t)a, memory_order_release);
	watch_end();
}

static void mutex_program(void)
{
	static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	static uint32_t word;

	watch_begin();
	CHECK(pthread_mutex_lock(&mu) == 0);
	CHECK(pthread_mutex_unlock(&mu) == 0);
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1) == 0);
	watch_end();
}

static void colored_fn(void *arg)
{
	(void)arg;
}

static void colored_program(void)
{
	struct event_base *base = plain_base_new();

	watch_begin();
	post(base, 7, colored_fn, NULL);
	watch_end();
}

static void evthread_program(void)
{
	CHECK(evthread_use_pthreads() == 0);
	events_program();
}

/* ---------------------------------------------------------------- tests */

static void assert_seen(void (*program)(void), struct watched expected)
{
	struct watched seen = watch_run(program);

	assert_int_equal(seen.locked, expected.locked);
	assert_int_equal(seen.functions, expected.functions);
	assert_int_equal(seen.calls, expected.calls);
	assert_int_equal(seen.threads, 1);
}

static void test_contract_02_serial_events(void **state)
{
	(void)state;
	assert_seen(events_program, (struct watched){ 0 });
}

static void test_contract_02_serial_events_with_poll(void **state)
{
	(void)state;
	methods_avoided = 1;
	assert_seen(events_program, (struct watched){ 0 });
}

static void test_contract_02_serial_events_with_select(void **state)
{
	(void)state;
	methods_avoided = 2;
	assert_seen(events_program, (struct watched){ 0 });
}

static int any_method(void **state)
{
	methods_avoided = 0;
	return watchdog_off(state);
}

static void test_contract_02_serial_buffer(void **state)
{
	(void)state;
	assert_seen(buffer_program, (struct watched){ 0 });
}

static void test_contract_02_serial_bufferevents(void **state)
{
	(void)state;
	assert_seen(bufferevent_program, (struct watched){ 0 });
}

/* What there is is found, and no more: else the tests above would say nothing. */
static void test_contract_02_serial_watch_finds(void **state)
{
	(void)state;
	assert_seen(atomics_program, (struct watched){ .locked = 4 });
	assert_seen(mutex_program, (struct watched){ .functions = 1, .calls = 1 });
	assert_true(watch_run(colored_program).locked > 0);
	assert_true(watch_run(evthread_program).locked > 0);
}

#define METHOD_TEST(fn) cmocka_unit_test_setup_teardown(fn, watchdog, any_method)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contract_02_serial_watch_finds),
		TEST(test_contract_02_serial_events),
		METHOD_TEST(test_contract_02_serial_events_with_poll),
		METHOD_TEST(test_contract_02_serial_events_with_select),
		TEST(test_contract_02_serial_buffer),
		TEST(test_contract_02_serial_bufferevents),
	};

	/* Not RUN(): this process had better never have had a second thread. */
	unsetenv("EVENT_WORKERS");
	unsetenv("EVENT_NOPOLL");
	unsetenv("EVENT_NOSELECT");
	return cmocka_run_group_tests(tests, watch_setup, NULL);
}
