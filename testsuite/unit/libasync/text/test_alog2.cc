/*
 * alog2.h, msb.h, sfs_bundle.h: messages with a level, bits, bundles of values.
 */
#include "alog2.h"
#include "msb.h"
#include "sfs_bundle.h"

#include "test.h"
#include "dies.h"

namespace
{

void alog2_prints_up_to_its_level(void **)
{
	ended e = run_in_child([] {
		logger2_t l;

		l.log(V_REG) << "regular " << 1 << "\n";
		l.log(V_HIGH) << "high\n";
		l.log(V_LOW, "formatted %d", 2);
		l.log(V_VERB, "verbose %d", 3);
		l.log(V_ERR, str("a str"));
		l.log(V_DEBUG, str("debugging"));
		l.set_level(V_HIGH);
		l.log(V_HIGH) << "now high\n";
	});

	assert_true(e.says("regular 1\n") && e.says("formatted 2\n") && e.says("a str\n") && e.says("now high\n"));
	assert_false(e.says("\nhigh") || e.says("verbose") || e.says("debugging"));
}

void alog2_prints_once_when_the_last_copy_goes(void **)
{
	ended e = run_in_child([] {
		logger2_t::obj_t silent(true, false);
		silent.cat("never\n");
		{
			logger2_t::obj_t o(false, true);
			{
				logger2_t::obj_t copy(o);
				copy << "one";
			}
			fprintf(stderr, "before,");
			o.cat(" line\n").cat("");
		}
	});

	assert_string_equal(e.text, "before,one line\n");
}

void msb_finds_the_highest_bit(void **)
{
	static_assert(fls32(0) == 0 && fls32(1) == 1 && fls32(0x80000000u) == 32, "fls32");
	static_assert(log2c<1>::value == 0 && log2c<8>::value == 3 && log2c<9>::value == 4, "log2c");

	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(fls64(u_int64_t(1) << i), i + 1);
		assert_int_equal(fls64((u_int64_t(1) << i) | 1), i + 1);
		assert_int_equal(log2c64(u_int64_t(1) << i), i);
		if (i > 0)
			assert_int_equal(log2c64((u_int64_t(1) << i) - 1), i == 1 ? 0 : i);
	}
	assert_int_equal(fls64(0), 0);
	assert_int_equal(log2c32(0), 0);
	assert_int_equal(log2c32(0xffffffffu), 32);
}

void sfs_bundle_is_a_key(void **)
{
	typedef sfs::bundle_t<int, str> key;
	key a(1, "x"), b(1, "x"), c(1, "y"), d(2, "x");
	sfs::bundle_t<int, int, str, str> four(1, 2, "3", "4");

	assert_true(a == b && a != c && a != d);
	assert_int_equal(u_int(hash_t(a)), u_int(hash_t(b)));
	assert_true(u_int(hash_t(a)) != u_int(hash_t(c)) && u_int(hash_t(a)) != u_int(hash_t(d)));
	assert_true(equals<key>()(a, b) && u_int(hashfn<key>()(a)) == u_int(hash_t(b)));
	b.obj1() = 2;
	assert_true(b == d && b.obj2() == "x");
	const key &k = c;
	assert_true(k.obj1() == 1 && k.obj2() == "y");
	assert_true(four.obj3() == "3" && four.obj4() == "4");
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alog2_prints_up_to_its_level),
		cmocka_unit_test(alog2_prints_once_when_the_last_copy_goes),
		cmocka_unit_test(msb_finds_the_highest_bit),
		cmocka_unit_test(sfs_bundle_is_a_key),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
