/*
 * async.h with colors: callbacks of one color never overlap, wherever they were made, and what another color removes
 * does not start any more. With as many workers as there are processors; the result is the same with one.
 */
#include "async.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <event2/event.h>
#include <event2/smp.h>

#include "test.h"

namespace
{

bool ends_in_the_midst;

} // namespace

/* LeakSanitizer asks: a process that exits in the midst of its work holds what is queued. */
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();

extern "C" int __lsan_is_turned_off()
{
	return ends_in_the_midst;
}

namespace
{

enum { COLORS = 8, ROUNDS = 2000 };

/* Each color's own: no lock, no atomic. ThreadSanitizer sees an overlap, and so does `is_inside`. */
struct own {
	bool is_inside = false;
	int runs = 0, last = -1;
};

own owns[COLORS + 1];

void run_all()
{
	assert_int_equal(event_base_dispatch(libasync::base()), 1);
}

uint32_t color_here()
{
	uint32_t c = UINT32_MAX;

	(void)event_base_get_running_color(libasync::base(), &c);
	return c;
}

void enter(uint32_t c)
{
	assert_int_equal(color_here(), c);
	assert_false(owns[c].is_inside);
	owns[c].is_inside = true;
}

void leave(uint32_t c)
{
	owns[c].runs++;
	owns[c].is_inside = false;
}

int reset(void **)
{
	for (own &o : owns)
		o = own();
	return 0;
}

/* ---------------------------------------------------------------- order and exclusion */

void numbered(uint32_t c, int number)
{
	enter(c);
	assert_int_equal(number, owns[c].last + 1);
	owns[c].last = number;
	leave(c);
}

void cpucb_is_first_in_first_out_in_each_color(void **)
{
	for (int i = 0; i < ROUNDS; i++)
		for (uint32_t c = 1; c <= COLORS; c++)
			cpucb(cwrap(numbered, c, i, (color)c));
	run_all();
	for (uint32_t c = 1; c <= COLORS; c++)
		assert_int_equal(owns[c].runs, ROUNDS);
	assert_true(libasync::are_colors_used());
}

void hop(uint32_t c, int left)
{
	uint32_t next = c % COLORS + 1;

	enter(c);
	leave(c);
	if (left > 0)
		cpucb(cwrap(hop, next, left - 1, (color)next));
}

void cwrap_runs_in_its_color_only(void **)
{
	int runs = 0;

	for (uint32_t c = 1; c <= COLORS; c++)
		cpucb(cwrap(hop, c, ROUNDS, (color)c));
	run_all();
	for (const own &o : owns)
		runs += o.runs;
	assert_int_equal(runs, COLORS * (ROUNDS + 1));
}

void cpucb_tail_is_first_in_first_out_in_each_color(void **)
{
	for (int i = 0; i < ROUNDS; i++)
		for (uint32_t c = 0; c <= COLORS; c++)
			cpucb_tail(cwrap(numbered, c, i, (color)c));
	run_all();
	for (const own &o : owns)
		assert_int_equal(o.runs, ROUNDS);
}

/* One callback after another gives `to` a number; they run on several workers, which have clocks of their own. */
void give_numbers(uint32_t from, uint32_t to, int number)
{
	enter(from);
	leave(from);
	cpucb_tail(cwrap(numbered, to, number, (color)to));
	if (number + 1 < ROUNDS)
		cpucb(cwrap(give_numbers, from % (COLORS - 1) + 1, to, number + 1, (color)(from % (COLORS - 1) + 1)));
}

void cpucb_tail_keeps_the_order_of_several_colors(void **)
{
	cpucb(cwrap(give_numbers, 1, COLORS, 0, (color)1));
	run_all();
	assert_int_equal(owns[COLORS].runs, ROUNDS);
}

void *post_from_thread(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		cpucb(cwrap(numbered, uint32_t(uintptr_t(arg)), i, (color)uintptr_t(arg)));
	return nullptr;
}

void cpucb_from_any_thread(void **)
{
	pthread_t threads[2];
	bool is_done = false;

	/* Something else keeps the loop until both have ended. */
	timecb_t *keep = delaycb(1000, wrap([] {}));
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], nullptr, post_from_thread, (void *)(i + 1)), 0);
	cpucb(wrap([&] {
		for (pthread_t t : threads)
			(void)pthread_join(t, nullptr);
		timecb_remove(keep);
		is_done = true;
	}));
	run_all();
	assert_true(is_done);
	assert_int_equal(owns[1].runs, ROUNDS);
	assert_int_equal(owns[2].runs, ROUNDS);
}

/* ---------------------------------------------------------------- trigger */

std::atomic<int> posted, direct;

