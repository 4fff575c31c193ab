/*
 * rxx: Perl's patterns, results of each thread, split and join.
 */
#include "rxx.h"

#include <stdio.h>

#include <string>
#include <thread>
#include <vector>

#include "test.h"
#include "dies.h"

namespace
{

rxx shared_pattern("(\\d+)-(\\w+)");

void check_pieces(const vec<str> &v, std::vector<const char *> expected)
{
	assert_int_equal(v.size(), expected.size());
	for (size_t i = 0; i < expected.size(); i++)
		assert_string_equal(v[ptrdiff_t(i)].cstr(), expected[i]);
}

void rxx_search_finds_and_match_takes_the_whole(void **)
{
	rxx r("b+");

	assert_true(bool(r.search("abbc")));
	assert_true(r.success());
	assert_int_equal(r.errcode(), 0);
	assert_true(r[0] == "bb");
	assert_int_equal(r.start(0), 1);
	assert_int_equal(r.end(0), 3);
	assert_int_equal(r.len(0), 2);
	assert_false(bool(r.match("abbc")));
	assert_false(r.success());
	assert_int_equal(r.errcode(), PCRE_ERROR_NOMATCH);
	assert_true(bool(r.match("bbb")));
	assert_true(bool(rxx("a|ab").match("ab")));
	assert_false(bool(r.search("ac")));
	assert_true(r.exec("xb", 0) && r[0] == "b");
}

void rxx_groups(void **)
{
	rxx r("^(\\w+)(?::(\\d+))?(?:/(.*))?$");

	assert_true(bool(r.search("host:80")));
	assert_true(r[1] == "host" && r.at(2) == "80");
	assert_true(r[3] == NULL && r[4] == NULL && r[-1] == NULL);
	assert_true(r.start(3) == -1 && r.end(3) == -1 && r.len(3) == -1);
	assert_true(bool(r.search("host/")));
	assert_true(r[2] == NULL && r.start(2) == -1);
	assert_true(r[3] != NULL && r[3] == "");
	assert_false(bool(r.search("")));
	assert_true(r[0] == NULL && r.start(0) == -1 && r.len(0) == -1);
}

void rxx_results_before_the_first_search(void **)
{
	rxx r("x"), none;

	assert_false(r.success());
	assert_int_equal(r.errcode(), PCRE_ERROR_NOMATCH);
	assert_true(r[0] == NULL);
	assert_false(bool(none.search("x")));
	assert_int_equal(none.errcode(), PCRE_ERROR_NOMATCH);
	assert_false(bool(r.search(NULL)));
	assert_int_equal(r.errcode(), PCRE_ERROR_NULL);
	assert_null(r.extra);
}

void rxx_matchresult_converts(void **)
{
	rxx r("name=(\\w+)"), plain("\\w+");
	str s = r.search("name=value");
	str t = str("  word ") / plain;
	str none = str("?") / plain;
	bool found = str("name=x") / r;

	assert_true(s == "value");
	assert_true(t == "word");
	assert_true(none == NULL);
	assert_true(found);
	assert_true((str("name=y") / r)[1] == "y");
	assert_true(bool(str("zz") / rxx("z")));
	if (str("nope") / r)
		fail();
}

void rxx_pattern_beside_the_string(void **)
{
	str s("Key: Value");
	str v = s / "^key:\\s*(.*)$" / "i";

	assert_true(v == "Value");
	assert_false(bool(s / "^key"));
	assert_true(bool(s / "Key"));
	assert_true((s / "(V)(a)")[2] == "a");
	assert_true((s / "(v)(A)" / "i")[2] == "a");
	ended e = run_in_child([&] { (void)bool(s / "("); });
	assert_true(e.is_aborted() && e.says("rxx /(/"));
}

void rxx_options(void **)
{
	assert_true(bool(rxx("ABC", "i").match("abc")));
	assert_false(bool(rxx("ABC", "").match("abc")));
	assert_true(bool(rxx("^b$", "m").search("a\nb\nc")));
	assert_false(bool(rxx("^b$").search("a\nb\nc")));
	assert_true(bool(rxx("a.b", "s").match("a\nb")));
	assert_false(bool(rxx("a.b").match("a\nb")));
	assert_true(bool(rxx(" a # comment\n b", "x").match("ab")));
	rxx lazy("a+", "U");
	assert_true(bool(lazy.search("aaa")) && lazy.len(0) == 1);
	assert_false(bool(rxx("b", "A").search("ab")));
	assert_true(bool(rxx("b$").search("b\n")));
	assert_false(bool(rxx("b$", "D").search("b\n")));
	rxx plain("(a)(?<n>b)", "n");
	assert_true(bool(plain.match("ab")) && plain[1] == "b");
	assert_true(bool(rxx("^.$", "u").match("\xc3\xa4")));
	assert_false(bool(rxx("^.$").match("\xc3\xa4")));
	assert_true(bool(rxx("a", "gX").match("a")));
	assert_true(bool(rxx("AB", "ix").match("a" "b")));
}

void rxx_options_of_a_search(void **)
{
	rxx r("^a|b*$");

	assert_true(bool(rxx("b").search("ab")));
	assert_false(bool(rxx("b").search("ab", PCRE_ANCHORED)));
	assert_false(bool(rxx("^a").search("a", PCRE_NOTBOL)));
	assert_false(bool(rxx("a$").search("a", PCRE_NOTEOL)));
	assert_false(bool(rxx("b*").search("aa", PCRE_NOTEMPTY)));
}

void rxx_binary_data(void **)
{
	str s("a\0b\xff", 4);
	rxx r("\\x00(.)"), nul(str("\0b", 2));

	assert_true(bool(r.search(s)));
	assert_true(r[1] == "b");
	assert_int_equal(r.start(0), 1);
	assert_true(bool(nul.search(s)));
	assert_true(nul[0] == str("\0b", 2));
	assert_true(bool(rxx("\xff").search(s)));
	rxx utf(".", "u");
	assert_false(bool(utf.search(s)));
	assert_int_equal(utf.errcode(), PCRE_ERROR_BADUTF8);
}

void rxx_search_cstr_does_not_copy(void **)
{
	char text[] = "xx12yy";
	rxx r("\\d+");

	assert_true(bool(r.search_cstr(text, 6)));
	assert_true(r[0] == "12");
	text[2] = '9';
	assert_true(r[0] == "92");
	assert_false(bool(r.search_cstr(text, 2)));
	assert_false(bool(r.search_cstr(NULL, 0)));
}

/* A loop over all matches, as OKWS replaces them. */
std::string marked(rxx &r, const char *p, size_t len)
{
	const char *const end = p + len;
	std::string out;

	while (p < end) {
		if (!r._exec(p, static_cast<size_t>(end - p), 0))
			return "failed";
		if (!r.success())
			break;
		out += std::string(p, static_cast<size_t>(r.start(0))) + "<" + r.at(0).cstr() + ">";
		p += r.end(0) > 0 ? r.end(0) : 1;
	}
	return out + std::string(p, static_cast<size_t>(end - p));
}

void rxx_exec_in_a_loop(void **)
{
	rxx word("[a-z]+"), bad("a", "u"), none;

	assert_string_equal(marked(word, "ab 12 c.", 8).c_str(), "<ab> 12 <c>.");
	assert_string_equal(marked(word, "12", 2).c_str(), "12");
	assert_string_equal(marked(none, "ab", 2).c_str(), "ab");
	assert_string_equal(marked(bad, "\xff", 1).c_str(), "failed");
	assert_false(word._exec(NULL, 0, 0));
	assert_int_equal(word.errcode(), PCRE_ERROR_NULL);
	/* True also where nothing is found: success() says that. */
	assert_true(word._exec("12", 2, 0));
	assert_false(word.success());
	assert_true(word._exec("1a", 2, PCRE_ANCHORED));
	assert_false(word.success());
}

void rxx_results_hold_the_string(void **)
{
	rxx r("b(.*)");
	char text[] = "abc";

	{
		str s(text);
		assert_true(bool(r.search(s)));
	}
	text[2] = 'x';
	assert_true(r[1] == "c");
	r.clear();
	assert_true(r[1] == NULL);
	assert_false(bool(r.search("b")));
}

void rxx_copies_share_the_pattern_only(void **)
{
	rxx a("(x+)"), b(a), c("y");

	assert_true(bool(a.search("xx")));
	assert_false(b.success());
	assert_true(bool(b.search("x")));
	assert_true(a[1] == "xx" && b[1] == "x");
	c = a;
	assert_false(c.success());
	assert_true(bool(c.search("xxx")) && c[1] == "xxx");
	const rxx &self = c;
	c = self;
	assert_true(c.success());
}

void rxx_bad_patterns_abort_with_a_message(void **)
{
	ended e = run_in_child([] { rxx r("a("); });

	assert_true(e.is_aborted() && e.says("rxx /a(/: ") && e.says("at byte 2"));
	e = run_in_child([] { rxx r("a", "q"); });
	assert_true(e.is_aborted() && e.says("no option 'q'"));
	assert_true(run_in_child([] { rxx r((const char *)NULL); }).is_aborted());
}

void rxx_rrxx_reports_bad_patterns(void **)
{
	rrxx r, copy;

	assert_true(r.compile("a+") && r.geterr() == NULL);
	assert_true(bool(r.search("caa")) && r[0] == "aa");
	assert_false(r.compile("[z-a]"));
	assert_true(r.geterr() != NULL);
	assert_false(bool(r.search("a")));
	assert_false(r.compile(str("a"), "?"));
	assert_true(strstr(r.geterr(), "'?'") != NULL);
	assert_true(r.compile(str("b"), "i") && bool(r.match("B")));
	copy = r;
	assert_true(bool(copy.match("b")) && copy.geterr() == NULL);
	assert_true(rrxx("*").geterr() != NULL);
	assert_true(rrxx(str("x")).geterr() == NULL);
	rrxx from_rxx(shared_pattern);
	assert_true(bool(from_rxx.search("1-a")));
	for (const char *bad : { "(?<n", "a{2,1}", "\\", "(?P=x)", "(?z)", "[[:nope:]]" })
		assert_true(rrxx(bad).geterr() != NULL);
}

void rxx_gives_up_where_backtracking_explodes(void **)
{
	rxx r("^(a+)+$");
	str s = strbuf() << str(strbuf("%040d", 0)) << "!";
	mstr m(60);

	memset(m.cstr(), 'a', 59);
	m.cstr()[59] = '!';
	assert_false(bool(r.search(str(m))));
	assert_true(r.errcode() == PCRE_ERROR_MATCHLIMIT || r.errcode() == PCRE_ERROR_NOMATCH);
	assert_false(bool(r.search(s)));
}

void rxx_results_are_of_each_thread(void **)
{
	std::vector<std::thread> threads;
	std::vector<int> faults(8);
	static rxx spare("(\\d+)-(\\w+)");

	libasync::share_counts();
	assert_true(bool(shared_pattern.search("0-main")));
	for (int t = 0; t < 8; t++) {
		threads.emplace_back([t, &faults] {
			for (int i = 0; i < 500; i++) {
				str text = strbuf() << "x " << t * 1000 + i << "-t" << t;
				rxx own(i % 2 ? "(\\d+)-(\\w+)" : "(\\d+)-(t\\d)");
				rxx copy(shared_pattern);

				for (rxx *r : { &shared_pattern, &spare, &own, &copy }) {
					int n;

					if (!r->search(text) || !(*r)[1].to_int32(&n) || n != t * 1000 + i ||
					    (*r)[2] != strbuf("t%d", t))
						faults[size_t(t)]++;
				}
				if (shared_pattern[2] != strbuf("t%d", t) || shared_pattern.search("no"))
					faults[size_t(t)]++;
			}
		});
	}
	for (std::thread &t : threads)
		t.join();
	for (int n : faults)
		assert_int_equal(n, 0);
	assert_true(shared_pattern[1] == "0" && shared_pattern[2] == "main");
	libasync::last_shared_count = 0;
}

void rxx_place_of_results_is_used_again(void **)
{
	for (int i = 0; i < 100; i++) {
		rxx r("(a)");
		int faults = 0;

		assert_true(bool(r.search("a")));
		std::thread([&] {
			if (r.success() || !r.search("ba") || r.start(0) != 1)
				faults++;
			r.clear();
			if (r.success())
				faults++;
		}).join();
		assert_int_equal(faults, 0);
	}
}

void rxx_of_many_patterns(void **)
{
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++) {
			str n = strbuf() << i;
			rxx r(str(strbuf() << "(" << n << ")$")), same(str(strbuf() << "(" << n << ")$"));

			assert_true(bool(r.search(strbuf() << "x" << n)) && r[1] == n);
			assert_false(bool(same.search(strbuf() << n << "x")));
		}
	}
	assert_false(bool(rxx("(5)$").search("5\nx")));
	assert_true(bool(rxx("(5)$", "m").search("5\nx")));
}

