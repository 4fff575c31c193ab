/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_PARSEOPT_H
#define LIBASYNC_PARSEOPT_H

/*
 * Integers from text, lines of words from files, and configuration files.
 *
 * A file has lines of words. White space separates words. # where a word would begin starts a comment. "..." keeps
 * white space and #; in it \ stands before ", \ and the end of a line. '...' keeps everything. Elsewhere \ keeps the
 * next character, and at the end of a line joins it with the next. Lines without words are passed over.
 *
 * Threads: one color at a time for each object. Reading a file blocks.
 */
#include <sys/types.h>
#include <stdint.h>

#include <limits>
#include <type_traits>

#include "libasync_config.h"
#include "libasync_number.h"
#include "callback.h"
#include "ihash.h"
#include "str.h"
#include "vec.h"

/* In lower case, ASCII only. `dest` has room for `src` and its NUL, and may be the same. */
LIBASYNC_EXPORT str mytolower(const str &in);
LIBASYNC_EXPORT void mytolower(char *dest, const char *src);

/* As strtoll and strtoull. */
LIBASYNC_EXPORT int64_t strtoi64(const char *nptr, char **endptr = NULL, int base = 0);
LIBASYNC_EXPORT u_int64_t strtou64(const char *nptr, char **endptr = NULL, int base = 0);

namespace libasync
{

/* A type that is not deduced. */
template <class T> struct same_type {
	typedef T type;
};

template <class T> bool convert_bytes(const char *p, size_t len, T *resp, int base)
{
	typedef std::numeric_limits<T> limits;

	static_assert(std::is_integral<T>::value, "convertint: its second argument points to an integer");
	if constexpr (std::is_signed<T>::value) {
		int64_t value;

		if (p == nullptr || !parse_signed(p, len, base, limits::min(), limits::max(), &value))
			return false;
		*resp = static_cast<T>(value);
	} else {
		uint64_t value;

		if (p == nullptr || !parse_unsigned(p, len, base, limits::max(), &value))
			return false;
		*resp = static_cast<T>(value);
	}
	return true;
}

class line_reader;

} // namespace libasync

#define WEAK_TMPL(T) typename libasync::same_type<T>::type

/*
 * The whole text as an integer of type T. False, and *resp as it was: NULL, empty, white space, other characters, or
 * not in the range of T; a minus sign if T is unsigned. `base` as of strtol: 0 takes 0x and 0 as prefixes.
 */
template <class T> inline bool convertint(const char *cp, T *resp, int base = 0)
{
	return libasync::convert_bytes(cp, cp != nullptr ? strlen(cp) : 0, resp, base);
}

template <class T> inline bool convertint(const str &s, T *resp, int base = 0)
{
	return libasync::convert_bytes(s.cstr(), s.len(), resp, base);
}

/* Reads a file line by line. What is wrong with the file is fatal: the program prints FILE:LINE and why, and exits. */
class LIBASYNC_EXPORT parseargs
{
	libasync::line_reader *reader;

public:
	/* For messages. */
	str filename;
	int lineno; /* of the line that getline() gave last */

	/* Opens `file`, or reads `fd`, which it closes; then `file` is its name in messages. */
	explicit parseargs(str file, int fd = -1);
	~parseargs();
	parseargs(const parseargs &) = delete;
	parseargs &operator=(const parseargs &) = delete;

	/* The words of the next line, and the number of that line into *linep unless NULL. False: end of file. */
	bool getline(vec<str> *args, int *linep = NULL);

	/* Fatal: prints FILE:LINE and the message. */
	[[noreturn]] void error(str msg);
};

/* ---------------------------------------------------------------- conftab */

/* Takes the words of a line, the first its name, and FILE:LINE. Sets *errp if they are wrong, after a message. */
typedef callback<void, vec<str>, str, bool *>::ref confcb;

/* One name that a configuration file may have. */
class LIBASYNC_EXPORT conftab_el
{
public:
	const str name; /* in lower case */
	ihash_entry<conftab_el> lnk;

