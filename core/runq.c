#include "runq.h"

#include "color.h"
#include "ec.h"

int ec_runq_init(struct ec_runq *q, unsigned levels_num)
{
	struct ec_runq_level *level;
	unsigned i;

	level = ec_calloc(levels_num, sizeof(*level));
	if (level == NULL)
		return -ENOMEM;
	for (i = 0; i < levels_num; i++) {
		ec_list_init(&level[i].posts);
		ec_list_init(&level[i].others);
	}
	*q = (struct ec_runq){ .level = level, .levels_num = levels_num };
	return 0;
}

void ec_runq_fini(struct ec_runq *q)
{
	ec_free(q->level);
	q->level = NULL;
}

void ec_runq_push(struct ec_runq *q, struct ec_color *c, unsigned level, bool has_post)
{
	struct ec_runq_level *l = &q->level[level];

	c->level = (uint8_t)level;
	c->in_posts = has_post;
	ec_list_push_back(has_post ? &l->posts : &l->others, &c->node);
	ec_map_set(q->map, level);
	ec_counter_add(&q->num, 1);
}

void ec_runq_remove(struct ec_runq *q, struct ec_color *c)
{
	struct ec_runq_level *l = &q->level[c->level];

	ec_list_remove(&c->node);
	if (ec_list_is_empty(&l->posts) && ec_list_is_empty(&l->others))
		ec_map_clear(q->map, c->level);
	ec_counter_add(&q->num, UINT32_MAX);
}

unsigned ec_runq_level(const struct ec_runq *q)
{
	return ec_map_first(q->map);
}

struct ec_color *ec_runq_first(const struct ec_runq *q)
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
