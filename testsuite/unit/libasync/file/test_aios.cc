/*
 * aios: lines and bytes, timeouts, descriptors that travel, and the ends of a stream.
 */
#include "aios.h"
#include "rwfd.h"

#include <atomic>
#include <string>

#include <event2/event.h>
#include <event2/smp.h>
#include <sched.h>

#include "own_clock.h"
#include "turns.h"

#include "test.h"

namespace
{

struct reader {
	str s;
	int err = -1, calls = 0, errno_seen = -1;

	void take(str t, int e)
	{
		errno_seen = errno;
		s = t;
		err = e;
		__atomic_store_n(&calls, calls + 1, __ATOMIC_RELEASE);
	}
	aios::rcb_t cb() { return wrap(this, &reader::take); }
	void await(int n = 1)
	{
		while (__atomic_load_n(&calls, __ATOMIC_ACQUIRE) < n)
			turn_all();
		assert_int_equal(calls, n);
		assert_int_equal(errno_seen, err);
	}
};

struct pair {
	int fds[2];

	explicit pair(int type = SOCK_STREAM) { assert_int_equal(socketpair(AF_UNIX, type, 0, fds), 0); }
};

void say(int fd, const char *text)
{
	v_write(fd, text, strlen(text));
}

std::string heard(int fd)
{
	char buf[1000];
	ssize_t n = read(fd, buf, sizeof(buf));

	return std::string(buf, n > 0 ? static_cast<size_t>(n) : 0);
}

void aios_readline_strips_line_ends(void **)
{
	pair p;
	reader r;
	aios_t a = aios::alloc(p.fds[0]);

	assert_int_equal(a->fdno(), p.fds[0]);
	assert_true(fcntl(p.fds[0], F_GETFL) & O_NONBLOCK);
	a->readline(r.cb());
	assert_int_equal(r.calls, 0);
	say(p.fds[1], "one\r\ntwo\n\nfour\rx\n");
	r.await();
	assert_string_equal(r.s.cstr(), "one");
	assert_int_equal(r.err, 0);
	/* The rest is there already. */
	a->readline(r.cb());
	assert_int_equal(r.calls, 2);
	assert_string_equal(r.s.cstr(), "two");
	a->readline(r.cb());
	assert_string_equal(r.s.cstr(), "");
	a->readline(r.cb());
	assert_string_equal(r.s.cstr(), "four\rx");
	close(p.fds[1]);
}

void aios_end_of_file_is_null_and_0(void **)
{
	pair p;
	reader r;
	aios_t a = aios::alloc(p.fds[0]);

	say(p.fds[1], "whole\nrest");
	close(p.fds[1]);
	a->readline(r.cb());
	r.await();
	assert_string_equal(r.s.cstr(), "whole");
	a->readline(r.cb());
	r.await(2);
	assert_string_equal(r.s.cstr(), "rest");
	a->readline(r.cb());
	r.await(3);
	assert_true(r.s == NULL);
	assert_int_equal(r.err, 0);
	a->readany(r.cb());
	r.await(4);
	assert_true(r.s == NULL);
}

void aios_end_of_file_may_lose_the_last_line(void **)
{
	pair p;
	reader r;
	aios_t a = aios::alloc(p.fds[0]);

	setenv("SFS_OPTIONS", "l", 1);
	say(p.fds[1], "rest");
	close(p.fds[1]);
	a->readline(r.cb());
	r.await();
	assert_true(r.s == NULL);
	assert_int_equal(r.err, 0);
	unsetenv("SFS_OPTIONS");
}

void aios_line_longer_than_the_buffer(void **)
{
	pair p;
	reader r;
	aios_t a = aios::alloc(p.fds[0], 8);

	say(p.fds[1], "1234567\n12345678");
	a->readline(r.cb());
	r.await();
	assert_string_equal(r.s.cstr(), "1234567");
	a->readline(r.cb());
	r.await(2);
	assert_true(r.s == NULL);
	assert_int_equal(r.err, EFBIG);
	a->readany(r.cb());
	r.await(3);
	assert_string_equal(r.s.cstr(), "12345678");
	close(p.fds[1]);
}

void aios_readany_takes_what_is_there(void **)
{
	pair p;
	reader r;
	aios_t a = aios::alloc(p.fds[0]);

	a->readany(r.cb());
	say(p.fds[1], "some\nbytes");
	r.await();
	assert_string_equal(r.s.cstr(), "some\nbytes");
	close(p.fds[1]);
}

void aios_readcancel_keeps_the_bytes(void **)
{
	pair p;
	reader cancelled, r;
	aios_t a = aios::alloc(p.fds[0]);

	a->readline(cancelled.cb());
	say(p.fds[1], "line\n");
	a->readcancel();
	turn_all();
	assert_int_equal(cancelled.calls, 0);
	a->readline(r.cb());
	r.await();
	assert_string_equal(r.s.cstr(), "line");
	close(p.fds[1]);
}

void aios_writes_in_order(void **)
{
	pair p;
	int sent = -1;
	aios_t a = aios::alloc(p.fds[0]);
	char text[] = "raw ";
	iovec iov[2] = { { text, 4 }, { text, 3 } };

	a << "hello " << 17 << " " << str("str") << "\n";
	a->write(text, 4);
	a->writev(iov, 2);
	assert_true(a->writing());
	a->setwcb(wrap([&sent](int err) { sent = err; }));
	assert_int_equal(sent, -1);
	turn_until([&]() { return sent >= 0; });
	assert_int_equal(sent, 0);
	assert_false(a->writing());
	assert_string_equal(heard(p.fds[1]).c_str(), "hello 17 str\nraw raw raw");
	sent = -1;
	a->setwcb(wrap([&sent](int err) { sent = err; }));
	assert_int_equal(sent, 0);
	close(p.fds[1]);
}

void aios_flush_and_sendeof(void **)
{
	pair p;
	aios_t a = aios::alloc(p.fds[0]);

	a << "now";
	assert_int_equal(a->flush(), 1);
	assert_string_equal(heard(p.fds[1]).c_str(), "now");
	a << "last";
	a->sendeof();
	a << "never";
	turn_until([&]() { return !a->writing(); });
	assert_string_equal(heard(p.fds[1]).c_str(), "last");
	assert_int_equal(heard(p.fds[1]).size(), 0);
	close(p.fds[1]);
}

void aios_peer_is_gone(void **)
{
	pair p;
	int sent = -1;
	reader r, after;
	aios_t a = aios::alloc(p.fds[0]);

	close(p.fds[1]);
	a << "nobody hears";
	a->setwcb(wrap([&sent](int err) { sent = err; }));
	turn_until([&]() { return sent >= 0; });
	assert_int_equal(sent, EPIPE);
	a->readline(r.cb());
	assert_int_equal(r.calls, 1);
	assert_int_equal(r.err, EPIPE);
	a << "dropped";
	assert_false(a->writing());
	assert_int_equal(a->flush(), -1);
	assert_int_equal(errno, EPIPE);
}

void aios_reset_ends_a_read(void **)
{
	int l = inetsocket(SOCK_STREAM, 0, INADDR_LOOPBACK), client = socket(AF_INET, SOCK_STREAM, 0);
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);
	reader r;

