/*
 * suio and iovmgr: bytes in, bytes out, and when what waits for them is released.
 */
#include "async.h"
#include "str.h"
#include "suio++.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "test.h"
#include "dies.h"

namespace
{

char trace[200];
suio *deleted_by_callback;

void note(char c)
{
	size_t n = strlen(trace);

	trace[n] = c;
	trace[n + 1] = '\0';
}

void delete_it()
{
	note('D');
	delete deleted_by_callback;
}

void add_and_remove(suio *u)
{
	note('R');
	if (u->resid() > 0)
		u->rembytes(u->resid());
}

int clear_trace(void **)
{
	trace[0] = '\0';
	return 0;
}

void check(const suio &u, const char *expected)
{
	str s(u);

	assert_string_equal(s.cstr(), expected);
	assert_int_equal(u.resid(), strlen(expected));
	assert_int_equal(iovsize(u.iov(), int(u.iovcnt())), strlen(expected));
}

str pattern(size_t len, unsigned seed)
{
	mstr m(len);

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1103515245 + 12345;
		m.cstr()[i] = char(seed >> 16);
	}
	return m;
}

struct counted_object : public virtual refcount {
	~counted_object() { note('O'); }
};

/* ---------------------------------------------------------------- bytes in and out */

void suio_copies_and_joins_pieces(void **)
{
	suio u;

	check(u, "");
	u.copy("hello ", 6);
	u.copy("world", 5);
	check(u, "hello world");
	assert_int_equal(u.iovcnt(), 1);
	u.breakiov();
	u.copy("!", 1);
	assert_int_equal(u.iovcnt(), 2);
	check(u, "hello world!");
	u.copy("", 0);
	assert_int_equal(u.iovcnt(), 2);
	u.rembytes(6);
	check(u, "world!");
	u.rembytes(5);
	assert_int_equal(u.iovcnt(), 1);
	check(u, "!");
	u.clear();
	check(u, "");
}

void suio_print_refers_to_more_than_128_bytes(void **)
{
	char text[400];
	suio u;

	memset(text, 'a', sizeof(text));
	u.print(text, 128);
	u.print(text, 129);
	text[0] = 'b';
	str s(u);
	assert_int_equal(s[0], 'a');
	assert_int_equal(s[128], 'b');
	assert_ptr_equal(u.iov()[u.iovcnt() - 1].iov_base, text);
	u.clear();
	u.copy(text, 400);
	text[0] = 'c';
	assert_int_equal(str(u)[0], 'b');
}

void suio_pieces_that_touch_in_memory_stay_apart(void **)
{
	char text[600];
	suio u;

	memset(text, 'a', sizeof(text));
	u.print(text, 300);
	u.print(text + 300, 300);
	assert_int_equal(u.resid(), 600);
	u.rembytes(400);
	assert_int_equal(u.iov()[0].iov_len, 200);
	assert_ptr_equal(u.iov()[0].iov_base, text + 400);
}

void suio_getspace_then_print(void **)
{
	suio u;

	u.copy("head ", 5);
	for (size_t n : { size_t(10), size_t(500), size_t(20000) }) {
		char *p = u.getspace(n);

		memset(p, 'g', n);
		u.print(p, n);
	}
	assert_int_equal(u.resid(), 5 + 20510);
	assert_true(str(u) == strbuf() << "head " << str(strbuf("%s", str(u).cstr() + 5)));
	ended e = run_in_child([] {
		suio v;
		char *p = v.getspace(10);
		v.print(p, 100000);
	});
	assert_true(e.is_aborted() && e.says("getspace"));
}

void suio_fill_and_copyv(void **)
{
	char a[] = "abc", b[] = "defg";
	iovec v[] = { { a, 3 }, { b, 4 } };
	suio u;

	u.fill('x', 3);
	u.fill('y', 0);
	u.fill('z', -5);
	u.copyv(v, 2);
	u.copyv(v, 2, 1);
	u.copyv(v, 2, 4);
	u.copyv(v, 2, 100);
	check(u, "xxxabcdefgbcdefgefg");
	u.clear();
	u.fill('f', 100000);
	assert_int_equal(u.resid(), 100000);
}

void suio_copyu_copies_even_itself(void **)
{
	str big = pattern(1000, 1);
	suio u, v;

	u.copy("ab", 2);
	suio_print(&u, big);
	v.copyu(&u);
	u.copyu(&u);
	assert_true(str(v) == strbuf() << "ab" << big);
	assert_true(str(u) == strbuf() << "ab" << big << "ab" << big);
	assert_int_equal(big.b->count, 2);
}

