/*
 * A program without races, for ThreadSanitizer: it shares memory only as the contract of colors allows. The libraries
 * are the installed ones, which no sanitizer sees. Each scenario ends with a check of its result.
 *
 *   clean [SCENARIO...]		(default: all)
 */
#include "clean.h"

#include <event2/thread.h>

struct color of[COLORS];

/* Of color 0. */
static unsigned done;

unsigned tasks;

static void end_if_all_done(void *arg)
{
	(void)arg;
	if (++done == tasks)
		event_base_loopbreak(of[0].base);
}

void note_done(void)
{
	post(of[0].base, 0, end_if_all_done, NULL);
}

bool are_all_done(void)
{
	return done == tasks;
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
	CHECK(are_all_done());
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
	CHECK(are_all_done());
	event_base_free(base);
}

void nothing(void *arg)
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
	CHECK(are_all_done());
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
	CHECK(are_all_done() && table[0] == writes);
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
	CHECK(are_all_done());
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

/* ---------------------------------------------------------------- handed: one event is all that orders */

static void on_handed(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	of[0].sum += *(unsigned *)arg;
	free(arg);
	note_done();
}

/* This thread lives on, and does nothing else that the loop's thread could wait for. */
static void *hand_over(void *arg)
{
	struct event *ev = arg;
	unsigned *num = must(malloc(sizeof(*num)));

	*num = 1;
	CHECK(event_assign(ev, of[0].base, -1, 0, on_handed, num) == 0);
	CHECK(event_set_color(ev, 7) == 0);
	CHECK(event_add(ev, &(struct timeval){ 0, 1000 }) == 0);
	return NULL;
}

static void handed_to(unsigned workers)
{
	struct event_base *base = begin(workers);
	struct event *ev = must(event_new(base, -1, 0, on_handed, NULL));
	pthread_t thread;

	tasks = 1;
	post(base, 1, nothing, NULL);
	CHECK(event_base_loop(base, 0) == 1);
	thread = thread_start(hand_over, ev);
	CHECK(event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY) == 0);
	CHECK(of[0].sum == 1);
	thread_join(thread);
	event_free(ev);
	event_base_free(base);
}

static void handed(void)
{
	handed_to(WORKERS);
	handed_to(1);
}

/* ---------------------------------------------------------------- main */

static const struct {
	const char *name;
	void (*fn)(void);
} scenarios[] = {
	{ "posts", posts }, { "turns", turns }, { "adds", adds }, { "dels", dels }, { "shared", shared },
	{ "pauses", pauses }, { "bevs", bevs }, { "http", https }, { "locked", lockeds },
	{ "dns", dnss }, { "evthread", evthreads }, { "handed", handed },
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