	listen(l, 1);
	getsockname(l, reinterpret_cast<sockaddr *>(&sin), &len);
	assert_int_equal(connect(client, reinterpret_cast<sockaddr *>(&sin), len), 0);
	assert_int_equal(fdwait(l, selread), 1);
	aios_t a = aios::alloc(accept(l, nullptr, nullptr));
	a->readline(r.cb());
	tcp_abort(client);
	r.await();
	assert_true(r.s == NULL);
	assert_int_equal(r.err, ECONNRESET);
	close(l);
}

void aios_settimeout_ends_a_read(void **)
{
	pair p;
	reader r;
	aios_t a = aios::alloc(p.fds[0]);

	a->settimeout(10);
	a->readline(r.cb());
	own_clock_advance(9);
	turn_all();
	assert_int_equal(r.calls, 0);
	own_clock_advance(1);
	r.await();
	assert_true(r.s == NULL);
	assert_int_equal(r.err, ETIMEDOUT);
	close(p.fds[1]);
}

void aios_sendfd_goes_with_its_byte(void **)
{
	pair p;
	int fds[2], got;
	char buf[20];
	aios_t a = aios::alloc(p.fds[0]);

	assert_int_equal(pipe(fds), 0);
	a << "ab";
	a->sendfd(fds[1]);
	a << "cd";
	assert_int_equal(a->flush(), 1);
	assert_int_equal(fcntl(fds[1], F_GETFD), -1);
	assert_int_equal(readfd(p.fds[1], buf, 2, &got), 2);
	assert_int_equal(got, -1);
	assert_int_equal(readfd(p.fds[1], buf, 20, &got), 2);
	assert_memory_equal(buf, "cd", 2);
	assert_true(got >= 0);
	say(got, "x");
	assert_string_equal(heard(fds[0]).c_str(), "x");
	for (int fd : { got, fds[0], p.fds[1] })
		close(fd);
}