/* More pieces than the array has room for: it moves while they are read. */
void suio_copyv_copies_its_own_pieces(void **)
{
	enum { PIECES = 1 << 16 };
	suio u;

	for (int i = 0; i < PIECES; i++) {
		u.breakiov();
		u.copy("ab", 2);
	}
	u.breakiov();
	u.copyv(u.iov(), u.iovcnt(), 1);
	assert_int_equal(u.resid(), 4 * PIECES - 1);
	u.rembytes(2 * PIECES);
	str s(u);
	for (size_t i = 0; i < s.len(); i++)
		assert_int_equal(s[i], i % 2 == 0 ? 'b' : 'a');
}

void suio_copyout_keeps_the_bytes(void **)
{
	char out[20] = "";
	suio u;

	u.copy("abc", 3);
	u.breakiov();
	u.copy("def", 3);
	assert_int_equal(u.copyout(out, 4), 4);
	assert_memory_equal(out, "abcd\0", 5);
	assert_int_equal(u.copyout(out), 6);
	assert_memory_equal(out, "abcdef", 6);
	assert_int_equal(u.copyout(out, 20), 6);
	assert_int_equal(u.copyout(out, 0), 0);
	check(u, "abcdef");
	char *flat = suio_flatten(&u);
	assert_string_equal(flat, "abcdef");
	free(flat);
}

void suio_take_moves_all(void **)
{
	str big = pattern(3000, 2);
	suio u, v;

	u.copy("u", 1);
	v.copy("small", 5);
	suio_print(&v, big);
	v.copy("more", 4);
	v.iovcb(wrap(note, 'c'));
	for (int i = 0; i < 1000; i++)
		v.copy("0123456789", 10);
	v.rembytes(2);
	u.take(&v);
	check(v, "");
	v.copy("reused", 6);
	u.copy("end", 3);
	assert_int_equal(u.resid(), 1 + 3 + 3000 + 4 + 10000 + 3);
	assert_string_equal(trace, "");
	u.rembytes(1 + 3 + 2999);
	assert_int_equal(big.b->count, 2);
	u.rembytes(1);
	assert_int_equal(big.b->count, 1);
	u.rembytes(3);
	assert_string_equal(trace, "");
	u.rembytes(1);
	assert_string_equal(trace, "c");
	u.rembytes(10000);
	check(u, "end");
	check(v, "reused");
	u.take(&u);
	check(u, "end");
}

void suio_counts_bytes(void **)
{
	suio u;

	assert_int_equal(u.byteno(), 0);
	u.copy("12345", 5);
	u.rembytes(2);
	assert_int_equal(u.byteno(), 5);
	u.clear();
	assert_int_equal(u.byteno(), 5);
}

void suio_removing_too_much_aborts(void **)
{
	ended e = run_in_child([] {
		suio u;
		u.copy("abc", 3);
		u.rembytes(4);
	});

	assert_true(e.is_aborted() && e.says("suio::rembytes"));
}

void suio_of_huge_lengths_aborts(void **)
{
	ended e = run_in_child([] {
		suio u;
		u.fill('x', SSIZE_MAX);
	});
	assert_true(e.is_aborted() && e.says("out of memory for a suio"));
	e = run_in_child([] {
		suio u;
		(void)u.getspace((size_t)-1);
	});
	assert_true(e.says("out of memory for a suio"));
	e = run_in_child([] {
		strbuf sb;
		sb << hexdump("x", (size_t)-1);
	});
	assert_true(e.says("more bytes than memory"));
	e = run_in_child([] {
		suio u;
		u.allocator = [](size_t) -> void * { return NULL; };
		u.fill('x', 1000);
	});
	assert_true(e.says("out of memory for a suio"));
}

void suio_lines(void **)
{
	suio u;

	assert_int_equal(u.linelen(), 0);
	assert_true(suio_getline(&u) == NULL);
	u.copy("one\ntwo", 7);
	u.breakiov();
	u.copy("2\r\n\nrest", 8);
	assert_int_equal(u.linelen(), 4);
	assert_true(suio_getline(&u) == "one");
	assert_true(suio_getline(&u) == "two2\r");
	assert_true(suio_getline(&u) == "");
	assert_true(suio_getline(&u) == NULL);
	check(u, "rest");
}

