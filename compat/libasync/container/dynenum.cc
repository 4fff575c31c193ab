/*
 * Names for numbers.
 */
#include "dynenum.h"

#include "err.h"

dynamic_enum_t::dynamic_enum_t(int def, bool quiet, str n)
	: default_value(def), is_quiet(quiet), name(n ? n : str("enum"))
{
}

bool dynamic_enum_t::lookup(const str &s, int *v) const
{
	const int *const found = s ? values[s] : NULL;

	if (!found)
		return false;
	*v = *found;
	return true;
}

int dynamic_enum_t::lookup(const str &s, bool dowarn) const
{
	int v;

	if (lookup(s, &v))
		return v;
	if (dowarn && !is_quiet)
		warn << name << ": unknown name \"" << s << "\"\n";
	return default_value;
}

void dynamic_enum_t::init(const pair_t pairs[], bool chk)
{
	for (const pair_t *p = pairs; p->n; p++) {
		int v;

		if (chk && lookup(p->n, &v) && v != p->v)
			panic("dynamic_enum_t: \"%s\" is %d, and cannot be %d\n", p->n, v, p->v);
		values.insert(p->n, p->v);
	}
}