void note_trigger(bool *is_returned, uint32_t c, const char *what, int error)
{
	assert_int_equal(color_here(), c);
	assert_string_equal(what, "arg");
	(*is_returned ? posted : direct)++;
	assert_int_equal(error, ERANGE);
	assert_int_equal(errno, ERANGE);
	delete is_returned;
}

void trigger_it(callback<void, const char *, int>::ref cb, bool *is_returned)
{
	errno = ERANGE;
	cb->trigger("arg", ERANGE);
	if (cb->get_color().value() != color_here())
		*is_returned = true;
}

void callback_trigger_runs_in_the_color_of_the_callback(void **)
{
	posted = direct = 0;
	for (uint32_t c = 0; c <= COLORS; c++) {
		bool *flag = new bool(false);

		cpucb(cwrap(trigger_it, cwrap(note_trigger, flag, c, (color)c), flag, (color)c));
	}
	run_all();
	assert_int_equal(direct, COLORS + 1);
}

void seen_elsewhere(std::string *into, uint32_t c, std::string text)
{
	assert_int_equal(color_here(), c);
	assert_int_equal(errno, ERANGE);
	errno = 0;
	*into += text;
}

void trigger_elsewhere(callback<void, std::string>::ref cb)
{
	std::string text = "copied";

	errno = ERANGE;
	cb->trigger(text);
	text = "changed";
	errno = 0;
}

/* It copies its arguments and errno when it posts. */
void callback_trigger_copies(void **)
{
	std::string text;
	callback<void, std::string>::ref cb = cwrap(seen_elsewhere, &text, 3, (color)3);

	cpucb(cwrap(trigger_elsewhere, cb, (color)4));
	run_all();
	assert_string_equal(text.c_str(), "copied");
}

void main_thread_is_color_0_before_the_loop(void **)
{
	int runs = 0;

	cbi here = wrap([&](int n) { runs += n; });
	cbi there = cwrap([&](int n) { runs += n * 10; }, (color)5);
	here->trigger(1);
	assert_int_equal(runs, 1);
	there->trigger(1);
	assert_int_equal(runs, 1);
	run_all();
	assert_int_equal(runs, 11);
}

/* ---------------------------------------------------------------- descriptors, timers, signals, children */

struct echo {
	int fds[2];
	uint32_t c;
	int left = 200;

	explicit echo(uint32_t number) : c(number)
	{
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
		fdcb(fds[0], selread, cwrap(this, &echo::got, (color)c));
	}

	~echo()
	{
		close(fds[0]);
		close(fds[1]);
	}

	void got()
	{
		char byte;

		enter(c);
		assert_int_equal(read(fds[0], &byte, 1), 1);
		if (--left == 0)
			fdcb(fds[0], selread, NULL);
		else
			assert_int_equal(write(fds[1], "x", 1), 1);
		leave(c);
	}
};

void fdcb_runs_in_the_color_of_its_callback(void **)
{
	std::vector<std::unique_ptr<echo>> echos;

	for (uint32_t i = 0; i < 4 * COLORS; i++)
		echos.push_back(std::make_unique<echo>(i % COLORS + 1));
	run_all();
	for (uint32_t c = 1; c <= COLORS; c++)
		assert_int_equal(owns[c].runs, 4 * 200);
}

struct remover {
	int fds[2];
	std::atomic<bool> is_removed{ false };
	std::atomic<int> calls{ 0 };

	remover()
	{
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
		assert_int_equal(write(fds[1], "x", 1), 1);
		fdcb(fds[0], selread, cwrap(this, &remover::got, (color)1));
		cpucb(cwrap(this, &remover::remove, (color)2));
	}

	~remover()
	{
		close(fds[0]);
		close(fds[1]);
	}

	/* The descriptor stays readable, so this repeats until it is removed. */
	void got()
	{
		assert_false(is_removed);
		calls++;
	}

	void remove()
	{
		libasync::fdcb_remove_and_wait(fds[0], selread);
		is_removed = true;
	}
};

void fdcb_removed_by_another_color_does_not_start(void **)
{
	for (int i = 0; i < 200; i++) {
		remover r;

		run_all();
		assert_true(r.is_removed);
	}
}

struct freed_in_color {
	uint32_t c;
	std::atomic<int> *num;

	freed_in_color(uint32_t number, std::atomic<int> *n) : c(number), num(n) {}
	~freed_in_color()
	{
		assert_int_equal(color_here(), c);
		++*num;
	}
	void never() {}
};

