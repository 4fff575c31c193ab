/*
 * What callback.h needs once for the process.
 */
#include "callback.h"

#include <cstdio>
#include <cstdlib>

namespace
{

void nothing()
{
}

void nothing_of_int(int)
{
}

void nothing_of_bool(bool)
{
}

} // namespace

/* Before all static objects of programs, which may use them. */
#define EARLY __attribute__((init_priority(200)))

EARLY cbv cbv_null(wrap(nothing));
EARLY cbi cbi_null(wrap(nothing_of_int));
EARLY cbb cbb_null(wrap(nothing_of_bool));

namespace libasync
{

bool colors_are_used;

void check_null(long value)
{
	if (value == 0)
		return;
	fprintf(stderr, "libasync: wrap: the number %ld is bound to a parameter that is a pointer\n", value);
	abort();
}

} // namespace libasync
