/*
 * cbuf: a ring of bytes.
 */
#include "cbuf.h"

#include <stdint.h>
#include <string.h>

#include "test.h"
#include "dies.h"

namespace
{

void cbuf_is_a_ring(void **)
{
	char out[8] = "";
	cbuf c(8);

	assert_true(c.size() == 8 && c.bytes() == 0 && c.space() == 8);
	assert_int_equal(c.find('x'), -1);
	c.copyin("abcdef", 6);
	assert_true(c.bytes() == 6 && c.space() == 2);
	c.rembytes(4);
	c.copyin("ghijkl", 6);
	assert_int_equal(c.space(), 0);
	c.copyout(out, 8);
	assert_memory_equal(out, "efghijkl", 8);
	assert_int_equal(c.bytes(), 8);
	assert_int_equal(c[0], 'e');
	assert_int_equal(c[7], 'l');
	assert_int_equal(c.at(4), 'i');
	assert_int_equal(c.find('e'), 0);
	assert_int_equal(c.find('l'), 7);
	assert_int_equal(c.find('a'), -1);
	c[1] = 'F';
	assert_int_equal(c.find('F'), 1);
	c.clear();
	assert_int_equal(c.bytes(), 0);
}

void cbuf_gives_pieces(void **)
{
	cbuf c(8);

	assert_int_equal(c.outiovcnt(), 0);
	assert_int_equal(c.iniovcnt(), 1);
	memcpy(c.iniov()[0].iov_base, "abcdef", 6);
	c.addbytes(6);
	c.rembytes(5);
	assert_int_equal(c.iniovcnt(), 2);
	const iovec *v = c.iniov();
	assert_true(v[0].iov_len == 2 && v[1].iov_len == 5);
	memcpy(v[0].iov_base, "gh", 2);
	memcpy(v[1].iov_base, "ij", 2);
	c.addbytes(4);
	assert_int_equal(c.outiovcnt(), 2);
	v = c.outiov();
	assert_true(v[0].iov_len == 3 && v[1].iov_len == 2);
	assert_memory_equal(v[0].iov_base, "fgh", 3);
	assert_memory_equal(v[1].iov_base, "ij", 2);
}

void cbuf_resize_keeps_the_bytes(void **)
{
	char out[5] = "";
	cbuf c(4);

	c.copyin("abcd", 4);
	c.rembytes(2);
	c.copyin("ef", 2);
	c.resize(10);
	assert_true(c.size() == 10 && c.bytes() == 4);
	c.copyout(out, 4);
	assert_string_equal(out, "cdef");
	c.resize(4);
	assert_int_equal(c.space(), 0);
	assert_int_equal(c[3], 'f');
	assert_true(run_in_child([&] { c.resize(3); }).is_aborted());
}

void cbuf_misuse_aborts(void **)
{
	cbuf c(4);
	char out[8];

	c.copyin("ab", 2);
	assert_true(run_in_child([&] { c.rembytes(3); }).says("cbuf::rembytes"));
	assert_true(run_in_child([&] { c.addbytes(3); }).says("cbuf::addbytes"));
	assert_true(run_in_child([&] { c.copyin("abc", 3); }).says("cbuf::copyin"));
	assert_true(run_in_child([&] { c.copyout(out, 3); }).says("cbuf::copyout"));
	assert_true(run_in_child([&] { (void)c[2]; }).says("out of range"));
	assert_true(run_in_child([&] { (void)c[-1]; }).says("out of range"));
	assert_true(run_in_child([&] { (void)c.at(4); }).says("cbuf::at"));
	assert_true(run_in_child([] { cbuf huge((size_t)-1); }).says("out of memory"));
}

void cbuf_of_no_size(void **)
{
	cbuf c(0);

	assert_true(c.space() == 0 && c.bytes() == 0 && c.find('x') == -1);
	assert_true(c.iniovcnt() == 0 && c.outiovcnt() == 0);
	c.copyin("", 0);
	c.rembytes(0);
	c.resize(2);
	c.copyin("ab", 2);
	assert_int_equal(c[1], 'b');
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cbuf_is_a_ring),
		cmocka_unit_test(cbuf_gives_pieces),
		cmocka_unit_test(cbuf_resize_keeps_the_bytes),
		cmocka_unit_test(cbuf_misuse_aborts),
		cmocka_unit_test(cbuf_of_no_size),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
