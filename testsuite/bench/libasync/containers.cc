/*
 * What an operation of vec and qhash costs, beside std::vector and std::unordered_map: append, read, look up, insert.
 *
 * usage: containers SHAPE NUM
 */
#ifndef NDEBUG
#define NDEBUG		/* as programs that are released */
#endif
#include "qhash.h"
#include "str.h"
#include "vec.h"

#include <string>
#include <unordered_map>
#include <vector>

#include "shapes.h"

namespace
{

enum { ELEMENTS = 1000 };

volatile long total;

/* ---------------------------------------------------------------- arrays */

/* Arrays that grow from nothing. */
template <class V> void run_push(long num)
{
	for (long i = 0; i < num / ELEMENTS; i++) {
		V v;

		for (long j = 0; j < ELEMENTS; j++)
			v.push_back(j);
		total = total + long(v.size());
	}
}

template <class V> void run_push_str(long num)
{
	str s("a string");

	for (long i = 0; i < num / ELEMENTS; i++) {
		V v;

		for (long j = 0; j < ELEMENTS; j++)
			v.push_back(s);
		total = total + long(v.size());
	}
}

/* The size is not known when it is compiled. */
template <class V> OPAQUE long sum(V &v)
{
	typedef std::conditional_t<std::is_same_v<V, vec<long>>, ptrdiff_t, size_t> index_t;
	long n = 0;

	for (size_t i = 0; i < v.size(); i++)
		n += v[index_t(i)];
	return n;
}

template <class V> void run_read(long num)
{
	V v;

	for (long i = 0; i < ELEMENTS; i++)
		v.push_back(i);
	for (long i = 0; i < num / ELEMENTS; i++)
		total = total + sum(v);
}

/* ---------------------------------------------------------------- tables */

str str_key(long i)
{
	return strbuf("key-number-%ld-of-this", i);
}

std::string string_key(long i)
{
	return str_key(i).cstr();
}

long number_key(long i)
{
	return i * 7;
}

template <class K, class M> OPAQUE long sum_of_map(const M &map, const std::vector<K> &keys)
{
	long n = 0;

	for (const K &k : keys)
		n += map.find(k)->second;
	return n;
}

template <class K, class V> OPAQUE long sum_of_map(const qhash<K, V> &map, const std::vector<K> &keys)
{
	long n = 0;

	for (const K &k : keys)
		n += *map[k];
	return n;
}

template <class K, class V> void set(qhash<K, V> &map, const K &k, V v)
{
	map.insert(k, v);
}

template <class K, class V> void set(std::unordered_map<K, V> &map, const K &k, V v)
{
	map[k] = v;
}

template <class M, class K> void run_find(long num, K make_key(long))
{
	std::vector<K> keys;
	M map;

	for (long i = 0; i < ELEMENTS; i++) {
		keys.push_back(make_key(i));
		set(map, keys.back(), i);
	}
	for (long i = 0; i < num / ELEMENTS; i++)
		total = total + sum_of_map(map, keys);
}

/* Tables that grow from nothing, and are freed. */
template <class M, class K> void run_insert(long num, K make_key(long))
{
	for (long i = 0; i < num / ELEMENTS; i++) {
		M map;

		for (long j = 0; j < ELEMENTS; j++)
			set(map, make_key(j), j);
		total = total + long(map.size());
	}
}

const shape shapes[] = {
	{ "vec_push", run_push<vec<long>> },
	{ "vector_push", run_push<std::vector<long>> },
	{ "vec_push_str", run_push_str<vec<str>> },
	{ "vector_push_str", run_push_str<std::vector<str>> },
	{ "vec_read", run_read<vec<long>> },
	{ "vector_read", run_read<std::vector<long>> },
	{ "qhash_find", [](long n) { run_find<qhash<long, long>>(n, number_key); } },
	{ "map_find", [](long n) { run_find<std::unordered_map<long, long>>(n, number_key); } },
	{ "qhash_find_str", [](long n) { run_find<qhash<str, long>>(n, str_key); } },
	{ "map_find_string", [](long n) { run_find<std::unordered_map<std::string, long>>(n, string_key); } },
	{ "qhash_insert", [](long n) { run_insert<qhash<long, long>>(n, number_key); } },
	{ "map_insert", [](long n) { run_insert<std::unordered_map<long, long>>(n, number_key); } },
};

} // namespace

int main(int argc, char **argv)
{
	return run_shape(shapes, argc, argv);
}
