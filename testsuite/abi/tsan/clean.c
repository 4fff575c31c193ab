/*
 * A program without races, for ThreadSanitizer: it shares memory only as the contract of colors allows. The libraries
 * are the installed ones, which no sanitizer sees. Each scenario ends with a check of its result.
 *
 *   clean [SCENARIO...]		(default: all)
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/smp.h>
#include <event2/thread.h>

#include "program.h"

enum { COLORS = 8, ROUNDS = 400, THREADS = 3, WORKERS = 4 };

/* Plain memory of one color each. */
static struct {
	struct event_base *base;
	unsigned long sum;
	unsigned runs;
} of[COLORS];

/* Of color 0. */
static unsigned done;

static void end_if_all_done(void *arg)
{
	if (++done == *(unsigned *)arg)
		event_base_loopbreak(of[0].base);
}

static unsigned tasks;

static void note_done(void)
{
	post(of[0].base, 0, end_if_all_done, &tasks);
}

/* ---------------------------------------------------------------- posts: messages from color to color */

struct message {
	unsigned color, left;
	unsigned long payload[4];
};

static void pass_on(void *arg)
{
	struct message *m = arg, *next;
	unsigned i;

	for (i = 0; i < 4; i++)
		of[m->color].sum += m->payload[i];
	of[m->color].runs++;
	if (m->left == 0) {
		note_done();
	} else {
		next = must(malloc(sizeof(*next)));
		*next = *m;
		next->left--;
		next->color = (m->color + 1) % COLORS;
		next->payload[m->left % 4]++;
		post(of[0].base, next->color + 1, pass_on, next);
	}
	free(m);
}

static void send_messages(void)
{
	struct message *m;
	unsigned i;

	for (i = 0; i < COLORS; i++) {
		m = must(calloc(1, sizeof(*m)));
		m->color = i;
		m->left = ROUNDS;
		post(of[0].base, i + 1, pass_on, m);
	}
}

static void *send_from_thread(void *arg)
{
	(void)arg;
	send_messages();
	return NULL;
}

static void posts(void)
{
	struct event_base *base = begin(WORKERS);
	pthread_t threads[THREADS];
	unsigned i;

	tasks = (THREADS + 1) * COLORS;
	send_messages();
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(send_from_thread, NULL);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	CHECK(done == tasks);
	event_base_free(base);
	for (i = 0; i < COLORS; i++)
		CHECK(of[i].runs == (THREADS + 1) * (ROUNDS + 1));
}

/* ---------------------------------------------------------------- turns: a color's state on several workers */

static unsigned long work(unsigned long seed, unsigned num)
{
	while (num-- > 0)
		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
	return seed;
}

static void turn(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	of[i].sum = work(of[i].sum, 20000);
	if (++of[i].runs == ROUNDS)
		note_done();
	else
		post(of[0].base, i + 1, turn, arg);
}

/* All colors are born on one worker, so the others steal them. */
static void make_turns(void *arg)
{
	uintptr_t i;

	(void)arg;
	for (i = 0; i < COLORS; i++)
		post(of[0].base, (uint32_t)i + 1, turn, (void *)i);
}

static void turns(void)
{
	struct event_base *base = begin(WORKERS);
	unsigned i;

	tasks = COLORS;
	post(base, 99, make_turns, NULL);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	/* The loop has returned: its caller sees all that callbacks wrote. */
	for (i = 0; i < COLORS; i++)
		CHECK(of[i].runs == ROUNDS);
	event_base_free(base);
}

/* ---------------------------------------------------------------- adds: events made and added in other threads */

struct timer {
	struct event *ev;
	unsigned color;
};

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct timer *t = arg;

	(void)fd;
	(void)what;
	if (t->color != 0)
		of[t->color - 1].runs++;
	event_free(t->ev);
	free(t);
	note_done();
}

