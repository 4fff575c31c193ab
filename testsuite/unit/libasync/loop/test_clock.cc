/*
 * Times that are far away, the order of a turn, and clocks that are set. Both clocks are the test's own.
 */
#include "async.h"

#include <climits>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "own_clock.h"

#include "test.h"

namespace
{

constexpr int64_t SECOND = 1000000000;
constexpr time_t TIME_MAX = sizeof(time_t) > 4 ? time_t(INT64_MAX) : time_t(INT32_MAX);

/* Where time_t has 32 bits, it has no longer times. */
constexpr time_t far(int64_t seconds)
{
	return seconds > TIME_MAX ? TIME_MAX : time_t(seconds);
}

bool is_wall_own;
int64_t wall_offset_ns;		/* of CLOCK_REALTIME, from the loop's time */
int64_t look_ns;		/* how long a look at it takes */
std::string said;

void say(std::string s)
{
	said += s;
}

#define assert_heard(text) assert_string_equal(std::exchange(said, "").c_str(), text)

void fail_at_once()
{
	say("at once ");
}

/* Let so much time pass, on both clocks. */
void advance(int64_t seconds)
{
	turn_all();
	own_clock_advance(seconds);
	turn_all();
}

/* As an administrator does, or a machine that wakes up. */
void set_clock(int64_t by_seconds)
{
	wall_offset_ns += by_seconds * SECOND;
}

timespec after(int64_t seconds)
{
	timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += time_t(seconds);
	return ts;
}

int begin(void **)
{
	turn_all();
	said.clear();
	return 0;
}

/* ---------------------------------------------------------------- order */

/* Each thread may lose the CPU between its looks at two clocks. */
void timecb_runs_in_the_order_of_the_times(void **)
{
	timespec ts = after(1);

	ts.tv_nsec = 0;
	for (const char *digit : { "1", "2", "3", "4", "5", "6", "7", "8" }) {
		look_ns = 10000 * ('9' - *digit);
		ts.tv_nsec += 2000;
		timecb(ts, wrap(say, digit));
	}
	timecb(ts, wrap(say, "9"));
	look_ns = 0;
	advance(2);
	assert_heard("123456789");
}

void timecb_runs_in_the_order_of_the_times_in_a_color(void **)
{
	timespec ts = after(1);

	ts.tv_nsec = 0;
	for (const char *digit : { "1", "2", "3", "4", "5", "6", "7", "8" }) {
		look_ns = 10000 * ('9' - *digit);
		ts.tv_nsec += 2000;
		timecb(ts, cwrap(say, std::string(digit), color(5)));
	}
	look_ns = 0;
	advance(2);
	assert_heard("12345678");
}

timecb_t *later;
int past_num;

void remove_later()
{
	timecb_remove(std::exchange(later, nullptr));
	say("removed ");
}

/* The timer comes up for one before it, which removes it. */
void timecb_removed_by_one_that_it_runs(void **)
{
	timespec ts = after(1);

	ts.tv_nsec = 0;
	look_ns = 100000;
	timecb(ts, wrap(remove_later));
	look_ns = 0;
	ts.tv_nsec = 2000;
	later = timecb(ts, wrap(fail_at_once));
	advance(2);
	assert_heard("removed ");
}

void past_again()
{
	if (++past_num < 3)
		timecb(0, wrap(past_again));
	cpucb(wrap(say, std::to_string(past_num)));
}

/* What runs with a timer is what was set before: other callbacks have their turn in between. */
void timecb_in_the_past_for_ever_lets_others_run(void **)
{
	past_num = 0;
	timecb(0, wrap(past_again));
	advance(2);
	assert_heard("123");
}

/* ---------------------------------------------------------------- far away */

void delaycb_of_huge_times_waits(void **)
{
	const time_t huge[] = { INT_MAX, far(INT64_MAX / SECOND), far(INT64_MAX / SECOND + 1),
				far(INT64_C(1) << 34), far(INT64_C(1) << 35), TIME_MAX - 1, TIME_MAX };
	vec<timecb_t *> timers;

	for (time_t t : huge) {
		timers.push_back(delaycb(t, wrap(fail_at_once)));
		timers.push_back(delaycb(t, UINT32_MAX, wrap(fail_at_once)));
	}
	delaycb(1, wrap(say, "1 "));
	advance(2);
	advance(3600);
	assert_heard("1 ");
	for (timecb_t *t : timers)
		timecb_remove(t);
}

void timecb_of_huge_times_waits(void **)
{
	const time_t huge[] = { INT_MAX, far(INT64_MAX / SECOND), far(INT64_MAX / SECOND + 1),
				far(10000000000), TIME_MAX - TIME_MAX / 64, TIME_MAX };
	vec<timecb_t *> timers;
	timespec last = {};

	last.tv_sec = TIME_MAX;
	last.tv_nsec = 999999999;
	for (time_t t : huge)
		timers.push_back(timecb(t, wrap(fail_at_once)));
	timers.push_back(timecb(last, wrap(fail_at_once)));
	timecb(after(1), wrap(say, "1 "));
	advance(2);
	advance(3600);
	assert_heard("1 ");
	for (timecb_t *t : timers)
		timecb_remove(t);
}

void times_long_ago_run_soon(void **)
{
	timecb(-TIME_MAX - 1, wrap(say, "1"));
	timecb(-TIME_MAX / 2, wrap(say, "2"));
	turn_all();
	assert_heard("12");
	delaycb(-TIME_MAX - 1, wrap(say, "3"));
	delaycb(-1, wrap(say, "4"));
	turn_all();
	assert_heard("34");
}

void lazycb_of_huge_times_waits(void **)
{
	lazycb_t *lazies[] = { lazycb(TIME_MAX, wrap(fail_at_once)), lazycb(TIME_MAX / 2, wrap(fail_at_once)),
			       lazycb(far(INT64_MAX / SECOND), wrap(fail_at_once)) };

	advance(3600);
	advance(3600);
	assert_heard("");
	for (lazycb_t *l : lazies)
		lazycb_remove(l);
}

/* ---------------------------------------------------------------- the order of a turn */

size_t place_of(char c)
{
	assert_int_not_equal(said.find(c), std::string::npos);
	return said.find(c);
}

/* Timer, lazy call, descriptor, signal and yield, all due at once. */
void amain_runs_yields_at_the_end_of_a_turn(void **)
{
	bool was_lazy = false;
	lazycb_t *l;
	int p[2];

	assert_int_equal(pipe(p), 0);
	assert_int_equal(write(p[1], "x", 1), 1);
	yieldcb(wrap(say, "y"));
	fdcb(p[0], selread, wrap([=] {
		     fdcb(p[0], selread, NULL);
		     say("d");
	     }));
	sigcb(SIGUSR1, wrap(say, "s"));
	raise(SIGUSR1);
	l = lazycb(0, wrap([&] {
			   if (!std::exchange(was_lazy, true))
				   say("l");
		   }));
	delaycb(0, wrap(say, "t"));
	turn_all();
	assert_true(place_of('t') < place_of('d') && place_of('t') < place_of('s'));
	assert_true(place_of('d') < place_of('y') && place_of('s') < place_of('y') && place_of('l') < place_of('y'));
	assert_int_equal(said.size(), 5);
	said.clear();
	lazycb_remove(l);
	sigcb(SIGUSR1, NULL);
	close(p[0]);
	close(p[1]);
}

void lazycb_repeats_after_its_interval(void **)
{
	lazycb_t *l = lazycb(10, wrap(say, "l"));

	advance(9);
	assert_heard("");
	advance(2);
	assert_heard("l");
	advance(9);
	assert_heard("");
	advance(2);
	assert_heard("l");
	lazycb_remove(l);
	advance(20);
	assert_heard("");
}

/* Once for each of these waits at least, but it makes the loop turn for none. */
void lazycb_without_interval_repeats(void **)
{
	int num = 0;
	lazycb_t *l = lazycb(0, wrap([&num] { num++; }));

	for (int i = 1; i <= 3; i++) {
		advance(1);
		assert_true(num >= i);
	}
	lazycb_remove(l);
	num = 0;
	advance(1);
	assert_int_equal(num, 0);
}

/* ---------------------------------------------------------------- a clock that is set */

void clock_set_forward_makes_timecb_due(void **)
{
	timecb(after(1800), wrap(say, "color 0 "));
	timecb(after(1801), cwrap(say, std::string("color 5 "), color(5)));
	delaycb(1800, wrap(say, "delay "));
	turn_all();
	set_clock(3600);
	turn_all();
	assert_heard("color 0 color 5 ");
	advance(1801);
	assert_heard("delay ");
}

void clock_set_back_makes_timecb_wait(void **)
{
	timecb(after(10), wrap(say, "color 0 "));
	timecb(after(11), cwrap(say, std::string("color 5 "), color(5)));
	turn_all();
	set_clock(-3600);
	advance(20);
	assert_heard("");
	advance(3580);
	assert_heard("");
	advance(12);
	assert_heard("color 0 color 5 ");
}

/* The timer comes up in the turn that finds the clock set. */
void clock_set_back_while_the_loop_sleeps(void **)
{
	timecb(after(10), wrap(say, "1 "));
	turn_all();
	own_clock_advance(20);
	set_clock(-3600);
	turn_all();
	assert_heard("");
	advance(3600);
	assert_heard("1 ");
}

void clock_set_keeps_the_order(void **)
{
	timecb_t *gone[2];

	timecb(after(30), wrap(say, "4"));
	timecb(after(20), wrap(say, "2"));
	gone[0] = timecb(after(20), wrap(say, "gone"));
	timecb(after(20), wrap(say, "3"));
	gone[1] = timecb(after(20), wrap(say, "gone"));
	timecb(after(10), wrap(say, "1"));
	turn_all();
	timecb_remove(gone[0]);
	set_clock(-100);
	turn_all();
	set_clock(200);
	timecb_remove(gone[1]);
	turn_all();
	assert_heard("1234");
}

void clock_set_before_the_first_timecb(void **)
{
	set_clock(5000);
	timecb(after(10), wrap(say, "1 "));
	turn_all();
	assert_heard("");
	advance(11);
	assert_heard("1 ");
}

} // namespace

