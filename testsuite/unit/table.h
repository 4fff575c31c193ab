/*
 * What the tests over tables share.
 */
#ifndef TABLE_H
#define TABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* Which row it was: cmocka's own assertions only know the line. */
#define assert_row(condition, row_text) \
	do { \
		if (!(condition)) \
			fail_msg("row <%s>: not so: %s", (row_text), #condition); \
	} while (0)

#endif
