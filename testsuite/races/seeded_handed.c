/*
 * Races about things that one color hands to another.
 */
#include <signal.h>

#include "seeded.h"

static const struct timeval soon = { 0, 1000 }, later = { 0, 3000 };

/* ---------------------------------------------------------------- late: a message changes once posted */

struct message {
	int number, answer;
};

static void receive(void *arg)
{
	struct message *m = arg;

	m->answer = m->number + 1;
	free(m);
}

static void send_and_change(void *arg)
{
	struct message *m = must(calloc(1, sizeof(*m)));

	(void)arg;
	if (is_repaired)
		m->number = 1;
	post(base, 2, receive, m);
	if (!is_repaired)
		m->number = 1;
}

static void changed_after_post(void)
{
	post(base, 1, send_and_change, NULL);
	run();
}

/* ---------------------------------------------------------------- back: the answer is read without one */

static struct message asked;

static void answer(void *arg)
{
	(void)arg;
	asked.answer = 42;
}

static void read_answer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	CHECK(asked.answer == 42);
}

static void answer_without_post(void)
{
	struct event *ev = event_of(color_or(1, 2), -1, 0, read_answer, NULL);

	CHECK(event_add(ev, &later) == 0);
	post(base, 2, answer, NULL);
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(ev);
	run();
}

/* ---------------------------------------------------------------- third: both post to a third color */

static unsigned long together;

static void nothing(void *arg)
{
	(void)arg;
}

static void add_and_tell(void *arg)
{
	(void)arg;
	together++;
	post(base, 3, nothing, NULL);
}

static void third_color(void)
{
	post(base, 1, add_and_tell, NULL);
	post(base, color_or(2, 1), add_and_tell, NULL);
	run();
}

/* ---------------------------------------------------------------- active: a write after event_active */

static int order_number;
static struct event *worker_event;

static void on_order(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	CHECK(order_number == 8);
}

static void give_order(void *arg)
{
	(void)arg;
	if (is_repaired)
		order_number = 8;
	event_active(worker_event, EV_READ, 1);
	if (!is_repaired)
		order_number = 8;
}

static void written_after_active(void)
{
	worker_event = event_of(6, -1, 0, on_order, NULL);
	post(base, 5, give_order, NULL);
	CHECK(event_base_loop(base, 0) >= 0);
	CHECK(order_number == 8);
	event_free(worker_event);
	run();
}

/* ---------------------------------------------------------------- freed: there was another event */

struct session {
	struct event *read, *tick;
	unsigned long bytes;
};

static void on_session(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	((struct session *)arg)->bytes++;
}

/* Waits for the callbacks of `read`; those of `tick` may still run. */
static void end_session(void *arg)
{
	struct session *s = arg;

	CHECK(event_del(s->read) == 0);
	if (is_repaired)
		CHECK(event_del(s->tick) == 0);
	s->bytes = 0;
}

static void on_end(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end_session(arg);
}

static void deleted_but_one(void)
{
	static struct session s;
	struct event *end = event_of(8, -1, 0, on_end, &s);

	s.read = event_of(7, -1, 0, on_session, &s);
	s.tick = event_of(7, -1, 0, on_session, &s);
	event_active(s.read, EV_READ, 1);
	CHECK(event_add(s.tick, &soon) == 0 && event_add(end, &later) == 0);
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(s.read);
	event_free(s.tick);
	event_free(end);
	run();
}

/* ---------------------------------------------------------------- signal: a flag for all */

static int must_reopen;

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	(void)sig;
	(void)what;
	must_reopen = 1;
	event_del(arg);
}

static void check_reopen(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	CHECK(must_reopen == 1);
}

static void flag_of_signal(void)
{
	struct event *sig = must(event_new(base, SIGUSR1, EV_SIGNAL | EV_PERSIST, on_signal, event_self_cbarg()));
	struct event *ev = event_of(color_or(1, 0), -1, 0, check_reopen, NULL);

	CHECK(event_add(sig, NULL) == 0 && raise(SIGUSR1) == 0);
	CHECK(event_add(ev, &later) == 0);
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(sig);
	event_free(ev);
	run();
}

/* ---------------------------------------------------------------- pause: a report over all colors */

static unsigned long sums[2];

static void work(void *arg)
{
	++*(unsigned long *)arg;
}

static void report(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (is_repaired)
		CHECK(event_base_pause(base) == 0);
	CHECK(sums[0] + sums[1] == 2);
	if (is_repaired)
		CHECK(event_base_resume(base) == 0);
}

static void report_without_pause(void)
{
	struct event *ev = event_of(30, -1, 0, report, NULL);

	post(base, 31, work, &sums[0]);
	post(base, 32, work, &sums[1]);
	CHECK(event_add(ev, &later) == 0);
	CHECK(event_base_loop(base, 0) >= 0);
	event_free(ev);
	run();
}

/* ---------------------------------------------------------------- thread: of the program, besides */

static unsigned long seen;

static void *thread_main(void *arg)
{
	(void)arg;
	seen++;
	if (is_repaired)
		post(base, 1, work, &seen);
	return NULL;
}

static void beside_a_thread(void)
{
	pthread_t thread;

	post(base, 1, work, &seen);
	CHECK(event_base_loop(base, 0) >= 0);
	thread = thread_start(thread_main, NULL);
	if (is_repaired)
		thread_join(thread);
	post(base, 1, work, &seen);
	CHECK(event_base_loop(base, 0) >= 0);
	if (!is_repaired)
		thread_join(thread);
	run();
}

const struct seeded seeded_handed[] = {
	{ "late", changed_after_post }, { "back", answer_without_post }, { "third", third_color },
	{ "active", written_after_active }, { "freed", deleted_but_one }, { "signal", flag_of_signal },
	{ "pause", report_without_pause }, { "thread", beside_a_thread }, { NULL, NULL },
};