static void *add_timers(void *arg)
{
	static const struct timeval soon = { 0, 500 };
	struct event_base *base = arg;
	struct timer *t;
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		t = must(malloc(sizeof(*t)));
		t->color = i % (COLORS + 1);
		t->ev = must(event_new(base, -1, 0, on_timer, t));
		CHECK(event_set_color(t->ev, t->color) == 0);
		if (i % 3 == 0)
			event_active(t->ev, EV_TIMEOUT, 1);
		else
			CHECK(event_add(t->ev, i % 3 == 1 ? &soon : &(struct timeval){ 0, 0 }) == 0);
	}
	return NULL;
}

static void on_once(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	free(arg);
	note_done();
}

static void *add_once(void *arg)
{
	static const struct timeval soon = { 0, 300 };
	unsigned i;

	for (i = 0; i < ROUNDS; i++)
		CHECK(event_base_once(arg, -1, EV_TIMEOUT, on_once, must(calloc(1, 16)), &soon) == 0);
	return NULL;
}

static void add_in_threads(struct event_base *base)
{
	pthread_t threads[THREADS];
	unsigned i;

	tasks = (THREADS - 1) * ROUNDS + ROUNDS;
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(i == 0 ? add_once : add_timers, base);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	CHECK(done == tasks);
	event_base_free(base);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void adds(void)
{
	struct event_base *base = begin(WORKERS);

	post(base, 1, nothing, NULL);			/* from now on the base is safe for other threads */
	CHECK(event_base_loop(base, 0) == 1);
	add_in_threads(base);
}

/* ---------------------------------------------------------------- dels: an event and its memory end elsewhere */

struct pipe_reader {
	int fds[2];
	struct event *ev;
	unsigned *counts;		/* freed by the one who deletes */
	struct reader_owner *owner;
};

static void on_byte(evutil_socket_t fd, short what, void *arg)
{
	struct pipe_reader *r = arg;
	char byte;

	(void)what;
	CHECK(read(fd, &byte, 1) == 1);
	r->counts[0]++;
	r->counts[1] = r->counts[0];
	CHECK(write(r->fds[1], &byte, 1) == 1);
}

static struct pipe_reader *reader_new(struct event_base *base, uint32_t color)
{
	struct pipe_reader *r = must(calloc(1, sizeof(*r)));

	CHECK(pipe(r->fds) == 0);
	r->counts = must(calloc(2, sizeof(*r->counts)));
	r->ev = must(event_new(base, r->fds[0], EV_READ | EV_PERSIST, on_byte, r));
	CHECK(event_set_color(r->ev, color) == 0);
	CHECK(event_add(r->ev, NULL) == 0);
	CHECK(write(r->fds[1], "", 1) == 1);
	return r;
}

static void reader_end(struct pipe_reader *r)
{
	CHECK(event_del(r->ev) == 0);
	CHECK(r->counts[0] == r->counts[1]);
	event_free(r->ev);
	close(r->fds[0]);
	close(r->fds[1]);
	free(r->counts);
	free(r);
}

static void end_later(void *arg)
{
	reader_end(arg);
	note_done();
}

/* Made here, run in one color, deleted in another color or in this thread. */
static void *make_readers(void *arg)
{
	struct event_base *base = arg;
	struct pipe_reader *r;
	unsigned i;

	for (i = 0; i < ROUNDS / 4; i++) {
		r = reader_new(base, i % COLORS + 1);
		usleep(100);		/* so that most are in the middle of their work; any order is right */
		if (i % 2 == 0) {
			reader_end(r);
			note_done();
		} else {
			post(base, (i + 1) % COLORS + 1, end_later, r);
		}
	}
	return NULL;
}

static void on_finalized(struct event *ev, void *arg)
{
	(void)ev;
	free(arg);
	note_done();
}

static void on_count(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned *)arg;
}

