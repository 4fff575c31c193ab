/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_RXX_H
#define LIBASYNC_RXX_H

/*
 * Regular expressions in Perl's syntax, by PCRE2.
 *
 *	static rxx port ("^(\\w+):(\\d+)$");
 *	if (port.search (line))
 *		use (port[1], port[2]);
 *
 * Options, a string of letters: i ignores case, m lets ^ and $ match at each line, s lets . match newlines, x allows
 * white space and comments, U makes quantifiers lazy, A anchors at the beginning, D lets $ match at the very end only,
 * n makes groups without a name capture nothing, u reads pattern and strings as UTF-8. g and X change nothing.
 *
 * Threads: the object holds the pattern, and each thread has results of its own. So colors may share a static rxx; read
 * the results in the callback that made them. Making, copying and assigning an rxx is not for several threads at once.
 */
#include <sys/types.h>
#include <stdint.h>

#include "libasync_config.h"
#include "str.h"
#include "vec.h"

/* The options of search() and exec(), and errors, as they were in PCRE1. */
#ifndef PCRE_ANCHORED
#define PCRE_ANCHORED 0x00000010
#define PCRE_NOTBOL 0x00000080
#define PCRE_NOTEOL 0x00000100
#define PCRE_NOTEMPTY 0x00000400
#define PCRE_ERROR_NOMATCH (-1)
#define PCRE_ERROR_NULL (-2)
#define PCRE_ERROR_BADOPTION (-3)
#define PCRE_ERROR_NOMEMORY (-6)
#define PCRE_ERROR_MATCHLIMIT (-8)
#define PCRE_ERROR_BADUTF8 (-10)
#define PCRE_ERROR_INTERNAL (-14)
#define PCRE_ERROR_RECURSIONLIMIT (-21)
#endif

struct pcre_extra;

namespace libasync
{

struct rxx_pattern;
struct rxx_results;
struct rxx_place;

} // namespace libasync

class LIBASYNC_EXPORT rxx
{
public:
	/* What search() and match() return: the results of `r`, until the thread's next search. */
	class matchresult
	{
		const rxx &r;

	public:
		matchresult(const rxx &rr) : r(rr) {}
		/* Whether there was a match. */
		operator bool() const { return r.success(); }
		/* The first group, or of a pattern without groups the whole match. NULL: no match. */
		operator str() const { return r.at(r.has_groups() ? 1 : 0); }
		str operator[](ptrdiff_t n) const { return r.at(n); }
	};

	/* Always NULL: PCRE2 has none. */
	pcre_extra *extra;

	/* A pattern that matches nothing. */
	rxx() : extra(nullptr), pattern(nullptr), results(nullptr), owner(0), place(nullptr) {}
	/* Aborts with a message if the pattern is wrong; rrxx does not. */
	rxx(const char *pat, const char *opt = "");
	rxx(const str &pat, const char *opt = "");
	/* The same pattern; no results. */
	rxx(const rxx &r) : rxx() { copy(r); }
	~rxx() { clear(); }
	rxx &operator=(const rxx &r);

	/* Find the first match. `opt` is of PCRE_ANCHORED, ... */
	matchresult search(str s, int opt = 0)
	{
		exec(s, opt);
		return matchresult(*this);
	}

	/* Match the whole string. */
	matchresult match(str s, int opt = 0);

	/* As search(); the bytes are not copied, and must stay as they are while results are read. */
	matchresult search_cstr(const char *p, size_t len, int opt = 0);

	/* Whether it matches. */
	bool exec(str s, int options);

	/* As search_cstr(). False: the search failed. True: success() tells whether it found a match. */
	bool _exec(const char *p, size_t len, int options);

	/* ---- results of this thread's last search */

