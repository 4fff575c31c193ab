/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_WIDE_STR_H
#define LIBASYNC_WIDE_STR_H

/*
 * Text as characters: UTF-8 to wchar_t and back. wchar_t holds a Unicode character, whatever the locale. One color at a
 * time for each object; copies share the characters until one of them changes.
 *
 * UTF-8 is taken strictly: no surrogates, nothing above U+10FFFF, no longer encodings than needed.
 */
#include <cwchar>

#include "libasync_config.h"
#include "refcnt.h"
#include "str.h"
#include "vec.h"

class LIBASYNC_EXPORT wide_str_t
{
	ptr<vec<wchar_t>> chars; /* with a 0 at the end; NULL: there is no text */
	size_t chars_num;
	bool is_wrong;

	void assign(const wchar_t *in, size_t len);
	void make_own();

public:
	/* From UTF-8, which may contain NULs. If it is wrong, error() is true and there is no text. */
	wide_str_t(str utf8_in);
	/* From a NULL-terminated string, or `len` characters. NULL: no text. */
	wide_str_t(const wchar_t *in);
	wide_str_t(const wchar_t *in, size_t len);

	/* setlocale (LC_CTYPE, locale), for the C library's own functions. False: no such locale. */
	static bool init(const char *locale);

	/* Whether it was made from wrong UTF-8, or contains what UTF-8 cannot express. */
	bool error() const { return is_wrong; }
	/* Whether there is text, possibly empty. */
	operator bool() const { return chars && !is_wrong; }
	/* As UTF-8. NULL: there is no text, or error(). */
	operator str() const { return utf8(); }
	str utf8() const;

	/* Characters. */
	size_t len() const { return chars_num; }
	/* The characters with a 0 behind them, and how many into *lenp unless NULL. Valid until this object changes. */
	const wchar_t *buf(size_t *lenp = NULL) const;
	wchar_t *buf(size_t *lenp = NULL);

	/* Take the first `sz` characters of `v`, which this object then shares; v has a place for a 0 behind them. */
	void setbuf(ptr<vec<wchar_t>> v, size_t sz);

	/* Keep only `len` characters from number `start`, or as many as there are. */
	void chop(size_t start, size_t len = (size_t)-1);
	wide_str_t substr(size_t start, size_t len = (size_t)-1) const;
};

/* As UTF-8. */
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &b, const wide_str_t &s);

/* `s` with `repl` in the place of each byte that belongs to no character; repl NULL: without them. NULL of NULL. */
LIBASYNC_EXPORT str utf8_fix(const str &s, const str &repl = NULL);

/* `len` characters from number `pos`. A byte that belongs to no character counts as one. "" beyond the end. */
LIBASYNC_EXPORT str utf8_substr(const str &s, size_t pos, size_t len = (size_t)-1);

#endif