void suio_formats(void **)
{
	suio u;

	suio_uprintf(&u, "%s %d", "x", 5);
	suio_uprintf(&u, "%s", "");
	suio_print(&u, "!", 1);
	suio_print(&u, str());
	suio_copy(&u, "c", 1);
	suio_printcheck(&u, "p", 1);
	check(u, "x 5!cp");
}

void suio_equals_a_model(void **)
{
	unsigned seed = 99;
	str model = "";
	suio u;

	for (int i = 0; i < 5000; i++) {
		seed = seed * 1103515245 + 12345;
		unsigned what = seed >> 16 & 7, n = seed >> 20 & 511;
		str piece = pattern(n, seed);

		if (what == 0) {
			u.copy(piece.cstr(), piece.len());
		} else if (what == 1) {
			suio_print(&u, piece);
		} else if (what == 2) {
			suio v;
			v.copy(piece.cstr(), n / 3);
			suio_print(&v, substr(piece, n / 3));
			u.take(&v);
		} else if (what == 3) {
			char *p = u.getspace(n);
			memcpy(p, piece.cstr(), n);
			u.print(p, n);
		} else {
			n = n < model.len() ? n : unsigned(model.len());
			u.rembytes(n);
			model = substr(model, n);
			n = 0;
		}
		if (what < 4)
			model = model << piece;
		assert_int_equal(u.resid(), model.len());
		if (i % 16 == 0)
			assert_true(str(u) == model);
	}
}

/* ---------------------------------------------------------------- what waits for bytes to leave */

void suio_iovcb_at_once_if_empty(void **)
{
	suio u;

	u.iovcb(wrap(note, 'a'));
	assert_string_equal(trace, "a");
	u.copy("x", 1);
	u.rembytes(1);
	u.iovcb(wrap(note, 'b'));
	assert_string_equal(trace, "ab");
}

void suio_iovcb_in_order_when_bytes_are_gone(void **)
{
	suio u;

	u.copy("abc", 3);
	u.iovcb(wrap(note, '1'));
	suio_callback(&u, wrap(note, '2'));
	u.copy("def", 3);
	u.iovcb(wrap(note, '3'));
	u.rembytes(2);
	assert_string_equal(trace, "");
	u.rembytes(1);
	assert_string_equal(trace, "12");
	u.copy("ghi", 3);
	u.rembytes(5);
	assert_string_equal(trace, "123");
}

void suio_iovcb_runs_when_the_suio_goes(void **)
{
	{
		suio u;

		u.copy("abc", 3);
		u.iovcb(wrap(note, '1'));
	}
	assert_string_equal(trace, "1");
}

void note_color()
{
	note(libasync::is_own_color(5) ? 'Y' : 'N');
}

void suio_iovcb_runs_in_its_color(void **)
{
	suio u;

	u.copy("abc", 3);
	u.iovcb(cwrap(note_color, color(5)));
	u.rembytes(3);
	assert_string_equal(trace, "");
	assert_int_equal(event_base_dispatch(libasync::base()), 1);
	assert_string_equal(trace, "Y");
}

void suio_callback_may_use_the_suio(void **)
{
	suio u;

	u.copy("a", 1);
	u.iovcb(wrap(add_and_remove, &u));
	u.copy("b", 1);
	u.iovcb(wrap(note, '2'));
	u.copy("c", 1);
	u.iovcb(wrap(note, '3'));
	u.rembytes(1);
	assert_string_equal(trace, "R23");
}

void suio_callback_may_destroy_the_suio(void **)
{
	deleted_by_callback = new suio;
	deleted_by_callback->copy("ab", 2);
	deleted_by_callback->iovcb(wrap(delete_it));
	deleted_by_callback->copy("c", 1);
	deleted_by_callback->iovcb(wrap(note, '2'));
	deleted_by_callback->rembytes(2);
	assert_string_equal(trace, "D2");

	int fds[2];
	assert_int_equal(pipe(fds), 0);
	deleted_by_callback = new suio;
	deleted_by_callback->copy("ab", 2);
	deleted_by_callback->iovcb(wrap(delete_it));
	assert_int_equal(deleted_by_callback->output(fds[1]), 1);
	close(fds[0]);
	close(fds[1]);

	deleted_by_callback = new suio;
	deleted_by_callback->iovcb(wrap(delete_it));
	assert_string_equal(trace, "D2DD");
}

