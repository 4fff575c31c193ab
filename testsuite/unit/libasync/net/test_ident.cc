/*
 * ident: the user at the other end of a connection, as the identd of that machine says.
 */
#include "amisc.h"
#include "async.h"

#include <string>

#include "listener.h"
#include "net/ident.h"
#include "own_clock.h"
#include "rwfd.h"
#include "turns.h"

#include "test.h"

namespace
{

struct owner {
	str who;
	int err = -1, calls = 0;

	void take(str w, int e)
	{
		who = w;
		err = e;
		calls++;
	}
};

void ident_asks_the_peer(void **)
{
	listener l, identd;
	int client = socket(AF_INET, SOCK_STREAM, 0), peer, asked = -1;
	sockaddr_in sin = {};
	socklen_t len = sizeof(sin);
	char line[100], want[100];
	owner o, refused, unconnected;

	getsockname(l.fd, reinterpret_cast<sockaddr *>(&sin), &len);
	assert_int_equal(connect(client, reinterpret_cast<sockaddr *>(&sin), len), 0);
	assert_int_equal(fdwait(l.fd, selread), 1);
	peer = accept(l.fd, nullptr, nullptr);
	libasync::ident_at(peer, identd.port, wrap(&o, &owner::take));
	auto accept_it = [&]() {
		asked = accept(identd.fd, nullptr, nullptr);
		fdcb(identd.fd, selread, NULL);
	};
	auto answer_it = [&]() {
		ssize_t n = read(asked, line, sizeof(line) - 1);

		line[n > 0 ? n : 0] = '\0';
		dprintf(asked, "%u , %u : USERID : UNIX :joe\r\n", port_of(client), port_of(peer));
		fdcb(asked, selread, NULL);
	};
	fdcb(identd.fd, selread, wrap(accept_it));
	turn_until([&]() { return asked >= 0; });
	fdcb(asked, selread, wrap(answer_it));
	turn_until([&]() { return o.calls > 0; });
	snprintf(want, sizeof(want), "%u,%u\r\n", port_of(client), port_of(peer));
	assert_string_equal(line, want);
	assert_int_equal(o.err, 0);
	assert_string_equal(o.who.cstr(), "joe@127.0.0.1");
	libasync::ident_at(peer, free_port(), wrap(&refused, &owner::take));
	turn_until([&]() { return refused.calls > 0; });
	assert_int_equal(refused.err, ECONNREFUSED);
	assert_string_equal(refused.who.cstr(), "127.0.0.1");
	ident(l.fd, wrap(&unconnected, &owner::take));
	turn_until([&]() { return unconnected.calls > 0; });
	assert_int_equal(unconnected.err, ENOTCONN);
	for (int fd : { client, peer, asked })
		close(fd);
}

/* A connection whose peer's machine has an identd of the test's. */
struct ident_question {
	listener l, identd;
	int client = socket(AF_INET, SOCK_STREAM, 0), peer = -1, asked = -1;
	owner o;

	void accept_it()
	{
		asked = accept(identd.fd, nullptr, nullptr);
		fdcb(identd.fd, selread, NULL);
	}

	ident_question()
	{
		sockaddr_in sin = {};
		socklen_t len = sizeof(sin);

		getsockname(l.fd, reinterpret_cast<sockaddr *>(&sin), &len);
		assert_int_equal(connect(client, reinterpret_cast<sockaddr *>(&sin), len), 0);
		assert_int_equal(fdwait(l.fd, selread), 1);
		peer = accept(l.fd, nullptr, nullptr);
		libasync::ident_at(peer, identd.port, wrap(&o, &owner::take));
		fdcb(identd.fd, selread, wrap(this, &ident_question::accept_it));
		turn_until([this]() { return asked >= 0; });
	}

	~ident_question()
	{
		close(client);
		close(peer);
		if (asked >= 0)
			close(asked);
	}

	/* The error with which it ends. */
	int end()
	{
		turn_until([this]() { return o.calls > 0; });
		turn_all();
		assert_int_equal(o.calls, 1);
		return o.err;
	}

	int answer(const std::string &text)
	{
		assert_int_equal(write(asked, text.data(), text.size()), text.size());
		assert_int_equal(shutdown(asked, SHUT_WR), 0);
		return end();
	}
};

void ident_of_answers_without_a_user(void **)
{
	for (const char *text : { "", "\r\n", "1,2\r\n", "1,2 : ERROR : NO-USER\r\n", "1,2 : USERID\r\n",
				  "1,2 : USERID : UNIX\r\n", "1,2 : USERID : UNIX : \r\n" }) {
		ident_question q;

		assert_int_equal(q.answer(text), ENOENT);
		assert_string_equal(q.o.who.cstr(), "127.0.0.1");
	}
}

void ident_of_a_line_without_its_end(void **)
{
	ident_question q;

	assert_int_equal(q.answer("1,2 : USERID : UNIX : joe"), 0);
	assert_string_equal(q.o.who.cstr(), "joe@127.0.0.1");
}

void ident_of_a_line_that_is_too_long(void **)
{
	ident_question q;

	assert_int_equal(q.answer(std::string(5000, 'x')), EFBIG);
}

void ident_of_a_peer_that_says_nothing(void **)
{
	ident_question q;

	turn_all();
	assert_int_equal(q.o.calls, 0);
	own_clock_advance(15);
	assert_int_equal(q.end(), ETIMEDOUT);
}

void ident_of_a_connection_that_is_reset(void **)
{
	ident_question q;

	tcp_abort(q.asked);
	q.asked = -1;
	assert_int_equal(q.end(), ECONNRESET);
}

void ident_of_another_family(void **)
{
	int fds[2];
	owner o;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ident(fds[0], wrap(&o, &owner::take));
	turn_until([&]() { return o.calls > 0; });
	assert_int_equal(o.err, EAFNOSUPPORT);
	close(fds[0]);
	close(fds[1]);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ident_asks_the_peer),
		cmocka_unit_test(ident_of_answers_without_a_user),
		cmocka_unit_test(ident_of_a_line_without_its_end),
		cmocka_unit_test(ident_of_a_line_that_is_too_long),
		cmocka_unit_test(ident_of_a_peer_that_says_nothing),
		cmocka_unit_test(ident_of_a_connection_that_is_reset),
		cmocka_unit_test(ident_of_another_family),
	};

	own_clock_begin();
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
