/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#include "called.h"

#include <stdlib.h>

enum { RING = 128 };

struct post {
	void (*fn)(void *);
	void *arg;
	uint32_t color;
};

struct called {
	uint32_t head, tail, running;
	struct post ring[RING];
};

static __thread struct called *self __attribute__((tls_model("initial-exec")));

struct called *called_new(void)
{
	self = calloc(1, sizeof(*self));
	return self;
}

int called_post(struct called *c, uint32_t color, void (*fn)(void *), void *arg)
{
	if (c != self || c->tail - c->head == RING)
		return -1;
	c->ring[c->tail++ % RING] = (struct post){ fn, arg, color };
	return 0;
}

void called_run(struct called *c)
{
	struct post *post;

	while (c->head != c->tail) {
		post = &c->ring[c->head++ % RING];
		c->running = post->color;
		post->fn(post->arg);
	}
}
