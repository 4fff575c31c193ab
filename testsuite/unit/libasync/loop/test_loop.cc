/*
 * async.h on one thread: what runs, in which order, and what ends the program.
 */
#include "async.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <string>
#include <cstring>
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

#include <event2/event.h>

#include "test.h"

namespace
{

std::string said;
int fds[2];

void say(std::string s)
{
	said += s;
}

std::string heard()
{
	return std::exchange(said, "");
}

#define assert_heard(text) assert_string_equal(heard().c_str(), text)

/* Until nothing is left to wait for. */
void run_all()
{
	assert_int_equal(event_base_dispatch(libasync::base()), 1);
}

int open_pair(void **)
{
	said.clear();
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds);
}

int close_pair(void **)
{
	fdcb(fds[0], selread, NULL);
	fdcb(fds[0], selwrite, NULL);
	return close(fds[0]) | close(fds[1]);
}

void put(const char *text)
{
	assert_int_equal(write(fds[1], text, strlen(text)), ssize_t(strlen(text)));
}

/* Reads one byte; the last one ends the watch. */
void take_byte()
{
	char c = 0;

	assert_int_equal(read(fds[0], &c, 1), 1);
	say(std::string(1, c));
	if (c == '.')
		fdcb(fds[0], selread, NULL);
}

/* ---------------------------------------------------------------- amain, acheck */

void end_amain()
{
	_exit(said == "timer" ? 7 : 8);
}