static void *finalize_events(void *arg)
{
	struct event_base *base = arg;
	unsigned i, *count;
	struct event *ev;

	for (i = 0; i < ROUNDS; i++) {
		count = must(calloc(1, sizeof(*count)));
		ev = must(event_new(base, -1, EV_PERSIST, on_count, count));
		CHECK(event_set_color(ev, i % COLORS + 1) == 0);
		CHECK(event_add(ev, &(struct timeval){ 0, 1 }) == 0);
		event_active(ev, EV_TIMEOUT, 1);
		CHECK(event_free_finalize(0, ev, on_finalized) == 0);
	}
	return NULL;
}

static void dels(void)
{
	struct event_base *base = begin(WORKERS);
	pthread_t threads[THREADS];
	unsigned i;

	tasks = (THREADS - 1) * (ROUNDS / 4) + ROUNDS;
	post(base, 1, nothing, NULL);
	CHECK(event_base_loop(base, 0) == 1);
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(i == 0 ? finalize_events : make_readers, base);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	CHECK(done == tasks);
	event_base_free(base);
}

/* ---------------------------------------------------------------- shared: readers and a writer of one color */

static unsigned table[16];
static struct event *writer;
static unsigned writes;

static void on_read(evutil_socket_t fd, short what, void *arg)
{
	unsigned i;

	(void)fd;
	(void)what;
	for (i = 1; i < 16; i++)
		CHECK(table[i] == table[0]);
	++*(unsigned *)arg;
}

static void on_write(evutil_socket_t fd, short what, void *arg)
{
	unsigned i;

	(void)fd;
	(void)what;
	(void)arg;
	for (i = 0; i < 16; i++)
		table[i]++;
	if (++writes == ROUNDS / 4)
		note_done();
}

static void shared(void)
{
	struct event_base *base = begin(WORKERS);
	struct event *readers[4];
	unsigned i, reads[4] = { 0 };

	tasks = 1;
	for (i = 0; i < 4; i++) {
		readers[i] = must(event_new(base, -1, EV_PERSIST, on_read, &reads[i]));
		CHECK(event_set_color_shared(readers[i], 5) == 0);
		CHECK(event_add(readers[i], &(struct timeval){ 0, 200 + 50 * i }) == 0);
	}
	writer = must(event_new(base, -1, EV_PERSIST, on_write, NULL));
	CHECK(event_set_color(writer, 5) == 0);
	CHECK(event_add(writer, &(struct timeval){ 0, 300 }) == 0);
	CHECK(event_base_loop(base, 0) == 0);
	CHECK(done == 1 && table[0] == writes);
	for (i = 0; i < 4; i++)
		event_free(readers[i]);
	event_free(writer);
	event_base_free(base);
}

/* ---------------------------------------------------------------- pauses: from outside, and between loops */

static unsigned long shared_by_pauses;

static void use_shared(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	of[i].sum += shared_by_pauses;
	if (++of[i].runs == ROUNDS)
		note_done();
	else
		post(of[0].base, i + 1, use_shared, arg);
}

static void *pause_often(void *arg)
{
	unsigned i, j;

	for (i = 0; i < 50; i++) {
		CHECK(event_base_pause(arg) == 0);
		shared_by_pauses++;
		for (j = 0; j < COLORS; j++)
			of[j].sum++;
		CHECK(event_base_resume(arg) == 0);
	}
	return NULL;
}

static void pause_here(void *arg)
{
	CHECK(event_base_pause(of[0].base) == 0);
	shared_by_pauses++;
	of[3].sum++;
	CHECK(event_base_resume(of[0].base) == 0);
	(void)arg;
	note_done();
}

static void pauses(void)
{
	struct event_base *base = begin(WORKERS);
	pthread_t thread;
	uintptr_t i;

	tasks = COLORS + 10;
	for (i = 0; i < COLORS; i++)
		post(base, (uint32_t)i + 1, use_shared, (void *)i);
	for (i = 0; i < 10; i++)
		post(base, (uint32_t)i + 100, pause_here, NULL);
	thread = thread_start(pause_often, base);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	thread_join(thread);
	/* Once more, with what this thread writes between the loops. */
	done = 0;
	tasks = COLORS;
	shared_by_pauses++;
	for (i = 0; i < COLORS; i++) {
		of[i].runs = 0;
		post(base, (uint32_t)i + 1, use_shared, (void *)i);
	}
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	CHECK(done == tasks);
	event_base_free(base);
}

