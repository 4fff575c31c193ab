/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_ALOG2_H
#define LIBASYNC_ALOG2_H

/*
 * Messages with a level, on the way of warn:
 *
 *	logger2_t logger (V_REG);
 *	logger.log (V_HIGH) << "read " << n << " bytes\n";	// not printed
 *
 * A message is printed, with the program's name in front, when the last copy of its obj_t is gone, if its level is at
 * most the logger's. A logger may be used from any thread; a message belongs to one.
 */
#include <stdarg.h>

#include "libasync_config.h"
#include "refcnt.h"
#include "str.h"

/* From what is always printed to what seldom is. */
typedef enum {
	V_NONE = 0,
	V_FATAL = 1,
	V_ERR = 2,
	V_WARN = 3,
	V_LOW = 4,
	V_REG = 5,
	V_HIGH = 6,
	V_VERB = 7,
	V_DEBUG = 8
} log2_level_t;

class LIBASYNC_EXPORT logger2_t
{
	log2_level_t level;

public:
	class LIBASYNC_EXPORT obj_t
	{
		struct token : public virtual refcount {
		};

		strbuf text;
		::ref<refcount> copies;
		bool is_silent;
		bool is_bare;

	public:
		/* silent: nothing is printed. x: without the program's name, as warnx. */
		obj_t(bool silent, bool x);
		obj_t(const obj_t &o) = default;
		~obj_t();

		template <class T> const obj_t &cat(const T &x) const
		{
			if (!is_silent)
				text << x;
			return *this;
		}
	};

	logger2_t(log2_level_t l = V_REG) : level(l) {}

	/* What to append the message to. */
	obj_t log(log2_level_t l) { return obj_t(l > level, false); }
	/* A whole line, to which a newline is added. */
	void log(log2_level_t l, const char *fmt, ...) LIBASYNC_PRINTF(3, 4);
	void log(log2_level_t l, const str &s);

	void set_level(log2_level_t l) { level = l; }
};

template <class T> inline logger2_t::obj_t operator<<(logger2_t::obj_t o, const T &x)
{
	o.cat(x);
	return o;
}

#endif
