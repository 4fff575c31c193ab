/*
 * parseopt.h: integers, lines of words, and configuration files.
 */
#include "parseopt.h"
#include "rxx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "folder.h"
#include "test.h"
#include "dies.h"

namespace
{

folder *dir;

int make_folder(void **)
{
	dir = new folder;
	return 0;
}

int remove_folder(void **)
{
	delete dir;
	return 0;
}

/* ---------------------------------------------------------------- convertint */

template <class T> bool is_rejected(const char *text)
{
	T value = T(42);

	return !convertint(text, &value) && !convertint(str(text), &value) && value == T(42);
}

template <class T> bool converts_to(const char *text, T expected, int base = 0)
{
	T a = T(42), b = T(42);

	return convertint(text, &a, base) && convertint(str(text), &b, base) && a == expected && b == expected;
}

void convertint_parseargs_conftab_integers(void **)
{
	assert_true(converts_to<int>("0", 0));
	assert_true(converts_to<int>("-12", -12));
	assert_true(converts_to<int>("+12", 12));
	assert_true(converts_to<int>("0x1f", 31));
	assert_true(converts_to<int>("010", 8));
	assert_true(converts_to<int>("010", 10, 10));
	assert_true(converts_to<int>("ff", 255, 16));
	assert_true(converts_to<int>("2147483647", INT32_MAX));
	assert_true(converts_to<int>("-2147483648", INT32_MIN));
	assert_true(converts_to<u_int16_t>("65535", 65535));
	assert_true(converts_to<u_int64_t>("18446744073709551615", UINT64_MAX));
	assert_true(converts_to<int64_t>("-9223372036854775808", INT64_MIN));
	assert_true(converts_to<signed char>("-128", -128));
	assert_true(converts_to<unsigned char>("255", 255));
}

void convertint_parseargs_conftab_wrong_integers(void **)
{
	for (const char *bad :
	     { "", " ", "1 ", " 1", "1x", "x", "-", "+", "0x", "1.0", "--1", "1-", "\n1", "\xd9\xa1" })
		assert_true(is_rejected<int>(bad) && is_rejected<u_int>(bad) && is_rejected<int64_t>(bad));
	assert_true(is_rejected<int>("2147483648") && is_rejected<int>("-2147483649"));
	assert_true(is_rejected<u_int16_t>("65536") && is_rejected<u_int16_t>("-1"));
	assert_true(is_rejected<u_int64_t>("18446744073709551616") && is_rejected<u_int64_t>("-1"));
	assert_true(is_rejected<int64_t>("9223372036854775808"));
	assert_true(is_rejected<signed char>("128") && is_rejected<unsigned char>("256"));
	assert_true(is_rejected<int>(NULL));
	int n = 7;
	assert_false(convertint(str("1\0", 2), &n));
	assert_false(convertint("12", &n, 2));
	assert_int_equal(n, 7);
}

void convertint_parseargs_conftab_helpers(void **)
{
	char text[8] = "aBZ[@";
	char *end;

	assert_true(mytolower("MiXed 123 \xc4") == "mixed 123 \xc4");
	assert_true(mytolower(str("A\0B", 3)) == str("a\0b", 3));
	assert_true(mytolower(str()) == NULL);
	mytolower(text, text);
	assert_string_equal(text, "abz[@");
	assert_true(strtoi64("-0x10 rest", &end) == -16);
	assert_string_equal(end, " rest");
	assert_true(strtoi64("777", NULL, 8) == 511);
	assert_true(strtou64("18446744073709551615") == UINT64_MAX);
}

/* ---------------------------------------------------------------- parseargs */

/* The lines of a file as "LINE:word|word|..." each. */
str lines_of(const str &text)
{
	parseargs pa(dir->put("lines", text));
	vec<str> words;
	int line;
	strbuf sb;

	while (pa.getline(&words, &line)) {
		if (line != pa.lineno)
			return "lineno differs";
		sb << line << ":" << join("|", words) << "\n";
	}
	return sb;
}

ended fatal_lines(const str &text)
{
	return run_in_child([&] { (void)lines_of(text); });
}

void convertint_parseargs_conftab_lines(void **)
{
	assert_true(lines_of("") == "");
	assert_true(lines_of("\n\n  \n# only\n") == "");
	assert_true(lines_of("a b\tc\n") == "1:a|b|c\n");
	assert_true(lines_of("  a  \n\nb # comment\nc#d\n#x") == "1:a\n3:b\n4:c#d\n");
	assert_true(lines_of("last line") == "1:last|line\n");
	assert_true(lines_of("a b\r\nc\r\n") == "1:a|b\n2:c\n");
	assert_true(lines_of("one \\\n  two\nthree\n") == "1:one|two\n3:three\n");
	assert_true(lines_of("on\\\ne\nb\n") == "1:one\n3:b\n");
	assert_true(lines_of("\\\n\\\na\n") == "3:a\n");
}

void convertint_parseargs_conftab_quotes(void **)
{
	assert_true(lines_of("\"a b\" c\n") == "1:a b|c\n");
	assert_true(lines_of("x\"a b\"y'c d'z\n") == "1:xa byc dz\n");
	assert_true(lines_of("\"\" ''\n") == "1:|\n");
	assert_true(lines_of("\"a\\\"b\\\\c\\d # no\"\n") == "1:a\"b\\c\\d # no\n");
	assert_true(lines_of("'a\\\"b'\n") == "1:a\\\"b\n");
	assert_true(lines_of("a\\ b \\# \\\\ \\n\n") == "1:a b|#|\\|n\n");
	assert_true(lines_of("\"a\\\nb\" c\nd\n") == "1:ab|c\n3:d\n");
}

void convertint_parseargs_conftab_binary_lines(void **)
{
	assert_true(lines_of(str("a\0b \xff\n", 6)) == str("1:a\0b|\xff\n", 8));
	mstr m(500000);
	memset(m.cstr(), 'w', m.len());
	assert_int_equal(lines_of(str(m)).len(), 500000 + 3);
}

void convertint_parseargs_conftab_faults_are_fatal(void **)
{
	ended e = fatal_lines("ok\nbad \"quote\nmore\n");

	assert_true(e.has_exited(1));
	assert_true(e.says("/lines:2: ") && e.says("quote"));
	e = fatal_lines("ok\n\n'bad");
	assert_true(e.has_exited(1) && e.says("/lines:3: "));
	e = fatal_lines("bad \\");
	assert_true(e.has_exited(1) && e.says("/lines:1: ") && e.says("backslash"));
	e = run_in_child([] { parseargs pa(dir->name("missing")); });
	assert_true(e.has_exited(1) && e.says("missing: No such file"));
	e = run_in_child([] {
		parseargs pa(dir->put("lines", "a\nb\n"));
		vec<str> words;

		pa.getline(&words);
		pa.getline(&words);
		pa.error("not like this");
	});
	assert_true(e.has_exited(1) && e.says("/lines:2: not like this"));
	e = run_in_child([] { parseargs(dir->put("lines", "a\n")).error("early"); });
	assert_true(e.has_exited(1) && e.says("/lines: early"));
}

void convertint_parseargs_conftab_reads_a_descriptor(void **)
{
	int fd = open(dir->put("by-fd", "a b\n"), O_RDONLY);
	vec<str> words;

	{
		parseargs pa("name only", fd);

		assert_true(pa.filename == "name only");
		assert_true(pa.getline(&words));
		assert_true(words.size() == 2 && words[1] == "b");
		assert_false(pa.getline(&words));
		assert_false(pa.getline(&words));
	}
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* ---------------------------------------------------------------- conftab */

struct settings {
	int port = 0;
	u_int16_t small = 0;
	bool is_on = false;
	double ratio = 0;
	str name, with_default;
	vec<str> line;
	str loc, word;

	void take_line(vec<str> v, str l, bool *errp)
	{
		line = v;
		loc = l;
		if (v.size() > 3)
			*errp = true;
	}

	void take_word(str s) { word = s; }

	void fill(conftab *ct)
	{
		ct->add("Port", &port, 1, 65535, 80)
			.add("small", &small, 0, 10)
			.add("on", &is_on)
			.add("ratio", &ratio, 0, 1)
			.add("name", &name)
			.add("default", &with_default, "dflt")
			.add("line", wrap(this, &settings::take_line))
			.add("word", wrap(this, &settings::take_word))
			.ignore("color");
	}
};

bool run_conf(settings *s, const str &text, conftab::status_t *status = NULL, u_int opts = 0)
{
	conftab ct;

	s->fill(&ct);
	return ct.run(dir->put("conf", text), opts, -1, status);
}

ended conf_in_child(const str &text, u_int opts = 0)
{
	return run_in_child([&] {
		settings s;
		_exit(run_conf(&s, text, NULL, opts) ? 0 : 3);
	});
}

void convertint_parseargs_conftab_stores(void **)
{
	settings s;
	conftab::status_t status = conftab::ERROR;

	assert_true(run_conf(&s, "PORT 8080\nsmall 0x0a\non yes\nratio 0.25\nname 'two words'\n"
		"line a b\nword w\ncolor red green blue\n", &status));
	assert_int_equal(status, conftab::OK);
	assert_true(s.port == 8080 && s.small == 10 && s.is_on && s.ratio == 0.25);
	assert_true(s.name == "two words" && s.with_default == "dflt");
	assert_int_equal(s.line.size(), 3);
	assert_true(s.line[0] == "line" && s.line[2] == "b");
	assert_true(s.loc == strbuf() << dir->name("conf") << ":6");
	assert_true(s.word == "w");
}

void convertint_parseargs_conftab_defaults(void **)
{
	settings s;
	conftab ct;

	s.fill(&ct);
	assert_true(s.port == 80 && s.with_default == "dflt" && s.name == NULL);
	assert_true(ct.run(dir->put("conf", "port 1\nport 2\nname x\ndefault y\n")));
	assert_true(s.port == 2 && s.with_default == "y");
	ct.reset();
	assert_true(s.port == 80 && s.with_default == "dflt" && s.name == "x");
	s.port = 5;
	assert_true(ct.run(dir->put("conf", ""), CONFTAB_APPLY_DEFAULTS));
	assert_int_equal(s.port, 80);

	bool flag = false;
	double d = 0;
	conftab more;
	more.add("flag", &flag, true).add("d", &d, 0, 10, 2.5);
	assert_true(flag && d == 2.5);
	flag = false;
	d = 0;
	more.reset();
	assert_true(flag && d == 2.5);
}

void convertint_parseargs_conftab_booleans(void **)
{
	for (const char *yes : { "on 1", "on TRUE", "on yes", "on On", "on" }) {
		settings s;
		assert_true(run_conf(&s, yes) && s.is_on);
	}
	for (const char *no : { "on 0", "on false", "on No", "on off" }) {
		settings s;
		s.is_on = true;
		assert_true(run_conf(&s, no) && !s.is_on);
	}
}

void convertint_parseargs_conftab_wrong_lines(void **)
{
	static const struct {
		const char *text, *place, *why;
	} cases[] = {
		{ "port 0\n", "/conf:1: port: ", "'0' is not an integer in 1..65535" },
		{ "\nport x1\n", "/conf:2: port: ", "'x1' is not an integer" },
		{ "port\n", "/conf:1: port: ", "takes one integer" },
		{ "port 1 2\n", "/conf:1: port: ", "takes one integer" },
		{ "port 99999999999999999999\n", "/conf:1: port: ", "is not an integer" },
		{ "small 11\n", "/conf:1: small: ", "in 0..10" },
		{ "small -1\n", "/conf:1: small: ", "in 0..10" },
		{ "ratio 1.5\n", "/conf:1: ratio: ", "'1.5' is not a number in 0..1" },
		{ "ratio nan\n", "/conf:1: ratio: ", "is not a number" },
		{ "ratio\n", "/conf:1: ratio: ", "takes one number" },
		{ "on maybe\n", "/conf:1: on: ", "takes one of" },
		{ "on 1 1\n", "/conf:1: on: ", "takes one of" },
		{ "name\n", "/conf:1: name: ", "takes one word" },
		{ "word a b\n", "/conf:1: word: ", "takes one word" },
		{ "port 1\nunknown 1\n", "/conf:2: ", "unknown name 'unknown'" },
		{ "port 1\nname \"x\nport 2\n", "/conf:2: ", "quote" },
		{ "name \\", "/conf:1: ", "backslash" },
	};

	for (auto &c : cases) {
		ended e = conf_in_child(c.text);

		assert_true(e.has_exited(3));
		assert_true(e.says(c.place) && e.says(c.why));
	}
	assert_true(conf_in_child("line a b c\n").has_exited(3));
	ended e = run_in_child([] {
		settings s;
		conftab::status_t status = conftab::OK;
		bool is_ok = run_conf(&s, "port 0\nname x\nport 7\nsmall 99\n", &status);
		_exit(!is_ok && status == conftab::ERROR && s.port == 7 && s.name == "x" && s.small == 0 ? 0 : 1);
	});
	assert_true(e.has_exited(0));
	assert_true(e.says("/conf:1: ") && e.says("/conf:4: ") && !e.says("/conf:3: "));
}

void convertint_parseargs_conftab_files_that_are_not_there(void **)
{
	ended e = run_in_child([] {
		settings s;
		conftab ct;
		conftab::status_t status = conftab::OK;

		s.fill(&ct);
		_exit(!ct.run(dir->name("missing"), 0, -1, &status) && status == conftab::ERROR ? 0 : 1);
	});

	assert_true(e.has_exited(0) && e.says("missing: No such file"));
}

void convertint_parseargs_conftab_match(void **)
{
	settings s;
	conftab ct;
	vec<str> words;
	bool err = false;

	s.fill(&ct);
	assert_false(ct.match(words, "f", 1, &err));
	words.push_back("nothing");
	assert_false(ct.match(words, "f", 1, &err));
	words[0] = "SMALL";
	words.push_back("3");
	assert_true(ct.match(words, "f", 1, &err));
	assert_false(err);
	assert_int_equal(s.small, 3);
	ended e = run_in_child([&] {
		words[1] = "x";
		bool is_known = ct.match(words, "file", 9, &err);
		_exit(is_known && err && s.small == 3 ? 0 : 1);
	});
	assert_true(e.has_exited(0) && e.says("file:9: small: "));
}

void convertint_parseargs_conftab_once_and_twice(void **)
{
	str once, twice;
	conftab ct;

	ct.insert(New conftab_str("once", &once, true)).add("same", &once).add("same", &twice);
	assert_true(ct.run(dir->put("conf", "once 1\nsame 2\n")));
	assert_true(once == "1" && twice == "2");
	ended e = run_in_child([&] { _exit(ct.run(dir->put("conf", "once 3\n")) ? 0 : 3); });
	assert_true(e.has_exited(3) && e.says("/conf:1: once: stands there twice"));
}

void convertint_parseargs_conftab_report(void **)
{
	settings s;
	conftab ct;
	vec<str> out;

	s.fill(&ct);
	s.ratio = 0.5;
	ct.report(&out);
	assert_int_equal(out.size(), 9);
	assert_string_equal(out[0].cstr(), "port = 80");
	assert_string_equal(out[2].cstr(), "on = false");
	assert_string_equal(out[3].cstr(), "ratio = 0.5");
	assert_string_equal(out[4].cstr(), "name = (not set)");
	assert_string_equal(out[5].cstr(), "default = dflt");
	assert_string_equal(out[6].cstr(), "line = (callback)");
	assert_string_equal(out[8].cstr(), "color = (ignored)");
	assert_true(run_in_child([&] { ct.report(); }).says("color = (ignored)"));
	ended e = conf_in_child("port 12\n", CONFTAB_VERBOSE);
	assert_true(e.has_exited(0) && e.says("port = 12"));
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convertint_parseargs_conftab_integers),
		cmocka_unit_test(convertint_parseargs_conftab_wrong_integers),
		cmocka_unit_test(convertint_parseargs_conftab_helpers),
		cmocka_unit_test(convertint_parseargs_conftab_lines),
		cmocka_unit_test(convertint_parseargs_conftab_quotes),
		cmocka_unit_test(convertint_parseargs_conftab_binary_lines),
		cmocka_unit_test(convertint_parseargs_conftab_faults_are_fatal),
		cmocka_unit_test(convertint_parseargs_conftab_reads_a_descriptor),
		cmocka_unit_test(convertint_parseargs_conftab_stores),
		cmocka_unit_test(convertint_parseargs_conftab_defaults),
		cmocka_unit_test(convertint_parseargs_conftab_booleans),
		cmocka_unit_test(convertint_parseargs_conftab_wrong_lines),
		cmocka_unit_test(convertint_parseargs_conftab_files_that_are_not_there),
		cmocka_unit_test(convertint_parseargs_conftab_match),
		cmocka_unit_test(convertint_parseargs_conftab_once_and_twice),
		cmocka_unit_test(convertint_parseargs_conftab_report),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
