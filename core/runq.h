/*
 * The runnable colors of one worker: for each priority two lists, those with a post before
 * those without, and a bitmap of the levels that are not empty. All of it under the
 * worker's RUNQ lock; `runnable` is read by others as a hint.
 */
#ifndef EC_RUNQ_H
#define EC_RUNQ_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"

enum { EC_PRI_MAX = 256, EC_PRI_WORDS = EC_PRI_MAX / 64 };

struct ec_color;

struct ec_runq_level {
	struct ec_list posts, others;
};

/* Most have one level, which lies here then, and of which `num` tells whether it is empty. */
struct ec_runq {
	struct ec_runq_level only;

	_Atomic(uint32_t) num;
	bool is_deep;			/* has more than one */
	struct ec_runq_level *level;	/* all, or the only one */
	uint32_t levels_num;
	uint64_t map[EC_PRI_WORDS];	/* levels that are not empty, if deep */
};

int ec_runq_init(struct ec_runq *q, unsigned levels_num);

/* While it is empty. -ENOMEM changes nothing. */
int ec_runq_set_levels(struct ec_runq *q, unsigned levels_num);
void ec_runq_fini(struct ec_runq *q);

/* Queue by the most urgent task of `c`. */
void ec_runq_push(struct ec_runq *q, struct ec_color *c, unsigned level, bool has_post);
void ec_runq_remove(struct ec_runq *q, struct ec_color *c);

/* The first color of the most urgent level, or NULL. */
struct ec_color *ec_runq_first(struct ec_runq *q);

/* The one behind `c`, which is in the queue, or NULL. */
struct ec_color *ec_runq_next(const struct ec_runq *q, const struct ec_color *c);

/* The most urgent level with a color; EC_PRI_MAX: none. */
unsigned ec_runq_level(const struct ec_runq *q);

static inline unsigned ec_map_first(const uint64_t map[EC_PRI_WORDS])
{
	unsigned i;

	for (i = 0; i < EC_PRI_WORDS; i++) {
		if (map[i] != 0)
			return i * 64 + (unsigned)__builtin_ctzll(map[i]);
	}
	return EC_PRI_MAX;
}

static inline bool ec_map_has(const uint64_t map[EC_PRI_WORDS], unsigned bit)
{
	return (map[bit / 64] >> bit % 64 & 1) != 0;
}

static inline void ec_map_set(uint64_t map[EC_PRI_WORDS], unsigned bit)
{
	map[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void ec_map_clear(uint64_t map[EC_PRI_WORDS], unsigned bit)
{
	map[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

#endif