/* One message carries one: the second goes with the byte after the first's. */
void aios_sendfd_of_several(void **)
{
	pair p;
	int fds[3][2], got;
	char c;
	ptr<aios> a = aios::alloc(p.fds[0]);

	for (auto &of : fds) {
		assert_int_equal(pipe(of), 0);
		a->sendfd(of[1]);
	}
	a << "ab";
	assert_int_equal(a->flush(), 1);
	a << "cd";
	assert_int_equal(a->flush(), 1);
	for (auto &of : fds) {
		assert_int_equal(fcntl(of[1], F_GETFD), -1);
		assert_int_equal(readfd(p.fds[1], &c, 1, &got), 1);
		assert_true(got >= 0);
		say(got, "x");
		assert_string_equal(heard(of[0]).c_str(), "x");
		close(got);
		close(of[0]);
	}
	assert_int_equal(readfd(p.fds[1], &c, 1, &got), 1);
	assert_int_equal(c, 'd');
	assert_int_equal(got, -1);
	/* No byte comes any more. */
	assert_int_equal(pipe(fds[0]), 0);
	a->sendfd(fds[0][1]);
	a = NULL;
	assert_int_equal(fcntl(fds[0][1], F_GETFD), -1);
	close(fds[0][0]);
	close(p.fds[1]);
}

void aios_last_reference_sends_the_rest(void **)
{
	pair p;
	ptr<aios> a = aios::alloc(p.fds[0]);
	std::string big(1000000, 'x'), all;
	reader r;

	a << str(big.data(), big.size());
	a->readline(r.cb());
	a = NULL;
	auto read_some = [&]() {
		char buf[65536];
		ssize_t n = read(p.fds[1], buf, sizeof(buf));

		if (n > 0)
			all.append(buf, static_cast<size_t>(n));
	};
	make_async(p.fds[1]);
	fdcb(p.fds[1], selread, wrap(read_some));
	turn_until([&]() { return all.size() == big.size(); });
	fdcb(p.fds[1], selread, NULL);
	turn_all();
	assert_int_equal(fcntl(p.fds[0], F_GETFD), -1);
	assert_int_equal(r.calls, 0);
	close(p.fds[1]);
}

void aios_abort_drops_all(void **)
{
	pair p;
	reader r;
	int sent = -1;
	aios_t a = aios::alloc(p.fds[0]);

	a << "lost";
	a->readline(r.cb());
	a->setwcb(wrap([&sent](int err) { sent = err; }));
	a->abort();
	a->abort();
	turn_all();
	assert_int_equal(heard(p.fds[1]).size(), 0);
	assert_int_equal(r.calls, 0);
	assert_int_equal(sent, -1);
	close(p.fds[1]);
}

