/*
 * str and mstr: what strings are made of, what they convert to, how they compare and hash, and who frees them.
 */
#include "ihash.h"
#include "itree.h"
#include "qhash.h"
#include "str.h"

#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>

#include <utility>

#include "core/ec.h"
#include "test.h"
#include "dies.h"

namespace
{

/* ---------------------------------------------------------------- str */

void str_null_is_not_the_empty_string(void **)
{
	str null, empty("");

	assert_true(null == NULL);
	assert_true(!null);
	assert_false(bool(null));
	assert_true(null.len() == 0 && null.cstr() == NULL);
	assert_false(empty == NULL);
	assert_true(bool(empty));
	assert_false(!empty);
	assert_true(empty.len() == 0);
	assert_string_equal(empty.cstr(), "");
	assert_false(null == empty);
	assert_true(null != empty);
	assert_false(null == "");
	assert_false("" == null);
	assert_true(str((const char *)NULL) == null);
	assert_true(str(NULL) == null);
	empty = NULL;
	assert_true(empty == null);
	assert_true(null == str());
	assert_true(str("", 0) == "");
}

void str_null_is_less_than_all_others(void **)
{
	str null;

	assert_true(null < str(""));
	assert_true(str("") > null);
	assert_true(null <= null);
	assert_true(null >= null);
	assert_true(null.cmp("") < 0);
	assert_true(str("").cmp((const char *)NULL) > 0);
	assert_int_equal(null.cmp((const char *)NULL), 0);
}

void str_ends_in_a_nul_that_does_not_count(void **)
{
	str s("abcdef", 3);

	assert_int_equal(s.len(), 3);
	assert_string_equal(s.cstr(), "abc");
	assert_int_equal(s[2], 'c');
	assert_int_equal(s[3], '\0');
}

void str_keeps_embedded_nuls(void **)
{
	str a("a\0b", 3), b("a\0c", 3), c("a");

	assert_int_equal(a.len(), 3);
	assert_int_equal(a[1], '\0');
	assert_int_equal(a[2], 'b');
	assert_true(a != b);
	assert_true(a < b);
	assert_true(a != c);
	assert_true(a != "a");
	assert_true(a > c);
	assert_true(a == str(a.cstr(), a.len()));
	assert_true(hash_t(a) != hash_t(b));
	assert_true(hash_t(a) != hash_t(c));
}

void str_compares_bytes_as_unsigned(void **)
{
	assert_true(str("\x80") > str("\x7f"));
	assert_true(str("ab") < str("abc"));
	assert_true(str("abc") > "ab");
	assert_true(str("b") > "abc");
	assert_true("abc" < str("b"));
	assert_true("b" >= str("b"));
	assert_true(str("b") <= "b");
	assert_true("abc" == str("abc") && str("abc") == "abc");
	assert_true("abc" != str("abd") && str("abc") != "abd");
	assert_true(str("a").cmp(str("b")) < 0);
	assert_int_equal(str("a").cmp("a"), 0);
}

void str_converts_in_both_dialects(void **)
{
	str s("text");
	const char *p = s;
	bool is_set = s;
	str picked = is_set ? s : "other";
	str other = !is_set ? s : "other";

	assert_ptr_equal(p, s.cstr());
	assert_true(is_set);
	assert_true(picked == "text");
	assert_true(other == "other");
	assert_int_equal(strlen(s), 4);
	assert_true(s && !!s);
	assert_int_equal(*(s + 1), 'e');
	if (str t = s)
		assert_ptr_equal(t.cstr(), s.cstr());
	else
		fail();
}

void str_copies_share_the_bytes(void **)
{
	str a("some bytes"), b(a), c, d(std::move(b));

	assert_ptr_equal(d.cstr(), a.cstr());
	assert_true(b == NULL);
	c = a;
	assert_ptr_equal(c.cstr(), a.cstr());
	assert_int_equal(a.b->count, 3);
	c = "else";
	assert_int_equal(a.b->count, 2);
	d = NULL;
	assert_int_equal(a.b->count, 1);
	const str &self = a;
	a = self;
	assert_true(a == "some bytes");
	c.swap(a);
	assert_true(c == "some bytes" && a == "else");
}

void str_counts_when_threads_share_it(void **)
{
	libasync::share_counts();
	{
		str a("x"), b(a);

		assert_int_equal(a.b->count, 2);
		b = NULL;
		assert_int_equal(a.b->count, 1);
	}
	libasync::last_shared_count = 0;
}

void str_of_pieces(void **)
{
	char a[] = "ab", b[] = "cde";
	iovec v[] = { { a, 2 }, { NULL, 0 }, { b, 3 } };

	assert_true(str(v, 3) == "abcde");
	assert_true(str(v, 0) == "");
}

void str_setbuf_takes_bytes_even_its_own(void **)
{
	str s("hello world");

	assert_true(s.setbuf(s.cstr() + 6, 5) == "world");
	assert_true(s == "world");
	s = s.cstr() + 1;
	assert_true(s == "orld");
}

void str_index_beyond_the_end_aborts(void **)
{
	str s("abc"), null;

	ended e = run_in_child([&] { (void)s[4]; });
	assert_true(e.is_aborted() && e.says("out of range"));
	assert_true(run_in_child([&] { (void)s[-1]; }).is_aborted());
	assert_true(run_in_child([&] { (void)null[0]; }).is_aborted());
	assert_true(run_in_child([&] { (void)s[3]; }).has_exited(77));
}

void str_without_memory_aborts_with_a_message(void **)
{
	ended e = run_in_child([] { mstr m((size_t)-1); });

	assert_true(e.is_aborted() && e.says("out of memory"));
	e = run_in_child([] {
		str s("c", (size_t)-10);
	});
	assert_true(e.is_aborted() && e.says("out of memory"));
	e = run_in_child([] {
		char c;
		iovec v[] = { { &c, (size_t)-1 }, { &c, 2 } };
		str s(v, 2);
	});
	assert_true(e.is_aborted() && e.says("more bytes than memory"));
}

void str_hashes_as_the_c_string(void **)
{
	hashfn<str> hash;
	str s("key");

	assert_int_equal(u_int(hash(s)), u_int(hash("key")));
	assert_int_equal(u_int(hash(s)), u_int(hash_t(s)));
	assert_int_equal(u_int(hash_t(s)), hash_bytes("key", 3));
	assert_int_equal(u_int(hash_t(s)), hash_string("key"));
	assert_true(u_int(hash(s)) != u_int(hash("kez")));
	assert_int_equal(u_int(hash(str())), u_int(hash("")));
}

void str_keys_compare_with_c_strings(void **)
{
	equals<str> eq;
	compare<str> cmp;
	str a("a"), b("b");

	assert_true(eq(a, a) && eq("a", a) && eq(a, "a") && eq("a", "a"));
	assert_false(eq(a, b) || eq("a", b) || eq(a, "b") || eq("a", "b"));
	assert_true(cmp(a, b) < 0 && cmp("a", b) < 0 && cmp(a, "b") < 0 && cmp("a", "b") < 0);
	assert_true(cmp(b, a) > 0 && cmp("b", a) > 0 && cmp(b, "a") > 0 && cmp("b", "a") > 0);
	assert_true(cmp(a, "a") == 0 && cmp("a", a) == 0);
}

struct named {
	const str name;
	ihash_entry<named> hash_link;
	itree_entry<named> tree_link;

