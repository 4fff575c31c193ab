#include "coloring.h"

#include <stdlib.h>

#include "core/ec.h"
#include "ids.h"

/* What a color is for: the kind of thing in the low bits, so that a descriptor is no object. */
enum key { KEY_COLOR, KEY_FD, KEY_OBJECT, KEY_FN, KEY_SHARED, KEY_BITS = 3 };

static uint64_t key_of(enum key kind, uint64_t value)
{
	return value << KEY_BITS | kind;
}

struct maker {
	const struct workload *w;
	struct ids fds;		/* objects that have a descriptor */
	int *fd_of;		/* by their number */
	struct ids creators;	/* objects whose maker is known */
	uint64_t *creator_of;
};

/* ---------------------------------------------------------------- objects */

/* A timer of a connection belongs to the connection's descriptor. */
static void find_objects(struct maker *m)
{
	const struct work_call *c;
	uint32_t id, num;
	size_t i;

	m->fd_of = must(calloc(m->w->calls_num + 1, sizeof(*m->fd_of)));
	m->creator_of = must(calloc(m->w->calls_num + 1, sizeof(*m->creator_of)));
	for (i = 0; i < m->w->calls_num; i++) {
		c = &m->w->calls[i];
		if (c->object == 0)
			continue;
		if (c->fd >= 0 && !c->is_shared_object) {
			num = m->fds.num;
			id = ids_get(&m->fds, c->object);
			if (id == num)
				m->fd_of[id] = c->fd;
		}
		if (c->creator != 0)
			m->creator_of[ids_get(&m->creators, c->object)] = c->creator;
	}
}

static bool is_of_connection(const struct maker *m, const struct work_call *c)
{
	if (m->w->fns[c->fn].kind == EC_OBJECT_LISTENER)
		return false;
	return c->fd >= 0 || (c->object != 0 && ids_find(&m->fds, c->object) != IDS_NONE);
}

static uint64_t root_of(const struct maker *m, uint64_t object)
{
	enum { DEPTH_MAX = 16 };
	unsigned i;
	uint32_t id;

	for (i = 0; i < DEPTH_MAX; i++) {
		id = ids_find(&m->creators, object);
		if (id == IDS_NONE)
			break;
		object = m->creator_of[id];
	}
	return object;
}

/* ---------------------------------------------------------------- rules */

static uint64_t by_connection(const struct maker *m, const struct work_call *c)
{
	(void)m;
	if (c->object != 0 && !c->is_shared_object)
		return key_of(KEY_OBJECT, c->object);
	if (c->fd >= 0)
		return key_of(KEY_FD, (uint64_t)c->fd);
	return c->object != 0 ? key_of(KEY_OBJECT, c->object) : key_of(KEY_FN, c->fn);
}

static uint64_t by_connection_and_shared(const struct maker *m, const struct work_call *c)
{
	return is_of_connection(m, c) ? by_connection(m, c) : key_of(KEY_SHARED, 0);
}

static uint64_t by_descriptor(const struct maker *m, const struct work_call *c)
{
	uint32_t id = c->object == 0 ? IDS_NONE : ids_find(&m->fds, c->object);

	if (c->fd >= 0)
		return key_of(KEY_FD, (uint64_t)c->fd);
	if (id != IDS_NONE)
		return key_of(KEY_FD, (uint64_t)m->fd_of[id]);
	return c->object != 0 ? key_of(KEY_OBJECT, c->object) : key_of(KEY_FN, c->fn);
}

static uint64_t by_listener(const struct maker *m, const struct work_call *c)
{
	return c->object == 0 ? by_connection(m, c) : key_of(KEY_OBJECT, root_of(m, c->object));
}

static uint64_t by_callback(const struct maker *m, const struct work_call *c)
{
	(void)m;
	return key_of(KEY_FN, c->fn);
}

static uint64_t as_it_is(const struct maker *m, const struct work_call *c)
{
	(void)m;
	return key_of(KEY_COLOR, c->color);
}

static const struct {
	const char *name, *word;
	uint64_t (*key)(const struct maker *m, const struct work_call *c);
} rules[RULES] = {
	[RULE_OWN] = { "as it is colored", "own", as_it_is },
	[RULE_CONNECTION] = { "by connection", "connection", by_connection },
	[RULE_SHARED] = { "by connection, and one color for the rest", "shared", by_connection_and_shared },
	[RULE_DESCRIPTOR] = { "by descriptor", "descriptor", by_descriptor },
	[RULE_LISTENER] = { "by listener", "listener", by_listener },
	[RULE_CALLBACK] = { "by callback", "callback", by_callback },
};

void coloring_make(const struct workload *w, enum rule rule, struct coloring *ret)
{
	struct maker m = { .w = w };
	struct ids ids = { 0 };
	size_t i;

	find_objects(&m);
	*ret = (struct coloring){ .rule = rule, .pinned = WORK_NONE };
	ret->colors = must(calloc(w->calls_num + 1, sizeof(*ret->colors)));
	for (i = 0; i < w->calls_num; i++)
		ret->colors[i] = ids_get(&ids, rules[rule].key(&m, &w->calls[i]));
	ret->num = ids.num;
	if (rule == RULE_OWN)
		ret->pinned = ids_find(&ids, key_of(KEY_COLOR, 0));
	ids_free(&ids);
	ids_free(&m.fds);
	ids_free(&m.creators);
	free(m.fd_of);
	free(m.creator_of);
}

void coloring_free(struct coloring *c)
{
	free(c->colors);
	*c = (struct coloring){ 0 };
}

/* Numbers are given in the order of calls, so the same colors have the same numbers. */
bool coloring_is_same(const struct workload *w, const struct coloring *c, const struct coloring *d)
{
	size_t i;

	if (c->num != d->num || c->pinned != d->pinned)
		return false;
	for (i = 0; i < w->calls_num; i++) {
		if (c->colors[i] != d->colors[i])
			return false;
	}
	return true;
}

bool coloring_applies(const struct workload *w, enum rule rule)
{
	if (rule == RULE_OWN)
		return w->has_colors;
	return w->has_objects || (rule != RULE_LISTENER && rule != RULE_SHARED);
}

const char *rule_name(enum rule rule)
{
	return rules[rule].name;
}

const char *rule_word(enum rule rule)
{
	return rules[rule].word;
}
