#include "agenda.h"

#include <stdbool.h>
#include <stdlib.h>

#include "say.h"

static bool is_before(const struct agenda_item *a, const struct agenda_item *b)
{
	return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

void agenda_put(struct agenda *a, uint8_t type, uint32_t what, int64_t at)
{
	struct agenda_item e = { at, a->seq++, what, type };
	size_t i = a->num++, up;

	if (a->num > a->cap) {
		a->cap = 2 * a->num;
		a->items = must(realloc(a->items, a->cap * sizeof(*a->items)));
	}
	for (; i > 0 && is_before(&e, &a->items[up = (i - 1) / 2]); i = up)
		a->items[i] = a->items[up];
	a->items[i] = e;
}

struct agenda_item agenda_take(struct agenda *a)
{
	struct agenda_item first = a->items[0], last = a->items[--a->num];
	size_t i = 0, down;

	for (; (down = 2 * i + 1) < a->num; i = down) {
		if (down + 1 < a->num && is_before(&a->items[down + 1], &a->items[down]))
			down++;
		if (!is_before(&a->items[down], &last))
			break;
		a->items[i] = a->items[down];
	}
	if (a->num != 0)
		a->items[i] = last;
	return first;
}

void agenda_free(struct agenda *a)
{
	free(a->items);
	*a = (struct agenda){ 0 };
}