	explicit named(const str &n) : name(n) {}
};

void str_is_a_key_of_containers(void **)
{
	ihash<const str, named, &named::name, &named::hash_link> table;
	itree<const str, named, &named::name, &named::tree_link> tree;
	qhash<str, int> numbers;
	named a("a"), nul(str("a\0b", 3)), empty("");

	for (named *n : { &a, &nul, &empty }) {
		table.insert(n);
		tree.insert(n);
		numbers.insert(n->name, int(n->name.len()));
	}
	assert_ptr_equal(table["a"], &a);
	assert_ptr_equal(table[str("a\0b", 3)], &nul);
	assert_ptr_equal(table[""], &empty);
	assert_null(table["b"]);
	assert_ptr_equal(tree["a"], &a);
	assert_ptr_equal(tree.first(), &empty);
	assert_ptr_equal(tree.next(&a), &nul);
	assert_int_equal(*numbers["a"], 1);
	assert_int_equal(*numbers[str("a\0b", 3)], 3);
	assert_null(numbers["b"]);
	for (named *n : { &a, &nul, &empty }) {
		table.remove(n);
		tree.remove(n);
	}
}

void str_to_numbers_is_strict(void **)
{
	int32_t i = 7;
	uint32_t u = 7;
	int64_t l = 7;
	uint64_t ul = 7;
	double d = 7;

	for (const char *bad : { "", " 1", "1 ", "1x", "x", "-", "0x", "--1" }) {
		assert_false(str(bad).to_int32(&i) || str(bad).to_uint32(&u) || str(bad).to_int64(&l) ||
			     str(bad).to_uint64(&ul));
	}
	assert_false(str().to_int32(&i) || str().to_double(&d));
	assert_false(str("1\0002", 3).to_int64(&l));
	assert_false(str("2147483648").to_int32(&i));
	assert_false(str("-2147483649").to_int32(&i));
	assert_false(str("4294967296").to_uint32(&u));
	assert_false(str("9223372036854775808").to_int64(&l));
	assert_false(str("18446744073709551616").to_uint64(&ul));
	assert_false(str("-1").to_uint32(&u) || str("-1").to_uint64(&ul));
	assert_false(str("1.5.").to_double(&d) || str(" 1").to_double(&d) || str("1e999").to_double(&d));
	assert_true(i == 7 && u == 7 && l == 7 && ul == 7 && d == 7);

	assert_true(str("-2147483648").to_int32(&i) && i == INT32_MIN);
	assert_true(str("4294967295").to_uint32(&u) && u == UINT32_MAX);
	assert_true(str("-9223372036854775808").to_int64(&l) && l == INT64_MIN);
	assert_true(str("18446744073709551615").to_uint64(&ul) && ul == UINT64_MAX);
	assert_true(str("ff").to_int32(&i, 16) && i == 255);
	assert_true(str("0x10").to_int32(&i, 0) && i == 16);
	assert_true(str("010").to_int32(&i) && i == 10);
	assert_true(str("-2.5e1").to_double(&d) && d == -25);
	assert_true(str("1e-999").to_double(&d) && d == 0);
}

void str_keeps_errno_when_a_number_is_wrong(void **)
{
	int64_t l;

	errno = EBADF;
	(void)str("9223372036854775808").to_int64(&l);
	assert_int_equal(errno, EBADF);
}

bssstr early;

struct before_main {
	before_main() { early = str("set by a constructor"); }
} before;

void str_bssstr_needs_no_constructor(void **)
{
	static bssstr other;

	assert_true(early == "set by a constructor");
	other = early;
	assert_ptr_equal(other.cstr(), early.cstr());
	other = "copied";
	assert_true(other == "copied");
	other = NULL;
	assert_true(other == NULL);
}

void str_bssstr_outlives_its_destructor(void **)
{
	alignas(bssstr) static char room[sizeof(bssstr)];
	static strobjptr keeper;
	bssstr *b = new (room) bssstr;

	*b = str("late");
	strobj *o = b->b.operator->();
	b->~bssstr();
	assert_int_equal(o->count, 1);
	assert_string_equal(o->dat(), "late");
	keeper = o;
	o->count--;
}

void str_strobjptr_counts(void **)
{
	strobjptr a(strobj::alloc(3)), b(a), none;

	memcpy(a->dat(), "abc", 3);
	assert_int_equal(a->len, 3);
	assert_string_equal(a->contents, "abc");
	assert_int_equal(a->count, 2);
	none.swap(b);
	assert_false(bool(b));
	assert_true(bool(none));
	none = (strobj *)NULL;
	strobj *leaked = static_cast<strobj *>(a.Xleak());
	assert_int_equal(a->count, 2);
	strobjptr c;
	c = leaked;
	c->count--;
	b = c;
	assert_int_equal(a->count, 3);
}

/* ---------------------------------------------------------------- mstr */

void mstr_becomes_a_str_without_a_copy(void **)
{
	mstr m(5);
	const char *where = m.cstr();

	memcpy(m, "hello", 5);
	m[0] = 'j';
	str s(m);
	assert_ptr_equal(s.cstr(), where);
	assert_true(s == "jello");
	assert_true(m.cstr() == NULL && m.len() == 0);

	mstr n(1);
	n[0] = 'x';
	s = n;
	assert_true(s == "x" && n.cstr() == NULL);
}

void mstr_setlen_cuts(void **)
{
	mstr m(10);

	memcpy(m, "0123456789", 10);
	assert_int_equal(m.len(), 10);
	m.setlen(3);
	assert_int_equal(m.len(), 3);
	str s(m);
	assert_true(s == "012");
	assert_int_equal(s.cstr()[3], '\0');

	ended e = run_in_child([] {
		mstr n(2);
		n.setlen(3);
	});
	assert_true(e.is_aborted() && e.says("mstr::setlen"));
}

void mstr_is_null_at_first(void **)
{
	mstr m;
	const mstr &c = m;
	str s(m);

	assert_true(s == NULL);
	assert_int_equal(m.len(), 0);
	assert_null(c.cstr());
	assert_null((const char *)c);
}

/* ---------------------------------------------------------------- large strings */

enum { LARGE = 70000, LARGE_NUM = 64, PAGE = 4096 };

/* Page faults of this process. */
long faults()
{
	rusage r;

	assert_int_equal(getrusage(RUSAGE_SELF, &r), 0);
	return r.ru_minflt;
}

void make_large_ones()
{
	str all[LARGE_NUM];

	for (str &s : all) {
		mstr m(LARGE);

		memset(m.cstr(), 'x', LARGE);
		s = m;
	}
}

/*
 * As many strings as a server has under way: their pages are there when the next ones need them. ThreadSanitizer gives
 * its own pages for them away each time.
 */
void str_takes_large_memory_again(void **)
{
	if (!ec_chunk_recycles() || HAS_TSAN)
		skip();
	make_large_ones();

	const long first = faults();

	for (int i = 0; i < 20; i++)
		make_large_ones();
	assert_true(faults() - first < LARGE_NUM * (LARGE / PAGE));
}

/* What is left of each, as of mstr_setlen_cuts, is freed as the size that it has then. */
void mstr_of_large_memory_may_be_cut(void **)
{
	for (size_t len : { size_t(LARGE), size_t(LARGE / 2), size_t(20000), size_t(16384), size_t(5), size_t(0) }) {
		for (int i = 0; i < 3; i++) {
			mstr m(LARGE);

			memset(m.cstr(), 'y', LARGE);
			m.setlen(len);

			str s(m);

			assert_int_equal(s.len(), len);
			assert_int_equal(s.cstr()[len], '\0');

			mstr again(len);

			memset(again.cstr(), 'z', len);
			assert_true(len == 0 || s[len - 1] == 'y');
		}
	}
}

/* Beyond the sizes that are kept. */
void str_of_megabytes(void **)
{
	for (size_t len : { (size_t(1) << 21) - 100, size_t(1) << 21, size_t(5) << 20 }) {
		mstr m(len);

		memset(m.cstr(), 'w', len);
		m.setlen(len / 4);

		str s(m);

		assert_int_equal(s.len(), len / 4);
	}
}

/* Made while the program's allocator was in use, and freed after that: what is made of it has room. */
void str_outlives_an_allocator(void **)
{
	ec_mem_set_fns(malloc, realloc, free);

	mstr small(LARGE);

	ec_mem_set_fns(nullptr, nullptr, nullptr);
	small = mstr(0);

	mstr larger(LARGE + 20000);

	assert_true(malloc_usable_size(larger.cstr() - offsetof(strobj, contents)) >= LARGE + 20000);
	memset(larger.cstr(), 'v', larger.len());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(str_null_is_not_the_empty_string),
		cmocka_unit_test(str_null_is_less_than_all_others),
		cmocka_unit_test(str_ends_in_a_nul_that_does_not_count),
		cmocka_unit_test(str_keeps_embedded_nuls),
		cmocka_unit_test(str_compares_bytes_as_unsigned),
		cmocka_unit_test(str_converts_in_both_dialects),
		cmocka_unit_test(str_copies_share_the_bytes),
		cmocka_unit_test(str_counts_when_threads_share_it),
		cmocka_unit_test(str_of_pieces),
		cmocka_unit_test(str_setbuf_takes_bytes_even_its_own),
		cmocka_unit_test(str_index_beyond_the_end_aborts),
		cmocka_unit_test(str_without_memory_aborts_with_a_message),
		cmocka_unit_test(str_hashes_as_the_c_string),
		cmocka_unit_test(str_keys_compare_with_c_strings),
		cmocka_unit_test(str_is_a_key_of_containers),
		cmocka_unit_test(str_to_numbers_is_strict),
		cmocka_unit_test(str_keeps_errno_when_a_number_is_wrong),
		cmocka_unit_test(str_bssstr_needs_no_constructor),
		cmocka_unit_test(str_bssstr_outlives_its_destructor),
		cmocka_unit_test(str_strobjptr_counts),
		cmocka_unit_test(mstr_becomes_a_str_without_a_copy),
		cmocka_unit_test(mstr_setlen_cuts),
		cmocka_unit_test(mstr_is_null_at_first),
		cmocka_unit_test(str_takes_large_memory_again),
		cmocka_unit_test(mstr_of_large_memory_may_be_cut),
		cmocka_unit_test(str_of_megabytes),
		cmocka_unit_test(str_outlives_an_allocator),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