void aios_setdebug_shows_lines(void **)
{
	pair p, err;
	reader r;
	int old = dup(STDERR_FILENO);
	aios_t a = aios::alloc(p.fds[0]);

	dup2(err.fds[0], STDERR_FILENO);
	a->setdebug("me");
	a << "out";
	say(p.fds[1], "in\n");
	a->readline(r.cb());
	r.await();
	dup2(old, STDERR_FILENO);
	close(old);
	assert_string_equal(heard(err.fds[1]).c_str(), "me >>> out\nme <<< in\n");
	for (int fd : { p.fds[1], err.fds[0], err.fds[1] })
		close(fd);
}

void aios_ain_and_aout_are_made_when_used(void **)
{
	int old[2] = { dup(0), dup(1) };
	pair p;
	reader r;
	std::string text;

	dup2(p.fds[0], 0);
	dup2(p.fds[0], 1);
	aout << "to " << "standard output";
	aout->flush();
	say(p.fds[1], "line\n");
	ain->readline(r.cb());
	r.await();
	text = heard(p.fds[1]);
	for (int i = 0; i < 2; i++) {
		dup2(old[i], i);
		close(old[i]);
	}
	assert_string_equal(text.c_str(), "to standard output");
	assert_string_equal(r.s.cstr(), "line");
	close(p.fds[0]);
	close(p.fds[1]);
}

/* This program, run with an argument, says its last words. */
std::string this_program;

[[noreturn]] void say_and_exit(const char *how)
{
	if (strcmp(how, "in a callback") == 0)
		cpucb(wrap([]() {
			aout << "last\n" << "words\n";
			exit(0);
		}));
	else
		aout << "last\n" << "words\n";
	if (strcmp(how, "at once") == 0)
		exit(0);
	if (strcmp(how, "in another color") == 0)
		cpucb(cwrap(exit, 0, color(7)));
	amain();
	abort();
}

void aios_aout_is_written_at_exit(void **)
{
	for (const char *how : { "at once", "in a callback", "in another color" }) {
		FILE *f = popen((this_program + " '" + how + "'").c_str(), "r");
		char buf[100];
		size_t n = fread(buf, 1, sizeof(buf), f);

		assert_int_equal(pclose(f), 0);
		/* Another color may not touch it: whether it is written depends on color 0. */
		if (strcmp(how, "in another color") != 0)
			assert_string_equal(std::string(buf, n).c_str(), "last\nwords\n");
	}
}

struct colored {
	uint32_t seen = 0;
	int lines = 0;
	ptr<aios> a;

	void line(str s, int)
	{
		if (s == NULL) {
			a = NULL;
			__atomic_store_n(&lines, lines - 1000, __ATOMIC_RELEASE);
			return;
		}
		seen += libasync::is_own_color(5);
		lines++;
		a << s << "!\n";
		a->readline(cwrap(this, &colored::line, color(5)));
	}
};

void aios_callbacks_keep_their_color(void **)
{
	pair p;
	colored c;

	c.a = aios::alloc(p.fds[0]);
	say(p.fds[1], "a\nb\nc\n");
	shutdown(p.fds[1], SHUT_WR);
	c.a->readline(cwrap(&c, &colored::line, color(5)));
	turn_until([&]() { return __atomic_load_n(&c.lines, __ATOMIC_ACQUIRE) < 0; });
	assert_int_equal(c.lines, 3 - 1000);
	assert_int_equal(c.seen, 3);
	make_async(p.fds[1]);
	std::string all;
	fdcb(p.fds[1], selread, wrap([&]() { all += heard(p.fds[1]); }));
	turn_until([&]() { return all.size() >= 9; });
	fdcb(p.fds[1], selread, NULL);
	assert_string_equal(all.c_str(), "a!\nb!\nc!\n");
	close(p.fds[1]);
}

/* A server of lines whose peer sends many at once. */
struct recursive {
	ptr<aios> a;
	int lines = 0, depth = 0, deepest = 0;
	bool is_over = false;

	void line(str s, int)
	{
		if (s == NULL || lines == 5000) {
			is_over = true;
			return;
		}
		lines++;
		depth++;
		deepest = depth > deepest ? depth : deepest;
		a->readline(wrap(this, &recursive::line));
		depth--;
	}
};

