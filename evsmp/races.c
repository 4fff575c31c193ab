#include "races.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

static struct race *find(const struct races *r, const struct race *race)
{
	size_t i;

	for (i = 0; i < r->num; i++) {
		if (strcmp(r->at[i].subject, race->subject) == 0 &&
		    strcmp(r->at[i].functions[0], race->functions[0]) == 0 &&
		    strcmp(r->at[i].functions[1], race->functions[1]) == 0)
			return &r->at[i];
	}
	return NULL;
}

bool races_note(struct races *r, const char *subject, const char *function, const char *other, const char *advice)
{
	struct race race = { .subject = subject, .functions = { function, other }, .advice = advice, .num = 1 };
	struct race *known;

	if (strcmp(function, other) > 0) {
		race.functions[0] = other;
		race.functions[1] = function;
	}
	known = find(r, &race);
	if (known != NULL) {
		known->num++;
		return false;
	}
	r->at = must(realloc(r->at, (r->num + 1) * sizeof(*r->at)));
	r->at[r->num++] = race;
	return true;
}

/* The sort must keep the order of the others: what came first is often the cause of what came later. */
static void sort(struct races *r)
{
	struct race race;
	size_t i, j;

	for (i = 1; i < r->num; i++) {
		race = r->at[i];
		for (j = i; j > 0 && r->at[j - 1].num < race.num; j--)
			r->at[j] = r->at[j - 1];
		r->at[j] = race;
	}
}

static void put_beginning(const struct race *race, FILE *out)
{
	fputs("evsmp: Begin with ", out);
	if (strcmp(race->subject, RACES_UNNAMED) != 0) {
		fprintf(out, "%s. ", shown(race->subject));
		return;
	}
	fprintf(out, "the memory that %s shares with ", shown(race->functions[0]));
	fprintf(out, "%s. ", shown(race->functions[1]));
}

void races_sum_up(struct races *r, FILE *out)
{
	const struct race *race;

	if (r->num == 0 || (r->num == 1 && r->at[0].num == 1))
		return;
	sort(r);
	for (race = r->at; race < r->at + r->num; race++) {
		fprintf(out, "evsmp: %5lu  %s: ", race->num, shown(race->subject));
		fprintf(out, "%s and ", shown(race->functions[0]));
		fprintf(out, "%s\n", shown(race->functions[1]));
	}
	put_beginning(&r->at[0], out);
	fprintf(out, "%s\n", r->at[0].advice);
}