/* ---------------------------------------------------------------- bevs: a listener, a color for each connection */

struct session {
	struct bufferevent *bev;
	size_t bytes;
	char *name;
};

static unsigned sessions_num;		/* of color 77 */

static void count_session(void *arg)
{
	struct session *s = arg;

	sessions_num++;
	free(s->name);
	free(s);
	note_done();
}

static void on_session_read(struct bufferevent *bev, void *arg)
{
	struct session *s = arg;
	char buf[512];
	size_t len;

	while ((len = bufferevent_read(bev, buf, sizeof(buf))) > 0) {
		s->bytes += len;
		s->name[0] = buf[0];
		CHECK(bufferevent_write(bev, buf, len) == 0);
	}
}

static void on_session_end(struct bufferevent *bev, short what, void *arg)
{
	CHECK((what & BEV_EVENT_EOF) != 0);
	bufferevent_free(bev);
	post(of[0].base, 77, count_session, arg);
}

static void on_accept(struct evconnlistener *lev, evutil_socket_t fd, struct sockaddr *addr, int len, void *arg)
{
	struct session *s = must(calloc(1, sizeof(*s)));
	struct event_base *base = evconnlistener_get_base(lev);
	ev_uint32_t color;

	(void)addr;
	(void)len;
	(void)arg;
	s->name = must(strdup("name"));
	CHECK(event_base_get_running_color(base, &color) == 0);
	s->bev = must(bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE));
	CHECK(bufferevent_set_color(s->bev, color) == 0);
	bufferevent_setcb(s->bev, on_session_read, NULL, on_session_end, s);
	CHECK(bufferevent_enable(s->bev, EV_READ | EV_WRITE) == 0);
}

static void *echo_client(void *arg)
{
	char sent[3000], got[3000];
	unsigned i;
	int fd;

	memset(sent, 'x', sizeof(sent));
	for (i = 0; i < 20; i++) {
		fd = connect_to(arg);
		CHECK(write(fd, sent, sizeof(sent)) == (ssize_t)sizeof(sent));
		CHECK(recv(fd, got, sizeof(got), MSG_WAITALL) == (ssize_t)sizeof(got));
		CHECK(memcmp(sent, got, sizeof(got)) == 0);
		close(fd);
	}
	return NULL;
}

/* Two bufferevents of a pair in two colors: one writes, the other one counts. */
static void on_pair_read(struct bufferevent *bev, void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	struct evbuffer *in = bufferevent_get_input(bev);

	of[i].sum += evbuffer_get_length(in);
	evbuffer_drain(in, evbuffer_get_length(in));
	if (++of[i].runs == ROUNDS / 4)
		note_done();
	if (of[i].runs <= ROUNDS / 4)
		CHECK(bufferevent_write(bev, "0123456789", 10) == 0);
}