void aios_many_lines_at_once(void **)
{
	pair p;
	recursive r;
	std::string all(5000, '\n');

	r.a = aios::alloc(p.fds[0]);
	v_write(p.fds[1], all.data(), all.size());
	close(p.fds[1]);
	r.a->readline(wrap(&r, &recursive::line));
	turn_until([&r]() { return r.is_over; });
	assert_int_equal(r.lines, 5000);
	assert_true(r.deepest > 1 && r.deepest < 100);
}

/* The last answer is posted, and its read is cancelled before; the buffer is full, and the descriptor has more. */
void aios_many_lines_then_none(void **)
{
	pair p;
	int lines = 0;
	reader rest;
	ptr<aios> a = aios::alloc(p.fds[0], 256);
	std::string all(512, '\n');
	aios::rcb_t next;

	v_write(p.fds[1], all.data(), all.size());
	next = wrap([&](str, int) {
		int before = ++lines;

		a->readline(next);
		if (lines == before)	/* it did not answer at once */
			a->readcancel();
	});
	a->readline(next);
	turn_until([&lines]() { return lines > 0; });
	turn_all();
	next = NULL;
	assert_in_range(lines, 2, 100);
	a->readany(rest.cb());
	rest.await();
	assert_int_equal(rest.s.len(), 256 - lines);
	a->readany(rest.cb());
	rest.await(2);
	assert_int_equal(rest.s.len(), 256);
	close(p.fds[1]);
}

/* ---------------------------------------------------------------- from one color to another */

/* An aios that shows its inside. */
struct bare_aios : public aios {
	explicit bare_aios(int f) : aios(f, defrbufsize) {}
	size_t buffered() const { return inb.bytes(); }
	bool is_watched() const { return is_reading || is_writing; }
};

/* Keeps a color busy from its construction until release(). */
struct busy_color {
	std::atomic<bool> is_released{ false }, is_over{ false };

	explicit busy_color(color c)
	{
		cpucb(cwrap([this]() {
			while (!is_released)
				(void)sched_yield();
			is_over = true;
		}, c));
	}
	void release() { is_released = true; }
	void await()
	{
		while (!is_over)
			turn_all();
	}
};

/* What was posted to the color before has run. */
void await_color(color c)
{
	busy_color b(c);

	b.release();
	b.await();
}

/* The caller's color takes its watches away and posts: all else is done in the other color. */
void aios_hand_over_changes_nothing_later(void **)
{
	pair p;
	reader first, second;
	ref<bare_aios> a = New refcounted<bare_aios>(p.fds[0]);

	say(p.fds[1], "one\ntwo\n");
	a->readline(first.cb());
	first.await();
	a->write("answer\n", 7);
	busy_color other(color(5));
	a->readline(cwrap(&second, &reader::take, color(5)));
	size_t buffered = a->buffered();
	bool is_watched = a->is_watched();
	other.release();
	other.await();
	second.await();
	assert_string_equal(second.s.cstr(), "two");
	assert_int_equal(buffered, 4);
	assert_false(is_watched);
	std::string answer;
	make_async(p.fds[1]);
	while ((answer += heard(p.fds[1])).size() < 7)
		turn_all();
	assert_string_equal(answer.c_str(), "answer\n");
	close(p.fds[1]);
}

/* From a callback to another color, which uses it before that callback has returned. */
struct relay {
	ptr<bare_aios> a;
	int peer;
	reader third;
	std::atomic<bool> is_taken{ false }, has_returned{ false };
	bool is_watched[2];

	static void await(const std::atomic<bool> &is_done)
	{
		while (event_base_get_workers(libasync::base()) > 1 && !is_done)
			(void)sched_yield();
	}
	void first(str, int)
	{
		a->readline(cwrap(this, &relay::second, color(6)));
		cpucb(cwrap([this]() { has_returned = true; }, color(5)));
		say(peer, "two\n");
		await(is_taken);
	}
	void second(str, int)
	{
		is_watched[0] = a->is_watched();
		is_taken = true;
		await(has_returned);
		is_watched[1] = a->is_watched();
		a->readline(cwrap(&third, &reader::take, color(6)));
	}
};

