#include "runq.h"

#include "color.h"
#include "ec.h"
#include "os/clock.h"

int ec_runq_set_levels(struct ec_runq *q, unsigned levels_num)
{
	struct ec_runq_level *level = &q->only;
	unsigned i;

	if (levels_num != 1)
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

struct ec_list *ec_runq_turn(struct ec_runq_level *l, uint64_t now)
{
	if (l->turn_ends == 0 || !ec_ticks_before(now, l->turn_ends)) {
		l->is_others_turn = l->turn_ends != 0 && !l->is_others_turn;
		l->turn_ends = now + ec_clock_ns_to_ticks(EC_TURN_NS);
	}
	return l->is_others_turn ? &l->others : &l->posts;
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
