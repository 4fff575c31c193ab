/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_STR_BASE_H
#define LIBASYNC_STR_BASE_H

/*
 * str and mstr, as str.h and suio++.h share them; programs include one of those.
 *
 * A str is one pointer to immutable bytes with a reference count. A NUL that does not count follows them, and they may
 * contain NULs. A str may also be NULL, which is not the empty string: str() is NULL, str("") is not. NULL has length
 * 0, is less than all other strings, and equals only NULL.
 *
 * Threads: the bytes never change, so threads share a string freely. One str variable belongs to one color at a time,
 * like any other variable. Without memory all functions print a message and abort.
 */
#include "libasync_config.h"
#include "sysconf.h"
#include "refcnt.h"
#include "keyfunc.h"

class str;
class strbuf;
struct suio;

namespace libasync
{

/* Print what is wrong with the use of a string, and abort. */
[[noreturn]] LIBASYNC_EXPORT LIBASYNC_COLD void str_misused(const char *what);

/* Of a and b, NULL or not: below, at or above 0. */
LIBASYNC_EXPORT int str_compare(const char *a, size_t a_len, const char *b, size_t b_len);

/* That of hash_bytes(), but of a string of 2 GB and more, too. */
inline hash_t str_hash(const char *p, size_t len)
{
	return hash_range(p, len);
}

} // namespace libasync

/*
 * The bytes of a string and their count of references. strobjptr owns it; new ones belong to nobody.
 */
struct strobj {
	size_t len;
	unsigned count;
	char contents[0];

	/* Room for `n` bytes and a NUL, which is written; `len` is n. */
	LIBASYNC_EXPORT static strobj *alloc(size_t n);

	char *dat() { return reinterpret_cast<char *>(this) + offsetof(strobj, contents); }
	const char *dat() const { return reinterpret_cast<const char *>(this) + offsetof(strobj, contents); }
};

/* A counted reference to a strobj, or NULL. */
class strobjptr
{
	strobj *p;

	LIBASYNC_EXPORT static void free(strobj *o);

	static void get(strobj *o)
	{
		if (LIBASYNC_LIKELY(!libasync::is_null_or_shared(o)))
			o->count++;
		else if (o != nullptr)
			(void)__atomic_fetch_add(&o->count, 1, __ATOMIC_RELAXED);
	}

	/* The only reference is not used by another thread, so it needs no read-modify-write. */
	static bool is_last_shared(strobj *o)
	{
		return __atomic_load_n(&o->count, __ATOMIC_ACQUIRE) == 1 ||
		       __atomic_fetch_sub(&o->count, 1, __ATOMIC_ACQ_REL) == 1;
	}

	static void put(strobj *o)
	{
		if (LIBASYNC_LIKELY(!libasync::is_null_or_shared(o))) {
			if (--o->count == 0)
				free(o);
		} else if (o != nullptr && is_last_shared(o)) {
			free(o);
		}
	}

public:
	constexpr strobjptr() : p(nullptr) {}
	strobjptr(strobj *pp) : p(pp) { get(p); }
	strobjptr(const strobjptr &b) : p(b.p) { get(p); }
	strobjptr(strobjptr &&src) noexcept : p(src.p) { src.p = nullptr; }
	~strobjptr() { put(p); }

	strobjptr &operator=(strobj *pp)
	{
		strobj *old = p;

		get(pp);
		p = pp;
		put(old);
		return *this;
	}

	strobjptr &operator=(const strobjptr &b) { return *this = b.p; }

	strobjptr &operator=(strobjptr &&src) noexcept
	{
		swap(src);
		return *this;
	}

	strobj *operator->() const { return p; }
	operator bool() const { return p != nullptr; }

	void swap(strobjptr &b)
	{
		strobj *q = p;

		p = b.p;
		b.p = q;
	}

	/* The object with one more reference, which the caller owns and nothing frees. */
	void *Xleak() const
	{
		get(p);
		return p;
	}
};

/*
 * A buffer of fixed size for bytes that become a str without a copy: `str (m)` takes the buffer and leaves `m` NULL.
 * The bytes are not initialized; a NUL follows them.
 */
class mstr
{
public:
	strobjptr b;

	mstr() {}
	explicit mstr(size_t n) : b(strobj::alloc(n)) {}
	mstr(mstr &&m) noexcept = default;
	mstr &operator=(mstr &&m) noexcept = default;

	/* Bytes. */
	size_t len() const { return b ? b->len : 0; }
	char *cstr() { return b ? b->dat() : nullptr; }
	const char *cstr() const { return b ? b->dat() : nullptr; }
	operator char *() { return cstr(); }
	operator const char *() const { return cstr(); }

	/* Cut to the first `n` bytes; aborts if there are fewer. */
	void setlen(size_t n)
	{
		if (n > len())
			libasync::str_misused("mstr::setlen: more than the buffer's length");
		if (b) {
			b->len = n;
			b->dat()[n] = '\0';
		}
	}
};

/* An immutable string; see the head of this file. */
class str
{
public:
	strobjptr b;

	constexpr str() {}
	constexpr str(__bss_init) {}
	str(const str &s) = default;
	str(str &&s) noexcept = default;
	/* A copy of a C string; NULL gives NULL. */
	LIBASYNC_EXPORT str(const char *p);
	/* A copy of `len` bytes. */
	LIBASYNC_EXPORT str(const char *buf, size_t len);
	/* A copy of the bytes of `cnt` pieces. */
	LIBASYNC_EXPORT str(const iovec *iov, int cnt);
	/* A copy of all bytes in a buffer. */
	LIBASYNC_EXPORT str(const strbuf &sb);
	LIBASYNC_EXPORT str(const suio &u);
	/* The buffer of `m`, without a copy. */
	str(mstr &m) { b.swap(m.b); }
	str(mstr &&m) { b.swap(m.b); }

