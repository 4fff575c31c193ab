/*
 * Colors that a workload could have: one rule tells the color of each callback.
 */
#ifndef EVSMP_COLORING_H
#define EVSMP_COLORING_H

#include "workload.h"

/* In this order they are preferred, if they gain as much: those that change less come first. */
enum rule {
	RULE_OWN,		/* as the program sets them */
	RULE_CONNECTION,	/* one for each connection: bufferevent, HTTP connection, argument of callbacks */
	RULE_SHARED,		/* the same, but all that belongs to no connection has one color together */
	RULE_DESCRIPTOR,	/* one for each descriptor */
	RULE_LISTENER,		/* one for all connections of a listener */
	RULE_CALLBACK,		/* one for each function */
	RULES,
};

struct coloring {
	enum rule rule;
	uint32_t *colors;	/* of each call: 0 … num - 1 */
	uint32_t num;
	uint32_t pinned;	/* this color runs on worker 0 only; WORK_NONE: none does */
};

/* What `rule` says. Two rules may say the same: see coloring_is_same(). */
void coloring_make(const struct workload *w, enum rule rule, struct coloring *ret);
void coloring_free(struct coloring *c);
bool coloring_is_same(const struct workload *w, const struct coloring *c, const struct coloring *d);

/* Is the rule about something that the workload has? */
bool coloring_applies(const struct workload *w, enum rule rule);

const char *rule_name(enum rule rule);	/* "by connection" */
const char *rule_word(enum rule rule);	/* "connection" */

#endif