/* ---------------------------------------------------------------- split */

void rxx_split(void **)
{
	static rxx comma(",");
	vec<str> v;

	assert_int_equal(split(&v, comma, "a,b,c"), 3);
	check_pieces(v, { "a", "b", "c" });
	assert_int_equal(split(&v, ",", "a,,c,"), 3);
	check_pieces(v, { "a", "", "c" });
	assert_int_equal(split(&v, comma, "a,b,", (size_t)-1, true), 3);
	check_pieces(v, { "a", "b", "" });
	split(&v, comma, ",a");
	check_pieces(v, { "", "a" });
	split(&v, rxx("\\s*;\\s*"), "x ; y;z");
	check_pieces(v, { "x", "y", "z" });
	split(&v, comma, "none");
	check_pieces(v, { "none" });
	split(&v, comma, "");
	check_pieces(v, {});
	split(&v, comma, "", (size_t)-1, true);
	check_pieces(v, { "" });
	assert_int_equal(split(&v, comma, NULL), 0);
	assert_int_equal(split(NULL, comma, "a,b"), 2);
}

void rxx_split_up_to_a_limit(void **)
{
	vec<str> v;

	split(&v, ",", "a,b,c", 2);
	check_pieces(v, { "a", "b,c" });
	split(&v, ",", "a,b,c", 1);
	check_pieces(v, { "a,b,c" });
	split(&v, ",", "a,b,c", 0);
	check_pieces(v, {});
	split(&v, ",", "a,b,c", 3);
	check_pieces(v, { "a", "b", "c" });
	split(&v, ",", "a,", 2);
	check_pieces(v, { "a" });
}

