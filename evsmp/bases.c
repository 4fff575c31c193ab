#include "bases.h"

#include <stdlib.h>

void bases_add(struct bases *b, unsigned file, const struct stats *s)
{
	struct base_sum *sum = &b->at[b->num++];
	const struct stats_worker *w;
	double busy;

	*sum = (struct base_sum){ .file = file, .base = s->base };
	for (w = s->workers; w < s->workers + s->workers_num; w++) {
		if (!w->is_on)
			continue;
		busy = w->all_ns == 0 ? 0 : (double)w->busy_ns / (double)w->all_ns;
		sum->busy = busy > sum->busy ? busy : sum->busy;
		sum->callbacks += w->callbacks;
		sum->busy_ns += w->busy_ns;
		sum->passed_ns = w->all_ns > sum->passed_ns ? w->all_ns : sum->passed_ns;
	}
	if (sum->busy > 1)
		sum->busy = 1;
}

static int by_busy(const void *a, const void *b)
{
	const struct base_sum *x = a, *y = b;

	if (x->busy > y->busy || x->busy < y->busy)
		return x->busy > y->busy ? -1 : 1;
	return x->base < y->base ? -1 : x->base > y->base;
}

void bases_sort(struct bases *b)
{
	qsort(b->at, b->num, sizeof(*b->at), by_busy);
}

const struct base_sum *bases_find(const struct bases *b, uint32_t base)
{
	unsigned i;

	for (i = 0; i < b->num; i++) {
		if (b->at[i].base == base)
			return &b->at[i];
	}
	return &b->at[0];
}

uint32_t bases_next(const struct bases *b, uint32_t base)
{
	uint32_t next = 0, first = 0;
	unsigned i;

	for (i = 0; i < b->num; i++) {
		if (first == 0 || b->at[i].base < first)
			first = b->at[i].base;
		if (b->at[i].base > base && (next == 0 || b->at[i].base < next))
			next = b->at[i].base;
	}
	return next != 0 ? next : first;
}

static void note_base(const struct base_sum *sum, struct screen *ret)
{
	double seconds = (double)sum->passed_ns / 1e9;
	char mean[SENTENCES_TIME_LEN];

	(void)snprintf(ret->notes[ret->notes_num++], NOTE_LEN,
		       "base %u: busy %.0f %%, %.0f callbacks/s of %s (n: next base)", sum->base, 100 * sum->busy,
		       seconds > 0 ? (double)sum->callbacks / seconds : 0,
		       sentences_time(sum->callbacks == 0 ? 0 : sum->busy_ns / sum->callbacks, mean));
}

void bases_notes(const struct bases *b, const struct base_sum *shown, unsigned not_turned, struct screen *ret)
{
	const unsigned max = NOTES_MAX - 2;
	unsigned i, others = 0;

	ret->bases_num = b->num + not_turned;
	ret->notes_num = 0;
	for (i = 0; i < b->num && shown != NULL; i++) {
		if (&b->at[i] != shown && others++ < max)
			note_base(&b->at[i], ret);
	}
	if (others > max)
		(void)snprintf(ret->notes[ret->notes_num++], NOTE_LEN, "%u more bases are less busy.", others - max);
	if (not_turned != 0)
		(void)snprintf(ret->notes[ret->notes_num++], NOTE_LEN,
			       "%u base%s not turned since: nothing is ready there, or a callback does not return.",
			       not_turned, not_turned == 1 ? " has" : "s have");
}
