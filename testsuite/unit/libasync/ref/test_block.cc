/*
 * libasync_block.h: a thread takes the blocks again that it freed, keeps a bounded number, and frees them in the end.
 */
#include "libasync_block.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "test.h"

using libasync::block_alloc;
using libasync::block_free;

namespace
{

/* What operator new gave, and operator delete did not get back. Sanitizers have their own, and then this is 0. */
std::atomic<long> taken;

struct object : libasync::block_object {
	char bytes[100];
};

struct alignas(64) aligned_object : libasync::block_object {
	char bytes[64];
};

} // namespace

#if !LIBASYNC_IS_SANITIZED

/* Not inline, so that the compiler does not compare malloc with delete. */
__attribute__((noinline)) void *operator new(size_t size)
{
	void *p = malloc(size);

	if (p == nullptr)
		throw std::bad_alloc();
	taken++;
	return p;
}

__attribute__((noinline)) void operator delete(void *p) noexcept
{
	if (p != nullptr)
		taken--;
	free(p);
}

__attribute__((noinline)) void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

#endif

namespace
{

const bool is_kept = !LIBASYNC_IS_SANITIZED;

/* In a thread of its own, which has kept nothing yet; what it took is free again after its end. */
template <class F> void in_thread(F f)
{
	long before = taken;
	std::thread t(f);

	t.join();
	assert_int_equal(taken, before);
}

void blocks_are_taken_again(void **)
{
	in_thread([] {
		for (size_t size = 1; size <= libasync::BLOCK_MAX; size++) {
			void *p = block_alloc(size), *q = block_alloc(size);

			assert_ptr_not_equal(p, q);
			memset(p, 1, size);
			memset(q, 2, size);
			block_free(p, size);
			long before = taken;
			void *again = block_alloc(size);

			if (is_kept)
				assert_ptr_equal(again, p);
			assert_int_equal(taken, before);
			block_free(again, size);
			block_free(q, size);
		}
	});
}

void blocks_have_whole_grains(void **)
{
	in_thread([] {
		void *p = block_alloc(libasync::BLOCK_GRAIN + 1);

		memset(p, 1, 2 * libasync::BLOCK_GRAIN);
		block_free(p, libasync::BLOCK_GRAIN + 1);
		p = block_alloc(2 * libasync::BLOCK_GRAIN);
		memset(p, 1, 2 * libasync::BLOCK_GRAIN);
		block_free(p, 2 * libasync::BLOCK_GRAIN);
	});
}

void blocks_kept_are_few(void **)
{
	in_thread([] {
		std::vector<void *> all;
		long before;

		for (int i = 0; i < 1000; i++)
			all.push_back(block_alloc(48));
		before = taken;
		for (void *p : all)
			block_free(p, 48);
		if (is_kept)
			assert_in_range(before - taken, 1000 - 64, 999);
	});
}

void blocks_that_are_large_are_not_kept(void **)
{
	in_thread([] {
		long before = taken;

		block_free(block_alloc(libasync::BLOCK_MAX + 1), libasync::BLOCK_MAX + 1);
		assert_int_equal(taken, before);
	});
}

void blocks_of_another_thread_may_be_freed(void **)
{
	std::vector<void *> all;
	long before = taken;

	for (int i = 0; i < 10; i++)
		all.push_back(block_alloc(64));
	std::thread t([&] {
		for (void *p : all)
			block_free(p, 64);
	});
	t.join();
	all = std::vector<void *>();
	assert_int_equal(taken, before);
}

/* As a thread_local object does whose constructor has run before the thread kept a block. */
struct frees_late {
	void *p = nullptr;
	~frees_late()
	{
		if (p != nullptr)
			block_free(p, 32);
	}
};

thread_local frees_late late;

void blocks_freed_after_the_end_are_not_kept(void **)
{
	in_thread([] {
		late.p = block_alloc(32);
		block_free(block_alloc(32), 32);
	});
}

void objects_are_in_blocks(void **)
{
	in_thread([] {
		delete new object;
		long before = taken;
		delete new object;
		assert_int_equal(taken, before);
		delete new aligned_object;
		aligned_object *a = new aligned_object;
		assert_int_equal(reinterpret_cast<uintptr_t>(a) % alignof(aligned_object), 0);
		delete a;
	});
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_taken_again),
		cmocka_unit_test(blocks_have_whole_grains),
		cmocka_unit_test(blocks_kept_are_few),
		cmocka_unit_test(blocks_that_are_large_are_not_kept),
		cmocka_unit_test(blocks_of_another_thread_may_be_freed),
		cmocka_unit_test(blocks_freed_after_the_end_are_not_kept),
		cmocka_unit_test(objects_are_in_blocks),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
