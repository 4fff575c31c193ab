#include "ids.h"

#include <stdlib.h>

static size_t place_of(const struct ids *ids, uint64_t key)
{
	size_t i = (size_t)((key ^ key >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (ids->cap - 1);

	while (ids->at[i].number != 0 && ids->at[i].key != key)
		i = (i + 1) & (ids->cap - 1);
	return i;
}

static void grow(struct ids *ids)
{
	struct ids more = { .cap = ids->cap == 0 ? 64 : 2 * ids->cap, .num = ids->num };
	size_t i;

	more.at = must(calloc(more.cap, sizeof(*more.at)));
	for (i = 0; i < ids->cap; i++) {
		if (ids->at[i].number != 0)
			more.at[place_of(&more, ids->at[i].key)] = ids->at[i];
	}
	free(ids->at);
	*ids = more;
}

uint32_t ids_get(struct ids *ids, uint64_t key)
{
	size_t i;

	if (2 * (size_t)ids->num >= ids->cap)
		grow(ids);
	i = place_of(ids, key);
	if (ids->at[i].number == 0) {
		ids->at[i].key = key;
		ids->at[i].number = ++ids->num;
	}
	return ids->at[i].number - 1;
}

uint32_t ids_find(const struct ids *ids, uint64_t key)
{
	return ids->cap == 0 ? IDS_NONE : ids->at[place_of(ids, key)].number - 1;
}

void ids_free(struct ids *ids)
{
	free(ids->at);
	*ids = (struct ids){ 0 };
}