/* A connection that its own output keeps. Its memory stays, full of ones: a suio used after its end is seen. */
struct kept_by_output : public virtual refcount {
	suio out;

	static void *operator new(size_t) { return memory; }
	static void operator delete(void *, size_t n) { memset(memory, 0xff, n); }
	~kept_by_output() override { note('G'); }
	void sent() { note('S'); }

	alignas(max_align_t) static char memory[1000];
};
alignas(max_align_t) char kept_by_output::memory[1000];
static_assert(sizeof(refcounted<kept_by_output>) <= sizeof(kept_by_output::memory), "it fits");

suio *fill_kept(bool is_callback)
{
	ref<kept_by_output> c = new refcounted<kept_by_output>;

	c->out.copy("abc", 3);
	if (is_callback)
		c->out.iovcb(wrap(c, &kept_by_output::sent));
	else
		c->out.hold_onto(ptr<void>(c));
	return &c->out;
}

void suio_may_go_with_what_it_holds(void **)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	fill_kept(false)->rembytes(3);
	assert_string_equal(trace, "G");
	fill_kept(true)->rembytes(3);
	assert_string_equal(trace, "GSG");
	assert_int_equal(fill_kept(false)->output(fds[1]), 1);
	assert_string_equal(trace, "GSGG");
	assert_int_equal(fill_kept(true)->output(fds[1]), 1);
	assert_string_equal(trace, "GSGGSG");
	close(fds[0]);
	close(fds[1]);
}

void suio_holds_objects_until_their_bytes_left(void **)
{
	suio u;
	char text[300] = "";

	{
		ptr<counted_object> o = New refcounted<counted_object>;

		u.hold_onto(o);
		assert_string_equal(trace, "");
	}
	assert_string_equal(trace, "O");
	{
		ptr<counted_object> o = New refcounted<counted_object>;

		u.print(text, 300);
		u.hold_onto(o);
	}
	u.rembytes(299);
	assert_string_equal(trace, "O");
	u.rembytes(1);
	assert_string_equal(trace, "OO");
}

size_t allocated, freed;

void *counting_alloc(size_t n)
{
	allocated++;
	return malloc(n);
}

void counting_free(void *p)
{
	freed++;
	free(p);
}

void suio_frees_chunks_as_bytes_leave(void **)
{
	allocated = freed = 0;
	{
		suio u;

		u.allocator = counting_alloc;
		u.deallocator = counting_free;
		for (int i = 0; i < 10000; i++) {
			u.fill('x', 1000);
			if (i > 20)
				u.rembytes(1000);
		}
		assert_true(allocated > 500);
		assert_true(allocated - freed < 10);
	}
	assert_int_equal(allocated, freed);
}

/* ---------------------------------------------------------------- descriptors */

