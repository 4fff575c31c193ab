/*
 * dynenum.h: which names are known, and what stands for others.
 */
#include "dynenum.h"
#include "err.h"

#include "container/elements.h"

namespace
{

class level_t : public dynamic_enum_t
{
public:
	explicit level_t(bool quiet = false) : dynamic_enum_t(-1, quiet, "level")
	{
		static const pair_t pairs[] = {
			{ "none", 0 }, { "some", 1 }, { "all", 2 }, { "alle", 2 }, { NULL, 0 },
		};

		init(pairs);
	}

	void change(int v, bool chk)
	{
		const pair_t pairs[] = { { "some", v }, { NULL, 0 } };

		init(pairs, chk);
	}
};

void dynenum_finds_names(void **)
{
	level_t quiet(true);
	int v = 7;

	assert_int_equal(quiet["none"], 0);
	assert_int_equal(quiet["alle"], 2);
	assert_int_equal(quiet["al"], -1);
	assert_true(quiet.lookup("some", &v));
	assert_int_equal(v, 1);
	assert_false(quiet.lookup("Some", &v));
	assert_false(quiet.lookup(str(), &v));
	assert_int_equal(v, 1);
	assert_int_equal(quiet.lookup("x", false), -1);
	quiet.change(5, false);
	assert_int_equal(quiet["some"], 5);
	quiet.change(5, true);
	must_abort("\"some\" is 5, and cannot be 6", [&] { quiet.change(6, true); });
}

/* The message goes to standard error, unless nobody wants it: the first one of `loud` comes after the others. */
void dynenum_warns_of_unknown_names(void **)
{
	must_abort("none so far\nlevel: unknown name \"odd\"\n", [&] {
		const level_t loud, quiet(true);

		quiet.lookup("odd");
		loud.lookup("odd", false);
		loud.lookup("all");
		warnx << "none so far\n";
		loud.lookup("odd");
		err_flush();
		abort();
	});
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dynenum_finds_names),
		cmocka_unit_test(dynenum_warns_of_unknown_names),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