	conftab_el(const str &n) : name(mytolower(n)), was_set(false) {}
	virtual ~conftab_el() {}

	/* Check the words of a line, the first the name, and keep the value. False, and *e: wrong. loc: FILE:LINE. */
	virtual bool convert(const vec<str> &v, const str &loc, bool *e) = 0;
	/* Store the value that convert() kept. */
	virtual void set() = 0;
	/* Append name and value. */
	virtual void dump(strbuf &b) const = 0;
	/* Back to what was before the first line; with a default, the default. */
	void reset();

	/* Whether the line has `l` words with the name. */
	bool count_args(const vec<str> &v, u_int l) { return v.size() == l; }

	bool was_set;

protected:
	virtual void set_default() {}
	/* Print that the line is wrong: LOC: NAME: WHY. Sets *e; returns false. */
	bool wrong(const str &loc, const str &why, bool *e) const;
	static str not_in(const str &word, const char *what, const str &low, const str &high);
	void dump_value(strbuf &b, const str &value) const;
};

/* A string, of one word; or what a callback makes of the line, or of its only word. */
class LIBASYNC_EXPORT conftab_str : public conftab_el
{
	str *const dest;
	const confcb::ptr line_cb;
	const callback<void, str>::ptr word_cb;
	const bool is_once;
	const bool has_default;
	const str default_value;
	str value, location;
	vec<str> words;
	bool *errp;

public:
	/* c: a second line with this name is wrong. */
	conftab_str(const str &n, str *d, bool c);
	conftab_str(const str &n, str *d, const str &def, bool c);
	conftab_str(const str &n, confcb c);
	conftab_str(callback<void, str>::ref c, const str &n);

	bool convert(const vec<str> &v, const str &l, bool *e) override;
	void set() override;
	void dump(strbuf &b) const override;

protected:
	void set_default() override;
};

/* An integer in l..u. */
template <class T> class conftab_int : public conftab_el
{
	T *const dest;
	const T lower, upper;
	const bool has_default;
	const T default_value;
	T value;

public:
	conftab_int(const str &n, T *d, T l, T u)
	    : conftab_el(n), dest(d), lower(l), upper(u), has_default(false), default_value(), value()
	{
	}

	conftab_int(const str &n, T *d, T l, T u, T def)
	    : conftab_el(n), dest(d), lower(l), upper(u), has_default(true), default_value(def), value()
	{
		*dest = def;
	}

	bool convert(const vec<str> &v, const str &cf, bool *e) override
	{
		T n;

		if (!count_args(v, 2))
			return wrong(cf, "takes one integer", e);
		if (!convertint(v[1], &n) || n < lower || n > upper)
			return wrong(cf, not_in(v[1], "an integer", strbuf() << +lower, strbuf() << +upper), e);
		value = n;
		return true;
	}

	void set() override { *dest = value; }
	void dump(strbuf &b) const override { dump_value(b, strbuf() << +*dest); }

protected:
	void set_default() override
	{
		if (has_default)
			*dest = default_value;
	}
};

/* A number in l..u. */
class LIBASYNC_EXPORT conftab_double : public conftab_el
{
	double *const dest;
	const double lower, upper;
	const bool has_default;
	const double default_value;
	double value;

public:
	conftab_double(const str &n, double *d, double l, double u);
	conftab_double(const str &n, double *d, double l, double u, double def);

	bool convert(const vec<str> &v, const str &cf, bool *e) override;
	void set() override { *dest = value; }
	void dump(strbuf &b) const override;

protected:
	void set_default() override;
};

/* 1, true, yes, on or the name alone; 0, false, no, off. */
class LIBASYNC_EXPORT conftab_bool : public conftab_el
{
	bool *const dest;
	const bool has_default;
	const bool default_value;
	bool value;

public:
	conftab_bool(const str &n, bool *b);
	conftab_bool(const str &n, bool *b, bool def);

	bool convert(const vec<str> &v, const str &cf, bool *e) override;
	void set() override { *dest = value; }
	void dump(strbuf &b) const override;

protected:
	void set_default() override;
};