	str &operator=(const str &s) = default;
	str &operator=(str &&s) noexcept = default;
	LIBASYNC_EXPORT str &operator=(const char *p);
	LIBASYNC_EXPORT str &operator=(const strbuf &sb);
	LIBASYNC_EXPORT str &operator=(mstr &m);
	str &operator=(mstr &&m) { return *this = m; }

	/* Become a copy of `len` bytes, which may be bytes of this string. */
	LIBASYNC_EXPORT str &setbuf(const char *buf, size_t len);

	void swap(str &s) { b.swap(s.b); }

	/* Bytes before the NUL. */
	size_t len() const { return b ? b->len : 0; }
	/* Valid while this string lives; NULL of NULL. */
	const char *cstr() const { return b ? b->dat() : nullptr; }
	operator const char *() const { return cstr(); }
	/* Whether it is not NULL. */
	explicit operator bool() const { return b; }
	bool operator!() const { return !b; }

	/* Byte n; at n == len() the NUL. Aborts beyond. */
	char operator[](ptrdiff_t n) const
	{
		if (size_t(n) > len() || !b)
			libasync::str_misused("str: index out of range");
		return b->dat()[n];
	}

	/* Of all bytes, equal to that of the same bytes as a C string. */
	operator hash_t() const { return libasync::str_hash(cstr(), len()); }

	/* Byte by byte, as unsigned chars; of equal beginnings the shorter is less. */
	int cmp(const str &s) const { return libasync::str_compare(cstr(), len(), s.cstr(), s.len()); }
	int cmp(const char *p) const { return libasync::str_compare(cstr(), len(), p, p ? strlen(p) : 0); }

	bool operator==(const str &s) const
	{
		if (!b || !s.b)
			return !b && !s.b;
		return b->len == s.b->len && memcmp(b->dat(), s.b->dat(), b->len) == 0;
	}

	bool operator==(const char *p) const { return p && b ? cmp(p) == 0 : !p && !b; }
	bool operator!=(const str &s) const { return !(*this == s); }
	bool operator!=(const char *p) const { return !(*this == p); }
	bool operator<(const str &s) const { return cmp(s) < 0; }
	bool operator<=(const str &s) const { return cmp(s) <= 0; }
	bool operator>(const str &s) const { return cmp(s) > 0; }
	bool operator>=(const str &s) const { return cmp(s) >= 0; }
	bool operator<(const char *p) const { return cmp(p) < 0; }
	bool operator<=(const char *p) const { return cmp(p) <= 0; }
	bool operator>(const char *p) const { return cmp(p) > 0; }
	bool operator>=(const char *p) const { return cmp(p) >= 0; }

	/*
	 * The whole string as a number. False, and *out as it was: NULL, empty, white space, other characters, or a
	 * number that does not fit. `base` as of strtol: 0 takes 0x and 0 as prefixes.
	 */
	LIBASYNC_EXPORT bool to_int32(int32_t *out, int base = 10) const;
	LIBASYNC_EXPORT bool to_uint32(uint32_t *out, int base = 10) const;
	LIBASYNC_EXPORT bool to_int64(int64_t *out, int base = 10) const;
	LIBASYNC_EXPORT bool to_uint64(uint64_t *out, int base = 10) const;
	LIBASYNC_EXPORT bool to_double(double *out) const;
};

template <> struct libasync::moves_as_bytes<str> : std::true_type {
};

template <> struct libasync::moves_as_bytes<mstr> : std::true_type {
};

inline bool operator==(const char *p, const str &s)
{
	return s == p;
}

inline bool operator!=(const char *p, const str &s)
{
	return s != p;
}

inline bool operator<(const char *p, const str &s)
{
	return s > p;
}

inline bool operator<=(const char *p, const str &s)
{
	return s >= p;
}

inline bool operator>(const char *p, const str &s)
{
	return s < p;
}

inline bool operator>=(const char *p, const str &s)
{
	return s <= p;
}

inline void swap(str &a, str &b)
{
	a.swap(b);
}

/*
 * A static str that other static objects may use in their constructors and destructors: it is NULL before the first
 * constructor runs, and what it holds when it goes is not freed.
 */
class bssstr : public str
{
public:
	constexpr bssstr() : str(__bss_init()) {}
	bssstr(const bssstr &s) = default;
	~bssstr() { (void)b.Xleak(); }

	using str::operator=;
	str &operator=(const str &s) { return str::operator=(s); }
	str &operator=(const bssstr &s) { return str::operator=(static_cast<const str &>(s)); }
};

/* Keys of hash tables and trees: strings may be looked up by C strings. */
template <> struct hashfn<str> {
	hashfn() {}
	hash_t operator()(const str &s) const { return s; }
	hash_t operator()(const char *p) const { return libasync::str_hash(p, p ? strlen(p) : 0); }
};

template <> struct equals<str> {
	equals() {}
	int operator()(const str &a, const str &b) const { return a == b; }
	int operator()(const char *a, const str &b) const { return a == b; }
	int operator()(const str &a, const char *b) const { return a == b; }
	int operator()(const char *a, const char *b) const
	{
		return libasync::str_compare(a, a ? strlen(a) : 0, b, b ? strlen(b) : 0) == 0;
	}
};

template <> struct compare<str> {
	compare() {}
	int operator()(const str &a, const str &b) const { return a.cmp(b); }
	int operator()(const char *a, const str &b) const { return -b.cmp(a); }
	int operator()(const str &a, const char *b) const { return a.cmp(b); }
	int operator()(const char *a, const char *b) const
	{
		return libasync::str_compare(a, a ? strlen(a) : 0, b, b ? strlen(b) : 0);
	}
};

#endif
