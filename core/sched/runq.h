/*
 * The run queue of a worker. Each priority has two lists: colors whose first task is a post, and the others. While
 * both have colors, they take turns of EC_TURN_NS, beginning with the posts. So no stream of posts starves the
 * others. A bitmap has the levels that are not empty.
 */
#ifndef EC_RUNQ_H
#define EC_RUNQ_H

#include <stdbool.h>
#include <stdint.h>

#include "color.h"
#include "os/list.h"

enum { EC_PRI_MAX = 256, EC_PRI_WORDS = EC_PRI_MAX / 64 };

enum { EC_TURN_NS = 100000 };

struct ec_runq_level {
	/* RUNQ of the worker */
	struct ec_list posts, others;
	uint64_t turn_ends;		/* ticks; 0: one of the lists was empty at the last choice */
	bool is_others_turn;		/* if turn_ends is not 0 */
};

struct ec_runq {
	/* RUNQ of the worker */
	struct ec_runq_level *level;
	uint32_t levels_num;
	_Atomic(uint32_t) num;		/* of colors; other threads read it as a hint */
	uint64_t map[EC_PRI_WORDS];	/* levels that are not empty */
	struct ec_runq_level only;	/* the usual number of levels is 1 */
};

int ec_runq_init(struct ec_runq *q, unsigned levels_num);

/* While it is empty. -ENOMEM changes nothing. */
int ec_runq_set_levels(struct ec_runq *q, unsigned levels_num);
void ec_runq_fini(struct ec_runq *q);

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

/* The most urgent level with a color; EC_PRI_MAX: none. */
static inline unsigned ec_runq_level(const struct ec_runq *q)
{
	return ec_map_first(q->map);
}

/* Queue by the most urgent task of `c`. */
static inline void ec_runq_push(struct ec_runq *q, struct ec_color *c, unsigned level, bool has_post)
{
	struct ec_runq_level *l = &q->level[level];

	c->level = (uint8_t)level;
	c->flags = (uint8_t)(has_post ? c->flags | EC_COLOR_IN_POSTS : c->flags & ~EC_COLOR_IN_POSTS);
	ec_list_push_back(has_post ? &l->posts : &l->others, &c->node);
	ec_map_set(q->map, level);
	ec_counter_add(&q->num, 1);
}

static inline void ec_runq_remove(struct ec_runq *q, struct ec_color *c)
{
	const struct ec_runq_level *l = &q->level[c->level];

	ec_list_remove(&c->node);
	if (ec_list_is_empty(&l->posts) && ec_list_is_empty(&l->others))
		ec_map_clear(q->map, c->level);
	ec_counter_add(&q->num, UINT32_MAX);
}

/* Both lists of `l` have colors: the list whose turn it is at `now` (ticks). */
struct ec_list *ec_runq_turn(struct ec_runq_level *l, uint64_t now);

/* The color to run next, at `now` (ticks), or NULL. */
static inline struct ec_color *ec_runq_choose(struct ec_runq *q, uint64_t now)
{
	unsigned level = ec_runq_level(q);
	struct ec_runq_level *l;
	struct ec_list *list;

	if (level == EC_PRI_MAX)
		return NULL;
	l = &q->level[level];
	if (!ec_list_is_empty(&l->others) && !ec_list_is_empty(&l->posts)) {
		list = ec_runq_turn(l, now);
	} else {
		l->turn_ends = 0;
		list = ec_list_is_empty(&l->others) ? &l->posts : &l->others;
	}
	return ec_container_of(list->next, struct ec_color, node);
}

/* The first color of the most urgent level, or NULL. */
static inline struct ec_color *ec_runq_first(struct ec_runq *q)
{
	unsigned level = ec_runq_level(q);
	const struct ec_runq_level *l;
	struct ec_list *first;

	if (level == EC_PRI_MAX)
		return NULL;
	l = &q->level[level];
	first = ec_list_is_empty(&l->posts) ? l->others.next : l->posts.next;
	return ec_container_of(first, struct ec_color, node);
}

/* The color after `c`, which is in the queue, or NULL. */
struct ec_color *ec_runq_next(const struct ec_runq *q, const struct ec_color *c);

#endif
