/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_STR_H
#define LIBASYNC_STR_H

/*
 * Strings: str (immutable, counted), mstr (a buffer that becomes a str), strbuf (to which text is appended).
 *
 *	str s = strbuf("%d of ", 1) << total << " in " << name;
 *
 * str and mstr are described in libasync_str.h, the bytes under a strbuf in suio++.h. A strbuf and its copies belong to
 * one color at a time.
 */
#include "libasync_config.h"
#include "libasync_str.h"
#include "suio++.h"

#include <type_traits>

template <class A, class B = void> class strbufcatobj;

/*
 * Text to append to. Copies share the text. The functions are const, so that a temporary can be appended to: what
 * changes is the suio.
 *
 * To append a type of its own, a program declares `const strbuf &strbuf_cat (const strbuf &, const type &)`.
 */
class LIBASYNC_EXPORT strbuf
{
public:
	const ::ref<suio> uio;

	strbuf();
	/* As printf. */
	strbuf(const char *fmt, ...) LIBASYNC_PRINTF(2, 3);
	strbuf(const str &s);
	/* Append to this suio. */
	strbuf(const ::ref<suio> &u) : uio(u) {}
	strbuf(const strbuf &b) = default;

	/* Append text as printf does; all arguments are copied. */
	const strbuf &fmt(const char *, ...) const LIBASYNC_PRINTF(2, 3);
	const strbuf &vfmt(const char *fmt, va_list ap) const LIBASYNC_PRINTF(2, 0);

	/* Append a copy of bytes. */
	const strbuf &buf(const char *buf, size_t len) const
	{
		uio->copy(buf, len);
		return *this;
	}

	void copy(const char *p, size_t l) { uio->copy(p, l); }

	/* Append a C string, NULL as "(null)". Not copied, it must stay as it is until the text has been used. */
	const strbuf &cat(const char *p, bool copy = true) const;

	/* Append with strbuf_cat(). */
	template <class A1> const strbuf &cat(const A1 &a1) const;
	template <class A1, class A2> const strbuf &cat(const A1 &a1, const A2 &a2) const;

	/* Move all text of `in` to the end of this; `in` is then empty. */
	const strbuf &take(strbuf &in) const
	{
		uio->take(in.tosuio());
		return *this;
	}

	/* Keep a string until the text that is here now has left the suio. */
	void hold_onto(str s) { uio->hold_onto(s); }

	void clear() { uio->clear(); }

	/* The bytes. */
	suio *tosuio() const { return uio; }
	const iovec *iov() const { return uio->iov(); }
	size_t iovcnt() const { return uio->iovcnt(); }
	size_t len() const { return uio->resid(); }
};

/* Bytes that are appended as hexadecimal digits, two a byte. They must stay until then. */
class hexdump
{
public:
	const void *const buf;
	const size_t len;

	hexdump(const void *b, size_t l) : buf(b), len(l) {}
};

/* Append all bytes of `s`, of which more than 128 are not copied; the suio holds on to the string. NULL: nothing. */
LIBASYNC_EXPORT void suio_print(suio *uio, const str &s);

/* Remove the first line and return it without its newline; NULL: there is no newline. */
LIBASYNC_EXPORT str suio_getline(suio *uio);

/*
 * `len` bytes of `s` from byte `pos`, or as many as there are: "" beyond the end. NULL of NULL.
 */
LIBASYNC_EXPORT str substr(const str &s, size_t pos, size_t len = (size_t)-1);

/* ---------------------------------------------------------------- what can be appended */

LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &b, const char *p, bool copy = true);
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &b, const strbuf &b2);
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &sb, const hexdump &hd);

/* A NULL str appends nothing. */
inline const strbuf &strbuf_cat(const strbuf &b, const str &s)
{
	suio_print(b.uio, s);
	return b;
}

/* Characters as they are, integers in decimal, floating point as %g. */
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &b, long long n);
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &b, unsigned long long n);
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &b, const double &d);

inline const strbuf &strbuf_cat(const strbuf &b, char c)
{
	return b.buf(&c, 1);
}

inline const strbuf &strbuf_cat(const strbuf &b, signed char n)
{
	return strbuf_cat(b, (long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, unsigned char n)
{
	return strbuf_cat(b, (unsigned long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, short n)
{
	return strbuf_cat(b, (long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, unsigned short n)
{
	return strbuf_cat(b, (unsigned long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, int n)
{
	return strbuf_cat(b, (long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, unsigned n)
{
	return strbuf_cat(b, (unsigned long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, long n)
{
	return strbuf_cat(b, (long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, unsigned long n)
{
	return strbuf_cat(b, (unsigned long long)n);
}

inline const strbuf &strbuf_cat(const strbuf &b, float d)
{
	return strbuf_cat(b, double(d));
}

inline const strbuf &strbuf_cat(const strbuf &b, long double d)
{
	return strbuf_cat(b, double(d));
}

/* 0 or 1. Only of a bool, as pointers convert to bool. */
template <class T> inline std::enable_if_t<std::is_same<T, bool>::value, const strbuf &>
strbuf_cat(const strbuf &b, const T &is_true)
{
	return strbuf_cat(b, (long long)is_true);
}

/* Other pointers as %p. */
template <class T> inline const strbuf &strbuf_cat(const strbuf &b, T const *p)
{
	return b.fmt("%p", static_cast<const void *>(p));
}

/* ---------------------------------------------------------------- appending */

template <class T> inline const strbuf &operator<<(const strbuf &sb, const T &a)
{
	return strbuf_cat(sb, a);
}

inline const strbuf &operator<<(const strbuf &sb, const str &s)
{
	return strbuf_cat(sb, s);
}

LIBASYNC_EXPORT const strbuf &operator<<(const strbuf &sb, const char *a);
/* A new strbuf. */
LIBASYNC_EXPORT const strbuf operator<<(const str &s, const char *a);
LIBASYNC_EXPORT const strbuf operator<<(const str &s1, const str &s2);

template <class A1> inline const strbuf &strbuf::cat(const A1 &a1) const
{
	return strbuf_cat(*this, a1);
}

template <class A1, class A2> inline const strbuf &strbuf::cat(const A1 &a1, const A2 &a2) const
{
	return strbuf_cat(*this, a1, a2);
}

/* Arguments for strbuf_cat(), to be used with <<: `sb << cat (p, false)`. It refers to them. */
template <class A, class B> class strbufcatobj
{
	const A &a;
	const B &b;

public:
	strbufcatobj(const A &aa, const B &bb) : a(aa), b(bb) {}
	const strbuf &cat(const strbuf &sb) const { return strbuf_cat(sb, a, b); }
};

template <class A> class strbufcatobj<A, void>
{
	const A &a;

public:
	strbufcatobj(const A &aa) : a(aa) {}
	const strbuf &cat(const strbuf &sb) const { return strbuf_cat(sb, a); }
};

template <class A> inline strbufcatobj<A> cat(const A &a)
{
	return strbufcatobj<A>(a);
}

template <class A, class B> inline strbufcatobj<A, B> cat(const A &a, const B &b)
{
	return strbufcatobj<A, B>(a, b);
}

template <class A, class B> inline const strbuf &strbuf_cat(const strbuf &sb, const strbufcatobj<A, B> &o)
{
	return o.cat(sb);
}

#endif
