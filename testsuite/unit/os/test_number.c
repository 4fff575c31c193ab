/*
 * core/os/number.c.
 */
#include "table.h"

#include "core/os/number.h"

static void digits_are_read(void **state)
{
	static const struct {
		const char *text;
		uint64_t max, value;
		const char *rest;		/* NULL: it is no number */
	} rows[] = {
		{ "0", 0, 0, "" },
		{ "1", 0, 0, NULL },
		{ "42:", 42, 42, ":" },
		{ "43", 42, 0, NULL },
		{ "9", 5, 0, NULL },
		{ "007 ", 7, 7, " " },
		{ "18446744073709551615", UINT64_MAX, UINT64_MAX, "" },
		{ "18446744073709551616", UINT64_MAX, 0, NULL },
		{ "184467440737095516150", UINT64_MAX, 0, NULL },
		{ "", UINT64_MAX, 0, NULL },
		{ " 1", UINT64_MAX, 0, NULL },
		{ "+1", UINT64_MAX, 0, NULL },
		{ "-1", UINT64_MAX, 0, NULL },
		{ "0x10", UINT64_MAX, 0, "x10" },
	};
	const char *at;
	uint64_t n;
	size_t i;
	bool is_whole;

	(void)state;
	for (i = 0; i < ROWS(rows); i++) {
		at = rows[i].text;
		n = 77;
		assert_row(ec_number_read(&at, rows[i].max, &n) == (rows[i].rest != NULL), rows[i].text);
		if (rows[i].rest == NULL) {
			assert_row(at == rows[i].text && n == 77, rows[i].text);
		} else {
			assert_row(strcmp(at, rows[i].rest) == 0, rows[i].text);
			assert_row(n == rows[i].value, rows[i].text);
		}
		n = 77;
		is_whole = rows[i].rest != NULL && rows[i].rest[0] == '\0';
		assert_row(ec_number_is(rows[i].text, rows[i].max, &n) == is_whole, rows[i].text);
		assert_row(n == (is_whole ? rows[i].value : 77), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digits_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