void amain_runs_for_ever(void **)
{
	int status = status_of([] {
		delaycb(0, 1000, wrap(say, "timer"));
		delaycb(0, 3000000, wrap(end_amain));
		amain();
	});

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

void amain_twice_ends_the_program(void **)
{
	assert_aborts([] {
		delaycb(0, wrap(amain));
		amain();
	});
}

/* It waits for something that only comes by the loop, also where nothing is registered. */
void amain_waits_with_nothing_to_do(void **)
{
	int status = status_of([] {
		pid_t parent = getpid();

		sigcb(SIGUSR1, wrap(end_amain));
		if (fork() == 0) {
			kill(parent, SIGUSR1);
			_exit(0);
		}
		said = "timer";
		amain();
	});

	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

void amain_ignores_sigpipe(void **)
{
	struct sigaction sa;

	assert_int_equal(sigaction(SIGPIPE, nullptr, &sa), 0);
	assert_true(sa.sa_handler == SIG_IGN);
}

void acheck_runs_one_turn(void **)
{
	bool is_done = false;

	delaycb(0, 1000000, wrap([&] { is_done = true; }));
	delaycb(0, wrap(say, "now"));
	acheck();
	assert_heard("now");
	while (!is_done)
		acheck();
	assert_heard("");
}

/* Programs wait in a callback for what another callback does; such waits may be nested. */
void acheck_in_a_callback_runs_a_turn(void **)
{
	static int depth;

	fdcb(fds[0], selread, wrap(take_byte));
	delaycb(0, wrap([] {
			bool is_done = false;

			say("(");
			delaycb(0, 1000000, wrap([&] {
					bool is_inner_done = false;

					say("[");
					cpucb(wrap([&] { is_inner_done = true; }));
					while (!is_inner_done)
						acheck();
					say("]");
					is_done = true;
				}));
			while (!is_done)
				acheck();
			say(")");
			put("x.");
		}));
	delaycb(0, wrap(say, "2"));
	run_all();
	assert_heard("(2[])x.");

	/* The callback's own descriptor is still readable. */
	depth = 0;
	fdcb(fds[0], selread, wrap([] {
		     if (++depth == 3)
			     take_byte();
		     else
			     acheck();
	     }));
	put(".");
	run_all();
	assert_int_equal(depth, 3);
}

/* The loop's end, and who deletes itself meanwhile. */
void acheck_in_a_callback_that_is_removed(void **)
{
	fdcb(fds[0], selread, wrap([] {
		     bool is_done = false;

		     delaycb(0, wrap([&] {
				     fdcb(fds[0], selread, NULL);
				     is_done = true;
			     }));
		     while (!is_done)
			     acheck();
		     say("1");
	     }));
	put("x");
	run_all();
	assert_heard("1");
}

/* Programs keep pointers to the variables, and set them. */
void time_is_set_by_each_turn(void **)
{
	const time_t *seconds = &timenow;

	delaycb(0, wrap([=] {
			assert_true(*seconds > 1000000000 && tsnow.tv_sec >= *seconds);
			timenow = 5;
			tsnow = timespec();
			delaycb(0, 1, wrap(say, "later"));
		}));
	timenow = 5;
	run_all();
	assert_heard("later");
	assert_true(*seconds > 1000000000);
	assert_true(tsnow.tv_sec == timenow && tsnow.tv_nsec < 1000000000);
}

/* ---------------------------------------------------------------- fdcb */

void fdcb_stays_until_it_is_removed(void **)
{
	fdcb(fds[0], selread, wrap(take_byte));
	put("abc.");
	run_all();
	assert_heard("abc.");
}

void fdcb_replaces(void **)
{
	fdcb(fds[0], selread, wrap(say, "old"));
	fdcb(fds[0], selread, wrap(take_byte));
	put(".");
	run_all();
	assert_heard(".");
	fdcb(fds[0], selread, NULL);
}

void fdcb_has_one_callback_for_each_operation(void **)
{
	fdcb(fds[0], selread, wrap(take_byte));
	fdcb(fds[0], selwrite, wrap([] {
		     say("w");
		     fdcb(fds[0], selwrite, NULL);
		     put(".");
	     }));
	run_all();
	assert_heard("w.");
}

void fdcb_removed_in_the_same_turn_is_not_called(void **)
{
	int other[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	auto both = [&](int mine, int its) {
		say("1");
		fdcb(mine, selread, NULL);
		fdcb(its, selread, NULL);
	};
	fdcb(fds[0], selread, wrap(both, fds[0], other[0]));
	fdcb(other[0], selread, wrap(both, other[0], fds[0]));
	put("x");
	assert_int_equal(write(other[1], "x", 1), 1);
	run_all();
	assert_heard("1");
	close(other[0]);
	close(other[1]);
}

void fdcb_hang_up_is_readable_and_writable(void **)
{
	int pipe_fds[2];

	assert_int_equal(pipe(pipe_fds), 0);
	close(pipe_fds[0]);
	fdcb(pipe_fds[1], selwrite, wrap([&] {
		     say("w");
		     fdcb(pipe_fds[1], selwrite, NULL);
	     }));
	shutdown(fds[1], SHUT_RDWR);
	fdcb(fds[0], selread, wrap([] {
		     say("r");
		     fdcb(fds[0], selread, NULL);
	     }));
	run_all();
	std::string text = heard();
	assert_true(text == "wr" || text == "rw");
	close(pipe_fds[1]);
}

struct held : virtual refcount {
	~held() { say("freed"); }
	void got()
	{
		fdcb(fds[0], selread, NULL);
		say("got ");
	}
};

/* The callback removes itself: what it holds lives until it returns. */
void fdcb_holds_its_callback_while_it_runs(void **)
{
	fdcb(fds[0], selread, wrap(New refcounted<held>, &held::got));
	put("x");
	run_all();
	assert_heard("got freed");
	fdcb(fds[0], selread, wrap(New refcounted<held>, &held::got));
	fdcb(fds[0], selread, NULL);
	assert_heard("freed");
}

void fdcb_regular_files_are_ready(void **)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), num = 0;

	assert_true(fd >= 0);
	fdcb(fd, selread, wrap([&] {
		     if (++num == 3)
			     fdcb(fd, selread, NULL);
	     }));
	run_all();
	assert_int_equal(num, 3);
	close(fd);
}

void fdcb_works_for_high_descriptors(void **)
{
	struct rlimit limit = { 100001, 100001 };
	int high;

	/* Who may not have as many descriptors tries the highest one. */
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
		limit.rlim_cur = limit.rlim_max;
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	high = int(std::min(limit.rlim_cur, rlim_t(100001))) - 1;
	assert_int_equal(dup2(fds[0], high), high);
	fdcb(high, selread, wrap([=] {
		     say("high");
		     fdcb(high, selread, NULL);
	     }));
	put("x");
	run_all();
	assert_heard("high");
	close(high);
}

void fdcb_of_what_is_not_open_ends_the_program(void **)
{
	assert_aborts([] { fdcb(-1, selread, wrap(say, "x")); });
	assert_aborts([] { fdcb(9999, selread, wrap(say, "x")); });
	fdcb(9999, selread, NULL);
}

/* ---------------------------------------------------------------- timers */

/* Callbacks that take longer together starve no descriptor: it gets its turn between them. */
constexpr std::chrono::microseconds turn(100);

/* "1234." if they took no longer than a turn of the loop; otherwise without the descriptor's "." */
std::string heard_of_delays()
{
	auto start = std::chrono::steady_clock::now();
	std::string all;

	put(".");
	fdcb(fds[0], selread, wrap(take_byte));
	delaycb(0, wrap([] {
			say("1");
			delaycb(0, wrap(say, "4"));
		}));
	delaycb(0, 0, wrap(say, "2"));
	cpucb(wrap(say, "3"));
	run_all();
	all = heard();
	if (std::chrono::steady_clock::now() - start >= turn)
		all.erase(std::remove(all.begin(), all.end(), '.'), all.end());
	return all;
}

void delaycb_zero_is_first_in_first_out_before_descriptors(void **)
{
	enum { TRIES = 1000 };
	std::string all;
	int i;

	for (i = 0; i < TRIES && all != "1234."; i++) {
		all = heard_of_delays();
		if (all != "1234")
			assert_string_equal(all.c_str(), "1234.");
	}
}

void again(int *left)
{
	if (--*left > 0)
		delaycb(0, wrap(again, left));
}

/* In the original, such a chain starved the descriptors. */
void delaycb_zero_does_not_starve_descriptors(void **)
{
	int left = 100000000;

	put(".");
	fdcb(fds[0], selread, wrap([&] {
		     take_byte();
		     left = 1;
	     }));
	delaycb(0, wrap(again, &left));
	run_all();
	assert_heard(".");
}

void delaycb_runs_in_order_of_time(void **)
{
	delaycb(0, 3000000, wrap(say, "3"));
	delaycb(0, 1000000, wrap(say, "1"));
	delaycb(0, 2000000, wrap(say, "2"));
	run_all();
	assert_heard("123");
}

void timecb_runs_equal_times_in_order_of_calls(void **)
{
	timespec when;

	clock_gettime(CLOCK_REALTIME, &when);
	when.tv_nsec += 2000000;
	if (when.tv_nsec >= 1000000000) {
		when.tv_sec++;
		when.tv_nsec -= 1000000000;
	}
	for (int i = 0; i < 26; i++)
		timecb(when, wrap(say, std::string(1, char('a' + i))));
	timecb_t *gone = timecb(when, wrap(say, "gone"));
	timecb(when, wrap(say, "!"));
	timecb_remove(gone);
	run_all();
	assert_heard("abcdefghijklmnopqrstuvwxyz!");
}

void timecb_of_the_past_runs_soon(void **)
{
	timecb(time_t(1), wrap(say, "past"));
	run_all();
	assert_heard("past");
}

void timecb_remove_cancels(void **)
{
	timecb_t *zero = delaycb(0, wrap(say, "x")), *later = delaycb(0, 1000000, wrap(say, "y"));
	timecb_t *other = delaycb(0, 2000000, wrap(say, "z"));

	timecb_remove(NULL);
	timecb_remove(zero);
	timecb_remove(later);
	delaycb(0, 1000000, wrap(timecb_remove, other));
	delaycb(0, 1500000, wrap(say, "end"));
	run_all();
	assert_heard("end");
	assert_false(libasync::timer_cancel(zero));
}

void timecb_remove_frees_the_callback(void **)
{
	timecb_t *t = delaycb(1000, wrap(New refcounted<held>, &held::got));

	timecb_remove(t);
	assert_heard("freed");
}

void timecb_remove_of_a_stale_handle_ends_the_program(void **)
{
	timecb_t *t = delaycb(0, wrap(say, "x")), *u = delaycb(0, 1000, wrap(say, "y"));

	run_all();
	assert_heard("xy");
	assert_aborts([=] { timecb_remove(t); });
	assert_aborts([=] { timecb_remove(u); });
}

/* Also if a later timer may have its memory. */
void timecb_remove_of_a_stale_handle_spares_later_timers(void **)
{
	std::vector<timecb_t *> stale, later;

	for (u_int32_t i = 0; i < 300; i++)
		stale.push_back(delaycb(0, i % 2, wrap([] {})));
	run_all();
	for (int i = 0; i < 600; i++)
		later.push_back(delaycb(1000, wrap([] { fail(); })));
	for (timecb_t *t : stale)
		assert_false(libasync::timer_cancel(t));
	assert_aborts([&] { timecb_remove(stale.front()); });
	assert_aborts([&] { timecb_remove(stale.back()); });
	for (timecb_t *t : later)
		timecb_remove(t);
}

void timecb_many(void **)
{
	std::vector<timecb_t *> timers;
	int num = 0;

	for (int i = 0; i < 10000; i++)
		timers.push_back(delaycb(0, u_int32_t(1000 * i), wrap([&] { num++; })));
	for (int i = 0; i < 10000; i += 2)
		timecb_remove(timers[size_t(i)]);
	run_all();
	assert_int_equal(num, 5000);
}

/* ---------------------------------------------------------------- lazycb, yieldcb, cpucb */

void lazycb_runs_only_when_the_loop_turns(void **)
{
	lazycb_t *l = lazycb(0, wrap(say, "lazy")), *never = lazycb(1000, wrap(say, "never"));

	run_all();
	assert_heard("");
	delaycb(0, 1000, wrap(say, "turn "));
	run_all();
	assert_heard("lazyturn ");
	lazycb_remove(l);
	lazycb_remove(never);
	delaycb(0, 1000, wrap(say, "turn "));
	run_all();
	assert_heard("turn ");
}

void yieldcb_runs_after_descriptors(void **)
{
	put("ab.");
	fdcb(fds[0], selread, wrap(take_byte));
	yieldcb(wrap([] {
		say("1");
		yieldcb(wrap(say, "2"));
	}));
	run_all();
	assert_true(said.find('a') < said.find('1') && said.find('1') < said.find('2'));
	assert_int_equal(heard().size(), 5);
}

/* In the original, it hung until something else happened. */
void yieldcb_alone_does_not_hang(void **)
{
	yieldcb(wrap([] { yieldcb(wrap(say, "done")); }));
	run_all();
	assert_heard("done");
}

void yieldcb_remove_cancels(void **)
{
	yieldcb_t *y = yieldcb(wrap(say, "x"));

	yieldcb_remove(y);
	yieldcb_remove(NULL);
	run_all();
	assert_heard("");
}

void post_for_ever(bool *is_stopped)
{
	if (!*is_stopped)
		cpucb(wrap(post_for_ever, is_stopped));
}

void cpucb_does_not_starve_descriptors(void **)
{
	bool is_stopped = false;

	put(".");
	fdcb(fds[0], selread, wrap([&] {
		     take_byte();
		     is_stopped = true;
	     }));
	cpucb(wrap(post_for_ever, &is_stopped));
	run_all();
	assert_heard(".");
}

void cpucb_tail_runs_after_cpucb(void **)
{
	cpucb_tail(wrap(say, "tail"));
	cpucb(wrap(say, "1"));
	cpucb(wrap(say, "2"));
	run_all();
	assert_heard("12tail");
}

void cpucb_tail_runs_behind_descriptors_that_are_ready(void **)
{
	cpucb(wrap([] {
		cpucb_tail(wrap(say, "1"));
		put(".");
		fdcb(fds[0], selread, wrap(take_byte));
		cpucb_tail(wrap(say, "2"));
	}));
	run_all();
	assert_heard(".12");
}

void count_up(int *next, int number)
{
	assert_int_equal((*next)++, number);
}

void cpucb_tail_is_first_in_first_out(void **)
{
	int next = 0;

	for (int i = 0; i < 1000; i++)
		cpucb_tail(wrap(count_up, &next, i));
	run_all();
	assert_int_equal(next, 1000);
}

/* ---------------------------------------------------------------- signals and children */

void sigcb_returns_the_one_before(void **)
{
	cbv first = wrap(say, "1"), second = wrap(say, "2");

	assert_true(sigcb(SIGUSR1, first) == NULL);
	assert_true(sigcb(SIGUSR1, second) == first);
	raise(SIGUSR1);
	acheck();
	assert_heard("2");
	assert_true(sigcb(SIGUSR1, NULL) == second);
	assert_true(sigcb(SIGUSR1, NULL) == NULL);
}

void sigcb_counts_several_as_one(void **)
{
	sigcb(SIGUSR1, wrap(say, "s"));
	raise(SIGUSR1);
	raise(SIGUSR1);
	raise(SIGUSR1);
	delaycb(0, 1000000, wrap([] { sigcb(SIGUSR1, NULL); }));
	run_all();
	assert_heard("s");
}

void sigcb_null_restores_the_default(void **)
{
	struct sigaction sa;
	int status = status_of([] {
		sigcb(SIGTERM, wrap(say, "x"));
		sigcb(SIGTERM, NULL);
		raise(SIGTERM);
	});

	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	sigcb(SIGUSR2, wrap(say, "x"), SA_NODEFER);
	assert_int_equal(sigaction(SIGUSR2, nullptr, &sa), 0);
	assert_int_equal(sa.sa_flags & (SA_RESTART | SA_NODEFER), SA_NODEFER);
	sigcb(SIGUSR2, NULL);
}

void sigcb_unblocks_its_signal(void **)
{
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
	sigcb(SIGUSR1, wrap([] {
		      say("s");
		      sigcb(SIGUSR1, NULL);
	      }));
	assert_int_equal(sigprocmask(SIG_BLOCK, nullptr, &now), 0);
	assert_false(sigismember(&now, SIGUSR1));
	raise(SIGUSR1);
	run_all();
	assert_heard("s");
}

pid_t child_with(int code)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(code);
	assert_true(pid > 0);
	return pid;
}

