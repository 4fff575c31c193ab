/*
 * What needs several workers: colors that must overlap, many posts from several colors, removal of a descriptor that
 * another color has, and fork while workers run. There are three workers, on any number of processors.
 */
#include "async.h"

#include <atomic>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <pthread.h>
#include <sys/socket.h>
#include <vector>

#include <event2/event.h>
#include <event2/smp.h>

#include "turns.h"
#include "../../emulated.h"

#include "test.h"

namespace
{

enum { WORKERS = 3 };

void run_all()
{
	assert_int_equal(event_base_dispatch(libasync::base()), 1);
}

uint32_t color_here()
{
	uint32_t c;

	assert_int_equal(event_base_get_running_color(libasync::base(), &c), 0);
	return c;
}

/* ---------------------------------------------------------------- numbers of colors */

/* Plain: the color guards it. */
struct line {
	uint32_t number;
	int next = 0;

	explicit line(color c) : number(c.value()) {}

	void step(int n)
	{
		assert_int_equal(color_here(), number);
		assert_true(libasync::is_own_color(number));
		assert_int_equal(next++, n);
	}
};

void cwrap_takes_any_32_bits(void **)
{
	int object;
	const color colors[] = { color(0), color(1), color(0x7fffffff), color(0x80000000), color(0xffffffff),
				 color(uintptr_t(&object)) };
	std::vector<line> lines(std::begin(colors), std::end(colors));
	line &last = lines[4];

	assert_true(color(-1) == colors[4]);
	for (int i = 0; i < 100; i++)
		for (line &l : lines)
			cpucb(cwrap(&l, &line::step, i, color(l.number)));
	cpucb(cwrap(&last, &line::step, 100, color(-1)));
	run_all();
	for (const line &l : lines)
		assert_int_equal(l.next, &l == &last ? 101 : 100);
}

/* ---------------------------------------------------------------- workers */

/* All meet: each waits within its callback for the others. */
struct meeting {
	pthread_barrier_t all_here;
	std::atomic<int> rounds{ 0 };

	explicit meeting(unsigned num) { pthread_barrier_init(&all_here, nullptr, num); }
	~meeting() { pthread_barrier_destroy(&all_here); }
	void come(int left)
	{
		if (pthread_barrier_wait(&all_here) == PTHREAD_BARRIER_SERIAL_THREAD)
			rounds++;
		if (left > 0)
			cpucb(cwrap(this, &meeting::come, left - 1, color(color_here())));
	}
};

/* Each round needs all workers: none may sleep while a color waits. */
void colors_run_in_parallel_on_all_workers(void **)
{
	meeting m(WORKERS);

	for (int c = 0; c < WORKERS; c++)
		cpucb(cwrap(&m, &meeting::come, 200, color(c)));
	run_all();
	assert_int_equal(m.rounds, 201);
}

void amain_has_as_many_workers_as_configured(void **)
{
	assert_int_equal(event_base_get_workers(libasync::base()), WORKERS);
	/* The number is fixed when the loop is first used. */
	setenv("EVENT_WORKERS", "2", 1);
	cpucb(cwrap([] {}, color(1)));
	run_all();
	assert_int_equal(event_base_get_workers(libasync::base()), WORKERS);
	setenv("EVENT_WORKERS", "3", 1);
}

struct shared_pipe {
	int fds[2];
	pid_t pid = 0;

	void open()
	{
		pid = getpid();
		assert_int_equal(pipe(fds), 0);
		cpucb(cwrap(this, &shared_pipe::put, color(2)));
	}
	void put()
	{
		assert_int_equal(getpid(), pid);
		assert_int_equal(write(fds[1], "x", 1), 1);
		fdcb(fds[0], selread, cwrap(this, &shared_pipe::got, color(3)));
	}
	void got()
	{
		char c;

		assert_int_equal(read(fds[0], &c, 1), 1);
		fdcb(fds[0], selread, NULL);
		close(fds[0]);
		close(fds[1]);
		pid = 0;
	}
};

void workers_share_descriptors(void **)
{
	shared_pipe p;

	cpucb(cwrap(&p, &shared_pipe::open, color(1)));
	run_all();
	assert_int_equal(p.pid, 0);
}

/* ---------------------------------------------------------------- posts */

enum { POSTERS = 3, LINES = 2, BATCH = 100, POSTS = IS_SANITIZED ? 3000 : 50000 };

/* Numbers of several posters; those of one come in order. */
struct numbered_posts {
	int next[POSTERS] = {};

