#include "sketch.h"

static unsigned slot_of(uint64_t key)
{
	return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % EC_SKETCH_SLOTS;
}

/* The slot of `key`, or the empty one where it belongs. Half of the slots are empty. */
static unsigned search(const struct ec_sketch *s, uint64_t key)
{
	unsigned at = slot_of(key);

	while (s->slots[at] != 0 && s->keys[s->slots[at] - 1] != key)
		at = (at + 1) % EC_SKETCH_SLOTS;
	return at;
}

/* Entries behind it that its slot lets in move there, so that no search ends too early. */
static void slot_remove(struct ec_sketch *s, unsigned at)
{
	unsigned next = at, home;

	for (;;) {
		next = (next + 1) % EC_SKETCH_SLOTS;
		if (s->slots[next] == 0)
			break;
		home = slot_of(s->keys[s->slots[next] - 1]);
		/* Is its home beyond `at`? Then it may not stand before that. */
		if ((next - home) % EC_SKETCH_SLOTS < (next - at) % EC_SKETCH_SLOTS)
			continue;
		s->slots[at] = s->slots[next];
		at = next;
	}
	s->slots[at] = 0;
}

static unsigned lightest(const struct ec_sketch *s)
{
	unsigned i, min = 0;

	for (i = 1; i < EC_SKETCH_PLACES; i++) {
		if (s->weights[i] < s->weights[min])
			min = i;
	}
	return min;
}

static unsigned take_place(struct ec_sketch *s, uint64_t key, uint64_t *ret_error)
{
	unsigned place = s->num;

	*ret_error = 0;
	if (s->num < EC_SKETCH_PLACES) {
		s->num++;
		s->weights[place] = 0;
	} else {
		place = lightest(s);
		slot_remove(s, search(s, s->keys[place]));
		*ret_error = s->weights[place];
	}
	s->keys[place] = key;
	s->slots[search(s, key)] = (uint8_t)(place + 1);
	return place;
}

unsigned ec_sketch_find(struct ec_sketch *s, uint64_t key, uint64_t *ret_error, bool *is_new)
{
	unsigned at;

	*is_new = false;
	if (ec_sketch_is_last(s, key))
		return s->last;
	at = search(s, key);
	*is_new = s->slots[at] == 0;
	s->last = *is_new ? take_place(s, key, ret_error) : s->slots[at] - 1u;
	return s->last;
}