	bool success() const;
	/* 0 after a match, else PCRE_ERROR_NOMATCH or another error of PCRE1's. */
	int errcode() const;
	/* Group n, 0 is the whole match. NULL: no match, no such group, or it took no part. */
	str at(ptrdiff_t n) const;
	str operator[](ptrdiff_t n) const { return at(n); }
	/* Where group n begins and ends, and how long it is, in bytes. -1 where at(n) is NULL. */
	int start(int n) const;
	int end(int n) const;
	int len(int n) const;

	/* Forget pattern and results. */
	void clear();

	/* Whether the pattern has groups. */
	bool has_groups() const;

protected:
	friend class matchresult;

	/* Forget the results, take the pattern of `r`. */
	void copy(const rxx &r);

	/* Compile. NULL, or what is wrong with the pattern, and then there is none. */
	str init(const char *pat, const char *opt);
	str init(const char *pat, size_t len, const char *opt);

private:
	libasync::rxx_results *result() const;
	libasync::rxx_results *own_result();
	bool run(const str &s, const char *p, size_t n, size_t from, uint32_t options);
	friend LIBASYNC_EXPORT int split(vec<str> *out, rxx pat, str expr, size_t lim, bool emptylast);

	libasync::rxx_pattern *pattern;
	libasync::rxx_results *results; /* of the thread that searched first */
	uint64_t owner;			/* that thread's number, 0: none yet */
	libasync::rxx_place *place;	/* where other threads keep theirs */
};

/* An rxx whose pattern comes from outside, and so may be wrong. */
class LIBASYNC_EXPORT rrxx : public rxx
{
	str err;

public:
	rrxx() {}
	/* geterr() tells whether the pattern was right. */
	rrxx(const char *pat, const char *opt = "") { compile(pat, opt); }
	rrxx(const str &s, const char *opt = "") { compile(s, opt); }
	rrxx(const rrxx &r) : rxx(r), err(r.err) {}
	rrxx(const rxx &r) : rxx(r) {}
	rrxx &operator=(const rrxx &r) = default;

	/* True: the pattern has taken the place of the old one. False: there is none now, and geterr() says why. */
	bool compile(const char *pat, const char *opt = "");
	bool compile(const str &s, const char *opt = "");

	/* NULL: the pattern was right. */
	const str &geterr() const { return err; }
};

/* s / "pattern" / "options": searched when the result is read. Aborts if the pattern is wrong. */
class LIBASYNC_EXPORT strstrmatch
{
	const str s;
	const char *const p;
	mutable rxx r;
	mutable bool is_done;

	const rxx &done() const;

protected:
	mutable const char *o;

public:
	strstrmatch(const str &ss, const char *pp) : s(ss), p(pp), is_done(false), o("") {}
	operator bool() const { return done().success(); }
	operator str() const { return rxx::matchresult(done()); }
	str operator[](ptrdiff_t n) const { return done().at(n); }
};

class LIBASYNC_EXPORT strstroptmatch : public strstrmatch
{
public:
	strstroptmatch(const str &ss, const char *pp) : strstrmatch(ss, pp) {}

	const strstrmatch &operator/(const char *opt) const
	{
		o = opt;
		return *this;
	}
};

inline rxx::matchresult operator/(const str &s, rxx &r)
{
	return r.search(s);
}

inline rxx::matchresult operator/(const str &s, rxx &&r)
{
	return r.search(s);
}

inline strstroptmatch operator/(const str &s, const char *p)
{
	return strstroptmatch(s, p);
}

/*
 * Cut `expr` at each match of `pat` into at most `lim` pieces, which become the contents of *out (NULL: only count). An
 * empty last piece counts only if `emptylast`. An empty match cuts between two bytes. Returns the number of pieces.
 */
LIBASYNC_EXPORT int split(vec<str> *out, rxx pat, str expr, size_t lim = (size_t)-1, bool emptylast = false);

/* The elements with `sep` between them. */
template <class T> inline str join(str sep, const vec<T> &v)
{
	strbuf sb;

	for (size_t i = 0; i < v.size(); i++) {
		if (i > 0)
			sb << sep;
		sb << v[ptrdiff_t(i)];
	}
	return sb;
}

#endif
