/*
 * strbuf: what can be appended, what is copied, and the helpers substr, join and hexdump.
 */
#include "rxx.h"
#include "str.h"

#include <errno.h>
#include <stdio.h>

#include "test.h"

namespace
{

enum color_of_a_bike { RED = 3, BLUE = -4 };

struct point {
	int x, y;
};

const strbuf &strbuf_cat(const strbuf &sb, const point &p)
{
	return sb << "(" << p.x << "," << p.y << ")";
}

const strbuf &strbuf_cat(const strbuf &sb, const point &p, const char *unit)
{
	return strbuf_cat(sb, p) << unit;
}

void strbuf_prints_integers_in_decimal(void **)
{
	str s = strbuf() << 1 << " " << -2 << " " << 3u << " " << -4L << " " << 5UL << " " << -6LL << " " << 7ULL;

	assert_true(s == "1 -2 3 -4 5 -6 7");
	s = strbuf() << INT64_MIN << " " << INT64_MAX << " " << UINT64_MAX << " " << INT32_MIN;
	assert_true(s == "-9223372036854775808 9223372036854775807 18446744073709551615 -2147483648");
	s = strbuf() << (short)-8 << (unsigned short)65535 << (signed char)-9 << (unsigned char)200 << 0;
	assert_true(s == "-865535-92000");
	s = strbuf() << true << false << RED << BLUE << 'c';
	assert_true(s == "103-4c");
	s = strbuf() << (size_t)1 << (ssize_t)-1 << (u_int64_t)2 << (u_int16_t)3;
	assert_true(s == "1-123");
}

void strbuf_prints_floating_point(void **)
{
	str s = strbuf() << 0.5 << " " << 3.0 << " " << 1.25f << " " << 1e100;

	assert_true(s == "0.5 3 1.25 1e+100");
}

void strbuf_takes_strings_of_all_kinds(void **)
{
	char array[] = "array";
	char *pointer = array;
	mstr m(2);
	str null;

	memcpy(m.cstr(), "ms", 2);
	str s = strbuf() << "literal " << array << " " << pointer << " " << str("str") << " " << m << null << "";
	assert_true(s == "literal array array str ms");
	s = strbuf() << (const char *)NULL;
	assert_true(s == "(null)");
	s = strbuf() << str("a\0b", 3) << str("\0", 1);
	assert_true(s == str("a\0b\0", 4));
}

void strbuf_takes_types_of_the_program(void **)
{
	point p = { 1, -2 };
	str s = strbuf() << p << cat(p) << cat(p, "mm") << "!";

	assert_true(s == "(1,-2)(1,-2)(1,-2)mm!");
	strbuf sb;
	sb.cat(p).cat(p, "cm").cat("x").cat("y", false);
	assert_true(str(sb) == "(1,-2)(1,-2)cmxy");
}

void strbuf_prints_pointers(void **)
{
	int i;
	char expected[40];

	snprintf(expected, sizeof(expected), "%p", (void *)&i);
	str s = strbuf() << &i;
	assert_true(s == expected);
}

void strbuf_copies_share_one_suio(void **)
{
	strbuf a("one");
	strbuf b(a);

	b << " two";
	assert_true(str(a) == "one two");
	assert_ptr_equal(a.tosuio(), b.tosuio());
	assert_int_equal(a.len(), 7);
	assert_true(str(a.iov(), int(a.iovcnt())) == "one two");
	strbuf c(a.uio);
	c << "!";
	assert_true(str(b) == "one two!");
	a.clear();
	assert_int_equal(c.len(), 0);
	assert_true(str(c) == "");
}

void strbuf_holds_long_strings_without_a_copy(void **)
{
	mstr m(1000);
	memset(m.cstr(), 'x', 1000);
	str s(m);
	strbuf sb;

	sb << "a" << s << "b";
	assert_int_equal(s.b->count, 2);
	assert_int_equal(sb.iovcnt(), 3);
	assert_ptr_equal(sb.iov()[1].iov_base, s.cstr());
	const char *where = s.cstr();
	s = NULL;
	assert_ptr_equal(sb.iov()[1].iov_base, where);
	str t = sb;
	assert_int_equal(t.len(), 1002);
	assert_true(t[0] == 'a' && t[1] == 'x' && t[1000] == 'x' && t[1001] == 'b');
}

void strbuf_copies_char_pointers_unless_told(void **)
{
	char text[300];
	strbuf sb, same;

	memset(text, 'a', 299);
	text[299] = '\0';
	sb << text;
	same.cat(text, false);
	text[0] = 'b';
	assert_int_equal(str(sb)[0], 'a');
	assert_int_equal(str(same)[0], 'b');
	sb.clear();
	sb << cat(text, false);
	text[0] = 'c';
	assert_int_equal(str(sb)[0], 'c');
}

void strbuf_formats(void **)
{
	strbuf sb("%d-%s", 5, "five");
	char wide[400];

	sb.fmt(" %05.1f", 2.25).fmt("%%");
	assert_true(str(sb) == "5-five 002.2%");
	memset(wide, 'w', 399);
	wide[399] = '\0';
	for (int i = 0; i < 50; i++)
		sb.fmt("%s", wide);
	assert_int_equal(sb.len(), 13 + 50 * 399);
	str s(sb);
	assert_int_equal(s[13], 'w');
	assert_int_equal(s[ptrdiff_t(s.len() - 1)], 'w');
	errno = ENOENT;
	str m = strbuf("%m");
	assert_string_equal(m.cstr(), strerror(ENOENT));
}

void strbuf_appends_bytes(void **)
{
	strbuf sb;

	sb.buf("a\0b", 3).buf("", 0);
	sb.copy("cd", 1);
	assert_true(str(sb) == str("a\0bc", 4));
}

void strbuf_takes_another(void **)
{
	strbuf a("head "), b("body");
	str big = strbuf() << str(strbuf("%0300d", 1));

	b << big;
	a.take(b);
	assert_int_equal(b.len(), 0);
	assert_int_equal(a.len(), 9 + 300);
	a << " tail";
	b << "again";
	assert_true(str(b) == "again");
	assert_true(str(a) == strbuf() << "head body" << big << " tail");
	a << b << a;
	assert_int_equal(a.len(), 2 * (14 + 300 + 5));
}

void strbuf_begins_with_a_str(void **)
{
	str a("a"), b("b");
	str c = a << b;
	str d = a << "x" << b << 7;

	assert_true(c == "ab");
	assert_true(d == "axb7");
	assert_true(a == "a");
	str e = strbuf(a) << "%d";
	assert_true(e == "a%d");
}

void strbuf_is_as_long_as_memory_allows(void **)
{
	strbuf sb;

	for (int i = 0; i < 100000; i++)
		sb << i << "\n";
	str s = sb;
	assert_int_equal(s.len(), 588890);
	assert_memory_equal(s.cstr(), "0\n1\n2\n", 6);
	assert_memory_equal(s.cstr() + s.len() - 6, "99999\n", 6);
}

void strbuf_hold_onto_keeps_a_string(void **)
{
	mstr m(200);
	memset(m.cstr(), 'h', 200);
	str s(m);
	strbuf sb;

	sb.tosuio()->print(s.cstr(), s.len());
	sb.hold_onto(s);
	assert_int_equal(s.b->count, 2);
	sb.clear();
	assert_int_equal(s.b->count, 1);
}

/* ---------------------------------------------------------------- substr / join / hexdump */

void substr_join_hexdump_substr(void **)
{
	str s("abcdef"), null;

	assert_true(substr(s, 0) == s);
	assert_true(substr(s, 2) == "cdef");
	assert_true(substr(s, 2, 2) == "cd");
	assert_true(substr(s, 2, 100) == "cdef");
	assert_true(substr(s, 5, (size_t)-1) == "f");
	assert_true(substr(s, 6) == "");
	assert_true(substr(s, 7, 1) == "");
	assert_true(substr(s, 3, 0) == "");
	assert_true(substr(null, 0) == NULL);
	assert_true(substr(str("a\0bc", 4), 1, 2) == str("\0b", 2));
}

void substr_join_hexdump_join(void **)
{
	vec<str> v;
	vec<int> n;

	assert_true(join(",", v) == "");
	v.push_back("a");
	assert_true(join(",", v) == "a");
	v.push_back("");
	v.push_back("c");
	assert_true(join(", ", v) == "a, , c");
	assert_true(join("", v) == "ac");
	n.push_back(1);
	n.push_back(-2);
	assert_true(join(" ", n) == "1 -2");
}

void substr_join_hexdump_hexdump(void **)
{
	str s = strbuf() << "<" << hexdump("\x00\x7f\xff\xa0", 4) << ">" << hexdump("", 0);

	assert_true(s == "<007fffa0>");
	mstr m(5000);
	memset(m.cstr(), 0x5a, 5000);
	s = strbuf() << hexdump(m.cstr(), 5000);
	assert_int_equal(s.len(), 10000);
	assert_true(s[0] == '5' && s[1] == 'a' && s[9998] == '5' && s[9999] == 'a');
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strbuf_prints_integers_in_decimal),
		cmocka_unit_test(strbuf_prints_floating_point),
		cmocka_unit_test(strbuf_takes_strings_of_all_kinds),
		cmocka_unit_test(strbuf_takes_types_of_the_program),
		cmocka_unit_test(strbuf_prints_pointers),
		cmocka_unit_test(strbuf_copies_share_one_suio),
		cmocka_unit_test(strbuf_holds_long_strings_without_a_copy),
		cmocka_unit_test(strbuf_copies_char_pointers_unless_told),
		cmocka_unit_test(strbuf_formats),
		cmocka_unit_test(strbuf_appends_bytes),
		cmocka_unit_test(strbuf_takes_another),
		cmocka_unit_test(strbuf_begins_with_a_str),
		cmocka_unit_test(strbuf_is_as_long_as_memory_allows),
		cmocka_unit_test(strbuf_hold_onto_keeps_a_string),
		cmocka_unit_test(substr_join_hexdump_substr),
		cmocka_unit_test(substr_join_hexdump_join),
		cmocka_unit_test(substr_join_hexdump_hexdump),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
