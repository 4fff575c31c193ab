/*
 * keyfunc.h and stllike.h: which keys hash, compare and equal how.
 */
#include "keyfunc.h"
#include "stllike.h"
#include "str.h"

#include <set>
#include <string>

#include "container/elements.h"

using namespace std; /* as many a program says */

namespace
{

struct by_hash_t {
	int n;
	operator hash_t() const { return static_cast<u_int>(n); }
	operator bool() const { return true; }
	bool operator==(const by_hash_t &b) const { return n == b.n; }
	bool operator<(const by_hash_t &b) const { return n < b.n; }
};

struct by_u_int {
	operator u_int() const { return 77; }
};

enum fruit { APPLE, PEAR = 1000 };

void keyfunc_hashes_each_kind_of_key(void **)
{
	const char *text = "abc";
	char copy[] = "abc";
	const by_hash_t key = { 5 };

	assert_int_equal(hashfn<int>()(5), 5);
	assert_int_equal(hashfn<const u_int>()(5), 5);
	assert_int_equal(hashfn<by_hash_t>()(key), 5);
	assert_int_equal(hashfn<by_u_int>()(by_u_int()), 77);
	assert_int_equal(hashfn<fruit>()(PEAR), 1000);
	assert_int_equal(hashfn<bool>()(true), 1);
	assert_int_equal(hashfn<const char *>()(text), hash_string("abc"));
	assert_int_equal(hashfn<char *>()(copy), hash_string("abc"));
	assert_int_equal(hashfn<const char *>()(NULL), 0);
	assert_int_equal(hash_bytes("abc", 3), hash_string("abc"));
	assert_int_equal(hash_bytes("c", 1, hash_bytes("ab", 2)), hash_string("abc"));
	assert_int_equal(hash_bytes("", 0), HASHSEED);
	assert_int_equal(hash_bytes("abc", 3, 1), hash_string("abc", 1));
	assert_int_not_equal(hash_string("ab"), hash_string("ba"));

	/* Both halves of a wide number and of a pointer matter. */
	assert_int_not_equal(hashfn<uint64_t>()(UINT64_C(1) << 32), hashfn<uint64_t>()(UINT64_C(2) << 32));
	assert_int_not_equal(hashfn<int *>()(NULL), hashfn<const char **>()(&text));
	assert_int_not_equal((hash2fn<int, int>()(1, 2)), (hash2fn<int, int>()(2, 1)));
	assert_int_equal(hash_t(), 0);
	assert_int_equal(hashfn<hash_t>()(hash_t(9)), 9);
}

/* Programs keep these values in files, and find a str by the hash of its bytes. */
void keyfunc_hashes_any_number_of_bytes(void **)
{
	std::string bytes;
	u_int hash = HASHSEED;

	for (u_int i = 0; i < 40; i++) {
		assert_int_equal(hash_bytes(bytes.data(), int(i)), hash);
		assert_int_equal(hash_string(bytes.c_str()), hash);
		assert_int_equal(u_int(hash_t(str(bytes.data(), i))), hash);
		for (u_int head = 0; head <= i; head++) {
			const u_int of_head = hash_bytes(bytes.data(), int(head));
			assert_int_equal(hash_bytes(bytes.data() + head, int(i - head), of_head), hash);
		}

		const unsigned char c = static_cast<unsigned char>(0xff - i * 5);
		bytes += char(c);
		hash = hash * 32 + (hash ^ c);
	}
	assert_int_equal(hash_bytes(NULL, 0), HASHSEED);
	assert_int_equal(hash_bytes("a", -1), HASHSEED);
}

void keyfunc_compares_each_kind_of_key(void **)
{
	char copy[] = "abc";
	const by_hash_t a = { 5 }, b = { 6 };

	assert_true(equals<int>()(5, 5));
	assert_true(equals<const by_hash_t>()(a, a));
	assert_false(equals<by_hash_t>()(a, b));
	assert_true(equals<const char *>()("abc", copy));
	assert_false(equals<const char *>()("abc", NULL));
	assert_true(equals<const char *>()(NULL, NULL));
	assert_true(compare<by_hash_t>()(a, b) < 0 && compare<const by_hash_t>()(b, a) > 0);
	assert_int_equal(compare<by_hash_t>()(a, a), 0);
	assert_int_equal(compare<const char *>()("abc", copy), 0);
	assert_true(compare<const char *>()("abc", "abd") < 0);
	assert_true(compare<const char *>()(NULL, "") < 0 && compare<const char *>()("", NULL) > 0);

	/* No difference of two numbers: that would overflow. */
	assert_true(compare<int>()(INT32_MIN, INT32_MAX) < 0);
	assert_true(compare<u_int>()(0, 1) < 0);
}

void keyfunc_applies_a_function_to_a_member(void **)
{
	const keyfunc_1<hash_t, by_hash_t, int, &by_hash_t::n, hashfn<int>> one;
	const keyfunc_2<int, by_hash_t, int, &by_hash_t::n, compare<int>> two((compare<int>()));
	const by_hash_t a = { 5 }, b = { 6 };

	assert_int_equal(one(a), 5);
	assert_true(two(a, b) < 0);
}

/* Words of three letters: a good hash has few collisions, a bad one thousands. */
void keyfunc_hashes_strings_well(void **)
{
	set<u_int> seen;
	char word[4] = "";

	for (word[0] = 'a'; word[0] <= 'z'; word[0]++)
		for (word[1] = 'a'; word[1] <= 'z'; word[1]++)
			for (word[2] = 'a'; word[2] <= 'z'; word[2]++)
				seen.insert(hash_string(word));
	assert_true(seen.size() > 26 * 26 * 26 * 9 / 10);
}

void stllike_smaller_and_larger(void **)
{
	assert_int_equal(min(1, 2), 1);
	assert_int_equal(::max(1, 2), 2);
	assert_int_equal(implicit_cast<int>('a'), 'a');
}

struct derived : counted {
	explicit derived(int v) : counted(v) {}
};

::auto_ptr<counted> make(int v)
{
	::auto_ptr<counted> p(new counted(v));

	return p;
}

void stllike_auto_ptr_owns_one_object(void **)
{
	{
		::auto_ptr<counted> a(new counted(1)), b(a), c(make(3)), none;

		assert_null(a.get());
		assert_int_equal(b->value, 1);
		assert_int_equal((*c).value, 3);
		c = b;
		assert_int_equal(c->value, 1);
		assert_int_equal(counted::alive, 1);
		c = make(4);
		assert_int_equal(c->value, 4);
		c.reset(c.get());
		assert_int_equal(c->value, 4);
		c.reset(new counted(5));
		assert_int_equal(counted::alive, 1);
		assert_null(none.get());
		counted *raw = c.release();
		assert_null(c.get());
		delete raw;
		c.reset();
	}
	counted::none_is_alive();
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keyfunc_hashes_each_kind_of_key),
		cmocka_unit_test(keyfunc_hashes_any_number_of_bytes),
		cmocka_unit_test(keyfunc_compares_each_kind_of_key),
		cmocka_unit_test(keyfunc_applies_a_function_to_a_member),
		cmocka_unit_test(keyfunc_hashes_strings_well),
		cmocka_unit_test(stllike_smaller_and_larger),
		cmocka_unit_test(stllike_auto_ptr_owns_one_object),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
