/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_BITVEC_H
#define LIBASYNC_BITVEC_H

/*
 * bitvec: a vector of bits. New bits are 0. An index out of range ends the program, as in all containers.
 */
#include "libasync_container.h"
#include "str.h"

class bitvec
{
public:
	typedef unsigned long map_t;

	/* One bit of a vector, to read and to set. It ends with the vector, or with the next setsize. */
	class wbit
	{
		map_t &word;
		const map_t mask;

	public:
		wbit(map_t &w, map_t m) : word(w), mask(m) {}
		wbit(const wbit &) = default;
		operator bool() const { return word & mask; }
		wbit &operator=(bool v)
		{
			word = v ? word | mask : word & ~mask;
			return *this;
		}
		wbit &operator=(const wbit &b) { return *this = bool(b); }
		wbit &operator^=(bool v)
		{
			if (v)
				word ^= mask;
			return *this;
		}
	};

	/* For code that handles bits word by word; bits of the last word beyond nbits may be anything. */
	enum { word_bits = 8 * sizeof(map_t) };
	size_t nbits;
	map_t *map;

	/* An empty vector; the memory until now is not freed. */
	void init()
	{
		nbits = 0;
		map = NULL;
	}

private:
	static size_t nwords(size_t nb) { return nb / word_bits + (nb % word_bits != 0); }
	static map_t mask_of(size_t i) { return static_cast<map_t>(1) << i % word_bits; }

	size_t checked(ptrdiff_t i) const
	{
		LIBASYNC_CHECK(static_cast<size_t>(i) < nbits, "bitvec: index out of range");
		return static_cast<size_t>(i);
	}

	/* Set those from `s` to before `e`, all in one word. */
	void set_in_word(size_t s, size_t e, bool v)
	{
		const map_t mask = (~static_cast<map_t>(0) >> (word_bits - (e - s))) << s % word_bits;
		map_t &word = map[s / word_bits];

		word = v ? word | mask : word & ~mask;
	}

public:
	bitvec() { init(); }
	explicit bitvec(size_t n)
	{
		init();
		setsize(n);
	}
	bitvec(const bitvec &v)
	{
		init();
		*this = v;
	}
	~bitvec() { libasync::container_free(map); }

	bitvec &operator=(const bitvec &v)
	{
		if (&v != this) {
			setsize(v.nbits);
			if (nbits)
				memcpy(map, v.map, nwords(nbits) * sizeof(map_t));
		}
		return *this;
	}

	/* The bytes that `nb` bits take. */
	static size_t nbytes(size_t nb) { return nwords(nb) * sizeof(map_t); }

	size_t size() const { return nbits; }

	/* Exactly `n` bits: new ones are 0, those that go are lost. */
	void setsize(size_t n)
	{
		const size_t have = nbits, words = nwords(n);

		if (words != nwords(have))
			map = static_cast<map_t *>(libasync::container_realloc(map, words, sizeof(map_t)));
		nbits = n;
		for (size_t i = nwords(have); i < words; i++)
			map[i] = 0;

		/* Bits of the last word that are not in use may be anything. */
		if (n > have && have % word_bits)
			setrange(have, n < nwords(have) * word_bits ? n : nwords(have) * word_bits, false);
	}

	/* The same, by the name that asks for the zeros. */
	void zsetsize(size_t n) { setsize(n); }

	bool at(ptrdiff_t i) const
	{
		const size_t n = checked(i);

		return map[n / word_bits] & mask_of(n);
	}
	bool operator[](ptrdiff_t i) const { return at(i); }
	wbit operator[](ptrdiff_t i)
	{
		const size_t n = checked(i);

		return wbit(map[n / word_bits], mask_of(n));
	}

	/* The first bit from `from` on that is `v`; size() if there is none. */
	size_t find(size_t from, bool v) const
	{
		for (size_t i = from; i < nbits; i = (i / word_bits + 1) * word_bits) {
			const map_t word = (v ? map[i / word_bits] : ~map[i / word_bits]) >> i % word_bits;

			if (word) {
				const size_t found = i + static_cast<size_t>(__builtin_ctzl(word));

				return found < nbits ? found : nbits;
			}
		}
		return nbits;
	}

	/* Set the bits from `s` to before `e` to `v`. */
	void setrange(size_t s, size_t e, bool v)
	{
		LIBASYNC_CHECK(s <= e && e <= nbits, "bitvec: range outside of the vector");
		while (s < e) {
			const size_t end_of_word = (s / word_bits + 1) * word_bits;
			const size_t part = e < end_of_word ? e : end_of_word;

			set_in_word(s, part, v);
			s = part;
		}
	}

	friend void swap(bitvec &a, bitvec &b)
	{
		const size_t n = a.nbits;
		map_t *const m = a.map;

		a.nbits = b.nbits;
		a.map = b.map;
		b.nbits = n;
		b.map = m;
	}
};

void swap(bitvec &a, bitvec &b);

/* Append a 0 or 1 for each bit, bit 0 first. */
LIBASYNC_EXPORT const strbuf &strbuf_cat(const strbuf &sb, const bitvec &v);

#endif