/* Any words; nothing is stored. */
class LIBASYNC_EXPORT conftab_ignore : public conftab_el
{
public:
	conftab_ignore(const str &n) : conftab_el(n) {}

	bool convert(const vec<str> &v, const str &loc, bool *e) override;
	void set() override {}
	void dump(strbuf &b) const override;
};

enum {
	CONFTAB_VERBOSE = 0x1,	      /* run() prints all values at the end */
	CONFTAB_APPLY_DEFAULTS = 0x2, /* run() first sets all that have a default to it */
};

/*
 * The names that a configuration file may have, and where their values go:
 *
 *	conftab ct;
 *	ct.add ("port", &port, 1, 65535, 80).add ("root", &root).ignore ("color");
 *	if (!ct.run ("server.conf"))
 *		exit (1);
 *
 * Upper and lower case of names are the same. A default is stored at once. Of two entries with one name the later
 * counts, and so does the later of two lines.
 */
class LIBASYNC_EXPORT conftab
{
	ihash<const str, conftab_el, &conftab_el::name, &conftab_el::lnk> tab;
	vec<conftab_el *> order;

	conftab &add_callback(const str &nm, const confcb &c) { return insert(New conftab_str(nm, c)); }
	conftab &add_callback(const str &nm, const callback<void, str>::ref &c)
	{
		return insert(New conftab_str(c, nm));
	}

public:
	typedef enum { OK = 0, ERROR = 1 } status_t;

	conftab() {}
	~conftab();
	conftab(const conftab &) = delete;
	conftab &operator=(const conftab &) = delete;

	/*
	 * Read `file`, or `fd`, which is closed. False, and *sp (unless NULL) is ERROR: a message with file and line
	 * was printed for each fault; values of right lines are stored all the same. `opts`: CONFTAB_...
	 */
	bool run(const str &file, u_int opts = 0, int fd = -1, status_t *sp = NULL);

	/* One line, which is line `ln` of `cf`. False: no such name. Sets *err after a message if the line is wrong. */
	bool match(const vec<str> &s, const str &cf, int ln, bool *err);

	/* A line with name and value for each entry, in the order of add(): printed, or appended to *out. */
	void report();
	void report(vec<str> *out);

	/* Forget which names were set, and store all defaults. */
	void reset();

	/* The table deletes it. */
	conftab &insert(conftab_el *e);

	/* A name that may stand there without effect. */
	conftab &ignore(const str &m) { return insert(New conftab_ignore(m)); }

	/* A callback: confcb of the whole line, or cbs of its only word. */
	template <class A> conftab &add(const str &nm, A a)
	{
		if constexpr (std::is_convertible<A, confcb>::value)
			return add_callback(nm, confcb(a));
		else
			return add_callback(nm, typename libasync::same_type<callback<void, str>::ref>::type(a));
	}

	conftab &add(const str &nm, str *s) { return insert(New conftab_str(nm, s, false)); }
	conftab &add(const str &nm, str *s, const str &def) { return insert(New conftab_str(nm, s, def, false)); }
	conftab &add(const str &nm, bool *b) { return insert(New conftab_bool(nm, b)); }
	conftab &add(const str &nm, bool *b, bool def) { return insert(New conftab_bool(nm, b, def)); }

	conftab &add(const str &nm, double *d, double lb, double ub)
	{
		return insert(New conftab_double(nm, d, lb, ub));
	}

	conftab &add(const str &nm, double *d, double lb, double ub, double def)
	{
		return insert(New conftab_double(nm, d, lb, ub, def));
	}

	template <class T> conftab &add(const str &nm, T *dp, WEAK_TMPL(T) lb, WEAK_TMPL(T) ub)
	{
		return insert(New conftab_int<T>(nm, dp, lb, ub));
	}

	template <class T> conftab &add(const str &nm, T *dp, WEAK_TMPL(T) lb, WEAK_TMPL(T) ub, WEAK_TMPL(T) def)
	{
		return insert(New conftab_int<T>(nm, dp, lb, ub, def));
	}
};

#endif
