/*
 * Elements that tests of containers count, a random number generator with a seed, and calls that must
 * end the program.
 */
#ifndef LIBASYNC_TEST_ELEMENTS_H
#define LIBASYNC_TEST_ELEMENTS_H

#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

/* An element that knows its place and how many of its kind are alive. It never leaves by memcpy unnoticed. */
struct counted {
	static long alive, made, copied;

	int value;
	const counted *self;

	counted() : counted(0) {}
	counted(int v) : value(v), self(this)
	{
		alive++;
		made++;
	}
	counted(const counted &c) : counted(c.value)
	{
		c.must_live();
		copied++;
	}
	counted(counted &&c) : counted(c.value)
	{
		c.must_live();
		c.value = -1;
	}
	~counted()
	{
		must_live();
		self = nullptr;
		alive--;
	}
	counted &operator=(const counted &c)
	{
		must_live();
		c.must_live();
		value = c.value;
		return *this;
	}
	bool operator==(const counted &c) const { return value == c.value; }
	bool operator<(const counted &c) const { return value < c.value; }

	void must_live() const { assert_ptr_equal(self, this); }
	static void none_is_alive() { assert_int_equal(alive, 0); }
};

inline long counted::alive, counted::made, counted::copied;

/* xorshift64*: the same numbers in each run. */
class numbers
{
	uint64_t state;

public:
	explicit numbers(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15U + 1) {}
	uint32_t next()
	{
		state ^= state >> 12;
		state ^= state << 25;
		state ^= state >> 27;
		return static_cast<uint32_t>(state * 0x2545f4914f6cdd1dU >> 32);
	}
	uint32_t below(uint32_t n) { return next() % n; }
};

/* With a sanitizer too, an allocation that is too large fails as it does without. */
#define ALLOCATIONS_MAY_FAIL \
	extern "C" const char *__asan_default_options() \
	{ \
		return "allocator_may_return_null=1"; \
	} \
	extern "C" const char *__tsan_default_options() \
	{ \
		return "allocator_may_return_null=1"; \
	}

/* `fn` ends the program by abort, and its message has `text` in it. */
template <class F> void must_abort(const char *text, F fn)
{
	char message[8192] = "";
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		fn();
		_exit(0);
	}
	close(ends[1]);
	while ((n = read(ends[0], message + len, sizeof(message) - 1 - len)) > 0)
		len += static_cast<size_t>(n);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	if (!strstr(message, text))
		fail_msg("the message is \"%s\", not \"%s\"", message, text);
}

#endif
