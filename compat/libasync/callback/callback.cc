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

namespace
{

/* They stay when exit() has destroyed those: other workers may run callbacks until the process ends. */
const cbv *const kept_cbv = new cbv(cbv_null);
const cbi *const kept_cbi = new cbi(cbi_null);
const cbb *const kept_cbb = new cbb(cbb_null);

} // namespace

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
