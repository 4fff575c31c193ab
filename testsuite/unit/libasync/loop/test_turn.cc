/*
 * The order of callbacks within a turn of the loop, and how often lazycb runs. The time is the test's own.
 */
#include "async.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <event2/event.h>

#include "own_clock.h"

#include "test.h"

namespace
{

std::string said;
int fds[2];

void say(std::string s)
{
	said += s;
}

#define assert_heard(text) assert_string_equal(std::exchange(said, "").c_str(), text)

/* All turns that wait for nothing. */
void turn_all_now()
{
	assert_in_range(event_base_loop(libasync::base(), EVLOOP_NONBLOCK), 0, 1);
}

/* The descriptor is ready in each turn. */
int open_pair(void **)
{
	int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds);

	turn_all_now();
	said.clear();
	return r | (write(fds[1], "x", 1) == 1 ? 0 : -1);
}

int close_pair(void **)
{
	fdcb(fds[0], selread, NULL);
	fdcb(fds[0], selwrite, NULL);
	return close(fds[0]) | close(fds[1]);
}

void watch()
{
	fdcb(fds[0], selwrite, wrap(say, "write "));
	fdcb(fds[0], selread, wrap(say, "read "));
}

void turn_has_an_order(void **)
{
	lazycb_t *l = lazycb(0, wrap(say, "lazy "));

	delaycb(1, wrap(say, "timer "));
	own_clock_advance(1);
	yieldcb(wrap(say, "yield "));
	sigcb(SIGUSR1, wrap(say, "signal "));
	assert_int_equal(raise(SIGUSR1), 0);
	watch();
	delaycb(0, wrap(say, "posted "));
	acheck();
	assert_heard("posted lazy read write signal timer yield ");
	lazycb_remove(l);
	sigcb(SIGUSR1, NULL);
}

void turn_calls_each_lazycb_once(void **)
{
	lazycb_t *lazies[] = { lazycb(0, wrap(say, "1 ")), lazycb(0, wrap(say, "2 ")) };

	watch();
	for (int i = 0; i < 3; i++) {
		acheck();
		assert_heard("1 2 read write ");
	}
	for (lazycb_t *l : lazies)
		lazycb_remove(l);
	acheck();
	assert_heard("read write ");
}

/* Its own post is no reason for another one: else the loop would not sleep. */
void lazycb_makes_no_turn(void **)
{
	lazycb_t *l = lazycb(0, wrap(say, "lazy "));

	delaycb(0, wrap(say, "posted "));
	for (int i = 0; i < 5; i++)
		turn_all_now();
	assert_heard("posted lazy ");
	lazycb_remove(l);
}

void lazycb_waits_for_its_interval(void **)
{
	lazycb_t *l = lazycb(10, wrap(say, "lazy "));

	fdcb(fds[0], selread, wrap(say, "read "));
	for (int i = 0; i < 4; i++) {
		acheck();
		own_clock_advance(4);
	}
	assert_heard("read read read lazy read ");
	for (int i = 0; i < 3; i++) {
		acheck();
		own_clock_advance(4);
	}
	assert_heard("read read lazy read ");
	lazycb_remove(l);
}

/* It is removed by itself, by another one that runs before it, and while it is queued. */
void lazycb_removed_runs_no_more(void **)
{
	static lazycb_t *self, *second;

	self = lazycb(0, wrap([] {
			      say("self ");
			      lazycb_remove(self);
			      lazycb_remove(second);
		      }));
	second = lazycb(0, wrap(say, "second "));
	watch();
	acheck();
	acheck();
	assert_heard("self read write read write ");
}

} // namespace

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main()
{
	const struct CMUnitTest tests[] = {
		TEST(turn_has_an_order),
		TEST(turn_calls_each_lazycb_once),
		TEST(lazycb_makes_no_turn),
		TEST(lazycb_waits_for_its_interval),
		TEST(lazycb_removed_runs_no_more),
	};

	own_clock_begin();
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
