/*
 * evsmp/pages.c, utf8.c: strings of JSON.
 */
#include "../table.h"

#include "evsmp/pages.h"

static void strings_of_json_are_utf8(void **state)
{
	static const struct {
		const char *from, *to;
	} table[] = {
		{ "plain", "\"plain\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "</script>&", "\"\\u003c/script\\u003e\\u0026\"" },
		{ "\n\x7f", "\"\\u000a\\u007f\"" },
		{ "12 µs", "\"12 µs\"" },
		{ "\xe2\x82\xac \xf0\x9f\x8c\x8d", "\"\xe2\x82\xac \xf0\x9f\x8c\x8d\"" },
		/* They end a line of JavaScript, or begin a command of a terminal. */
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\"" },
		{ "\xc2\x9b\xc2\xa0", "\"\\u009b\xc2\xa0\"" },
		/* No UTF-8: a byte of another encoding, a part, longer than it must be, a surrogate, too large. */
		{ "caf\xe9", "\"caf\\ufffd\"" },
		{ "\xe2\x82", "\"\\ufffd\\ufffd\"" },
		{ "\xe2\x82x", "\"\\ufffd\\ufffdx\"" },
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
		{ "\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf0\x80\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xff\x80", "\"\\ufffd\\ufffd\"" },
	};
	char *text;
	size_t i, len;
	FILE *out;

	(void)state;
	for (i = 0; i < ROWS(table); i++) {
		out = open_memstream(&text, &len);
		assert_non_null(out);
		put_json_string(out, table[i].from);
		fclose(out);
		assert_row(strcmp(text, table[i].to) == 0, table[i].to);
		free(text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_of_json_are_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