void suio_input_and_output(void **)
{
	int fds[2];
	suio in, out;
	str big = pattern(20000, 3);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(in.input(fds[0]), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(out.output(fds[1]), 0);

	out.copy("head", 4);
	suio_print(&out, big);
	assert_int_equal(out.output(fds[1]), 1);
	assert_int_equal(out.resid(), 0);
	assert_int_equal(big.b->count, 1);
	assert_int_equal(in.input(fds[0], 3), 3);
	check(in, "hea");
	assert_int_equal(in.input(fds[0]), 8192);
	assert_int_equal(in.input(fds[0], 100000), 4 + 20000 - 3 - 8192);
	assert_true(str(in) == strbuf() << "head" << big);

	close(fds[1]);
	assert_int_equal(in.input(fds[0]), 0);
	assert_int_equal(in.resid(), 20004);
	close(fds[0]);
	assert_int_equal(in.input(fds[0]), -1);
	assert_int_equal(errno, EBADF);
}

void suio_output_stops_when_the_descriptor_is_full(void **)
{
	int fds[2];
	suio out, in;
	size_t total = 3000000;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	out.fill('f', ssize_t(total));
	assert_int_equal(out.output(fds[1]), 1);
	assert_true(out.resid() > 0 && out.resid() < total);
	assert_int_equal(out.output(fds[1]), 0);
	while (out.resid() > 0) {
		while (in.input(fds[0], 65536) > 0)
			;
		assert_int_equal(out.output(fds[1]), 1);
	}
	while (in.input(fds[0], 65536) > 0)
		;
	assert_int_equal(in.resid(), total);
	close(fds[0]);
	out.copy("x", 1);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(out.output(fds[1]), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(out.resid(), 1);
	close(fds[1]);
}

void suio_output_of_some_pieces(void **)
{
	int fds[2];
	suio u;

	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 5; i++) {
		u.breakiov();
		u.copy("ab", 2);
	}
	assert_int_equal(u.output(fds[1], 2), 1);
	assert_int_equal(u.resid(), 6);
	assert_int_equal(u.output(fds[1], 0), 0);
	assert_int_equal(u.resid(), 6);
	assert_int_equal(u.output(fds[1], 100), 1);
	assert_int_equal(u.resid(), 0);
	close(fds[0]);
	close(fds[1]);
}

void suio_output_of_more_pieces_than_the_kernel_takes(void **)
{
	int fds[2];
	suio u, in;

	assert_int_equal(pipe(fds), 0);
	for (int i = 0; i < 5000; i++) {
		u.breakiov();
		u.copy("abc", 3);
	}
	assert_true(u.iovcnt() >= 5000);
	assert_int_equal(u.output(fds[1]), 1);
	assert_int_equal(u.resid(), 0);
	close(fds[1]);
	while (in.input(fds[0]) > 0)
		;
	assert_int_equal(in.resid(), 15000);
	close(fds[0]);
}

/* ---------------------------------------------------------------- iovmgr */

void suio_iovmgr_walks(void **)
{
	char a[] = "abc", b[] = "", c[] = "defg";
	iovec v[] = { { a, 3 }, { b, 0 }, { c, 4 } };
	iovmgr m(v, 3), none(v, 0);
	char out[10] = "";

	assert_int_equal(m.size(), 7);
	assert_int_equal(m.copyout(out, 2), 2);
	assert_memory_equal(out, "ab\0", 3);
	(m.skip)(2); /* a macro of CMocka has this name */
	assert_int_equal(m.size(), 3);
	assert_int_equal(m.copyout(out, 10), 3);
	assert_memory_equal(out, "efg", 3);
	assert_int_equal(m.size(), 0);
	(m.skip)(5); /* a macro of CMocka has this name */
	assert_int_equal(m.copyout(out, 1), 0);
	assert_int_equal(none.size(), 0);
	assert_int_equal(none.copyout(out, 1), 0);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suio_copies_and_joins_pieces),
		cmocka_unit_test(suio_print_refers_to_more_than_128_bytes),
		cmocka_unit_test(suio_pieces_that_touch_in_memory_stay_apart),
		cmocka_unit_test(suio_getspace_then_print),
		cmocka_unit_test(suio_fill_and_copyv),
		cmocka_unit_test(suio_copyu_copies_even_itself),
		cmocka_unit_test(suio_copyv_copies_its_own_pieces),
		cmocka_unit_test(suio_copyout_keeps_the_bytes),
		cmocka_unit_test_setup(suio_take_moves_all, clear_trace),
		cmocka_unit_test(suio_counts_bytes),
		cmocka_unit_test(suio_removing_too_much_aborts),
		cmocka_unit_test(suio_of_huge_lengths_aborts),
		cmocka_unit_test(suio_lines),
		cmocka_unit_test(suio_formats),
		cmocka_unit_test(suio_equals_a_model),
		cmocka_unit_test_setup(suio_iovcb_at_once_if_empty, clear_trace),
		cmocka_unit_test_setup(suio_iovcb_in_order_when_bytes_are_gone, clear_trace),
		cmocka_unit_test_setup(suio_iovcb_runs_when_the_suio_goes, clear_trace),
		cmocka_unit_test_setup(suio_callback_may_use_the_suio, clear_trace),
		cmocka_unit_test_setup(suio_callback_may_destroy_the_suio, clear_trace),
		cmocka_unit_test_setup(suio_may_go_with_what_it_holds, clear_trace),
		cmocka_unit_test_setup(suio_holds_objects_until_their_bytes_left, clear_trace),
		cmocka_unit_test(suio_frees_chunks_as_bytes_leave),
		cmocka_unit_test(suio_input_and_output),
		cmocka_unit_test(suio_output_stops_when_the_descriptor_is_full),
		cmocka_unit_test(suio_output_of_some_pieces),
		cmocka_unit_test(suio_output_of_more_pieces_than_the_kernel_takes),
		cmocka_unit_test(suio_iovmgr_walks),
		cmocka_unit_test_setup(suio_iovcb_runs_in_its_color, clear_trace),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
