/*
 * Statuses of children that ended before somebody asked for them. The children are the test's own: process ids that
 * the system gives to nobody, and a waitpid that knows them.
 */
#include "async.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "turns.h"

#include "test.h"

namespace
{

/* Above the largest that Linux has. FOREVER lives as long as the test. */
enum : pid_t { FOREVER = 0x10000000, FIRST };

std::set<pid_t> alive;
std::map<pid_t, int> zombies;
std::string said;

pid_t reap(std::map<pid_t, int>::iterator at, int *status)
{
	pid_t pid = at->first;

	*status = at->second;
	zombies.erase(at);
	return pid;
}

void begin(pid_t pid)
{
	assert_int_equal(zombies.count(pid), 0);
	alive.insert(pid);
}

void end(pid_t pid, int code)
{
	assert_int_equal(alive.erase(pid), 1);
	zombies[pid] = W_EXITCODE(code, 0);
	raise(SIGCHLD);
}

/* The library waits for all children. */
void let_it_wait()
{
	turn_until([] { return zombies.empty(); });
	turn_all();
}

void say(int status)
{
	said += std::to_string(WEXITSTATUS(status)) + " ";
}

#define assert_heard(text) assert_string_equal(std::exchange(said, "").c_str(), text)

int begin_forever(void **)
{
	alive = { FOREVER };
	zombies.clear();
	said.clear();
	chldcb(FOREVER, wrap(say));
	return 0;
}

/* ---------------------------------------------------------------- tests */

void status_that_was_kept(void **)
{
	begin(FIRST);
	end(FIRST, 3);
	let_it_wait();
	chldcb(FIRST, wrap(say));
	assert_heard("");
	turn_all();
	assert_heard("3 ");
}

void process_id_is_used_again_by_a_child_that_lives(void **)
{
	begin(FIRST);
	end(FIRST, 3);
	let_it_wait();
	begin(FIRST);
	chldcb(FIRST, wrap(say));
	turn_all();
	assert_heard("");
	end(FIRST, 4);
	let_it_wait();
	assert_heard("4 ");
}

void process_id_is_used_again_by_a_child_that_has_ended(void **)
{
	begin(FIRST);
	end(FIRST, 3);
	let_it_wait();
	begin(FIRST);
	end(FIRST, 4);
	chldcb(FIRST, wrap(say));
	turn_all();
	assert_heard("4 ");
	assert_true(zombies.empty());
	/* The one of before is forgotten too. */
	begin(FIRST);
	chldcb(FIRST, wrap(say));
	turn_all();
	assert_heard("");
	end(FIRST, 5);
	let_it_wait();
	assert_heard("5 ");
}

void process_id_is_used_again_and_both_were_kept(void **)
{
	begin(FIRST);
	end(FIRST, 3);
	let_it_wait();
	begin(FIRST);
	end(FIRST, 4);
	let_it_wait();
	chldcb(FIRST, wrap(say));
	turn_all();
	assert_heard("4 ");
}

/* A program that never asks does not fill the memory. */
void statuses_that_are_kept_have_a_limit(void **)
{
	enum { NUM = 5000, KEPT = 4096 };

	for (pid_t i = 0; i < NUM; i++) {
		begin(FIRST + i);
		end(FIRST + i, i == NUM - 1 ? 1 : i == NUM - KEPT ? 2 : 3);
		if (i % 100 == 99)
			let_it_wait();
	}
	let_it_wait();
	chldcb(FIRST + NUM - KEPT - 1, wrap(say));
	turn_all();
	assert_heard("");
	chldcb(FIRST + NUM - KEPT - 1, NULL);
	chldcb(FIRST + NUM - 1, wrap(say));
	turn_all();
	assert_heard("1 ");
	chldcb(FIRST + NUM - KEPT, wrap(say));
	turn_all();
	assert_heard("2 ");
}

} // namespace

/* In place of the C library's. */
extern "C" pid_t waitpid(pid_t pid, int *status, int options)
{
	auto at = pid == -1 ? zombies.begin() : zombies.find(pid);

	if (!(options & WNOHANG))
		abort();
	if (at != zombies.end())
		return reap(at, status);
	if (pid == -1 || alive.count(pid) != 0)
		return 0;
	errno = ECHILD;
	return -1;
}

#define TEST(name) cmocka_unit_test_setup(name, begin_forever)

int main()
{
	const struct CMUnitTest tests[] = {
		TEST(status_that_was_kept),
		TEST(process_id_is_used_again_by_a_child_that_lives),
		TEST(process_id_is_used_again_by_a_child_that_has_ended),
		TEST(process_id_is_used_again_and_both_were_kept),
		TEST(statuses_that_are_kept_have_a_limit),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
