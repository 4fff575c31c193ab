/*
 * refcounted<T, vsize>: sizes that do not fit, a constructor that throws, and alignment. Memory is counted.
 */
#include "refcnt.h"

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "test.h"

namespace
{

/* What operator new gave, and operator delete did not get back. Sanitizers have their own, and then this is 0. */
long blocks_alive;

struct packet {
	size_t len = 0;
	char bytes[1];
};

#if !LIBASYNC_IS_SANITIZED

/* A sanitizer's operator new ends the process in place of throwing. */
void alloc_of_too_many_bytes_throws(void **)
{
	const size_t sizes[] = {
		SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - sizeof(refcount), SIZE_MAX - 2 * sizeof(refcount), SIZE_MAX / 2,
	};

	for (size_t size : sizes) {
		bool has_thrown = false;

		try {
			ptr<packet> p = refcounted<packet, vsize>::alloc(size);
		} catch (const std::bad_alloc &) {
			has_thrown = true;
		}
		assert_true(has_thrown);
	}
}

#endif

struct refused {
	refused() { throw std::runtime_error("refused"); }
};

struct alignas(256) wide_refused {
	wide_refused() { throw std::runtime_error("refused"); }
};

template <class T> void frees_if_its_constructor_throws()
{
	long before = blocks_alive;
	bool has_thrown = false;

	try {
		(void)refcounted<T, vsize>::alloc(1000);
	} catch (const std::runtime_error &) {
		has_thrown = true;
	}
	assert_true(has_thrown);
	assert_int_equal(blocks_alive, before);
}

void alloc_frees_if_the_constructor_throws(void **)
{
	frees_if_its_constructor_throws<refused>();
	frees_if_its_constructor_throws<wide_refused>();
}

struct alignas(256) wide {
	char bytes[256];
};

void alloc_aligns(void **)
{
	long before = blocks_alive;
	{
		ptr<wide> all[20];

		for (ptr<wide> &p : all) {
			p = refcounted<wide, vsize>::alloc(1000);
			assert_int_equal(reinterpret_cast<uintptr_t>(p.get()) % alignof(wide), 0);
		}
	}
	assert_int_equal(blocks_alive, before);
}

} // namespace

#if !LIBASYNC_IS_SANITIZED

static void *block_of(size_t size, size_t align)
{
	void *p = nullptr;

	if (size > PTRDIFF_MAX || posix_memalign(&p, align, size) != 0)
		throw std::bad_alloc();
	blocks_alive++;
	return p;
}

void *operator new(size_t size)
{
	return block_of(size, alignof(max_align_t));
}

void *operator new(size_t size, std::align_val_t align)
{
	return block_of(size, size_t(align));
}

void operator delete(void *p) noexcept
{
	blocks_alive -= p != nullptr;
	free(p);
}

void operator delete(void *p, std::align_val_t) noexcept
{
	operator delete(p);
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

void operator delete(void *p, size_t, std::align_val_t) noexcept
{
	operator delete(p);
}

#endif

int main()
{
	const struct CMUnitTest tests[] = {
#if !LIBASYNC_IS_SANITIZED
		cmocka_unit_test(alloc_of_too_many_bytes_throws),
#endif
		cmocka_unit_test(alloc_frees_if_the_constructor_throws),
		cmocka_unit_test(alloc_aligns),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