/* What a callback holds is freed in its color, also if another one removes it. */
void fdcb_frees_in_the_color_of_the_callback(void **)
{
	std::atomic<int> num = { 0 };
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	fdcb(fds[0], selread, cwrap(New refcounted<freed_in_color>(3, &num), &freed_in_color::never, (color)3));
	timecb_t *t = delaycb(1000, cwrap(New refcounted<freed_in_color>(4, &num), &freed_in_color::never, (color)4));
	auto remove = [&] {
		fdcb(fds[0], selread, NULL);
		timecb_remove(t);
	};
	cpucb(cwrap(remove, (color)5));
	run_all();
	assert_int_equal(num, 2);
	close(fds[0]);
	close(fds[1]);
}

void tick(uint32_t c, int left)
{
	enter(c);
	if (left > 0)
		delaycb(0, u_int32_t(left % 3) * 1000, cwrap(tick, c, left - 1, (color)c));
	leave(c);
}

void delaycb_runs_in_the_color_of_its_callback(void **)
{
	for (uint32_t c = 1; c <= COLORS; c++)
		delaycb(0, 1000, cwrap(tick, c, 200, (color)c));
	run_all();
	for (uint32_t c = 1; c <= COLORS; c++)
		assert_int_equal(owns[c].runs, 201);
}

/* Either it was cancelled and does not run, or it ran; never both, and nothing is freed twice. */
void timecb_remove_from_another_color(void **)
{
	for (int i = 0; i < 300; i++) {
		std::atomic<int> runs{ 0 }, cancelled{ 0 };
		timecb_t *t = delaycb(0, 1000, cwrap([&] { runs++; }, (color)1));

		delaycb(0, 1000, cwrap([&, t] { cancelled += libasync::timer_cancel(t); }, (color)2));
		run_all();
		assert_int_equal(runs + cancelled, 1);
	}
}

/* A handle of a timer that has run is no handle of a later one, whatever memory that has. */
void timecb_remove_of_a_stale_handle_spares_later_timers(void **)
{
	std::vector<timecb_t *> stale, later;

	for (u_int32_t i = 0; i < 300; i++)
		stale.push_back(delaycb(0, i % 2, cwrap([] {}, (color)1)));
	run_all();
	for (int i = 0; i < 600; i++)
		later.push_back(delaycb(1000, cwrap([] { fail(); }, (color)1)));
	auto remove = [&] {
		for (timecb_t *t : stale)
			timecb_remove(t);
		for (timecb_t *t : later)
			assert_true(libasync::timer_cancel(t));
	};
	cpucb(cwrap(remove, (color)2));
	run_all();
}

/* While the loop turns; another color removes it, perhaps while it is queued. */
void lazycb_runs_in_the_color_of_its_callback(void **)
{
	std::atomic<int> num{ 0 };
	int fds[2];
	lazycb_t *l = lazycb(0, cwrap([&] {
				     enter(3);
				     num++;
				     leave(3);
			     },
				      (color)3));

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	fdcb(fds[0], selwrite, cwrap([&] {
		     enter(4);
		     leave(4);
		     if (num < 100)
			     return;
		     fdcb(fds[0], selwrite, NULL);
		     lazycb_remove(l);
	     },
				     (color)4));
	run_all();
	assert_int_equal(owns[3].runs, num);
	assert_true(owns[4].runs > 0);
	close(fds[0]);
	close(fds[1]);
}

void sigcb_runs_in_the_color_of_its_callback(void **)
{
	uint32_t seen = 0;

	sigcb(SIGUSR1, cwrap([&] {
		      seen = color_here();
		      sigcb(SIGUSR1, NULL);
	      },
			     (color)6));
	raise(SIGUSR1);
	run_all();
	assert_int_equal(seen, 6);
}

void chldcb_runs_in_the_color_of_its_callback(void **)
{
	uint32_t seen = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(9);
	chldcb(pid, cwrap([&](int status) { seen = color_here() * 100 + uint32_t(WEXITSTATUS(status)); }, (color)7));
	run_all();
	assert_int_equal(seen, 709);
}

/* ---------------------------------------------------------------- counts */

struct shared : virtual refcount {
	static std::atomic<int> alive;
	shared() { alive++; }
	~shared() { alive--; }
};

std::atomic<int> shared::alive;

void copy_often(ptr<shared> p)
{
	for (int i = 0; i < 1000; i++) {
		ptr<shared> q = p, r = q;

		q = NULL;
		p = r;
	}
}

void counts_are_right_across_colors(void **)
{
	ptr<shared> p = New refcounted<shared>;

	for (uint32_t c = 1; c <= COLORS; c++)
		for (int i = 0; i < 10; i++)
			cpucb(cwrap(copy_often, p, (color)c));
	p = NULL;
	run_all();
	assert_int_equal(shared::alive, 0);
	assert_int_equal(libasync::are_counts_shared(), event_base_get_workers(libasync::base()) > 1);
}

void warn_often(uint32_t c)
{
	for (int i = 0; i < 50; i++)
		warnx << "line of " << c << " " << i << " ends\n";
}

