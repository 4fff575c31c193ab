#include "shrink.h"

/*
 * After delta debugging (Zeller, Hildebrandt: Simplifying and isolating failure-inducing input, IEEE TSE 2002): leave
 * out all switches, each half, each quarter, and so on; what still fails is the schedule from then on. It fits the
 * program no longer to the letter, for other colors are ready at its steps. So the schedule that the trial itself wrote
 * is taken, and only if it is shorter.
 */
struct search {
	struct trials *trials;
	const struct trial *failure;
	struct switches *best;
	int64_t until_ns;
};

/* Does the schedule fail in the same way without the switches [from, to)? Then *best is the new one. */
static bool attempt(struct search *s, size_t from, size_t to)
{
	const char *path = text("%s/attempt", s->trials->directory);
	const struct plan plan = { .file = path };
	struct switches some = switches_without(s->best, from, to), made = { .num = 0 };
	struct trial *trial;
	bool is_better;

	switches_write(path, &some, "");
	switches_free(&some);
	trial = trial_run(s->trials, &plan);
	if (trial_is_alike(trial, s->failure))
		made = switches_read(trial->switches);
	trial_free(trial);
	is_better = made.is_known && made.num < s->best->num;
	switches_free(is_better ? s->best : &made);
	if (is_better)
		*s->best = made;
	return is_better;
}

static bool is_late(const struct search *s)
{
	return trials_now_ns() >= s->until_ns;
}

/* Leaves out rows of `len` switches, one after the other. How many rows were not needed. */
static size_t reduce(struct search *s, size_t len)
{
	size_t at = 0, num = 0, to;

	while (at < s->best->num && !is_late(s)) {
		to = at + len < s->best->num ? at + len : s->best->num;
		if (attempt(s, at, to))
			num++;
		else
			at = to;
	}
	return num;
}

bool shrink(struct trials *t, struct switches *best, const struct trial *failure, unsigned limit_s)
{
	struct search s = { .trials = t, .failure = failure, .best = best,
			    .until_ns = trials_now_ns() + (int64_t)limit_s * 1000000000 };
	size_t len = best->num, num;

	while (best->num != 0 && !is_late(&s)) {
		num = reduce(&s, len);
		if (len == 1 && num == 0)
			return !is_late(&s);
		if (len > 1)
			len /= 2;
	}
	return best->num == 0;
}