static void bevs(void)
{
	struct event_base *base = begin(WORKERS);
	struct evconnlistener *lev;
	pthread_t threads[THREADS];
	struct bufferevent *pair[2];
	struct sockaddr_in at;
	unsigned i;

	lev = must(listen_any(base, on_accept, &at));
	CHECK(evconnlistener_set_color_policy(lev, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	CHECK(bufferevent_pair_new(base, BEV_OPT_THREADSAFE, pair) == 0);
	for (i = 0; i < 2; i++) {
		CHECK(bufferevent_set_color(pair[i], i + 1) == 0);
		bufferevent_setcb(pair[i], on_pair_read, NULL, NULL, (void *)(uintptr_t)i);
		CHECK(bufferevent_enable(pair[i], EV_READ | EV_WRITE) == 0);
	}
	CHECK(bufferevent_write(pair[0], "0123456789", 10) == 0);
	tasks = THREADS * 20 + 2;
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(echo_client, &at);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	CHECK(done == tasks && sessions_num == THREADS * 20);
	bufferevent_free(pair[0]);
	bufferevent_free(pair[1]);
	evconnlistener_free(lev);
	event_base_free(base);
}

/* ---------------------------------------------------------------- http: handlers in colors, replies from elsewhere */

static struct evhttp *http;
static unsigned long visits;		/* of color 88 */

struct visit {
	struct evhttp_request *req;
	char text[32];
};

static void reply(struct visit *v)
{
	struct evbuffer *buf = must(evbuffer_new());

	evbuffer_add_printf(buf, "hello %s\n", v->text);
	evhttp_send_reply(v->req, 200, "OK", buf);
	evbuffer_free(buf);
	free(v);
}

static void reply_in_color(void *arg)
{
	visits++;
	reply(arg);
	note_done();
}

static void on_request(struct evhttp_request *req, void *arg)
{
	struct visit *v = must(calloc(1, sizeof(*v)));

	(void)arg;
	v->req = req;
	snprintf(v->text, sizeof(v->text), "%.20s", evhttp_request_get_uri(req));
	if (v->text[1] == 'a') {
		post(of[0].base, 88, reply_in_color, v);
	} else {
		reply(v);
		note_done();
	}
}

static void *http_client(void *arg)
{
	static const char *const asks[] = {
		"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /b HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	char line[512];
	unsigned i, j;
	FILE *f;

	for (i = 0; i < 10; i++) {
		f = must(fdopen(connect_to(arg), "r+"));
		for (j = 0; j < 6; j++) {
			CHECK(fputs(asks[j % 2], f) >= 0 && fflush(f) == 0);
			do
				CHECK(fgets(line, sizeof(line), f) != NULL);
			while (strncmp(line, "hello", 5) != 0);
		}
		fclose(f);
	}
	return NULL;
}

static void https(void)
{
	struct event_base *base = begin(WORKERS);
	pthread_t threads[THREADS];
	struct sockaddr_in at;
	unsigned i;

	http = must(evhttp_new(base));
	CHECK(evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) == 0);
	evhttp_set_gencb(http, on_request, NULL);
	at = address_of(evhttp_bound_socket_get_fd(must(evhttp_bind_socket_with_handle(http, "127.0.0.1", 0))));
	tasks = THREADS * 60;
	for (i = 0; i < THREADS; i++)
		threads[i] = thread_start(http_client, &at);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	CHECK(visits == THREADS * 30);
	/* The last replies are on their way. */
	CHECK(event_base_loopexit(base, &(struct timeval){ 0, 100000 }) == 0);
	CHECK(event_base_loop(base, 0) == 0);
	for (i = 0; i < THREADS; i++)
		thread_join(threads[i]);
	evhttp_free(http);
	event_base_free(base);
}

/* ---------------------------------------------------------------- threads: evthread and no colors */

static void evthreads(void)
{
	struct event_base *base;

	CHECK(evthread_use_pthreads() == 0);
	base = begin(WORKERS);
	add_in_threads(base);
	/* One color only: all callbacks in the loop's thread. */
	base = begin(1);
	add_in_threads(base);
}

/* ---------------------------------------------------------------- main */

static const struct {
	const char *name;
	void (*fn)(void);
} scenarios[] = {
	{ "posts", posts }, { "turns", turns }, { "adds", adds }, { "dels", dels }, { "shared", shared },
	{ "pauses", pauses }, { "bevs", bevs }, { "http", https }, { "evthread", evthreads },
};

struct event_base *begin(unsigned workers)
{
	struct event_base *base = base_new(workers);

	memset(of, 0, sizeof(of));
	of[0].base = base;
	done = 0;
	return base;
}

int main(int argc, char **argv)
{
	unsigned i;
	int j;

	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		for (j = 1; j < argc && strcmp(argv[j], scenarios[i].name) != 0; j++)
			;
		if (argc == 1 || j < argc) {
			fprintf(stderr, "%s\n", scenarios[i].name);
			scenarios[i].fn();
		}
	}
	return 0;
}
