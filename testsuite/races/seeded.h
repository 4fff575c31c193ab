/*
 * Programs with one race each, and the same programs without it. Each race is of a kind that people write. The two
 * callbacks of a race never overlap: the loop has one thread.
 */
#ifndef SEEDED_H
#define SEEDED_H

#include <stdbool.h>

#include "../abi/tsan/program.h"

extern struct event_base *base;
extern bool is_repaired;

/* A color of its own; repaired: the one that it should have. */
static inline uint32_t color_or(uint32_t wrong, uint32_t right)
{
	return is_repaired ? right : wrong;
}

struct event *event_of(uint32_t color, int fd, short what, event_callback_fn fn, void *arg);

/* Runs the loop until nothing is pending, and frees the base. */
void run(void);

struct seeded {
	const char *name;
	void (*fn)(void);
};

extern const struct seeded seeded_memory[], seeded_handed[], seeded_net[];

#endif
