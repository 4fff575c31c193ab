/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_DYNENUM_H
#define LIBASYNC_DYNENUM_H

/*
 * dynamic_enum_t: names for numbers, for instance of words in a configuration file. A program derives
 * its own class and calls init in the constructor:
 *
 *   static const pair_t pairs[] = { { "none", 0 }, { "some", 1 }, { NULL, 0 } };
 *   init (pairs);
 *
 * Threads: after init, any.
 */
#include "libasync_config.h"
#include "qhash.h"
#include "str.h"

class LIBASYNC_EXPORT dynamic_enum_t
{
public:
	/* The last one of an array has NULL as its name. */
	struct pair_t {
		const char *n;
		int v;
	};

	/* `def` stands for unknown names. `n` names the enum in warnings, which `quiet` turns off. */
	dynamic_enum_t(int def, bool quiet = false, str n = NULL);
	virtual ~dynamic_enum_t() {}

	/* The value of a name. False: it is unknown, and *v as it was. */
	bool lookup(const str &s, int *v) const;

	/* The value of a name. If it is unknown: a warning, and the default. */
	int lookup(const str &s, bool dowarn = true) const;
	int operator[](const str &s) const { return lookup(s, true); }

	/* Add names. `chk`: the program ends if a name has another value already. */
	void init(const pair_t pairs[], bool chk = false);

private:
	qhash<str, int> values;
	const int default_value;
	const bool is_quiet;
	const str name;
};

#endif
