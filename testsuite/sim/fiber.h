/*
 * A stack and the place where it stopped: what the simulator's threads are made of.
 * Only the address sanitizer learns of the switches, so no other sanitizer of threads or
 * memory can be used on a simulation.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>
#include <ucontext.h>

struct fiber {
	void *stack;		/* lowest address that may be used; NULL: the program's own stack */
	size_t stack_len;
	void *sp;		/* where it stopped, when switching by hand … */
	ucontext_t ctx;		/* … or by ucontext */
	void *fake_stack;	/* the address sanitizer's */
};

/* Describe the stack that the caller runs on. */
void fiber_init_self(struct fiber *f);

/* Allocate a stack with a guard page below. 0 or -ENOMEM. */
int fiber_init(struct fiber *f);

/* The next switch to `f` starts entry(), which must never return. */
void fiber_prepare(struct fiber *f, void (*entry)(void));

/* Stop `from`, which calls, and go on with `to`. from_ends: nobody will switch to it again. */
enum fiber_fate { FIBER_STOPS, FIBER_ENDS };
void fiber_switch(struct fiber *from, struct fiber *to, enum fiber_fate fate);

#endif