void warn_is_whole_lines_across_colors(void **)
{
	FILE *file = tmpfile();
	int lines = 0, i;
	char line[100];
	unsigned c;

	errfd = fileno(file);
	for (uint32_t n = 1; n <= COLORS; n++)
		for (int round = 0; round < 4; round++)
			cpucb(cwrap(warn_often, n, (color)n));
	run_all();
	errfd = 2;
	rewind(file);
	while (fgets(line, sizeof(line), file) != nullptr) {
		int end = 0;

		assert_int_equal(sscanf(line, "line of %u %d ends%n", &c, &i, &end), 2);
		assert_string_equal(line + end, "\n");
		lines++;
	}
	fclose(file);
	assert_int_equal(lines, COLORS * 4 * 50);
}

bssptr<shared> kept_for_ever;

/* In a forked child, with workers that run: static objects go while other callbacks still use them. */
void amain_ends_by_exit_in_a_callback(void **)
{
	if (HAS_TSAN)
		skip();
	for (int i = 0; i < 20; i++) {
		int status = status_of([] {
			ends_in_the_midst = true;
			kept_for_ever = New refcounted<shared>;
			for (uint32_t c = 1; c <= COLORS; c++)
				cpucb(cwrap(hop, c, 100000000, (color)c));
			delaycb(0, 1000000, cwrap(exit, 5, (color)100));
			amain();
		});

		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	}
}

/* A base of libevent's calls whose event has a color of the same number. */
void colors_are_those_of_libevent(void **)
{
	struct event *ev = event_new(
		libasync::base(), -1, 0,
		[](evutil_socket_t, short, void *) {
			enter(2);
			leave(2);
		},
		nullptr);
	timeval now = {};

	assert_int_equal(event_set_color(ev, 2), 0);
	assert_int_equal(event_add(ev, &now), 0);
	for (int i = 0; i < 100; i++)
		cpucb(cwrap([] {
			enter(2);
			leave(2);
		},
			    (color)2));
	run_all();
	assert_int_equal(owns[2].runs, 101);
	event_free(ev);
}

} // namespace

int answers;

void answer()
{
	enter(0);
	answers++;
	leave(0);
}

void ask(int n)
{
	enter(uint32_t(n % COLORS) + 1);
	cpucb(wrap(answer));
	leave(uint32_t(n % COLORS) + 1);
}

/* What color 0 waits for comes from other colors. */
void acheck_in_a_callback_waits_for_other_colors(void **)
{
	answers = 0;
	cpucb(wrap([] {
		for (int i = 0; i < ROUNDS; i++) {
			cpucb(cwrap(ask, i, color(uint32_t(i % COLORS) + 1)));
			while (answers <= i)
				acheck();
		}
	}));
	run_all();
	assert_int_equal(answers, ROUNDS);
	assert_int_equal(owns[0].runs, ROUNDS);
}

void acheck_in_another_color_does_nothing(void **)
{
	int fds[2];
	char text[200] = {};

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	cpucb(cwrap([&] {
		errfd = fds[1];
		acheck();
		acheck();
		errfd = 2;
	}, color(3)));
	run_all();
	assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "acheck: called in a callback of another color than 0, where it does nothing\n");
	close(fds[0]);
	close(fds[1]);
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main()
{
	const struct CMUnitTest tests[] = {
		TEST(main_thread_is_color_0_before_the_loop),
		TEST(cpucb_is_first_in_first_out_in_each_color),
		TEST(cpucb_tail_is_first_in_first_out_in_each_color),
		TEST(cpucb_tail_keeps_the_order_of_several_colors),
		TEST(cwrap_runs_in_its_color_only),
		TEST(cpucb_from_any_thread),
		TEST(callback_trigger_runs_in_the_color_of_the_callback),
		TEST(callback_trigger_copies),
		TEST(fdcb_runs_in_the_color_of_its_callback),
		TEST(fdcb_removed_by_another_color_does_not_start),
		TEST(fdcb_frees_in_the_color_of_the_callback),
		TEST(delaycb_runs_in_the_color_of_its_callback),
		TEST(timecb_remove_from_another_color),
		TEST(timecb_remove_of_a_stale_handle_spares_later_timers),
		TEST(lazycb_runs_in_the_color_of_its_callback),
		TEST(sigcb_runs_in_the_color_of_its_callback),
		TEST(chldcb_runs_in_the_color_of_its_callback),
		TEST(counts_are_right_across_colors),
		TEST(warn_is_whole_lines_across_colors),
		TEST(acheck_in_a_callback_waits_for_other_colors),
		TEST(acheck_in_another_color_does_nothing),
		TEST(amain_ends_by_exit_in_a_callback),
		TEST(colors_are_those_of_libevent),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
