/*
 * bbuddy.h: blocks never overlap, merge when they are free again, and lie where they must.
 */
#include "bbuddy.h"

#include <map>

#include "container/elements.h"

namespace
{

const size_t min_len = 64, max_len = 4096;

size_t rounded(size_t len)
{
	size_t n = min_len;

	while (n < len)
		n *= 2;
	return n;
}

/* What is allocated, as begin and length, in an allocator of `total` bytes. */
struct model {
	std::map<off_t, size_t> blocks;
	size_t used = 0;

	void add(off_t off, size_t len, size_t total)
	{
		assert_int_equal(off % static_cast<off_t>(rounded(len)), 0);
		assert_true(off >= 0 && static_cast<size_t>(off) + rounded(len) <= total);

		auto after = blocks.lower_bound(off);

		if (after != blocks.end())
			assert_true(off + static_cast<off_t>(rounded(len)) <= after->first);
		if (after != blocks.begin()) {
			--after;
			assert_true(after->first + static_cast<off_t>(rounded(after->second)) <= off);
		}
		blocks[off] = len;
		used += rounded(len);
	}

	/* Some block goes. */
	std::pair<off_t, size_t> take(numbers &random)
	{
		auto b = blocks.lower_bound(static_cast<off_t>(random.below(100000)));

		if (b == blocks.end())
			b = blocks.begin();

		const std::pair<off_t, size_t> taken = *b;

		used -= rounded(taken.second);
		blocks.erase(b);
		return taken;
	}
};

void random_operations(uint64_t seed)
{
	const size_t total = 100000, usable = total / min_len * min_len;
	bbuddy b(total, min_len, max_len);
	model m;
	numbers random(seed);

	for (int i = 0; i < 20000; i++) {
		if (random.below(100) < 52) {
			const size_t len = random.below(max_len) / (1 + random.below(30)) + 1;
			const off_t off = b.alloc(len);

			if (off != -1)
				m.add(off, len, total);
		} else if (!m.blocks.empty()) {
			const std::pair<off_t, size_t> taken = m.take(random);

			b.dealloc(taken.first, taken.second);
		}
		assert_int_equal(b.space(), usable - m.used);
	}

	/* All is free again: then all is large blocks again. */
	while (!m.blocks.empty()) {
		const std::pair<off_t, size_t> taken = m.take(random);

		b.dealloc(taken.first, taken.second);
	}
	for (size_t i = 0; i < total / max_len; i++)
		assert_int_equal(b.alloc(max_len), i * max_len);
	assert_int_equal(b.alloc(max_len), -1);

	/* The end of the space is blocks of 1024, 512 and 128 bytes. */
	assert_int_equal(b.alloc(min_len), total / max_len * max_len + 1536);
}

void bbuddy_hands_out_each_byte_once(void **)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		random_operations(seed);
}

void bbuddy_limits(void **)
{
	bbuddy b(2 * max_len, min_len, max_len);

	assert_int_equal(b.gettotsize(), 2 * max_len);
	assert_int_equal(b.alloc(max_len + 1), -1);
	assert_int_equal(b.alloc(SIZE_MAX), -1);
	assert_int_equal(b.alloc(0), 0);
	assert_int_equal(b.space(), 2 * max_len - min_len);
	b.dealloc(0, 0);
	assert_int_equal(b.alloc(max_len), 0);
}

void bbuddy_grows_and_shrinks(void **)
{
	bbuddy b(0, min_len, max_len);

	assert_int_equal(b.alloc(1), -1);
	b.settotsize(min_len + 1);
	assert_int_equal(b.space(), min_len);
	assert_int_equal(b.alloc(1), 0);
	b.settotsize(3 * max_len);
	assert_int_equal(b.alloc(max_len), max_len);
	assert_int_equal(b.space(), 2 * max_len - min_len);
	b.settotsize(2 * max_len);
	assert_int_equal(b.alloc(max_len), -1);
	must_abort("bbuddy: the space that goes is in use", [&] { b.settotsize(max_len); });
	b.dealloc(max_len, max_len);
	b.settotsize(max_len / 2 + min_len);
	assert_int_equal(b.alloc(max_len / 2), -1);
	b.dealloc(0, 1);
	assert_int_equal(b.alloc(max_len / 2), 0);
	b.settotsize(max_len);
	b.dealloc(0, max_len / 2);
	assert_int_equal(b.alloc(max_len), 0);
}

void bbuddy_ends_the_program_when_misused(void **)
{
	bbuddy b(2 * max_len, min_len, max_len);

	must_abort("bbuddy: the block to free is free", [&] { b.dealloc(0, min_len); });
	must_abort("bbuddy: no such block", [&] { b.dealloc(1, min_len); });
	must_abort("bbuddy: no such block", [&] { b.dealloc(0, max_len + 1); });
	must_abort("bbuddy: the block to free is free", [&] { b.dealloc(64 * max_len, max_len); });
	must_abort("bbuddy: sizes of blocks", [] { bbuddy odd(1000, 48, 4096); });
	must_abort("bbuddy: minalloc is more", [] { bbuddy odd(1000, 64, 32); });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bbuddy_hands_out_each_byte_once),
		cmocka_unit_test(bbuddy_limits),
		cmocka_unit_test(bbuddy_grows_and_shrinks),
		cmocka_unit_test(bbuddy_ends_the_program_when_misused),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
