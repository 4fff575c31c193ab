/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_KEYFUNC_H
#define LIBASYNC_KEYFUNC_H

/*
 * How containers hash and compare keys.
 *
 *   hashfn<T>    a class converts to hash_t; numbers, enums and pointers hash by value, but
 *                const char * and char * by the string they point at
 *   equals<T>    ==, and for const char * and char * equal strings
 *   compare<T>   <: -1, 0 or 1; for const char * and char * strcmp
 *
 * A program gives its own type a rule by a specialization of the three, or by other classes as
 * parameters of the container. Any thread.
 */
#include "libasync_config.h"
#include "sysconf.h"

#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <type_traits>

namespace libasync
{

template <class T> struct cref_of {
	typedef const T &type;
};
template <class T> struct cref_of<T &> {
	typedef T &type;
};
template <class T> struct ncref_of {
	typedef T &type;
};
template <class T> struct ncref_of<const T> {
	typedef T &type;
};
template <class T> struct ncref_of<T &> {
	typedef T &type;
};

template <class T> struct is_c_string {
	static constexpr bool value = std::is_same<T, const char *>::value || std::is_same<T, char *>::value;
};

} // namespace libasync

/* The type of a parameter that takes a T: const T &, or T & to take it over. In templates after `typename`. */
#ifndef CREF
#define CREF(T) ::libasync::cref_of<T>::type
#endif
#ifndef NCREF
#define NCREF(T) ::libasync::ncref_of<T>::type
#endif

/* The value of a hash function, 32 bits. A class that converts to hash_t can be a key. */
class hash_t
{
	u_int val;

public:
	hash_t() : val(0) {}
	hash_t(u_int v) : val(v) {}
	operator u_int() const { return val; }
};

#define HASHSEED 5381

namespace libasync
{

/* One byte more. The byte is what changes first, so compilers need no copy of the hash. */
inline u_int hash_byte(u_int hash, unsigned char c)
{
	u_int mixed = c;

	mixed ^= hash;
	return (hash << 5) + mixed;
}

/* hash_bytes() of what is in memory, so of any length. Eight at once, for half of a loop over bytes is the loop. */
inline u_int hash_range(const void *key, size_t len, u_int hash = HASHSEED)
{
	const unsigned char *p = static_cast<const unsigned char *>(key), *end = p + len;

	for (; end - p >= 8; p += 8) {
		hash = hash_byte(hash_byte(hash, p[0]), p[1]);
		hash = hash_byte(hash_byte(hash, p[2]), p[3]);
		hash = hash_byte(hash_byte(hash, p[4]), p[5]);
		hash = hash_byte(hash_byte(hash, p[6]), p[7]);
	}
	switch (end - p) {
	case 7: hash = hash_byte(hash, end[-7]); [[fallthrough]];
	case 6: hash = hash_byte(hash, end[-6]); [[fallthrough]];
	case 5: hash = hash_byte(hash, end[-5]); [[fallthrough]];
	case 4: hash = hash_byte(hash, end[-4]); [[fallthrough]];
	case 3: hash = hash_byte(hash, end[-3]); [[fallthrough]];
	case 2: hash = hash_byte(hash, end[-2]); [[fallthrough]];
	case 1: hash = hash_byte(hash, end[-1]);
	}
	return hash;
}

} // namespace libasync

/* A hash of `len` bytes. Pass the result as `seed` to go on with further bytes. */
inline u_int hash_bytes(const void *_key, int len, u_int seed = HASHSEED)
{
	return len > 0 ? libasync::hash_range(_key, static_cast<size_t>(len), seed) : seed;
}

/* The same of a string's bytes up to the NUL. */
inline u_int hash_string(const void *_p, u_int v = HASHSEED)
{
	for (const unsigned char *p = static_cast<const unsigned char *>(_p); *p; p++)
		v = libasync::hash_byte(v, *p);
	return v;
}

namespace libasync
{

inline u_int hash_number(uint64_t v)
{
	return static_cast<u_int>(v ^ v >> 32);
}

} // namespace libasync

template <class T> struct hashfn {
	hashfn() {}
	hash_t operator()(typename CREF(T) a) const
	{
		if constexpr (libasync::is_c_string<T>::value)
			return a ? hash_string(a) : 0;
		else if constexpr (std::is_pointer<T>::value)
			return libasync::hash_number(reinterpret_cast<uintptr_t>(a));
		else if constexpr (std::is_integral<T>::value || std::is_enum<T>::value)
			return libasync::hash_number(static_cast<uint64_t>(a));
		else if constexpr (std::is_convertible<typename CREF(T), hash_t>::value)
			return a;
		else
			return static_cast<hash_t>(a);
	}
};
template <class T> struct hashfn<const T> : hashfn<T> {
	hashfn() {}
};

template <class T1, class T2> struct hash2fn {
	hash2fn() {}
	hash_t operator()(typename CREF(T1) t1, typename CREF(T2) t2) const
	{
		const u_int h1 = hashfn<T1>()(t1), h2 = hashfn<T2>()(t2);

		return (h1 << 7 | h1 >> 25) ^ h2;
	}
};

template <class T> struct equals {
	equals() {}
	bool operator()(typename CREF(T) a, typename CREF(T) b) const
	{
		if constexpr (libasync::is_c_string<T>::value)
			return a == b || (a && b && strcmp(a, b) == 0);
		else
			return a == b;
	}
};
template <class T> struct equals<const T> : equals<T> {
	equals() {}
};

template <class T> struct compare {
	compare() {}
	int operator()(typename CREF(T) a, typename CREF(T) b) const
	{
		if constexpr (libasync::is_c_string<T>::value)
			return a == b ? 0 : !a ? -1 : !b ? 1 : strcmp(a, b);
		else
			return a < b ? -1 : b < a ? 1 : 0;
	}
};
template <class T> struct compare<const T> : compare<T> {
	compare() {}
};

/* A function of a key (of two keys) as one of the elements that have it as member `key`. */
template <class R, class V, class K, K V::*key, class F> struct keyfunc_1 {
	const F f;

	keyfunc_1() : f() {}
	keyfunc_1(const F &fn) : f(fn) {}
	R operator()(typename CREF(V) a) const { return f(a.*key); }
};

template <class R, class V, class K, K V::*key, class F> struct keyfunc_2 {
	const F f;

	keyfunc_2() : f() {}
	keyfunc_2(const F &fn) : f(fn) {}
	R operator()(typename CREF(V) a, typename CREF(V) b) const { return f(a.*key, b.*key); }
};

#endif
