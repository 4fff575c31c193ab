/*
 * arena.h: pieces are aligned, do not overlap, keep what is written to them, and end with the arena.
 */
#include "arena.h"

#include <vector>

#include "container/elements.h"

namespace
{

struct piece {
	unsigned char *p;
	size_t len;
	unsigned char filled_with;
};

void arena_pieces_are_apart(void **)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		arena a;
		std::vector<piece> pieces;
		numbers random(seed);

		for (int i = 0; i < 2000; i++) {
			const size_t len = random.below(200) ? random.below(100) : random.below(200000);
			const size_t align = static_cast<size_t>(1) << random.below(9);
			const piece made = { static_cast<unsigned char *>(a.alloc(len, align)), len,
					     static_cast<unsigned char>(i) };

			assert_int_equal(reinterpret_cast<uintptr_t>(made.p) % align, 0);
			memset(made.p, made.filled_with, len);
			pieces.push_back(made);
		}
		for (const piece &made : pieces)
			for (size_t i = 0; i < made.len; i++)
				assert_int_equal(made.p[i], made.filled_with);
	}
}

void arena_holds_objects(void **)
{
	arena a;
	double *d = static_cast<double *>(a.alloc(sizeof(double)));
	long *first = new (a) long(7);
	int *many = new (a) int[1000];

	*d = 1.5;
	many[999] = 3;
	assert_int_equal(*first, 7);
	assert_true(*d > 1);
	assert_int_equal(reinterpret_cast<uintptr_t>(d) % sizeof(double), 0);
}

/* Large pieces do not waste what is left of the chunk in use. */
void arena_uses_its_chunk_on(void **)
{
	arena a;
	char *small = static_cast<char *>(a.alloc(8, 1));

	a.alloc(1000000, 1);
	assert_ptr_equal(a.alloc(8, 1), small + 8);
}

void arena_of_a_million(void **)
{
	arena a;
	size_t *last = NULL;

	for (size_t i = 0; i < 1000000; i++) {
		size_t *n = new (a) size_t(i);

		assert_true(!last || *last + 1 == *n);
		last = n;
	}
}

void arena_ends_the_program_when_too_large(void **)
{
	arena a;

	must_abort("arena: too large", [&] { a.alloc(SIZE_MAX); });
	must_abort("container: too large", [&] { a.alloc(SIZE_MAX / 2); });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_pieces_are_apart),
		cmocka_unit_test(arena_holds_objects),
		cmocka_unit_test(arena_uses_its_chunk_on),
		cmocka_unit_test(arena_of_a_million),
		cmocka_unit_test(arena_ends_the_program_when_too_large),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