void rxx_split_sees_what_is_around_a_match(void **)
{
	vec<str> v;

	split(&v, rxx(""), "abc");
	check_pieces(v, { "a", "b", "c" });
	split(&v, rxx("x*"), "axxb");
	check_pieces(v, { "a", "b" });
	split(&v, rxx("(?<=,)"), "a,b,c");
	check_pieces(v, { "a,", "b,", "c" });
	split(&v, rxx("^", "m"), "a\nb\nc");
	check_pieces(v, { "a\n", "b\n", "c" });
	split(&v, rxx("^a"), "aaa");
	check_pieces(v, { "", "aa" });
	split(&v, rxx("", "u"), "\xc3\xa4\xc3\xb6");
	check_pieces(v, { "\xc3\xa4", "\xc3\xb6" });
	split(&v, rxx("\\0"), str("a\0b", 3));
	check_pieces(v, { "a", "b" });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rxx_search_finds_and_match_takes_the_whole),
		cmocka_unit_test(rxx_groups),
		cmocka_unit_test(rxx_results_before_the_first_search),
		cmocka_unit_test(rxx_matchresult_converts),
		cmocka_unit_test(rxx_pattern_beside_the_string),
		cmocka_unit_test(rxx_options),
		cmocka_unit_test(rxx_options_of_a_search),
		cmocka_unit_test(rxx_binary_data),
		cmocka_unit_test(rxx_search_cstr_does_not_copy),
		cmocka_unit_test(rxx_exec_in_a_loop),
		cmocka_unit_test(rxx_results_hold_the_string),
		cmocka_unit_test(rxx_copies_share_the_pattern_only),
		cmocka_unit_test(rxx_bad_patterns_abort_with_a_message),
		cmocka_unit_test(rxx_rrxx_reports_bad_patterns),
		cmocka_unit_test(rxx_gives_up_where_backtracking_explodes),
		cmocka_unit_test(rxx_results_are_of_each_thread),
		cmocka_unit_test(rxx_place_of_results_is_used_again),
		cmocka_unit_test(rxx_of_many_patterns),
		cmocka_unit_test(rxx_split),
		cmocka_unit_test(rxx_split_up_to_a_limit),
		cmocka_unit_test(rxx_split_sees_what_is_around_a_match),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
