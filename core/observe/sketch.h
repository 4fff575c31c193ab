/*
 * The keys with the most weight in a stream, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi 2005).
 *
 * A key that is not among those kept takes the place of the lightest, and that weight is its error: the new key may
 * have had it before, or not. So with N places and the sum S of all weights:
 *
 *	weight - error <= true weight <= weight, for each key that is kept
 *	a key of more than S / N is kept
 *
 * The caller has what belongs to a key in arrays of its own, by place.
 */
#ifndef EC_SKETCH_H
#define EC_SKETCH_H

#include <stdbool.h>
#include <stdint.h>

enum { EC_SKETCH_PLACES = 64, EC_SKETCH_SLOTS = 2 * EC_SKETCH_PLACES };

struct ec_sketch {
	/* the owner's */
	unsigned num;			/* places that are taken */
	unsigned last;			/* the place that was found last */
	uint64_t keys[EC_SKETCH_PLACES];
	uint64_t weights[EC_SKETCH_PLACES];
	uint8_t slots[EC_SKETCH_SLOTS];	/* by hash, with linear probing: place + 1; 0: empty */
};

/* All zero is an empty sketch. Returns the place of `key`; *is_new: it has just got this place. */
unsigned ec_sketch_find(struct ec_sketch *s, uint64_t key, uint64_t *ret_error, bool *is_new);

/* Is `key` the one that was found last? Its place is s->last. */
static inline bool ec_sketch_is_last(const struct ec_sketch *s, uint64_t key)
{
	return s->num != 0 && s->keys[s->last] == key;
}

static inline void ec_sketch_add(struct ec_sketch *s, unsigned place, uint64_t weight)
{
	s->weights[place] += weight;
}

#endif
