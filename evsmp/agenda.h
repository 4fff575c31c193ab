/*
 * What happens at which time: the earliest first, and of the same time what was added first.
 */
#ifndef EVSMP_AGENDA_H
#define EVSMP_AGENDA_H

#include <stddef.h>
#include <stdint.h>

struct agenda_item {
	int64_t at;
	uint64_t seq;			/* the order in which they were added */
	uint32_t what;
	uint8_t type;
};

/* All zeros: it is empty. */
struct agenda {
	struct agenda_item *items;	/* a binary heap */
	size_t num, cap;
	uint64_t seq;
};

void agenda_put(struct agenda *a, uint8_t type, uint32_t what, int64_t at);

/* It has one. */
struct agenda_item agenda_take(struct agenda *a);

void agenda_free(struct agenda *a);

#endif