	void take(int poster, int n)
	{
		assert_int_equal(n, next[poster]);
		next[poster]++;
	}
};

numbered_posts into[LINES];

/* In a color of its own. It posts itself, so that the others get their turn. */
void post_batch(int poster, int from)
{
	for (int n = from; n < from + BATCH; n++)
		for (int i = 0; i < LINES; i++)
			cpucb(cwrap(&into[i], &numbered_posts::take, poster, n, color(100 + i)));
	if (from + BATCH < POSTS)
		cpucb(cwrap(post_batch, poster, from + BATCH, color(1 + poster)));
}

void cpucb_keeps_the_order_of_each_of_several_colors(void **)
{
	for (int p = 0; p < POSTERS; p++)
		cpucb(cwrap(post_batch, p, 0, color(1 + p)));
	run_all();
	for (const numbered_posts &all : into)
		for (int next : all.next)
			assert_int_equal(next, POSTS);
}

/* One poster, and one color beside it. */
void cpucb_keeps_the_order_of_a_million(void **)
{
	enum { MILLION = IS_SANITIZED ? 10000 : 1000000 };
	static numbered_posts alone;
	struct poster {
		static void batch(int from)
		{
			for (int n = from; n < from + BATCH; n++)
				cpucb(cwrap(&alone, &numbered_posts::take, 0, n, color(7)));
			if (from + BATCH < MILLION)
				cpucb(cwrap(batch, from + BATCH, color(8)));
		}
	};

	cpucb(cwrap(poster::batch, 0, color(8)));
	run_all();
	assert_int_equal(alone.next[0], MILLION);
}

void post_three(line *own, line *other)
{
	for (int i = 0; i < 3; i++) {
		cpucb(cwrap(own, &line::step, i, color(own->number)));
		cpucb(cwrap(other, &line::step, i, color(other->number)));
	}
}

/* Before the loop, and from signal callbacks of color 0 and of another. */
void cpucb_from_a_signal_callback(void **)
{
	line zero{ color(0) }, one{ color(1) }, two{ color(2) }, three{ color(3) };

	sigcb(SIGUSR1, wrap(post_three, &zero, &one));
	sigcb(SIGUSR2, cwrap(post_three, &two, &three, color(2)));
	raise(SIGUSR1);
	raise(SIGUSR2);
	turn_until([&] { return zero.next == 3; });
	sigcb(SIGUSR1, NULL);
	cpucb(cwrap([] { sigcb(SIGUSR2, NULL); }, color(2)));
	run_all();
	for (const line *l : { &one, &two, &three })
		assert_int_equal(l->next, 3);
}

/* ---------------------------------------------------------------- a color that runs */

/* It waits within its callback until another color has run; its posts wait for its end. */
struct long_callback {
	meeting other{ 2 };
	int later = 0;

	void step() { later++; }
	void begin()
	{
		for (int i = 0; i < 100; i++)
			cpucb(cwrap(this, &long_callback::step, color(1)));
		cpucb(cwrap(&other, &meeting::come, 0, color(2)));
		pthread_barrier_wait(&other.all_here);
		assert_int_equal(later, 0);
	}
};

void a_color_that_runs_is_not_taken_by_an_idle_worker(void **)
{
	for (int i = 0; i < 50; i++) {
		long_callback l;

		cpucb(cwrap(&l, &long_callback::begin, color(1)));
		run_all();
		assert_int_equal(l.later, 100);
	}
}

/* ---------------------------------------------------------------- fdcb (fd, op, NULL) */

/*
 * Its callback, which leaves the descriptor readable, has color 1. Color 2 removes it. One that runs may end before
 * a post to color 1 runs. From there on nothing starts, although the workers poll.
 */
struct removal {
	int fds[2];
	int starts = 0, starts_before = 0, turns = 0; /* color 1's */