/* In place of the C library's. */
extern "C" int clock_gettime(clockid_t id, struct timespec *ts) noexcept
{
	int64_t ns;

	if (id != CLOCK_REALTIME || !is_wall_own)
		return int(syscall(SYS_clock_gettime, id, ts));
	ns = own_clock_ns + wall_offset_ns;
	own_clock_ns += look_ns;
	ts->tv_sec = time_t(ns / SECOND);
	ts->tv_nsec = long(ns % SECOND);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main()
{
	const struct CMUnitTest tests[] = {
		TEST(timecb_runs_in_the_order_of_the_times),
		TEST(timecb_runs_in_the_order_of_the_times_in_a_color),
		TEST(timecb_removed_by_one_that_it_runs),
		TEST(timecb_in_the_past_for_ever_lets_others_run),
		TEST(delaycb_of_huge_times_waits),
		TEST(timecb_of_huge_times_waits),
		TEST(times_long_ago_run_soon),
		TEST(lazycb_of_huge_times_waits),
		TEST(lazycb_repeats_after_its_interval),
		TEST(lazycb_without_interval_repeats),
		TEST(amain_runs_yields_at_the_end_of_a_turn),
		TEST(clock_set_forward_makes_timecb_due),
		TEST(clock_set_back_makes_timecb_wait),
		TEST(clock_set_back_while_the_loop_sleeps),
		TEST(clock_set_keeps_the_order),
		TEST(clock_set_before_the_first_timecb),
	};

	setenv("EVENT_WORKERS", "1", 1);
	own_clock_begin();
	wall_offset_ns = INT64_C(1700000000) * SECOND;
	is_wall_own = true;
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