void note_status(int status)
{
	say(std::to_string(WEXITSTATUS(status)) + " ");
}

void chldcb_tells_the_status(void **)
{
	chldcb(child_with(3), wrap(note_status));
	run_all();
	assert_heard("3 ");
}

/* In the original, it never fired. */
void chldcb_after_the_child_was_reaped_still_fires(void **)
{
	pid_t early = child_with(4), late = child_with(5);

	chldcb(late, wrap(note_status));
	run_all();
	assert_heard("5 ");
	while (kill(early, 0) == 0) {		/* another child ends, and both are waited for */
		chldcb(child_with(0), wrap([](int) {}));
		run_all();
	}
	chldcb(early, wrap(note_status));
	assert_heard("");
	run_all();
	assert_heard("4 ");
}

void chldcb_null_removes(void **)
{
	pid_t pid = child_with(6);

	chldcb(pid, wrap(note_status));
	chldcb(pid, NULL);
	run_all();
	assert_heard("");
}

/* ---------------------------------------------------------------- one loop for two faces */

void loop_serves_libevent_too(void **)
{
	struct event *ev = event_new(
		libasync::base(), -1, 0, [](evutil_socket_t, short, void *) { say("event "); }, nullptr);
	timeval soon = { 0, 1000 };

	assert_int_equal(event_add(ev, &soon), 0);
	delaycb(0, 2000000, wrap(say, "timer"));
	run_all();
	assert_heard("event timer");
	event_free(ev);
}

} // namespace

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main()
{
	const struct CMUnitTest tests[] = {
		TEST(amain_runs_for_ever),
		TEST(amain_twice_ends_the_program),
		TEST(amain_waits_with_nothing_to_do),
		TEST(amain_ignores_sigpipe),
		TEST(acheck_runs_one_turn),
		TEST(acheck_in_a_callback_runs_a_turn),
		TEST(acheck_in_a_callback_that_is_removed),
		TEST(time_is_set_by_each_turn),
		TEST(fdcb_stays_until_it_is_removed),
		TEST(fdcb_replaces),
		TEST(fdcb_has_one_callback_for_each_operation),
		TEST(fdcb_removed_in_the_same_turn_is_not_called),
		TEST(fdcb_hang_up_is_readable_and_writable),
		TEST(fdcb_holds_its_callback_while_it_runs),
		TEST(fdcb_regular_files_are_ready),
		TEST(fdcb_works_for_high_descriptors),
		TEST(fdcb_of_what_is_not_open_ends_the_program),
		TEST(delaycb_zero_is_first_in_first_out_before_descriptors),
		TEST(delaycb_zero_does_not_starve_descriptors),
		TEST(delaycb_runs_in_order_of_time),
		TEST(timecb_runs_equal_times_in_order_of_calls),
		TEST(timecb_of_the_past_runs_soon),
		TEST(timecb_remove_cancels),
		TEST(timecb_remove_frees_the_callback),
		TEST(timecb_remove_of_a_stale_handle_ends_the_program),
		TEST(timecb_remove_of_a_stale_handle_spares_later_timers),
		TEST(timecb_many),
		TEST(lazycb_runs_only_when_the_loop_turns),
		TEST(yieldcb_runs_after_descriptors),
		TEST(yieldcb_alone_does_not_hang),
		TEST(yieldcb_remove_cancels),
		TEST(cpucb_does_not_starve_descriptors),
		TEST(cpucb_tail_runs_after_cpucb),
		TEST(cpucb_tail_runs_behind_descriptors_that_are_ready),
		TEST(cpucb_tail_is_first_in_first_out),
		TEST(sigcb_returns_the_one_before),
		TEST(sigcb_counts_several_as_one),
		TEST(sigcb_null_restores_the_default),
		TEST(sigcb_unblocks_its_signal),
		TEST(chldcb_tells_the_status),
		TEST(chldcb_after_the_child_was_reaped_still_fires),
		TEST(chldcb_null_removes),
		TEST(loop_serves_libevent_too),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