	removal()
	{
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
		fdcb(fds[0], selread, cwrap(this, &removal::got, color(1)));
	}
	~removal()
	{
		close(fds[0]);
		close(fds[1]);
	}
	void got()
	{
		if (++starts == 2)
			cpucb(cwrap(this, &removal::remove, color(2)));
	}
	void remove()
	{
		fdcb(fds[0], selread, NULL);
		cpucb(cwrap(this, &removal::removed, color(1)));
	}
	void removed()
	{
		starts_before = starts;
		turn();
	}
	void turn()
	{
		assert_int_equal(starts, starts_before);
		if (++turns < 5)
			cpucb_tail(cwrap(this, &removal::turn, color(1)));
	}
};

void fdcb_null_from_another_color_lets_nothing_start(void **)
{
	for (int i = 0; i < 200; i++) {
		removal r;

		run_all();
		assert_true(r.starts >= 2);
		assert_int_equal(r.turns, 5);
	}
}

/* ---------------------------------------------------------------- fork */

/* Two colors that keep their workers busy, until the child of a third one has ended. */
std::atomic<bool> is_child_gone;
std::atomic<int> hops;

void hop(int left)
{
	hops++;
	if (!is_child_gone && left > 0)
		cpucb(cwrap(hop, left - 1, color(color_here() ^ 1)));
}

int threads_of_this_process()
{
	int num = 0;

	for (const std::filesystem::directory_entry &e : std::filesystem::directory_iterator("/proc/self/task"))
		num += e.is_directory();
	return num;
}

/* The parent's descriptor `kept` stays the parent's, although the child removes it. */
struct child_of_a_callback {
	int own[2], kept[2];
	int status = -1;
	bool is_kept = false;

	/* In the child: a descriptor of its own, in the color that forked, and a post to another color. */
	void got_in_child()
	{
		fdcb(own[0], selread, NULL);
		cpucb(cwrap(_exit, hops.load() > 0 ? 9 : 1, color(50)));
	}
	void begin_in_child()
	{
		if (has_told_threads() && threads_of_this_process() != 1)
			_exit(3);
		if (pipe(own) < 0 || write(own[1], "x", 1) != 1)
			_exit(2);
		fdcb(kept[0], selread, NULL);
		fdcb(own[0], selread, cwrap(this, &child_of_a_callback::got_in_child, color(color_here())));
	}

	void begin()
	{
		const color here(color_here());
		pid_t pid;

		assert_int_equal(pipe(kept), 0);
		fdcb(kept[0], selread, cwrap(this, &child_of_a_callback::got, here));
		pid = fork();
		if (pid == 0)
			begin_in_child();
		else
			chldcb(pid, cwrap(this, &child_of_a_callback::ended, here));
	}
	void ended(int s)
	{
		status = s;
		is_child_gone = true;
		assert_int_equal(write(kept[1], "x", 1), 1);
	}
	void got()
	{
		is_kept = true;
		fdcb(kept[0], selread, NULL);
		close(kept[0]);
		close(kept[1]);
	}
};

void fork_while_workers_run(void **)
{
	if (HAS_TSAN)
		skip(); /* no threads after a fork of several */
	for (uint32_t c : { 0, 20 }) {
		child_of_a_callback child;

		is_child_gone = false;
		for (uint32_t other : { 30, 40 })
			cpucb(cwrap(hop, INT_MAX, color(other)));
		cpucb(cwrap(&child, &child_of_a_callback::begin, color(c)));
		run_all();
		assert_true(WIFEXITED(child.status) && WEXITSTATUS(child.status) == 9);
		assert_true(child.is_kept);
	}
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amain_has_as_many_workers_as_configured),
		cmocka_unit_test(workers_share_descriptors),
		cmocka_unit_test(cwrap_takes_any_32_bits),
		cmocka_unit_test(colors_run_in_parallel_on_all_workers),
		cmocka_unit_test(cpucb_keeps_the_order_of_each_of_several_colors),
		cmocka_unit_test(cpucb_keeps_the_order_of_a_million),
		cmocka_unit_test(cpucb_from_a_signal_callback),
		cmocka_unit_test(a_color_that_runs_is_not_taken_by_an_idle_worker),
		cmocka_unit_test(fdcb_null_from_another_color_lets_nothing_start),
		cmocka_unit_test(fork_while_workers_run),
	};

	setenv("EVENT_WORKERS", "3", 1);
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
