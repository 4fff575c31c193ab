/*
 * wide_str.h: UTF-8 and wide characters.
 */
#include "wide_str.h"

#include <locale.h>

#include "test.h"
#include "dies.h"

namespace
{

/* a, a with dots, the euro sign, a G clef: of 1 to 4 bytes */
#define FOUR "a\xc3\xa4\xe2\x82\xac\xf0\x9d\x84\x9e"

const char *const edges[] = {
	"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
	"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
};

const char *const wrong_bytes[] = {
	"\x80", "\xbf", "\xc3", "\xc3(", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe2\x82",
	"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9d\x84",
	"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe",
};

void wide_str_decodes_and_encodes(void **)
{
	wide_str_t w(FOUR);
	size_t len;

	assert_true(bool(w) && !w.error());
	assert_int_equal(w.len(), 4);
	const wchar_t *p = w.buf(&len);
	assert_int_equal(len, 4);
	assert_true(p[0] == 'a' && p[1] == 0xe4 && p[2] == 0x20ac && p[3] == 0x1d11e && p[4] == 0);
	assert_true(str(w) == FOUR);
	str s = strbuf() << "<" << w << ">";
	assert_true(s == "<" FOUR ">");
	for (const char *edge : edges)
		assert_true(str(wide_str_t(str(edge))) == edge);
}

void wide_str_rejects_wrong_bytes(void **)
{
	for (const char *bad : wrong_bytes) {
		wide_str_t w(str(strbuf() << "x" << bad));

		assert_true(w.error() && !bool(w));
		assert_true(str(w) == NULL);
		assert_int_equal(w.len(), 0);
		assert_null(w.buf());
	}
}

void wide_str_of_wide_characters(void **)
{
	wide_str_t w(L"abc"), part(L"abcdef", 2), none((const wchar_t *)NULL), null((str()));
	const wchar_t surrogate[] = { 0xd800, 0 };
	wide_str_t bad(surrogate);

	assert_true(str(w) == "abc" && str(part) == "ab");
	assert_false(bool(none) || none.error());
	assert_true(str(none) == NULL && str(null) == NULL);
	assert_true(bad.error() && str(bad) == NULL);
	wide_str_t empty((str("")));
	assert_true(bool(empty) && empty.len() == 0 && str(empty) == "");
	wide_str_t nul(str("a\0b", 3));
	assert_int_equal(nul.len(), 3);
	assert_true(str(nul) == str("a\0b", 3));
}

void wide_str_chop_and_substr(void **)
{
	wide_str_t w(FOUR);

	assert_true(str(w.substr(1, 2)) == "\xc3\xa4\xe2\x82\xac");
	assert_true(str(w.substr(3)) == "\xf0\x9d\x84\x9e");
	assert_true(str(w.substr(4)) == "" && str(w.substr(99, 1)) == "");
	assert_int_equal(w.len(), 4);
	w.chop(1);
	assert_int_equal(w.len(), 3);
	w.chop(0, 1);
	assert_true(str(w) == "\xc3\xa4");
	wide_str_t none((str()));
	none.chop(1, 1);
	assert_false(bool(none));
}

void wide_str_copies_change_apart(void **)
{
	wide_str_t a(L"abc"), b(a);

	b.buf()[0] = L'x';
	assert_true(str(a) == "abc" && str(b) == "xbc");
	ptr<vec<wchar_t>> v = New refcounted<vec<wchar_t>>;
	v->setsize(3);
	(*v)[0] = L'h';
	(*v)[1] = L'i';
	a.setbuf(v, 2);
	assert_true(str(a) == "hi");
	assert_true(run_in_child([&] { a.setbuf(v, 3); }).says("wide_str_t::setbuf"));
	a.setbuf(NULL, 0);
	assert_true(str(a) == NULL);
}

void wide_str_utf8_fix(void **)
{
	assert_true(utf8_fix(FOUR) == FOUR);
	assert_true(utf8_fix("a\xff" "b\xc3") == "ab");
	assert_true(utf8_fix("a\xff" "b\xc3", "?") == "a?b?");
	assert_true(utf8_fix("\xed\xa0\x80", "\xef\xbf\xbd") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_true(utf8_fix(NULL) == NULL);
	assert_true(utf8_fix("") == "");
	for (const char *bad : wrong_bytes)
		assert_false(wide_str_t(utf8_fix(bad, "-")).error());
}

void wide_str_utf8_substr(void **)
{
	assert_true(utf8_substr(FOUR, 0) == FOUR);
	assert_true(utf8_substr(FOUR, 1, 1) == "\xc3\xa4");
	assert_true(utf8_substr(FOUR, 2) == "\xe2\x82\xac\xf0\x9d\x84\x9e");
	assert_true(utf8_substr(FOUR, 4) == "" && utf8_substr(FOUR, 40, 3) == "");
	assert_true(utf8_substr("a\xff" "bc", 1, 2) == "\xff" "b");
	assert_true(utf8_substr(NULL, 0) == NULL);
}

void wide_str_init_sets_the_locale(void **)
{
	assert_true(wide_str_t::init("C"));
	/* musl knows all locales. */
	assert_int_equal(wide_str_t::init("no-such-locale"), setlocale(LC_CTYPE, "no-such-locale") != NULL);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wide_str_decodes_and_encodes),
		cmocka_unit_test(wide_str_rejects_wrong_bytes),
		cmocka_unit_test(wide_str_of_wide_characters),
		cmocka_unit_test(wide_str_chop_and_substr),
		cmocka_unit_test(wide_str_copies_change_apart),
		cmocka_unit_test(wide_str_utf8_fix),
		cmocka_unit_test(wide_str_utf8_substr),
		cmocka_unit_test(wide_str_init_sets_the_locale),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