void aios_hand_over_in_a_callback(void **)
{
	pair p;
	relay r;

	r.a = New refcounted<bare_aios>(p.fds[0]);
	r.peer = p.fds[1];
	r.a->readline(cwrap(&r, &relay::first, color(5)));
	say(p.fds[1], "one\n");
	while (!r.has_returned)
		turn_all();
	say(p.fds[1], "three\n");
	r.third.await();
	assert_string_equal(r.third.s.cstr(), "three");
	assert_int_equal(r.is_watched[0], r.is_watched[1]);
	await_color(color(6));
	r.a = NULL;
	close(p.fds[1]);
}

bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* The last reference goes in color 0, while the aios's color is busy. */
void drop_beside(pair *p, ptr<aios> a)
{
	busy_color own(color(5));
	bool is_early;

	a = NULL;
	is_early = !is_open(p->fds[0]);
	own.release();
	own.await();
	assert_false(is_early);
}

void aios_ends_in_the_color_of_its_reads(void **)
{
	pair p;
	reader r;
	ptr<aios> a = aios::alloc(p.fds[0]);

	a->readline(cwrap(&r, &reader::take, color(5)));
	await_color(color(5));
	drop_beside(&p, std::move(a));
	while (is_open(p.fds[0]))
		turn_all();
	assert_int_equal(heard(p.fds[1]).size(), 0);
	assert_int_equal(r.calls, 0);
	close(p.fds[1]);
}

void aios_ends_in_the_color_of_its_writes(void **)
{
	pair p;
	ptr<aios> a = aios::alloc(p.fds[0]);

	cpucb(cwrap([&a]() {
		a->write("out\n", 4);
		a->flush();
	}, color(5)));
	await_color(color(5));
	drop_beside(&p, std::move(a));
	while (is_open(p.fds[0]))
		turn_all();
	assert_string_equal(heard(p.fds[1]).c_str(), "out\n");
	close(p.fds[1]);
}

} // namespace

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aios_readline_strips_line_ends),
		cmocka_unit_test(aios_end_of_file_is_null_and_0),
		cmocka_unit_test(aios_end_of_file_may_lose_the_last_line),
		cmocka_unit_test(aios_line_longer_than_the_buffer),
		cmocka_unit_test(aios_readany_takes_what_is_there),
		cmocka_unit_test(aios_readcancel_keeps_the_bytes),
		cmocka_unit_test(aios_writes_in_order),
		cmocka_unit_test(aios_flush_and_sendeof),
		cmocka_unit_test(aios_peer_is_gone),
		cmocka_unit_test(aios_reset_ends_a_read),
		cmocka_unit_test(aios_settimeout_ends_a_read),
		cmocka_unit_test(aios_sendfd_goes_with_its_byte),
		cmocka_unit_test(aios_sendfd_of_several),
		cmocka_unit_test(aios_last_reference_sends_the_rest),
		cmocka_unit_test(aios_abort_drops_all),
		cmocka_unit_test(aios_setdebug_shows_lines),
		cmocka_unit_test(aios_ain_and_aout_are_made_when_used),
		cmocka_unit_test(aios_aout_is_written_at_exit),
		cmocka_unit_test(aios_callbacks_keep_their_color),
		cmocka_unit_test(aios_many_lines_at_once),
		cmocka_unit_test(aios_many_lines_then_none),
		cmocka_unit_test(aios_hand_over_changes_nothing_later),
		cmocka_unit_test(aios_hand_over_in_a_callback),
		cmocka_unit_test(aios_ends_in_the_color_of_its_reads),
		cmocka_unit_test(aios_ends_in_the_color_of_its_writes),
	};

	if (argc > 1)
		say_and_exit(argv[1]);
	this_program = argv[0];
	own_clock_begin();
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
