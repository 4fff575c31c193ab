/*
 * serial.h: bytes as text and back, numbers as bytes.
 */
#include "serial.h"

#include "test.h"
#include "dies.h"

namespace
{

typedef str (*armor_t)(const void *, size_t);
typedef str (*dearmor_t)(const char *, ssize_t);

struct encoding {
	armor_t armor;
	dearmor_t dearmor;
	const char *digits;
};

const encoding encodings[] = {
	{ armor32, dearmor32, "abcdefghijkmnpqrstuvwxyz23456789" },
	{ armor64, dearmor64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=" },
	{ armor64A, dearmor64A, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-" },
	{ armor64X, dearmor64X, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" },
};

void file2str_str2file_armor32_armor64_round_trip(void **)
{
	unsigned char bytes[300];
	unsigned seed = 5;

	for (unsigned char &b : bytes) {
		seed = seed * 1103515245 + 12345;
		b = static_cast<unsigned char>(seed >> 16);
	}
	for (const encoding &e : encodings) {
		for (size_t len = 0; len <= sizeof(bytes); len++) {
			str text = e.armor(bytes, len);
			str back = e.dearmor(text.cstr(), -1);

			assert_int_equal(strspn(text, e.digits), text.len());
			assert_true(back == str(reinterpret_cast<char *>(bytes), len));
			assert_true(e.dearmor(text.cstr(), ssize_t(text.len())) == back);
		}
	}
}

void file2str_str2file_armor32_armor64_known_texts(void **)
{
	assert_true(armor32("") == "");
	assert_true(armor32("\xff\xff\xff\xff\xff") == "99999999");
	assert_true(armor32(str("\0\0\0\0\0", 5)) == "aaaaaaaa");
	assert_true(armor32("f") == "n2");
	assert_true(armor32("foobar") == "n3zy82vbqi");
	assert_int_equal(armor32(str("01234567890123456789")).len(), 32);
	assert_true(dearmor32("n3zy82vbqi") == "foobar");

	/* RFC 4648, section 10 */
	assert_true(armor64("") == "");
	assert_true(armor64("f") == "Zg==");
	assert_true(armor64("fo") == "Zm8=");
	assert_true(armor64("foo") == "Zm9v");
	assert_true(armor64("foobar") == "Zm9vYmFy");
	assert_true(dearmor64("Zm9vYg==") == "foob");
	assert_true(armor64("\xfb\xff\xbf") == "+/+/");
	assert_true(armor64A("\xfb\xff\xbf\xfb") == "+-+-+w");
	assert_true(armor64X("\xfb\xff\xbf\xfb") == "-_-_-w");
	assert_true(dearmor64A("+-+-+w") == "\xfb\xff\xbf\xfb");
	assert_true(dearmor64X("-_-_-w") == "\xfb\xff\xbf\xfb");
}

void file2str_str2file_armor32_armor64_wrong_texts(void **)
{
	for (const char *bad : { "a", "aaa", "aaaaaa", "aB", "al", "ao", "a0", "a1", "ab", "a=", "\xff" "a" })
		assert_true(dearmor32(bad) == NULL);
	for (const char *bad : { "A", "AA", "AAA", "A===", "====", "=", "AB==", "AAB=", "AA=A", "AA==AAAA", "AA*=",
		     "Zg==\n", "-_-_", "AA= =" })
		assert_true(dearmor64(bad) == NULL);
	for (const char *bad : { "A", "AB", "AAB", "AA==", "A_AA", "A/AA" })
		assert_true(dearmor64A(bad) == NULL);
	for (const char *bad : { "A", "AB", "AAB", "AA==", "A+AA", "A/AA" })
		assert_true(dearmor64X(bad) == NULL);
	assert_true(dearmor32(str("a\0", 2)) == NULL);
	assert_true(dearmor64((const char *)NULL) == NULL);
	assert_true(dearmor64(str()) == NULL && armor64(str()) == NULL && armor32(str()) == NULL);
	assert_true(dearmor32("aa", 2) == str("\0", 1));
	assert_true(dearmor32("aabbb", 2) == str("\0", 1));
}

void file2str_str2file_armor32_armor64_of_huge_lengths(void **)
{
	ended e = run_in_child([] { (void)armor64("x", SIZE_MAX / 2); });

	assert_true(e.is_aborted() && e.says("armor: more bytes than memory"));
	assert_true(run_in_child([] { (void)armor32("x", (size_t)-1); }).is_aborted());
}

void file2str_str2file_armor32_armor64_hexadecimal(void **)
{
	int out = 99;

	assert_true(hex2bytes("00fFA5") == str("\0\xff\xa5", 3));
	assert_true(hex2bytes("") == "");
	for (const char *bad : { "0", "0g", "g0", "000", " 0", "0x" })
		assert_true(hex2bytes(bad) == NULL);
	assert_true(hex2bytes(NULL) == NULL);
	for (char bad : { '/', ':', '@', 'G', '`', 'g', '\0', '\xff' })
		assert_false(hexconv(out, bad));
	assert_int_equal(out, 99);
	assert_true(hexconv(out, '0') && out == 0);
	assert_true(hexconv(out, '9') && out == 9);
	assert_true(hexconv(out, 'a') && out == 10);
	assert_true(hexconv(out, 'F') && out == 15);
}

void file2str_str2file_armor32_armor64_numbers(void **)
{
	unsigned char b[12] = "";

	putint(b + 1, 0x89abcdefu);
	assert_memory_equal(b, "\0\x89\xab\xcd\xef\0", 6);
	assert_int_equal(getint(b + 1), 0x89abcdefu);
	puthyper(b + 3, 0xfedcba9876543210u);
	assert_memory_equal(b + 3, "\xfe\xdc\xba\x98\x76\x54\x32\x10", 8);
	assert_true(gethyper(b + 3) == 0xfedcba9876543210u);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file2str_str2file_armor32_armor64_round_trip),
		cmocka_unit_test(file2str_str2file_armor32_armor64_known_texts),
		cmocka_unit_test(file2str_str2file_armor32_armor64_wrong_texts),
		cmocka_unit_test(file2str_str2file_armor32_armor64_of_huge_lengths),
		cmocka_unit_test(file2str_str2file_armor32_armor64_hexadecimal),
		cmocka_unit_test(file2str_str2file_armor32_armor64_numbers),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
