/*
 * bitvec.h: what a vector<bool> does under the same operations.
 */
#define LIBASYNC_CHECKED
#include "bitvec.h"

#include <vector>

#include "container/elements.h"

namespace
{

void same(const bitvec &bits, const std::vector<bool> &model)
{
	assert_int_equal(bits.size(), model.size());
	for (size_t i = 0; i < model.size(); i++)
		assert_int_equal(bits.at(static_cast<ptrdiff_t>(i)), model[i]);
}

void step(bitvec &bits, std::vector<bool> &model, numbers &random)
{
	const uint32_t n = static_cast<uint32_t>(model.size());
	const size_t i = n ? random.below(n) : 0, end = i + (n ? random.below(static_cast<uint32_t>(n - i) + 1) : 0);
	const bool v = random.below(2);

	switch (random.below(6)) {
	case 0: {
		const size_t len = random.below(300);

		len % 2 ? bits.zsetsize(len) : bits.setsize(len);
		model.resize(len);
		break;
	}
	case 1:
		bits.setrange(i, end, v);
		for (size_t k = i; k < end; k++)
			model[k] = v;
		break;
	case 2:
		if (n)
			model[i] = bits[static_cast<ptrdiff_t>(i)] = v;
		break;
	case 3:
		if (n) {
			bits[static_cast<ptrdiff_t>(i)] ^= v;
			model[i] = model[i] ^ v;
		}
		break;
	case 4:
		if (n) {
			bits[static_cast<ptrdiff_t>(i)] = bits[static_cast<ptrdiff_t>(n - 1 - i)];
			model[i] = model[n - 1 - i];
		}
		break;
	case 5: {
		size_t found = i;

		while (found < n && model[found] != v)
			found++;
		assert_int_equal(bits.find(i, v), found);
		break;
	}
	}
}

void bitvec_does_what_a_vector_of_bool_does(void **)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		bitvec bits;
		std::vector<bool> model;
		numbers random(seed);

		for (int i = 0; i < 1000; i++) {
			step(bits, model, random);
			same(bits, model);
		}
	}
}

void bitvec_copies_and_swaps(void **)
{
	bitvec a(70), b(a);
	const bitvec &itself = a;

	a[69] = true;
	assert_false(b[69]);
	b = a;
	a = itself;
	assert_true(b[69] && a[69]);
	b.setsize(3);
	swap(a, b);
	assert_int_equal(a.size(), 3);
	assert_true(b[69]);
	a = bitvec();
	assert_int_equal(a.size(), 0);
	assert_int_equal(bitvec::nbytes(0), 0);
	assert_int_equal(bitvec::nbytes(1), sizeof(bitvec::map_t));
	assert_int_equal(bitvec::nbytes(8 * sizeof(bitvec::map_t) + 1), 2 * sizeof(bitvec::map_t));
}

void bitvec_prints(void **)
{
	bitvec bits(130);
	strbuf sb;
	str text;

	bits[1] = bits[129] = true;
	sb << "<" << bits << bitvec() << ">";
	text = sb;
	assert_int_equal(text.len(), 132);
	assert_memory_equal(text.cstr(), "<010", 4);
	assert_memory_equal(text.cstr() + 129, "01>", 3);
}

void bitvec_of_a_million(void **)
{
	bitvec bits(1000000);

	bits.setrange(1, 999999, true);
	assert_int_equal(bits.find(1, false), 999999);
	assert_false(bits[0]);
}

void bitvec_ends_the_program_when_misused(void **)
{
	bitvec bits(10);
	const bitvec &c = bits;

	must_abort("bitvec: index out of range", [&] { bits[10] = true; });
	must_abort("bitvec: index out of range", [&] { (void)c[-1]; });
	must_abort("bitvec: range outside", [&] { bits.setrange(0, 11, true); });
	must_abort("bitvec: range outside", [&] { bits.setrange(5, 4, true); });
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bitvec_does_what_a_vector_of_bool_does),
		cmocka_unit_test(bitvec_copies_and_swaps),
		cmocka_unit_test(bitvec_prints),
		cmocka_unit_test(bitvec_of_a_million),
		cmocka_unit_test(bitvec_ends_the_program_when_misused),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
