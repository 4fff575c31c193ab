#include "runq.h"

#include "color.h"
#include "ec.h"

int ec_runq_set_levels(struct ec_runq *q, unsigned levels_num)
{
	struct ec_runq_level *level = &q->only;
	unsigned i;

	if (levels_num > 1)
		level = ec_calloc(levels_num, sizeof(*level));
	if (level == NULL)
		return -ENOMEM;
	for (i = 0; i < levels_num; i++) {
		ec_list_init(&level[i].posts);
		ec_list_init(&level[i].others);
	}
	ec_runq_fini(q);
	q->level = level;
	q->levels_num = levels_num;
	q->is_deep = levels_num > 1;
	return 0;
}

int ec_runq_init(struct ec_runq *q, unsigned levels_num)
{
	*q = (struct ec_runq){ 0 };
	return ec_runq_set_levels(q, levels_num);
}

void ec_runq_fini(struct ec_runq *q)
{
	if (q->level != &q->only)
		ec_free(q->level);
	q->level = NULL;
}

static inline struct ec_runq_level *level_of(struct ec_runq *q, unsigned level)
{
	return q->is_deep ? &q->level[level] : &q->only;
}

void ec_runq_push(struct ec_runq *q, struct ec_color *c, unsigned level, bool has_post)
{
	struct ec_runq_level *l = level_of(q, level);

	c->level = (uint8_t)level;
	c->flags = (uint8_t)(has_post ? c->flags | EC_COLOR_IN_POSTS : c->flags & ~EC_COLOR_IN_POSTS);
	ec_list_push_back(has_post ? &l->posts : &l->others, &c->node);
	if (q->is_deep)
		ec_map_set(q->map, level);
	ec_counter_add(&q->num, 1);
}

void ec_runq_remove(struct ec_runq *q, struct ec_color *c)
{
	struct ec_runq_level *l = level_of(q, c->level);

	ec_list_remove(&c->node);
	if (q->is_deep && ec_list_is_empty(&l->posts) && ec_list_is_empty(&l->others))
		ec_map_clear(q->map, c->level);
	ec_counter_add(&q->num, UINT32_MAX);
}

unsigned ec_runq_level(const struct ec_runq *q)
{
	if (q->is_deep)
		return ec_map_first(q->map);
	return ec_load_relaxed(&q->num) == 0 ? EC_PRI_MAX : 0;
}

struct ec_color *ec_runq_first(struct ec_runq *q)
{
	unsigned level = ec_runq_level(q);
	const struct ec_runq_level *l;
	struct ec_list *first;

	if (level == EC_PRI_MAX)
		return NULL;
	l = level_of(q, level);
	first = ec_list_is_empty(&l->posts) ? l->others.next : l->posts.next;
	return ec_container_of(first, struct ec_color, node);
}

struct ec_color *ec_runq_next(const struct ec_runq *q, const struct ec_color *c)
{
	const struct ec_runq_level *l = &q->level[c->level];
	struct ec_list *next = c->node.next;
	unsigned level = c->level;

	if (next == &l->posts)
		next = l->others.next;
	while (next == &q->level[level].others) {
		do {
			if (++level == q->levels_num)
				return NULL;
		} while (!ec_map_has(q->map, level));
		l = &q->level[level];
		next = ec_list_is_empty(&l->posts) ? l->others.next : l->posts.next;
	}
	return ec_container_of(next, struct ec_color, node);
}
