/*
 * A stack of its own for calls: the race checker (observe/fibers.h) runs each color on another one, as threads would.
 * Otherwise two colors would use the same memory for their variables one after the other.
 */
#ifndef EC_STACK_H
#define EC_STACK_H

#include <stdbool.h>

/* Can this system switch stacks? */
bool ec_stack_is_supported(void);

struct ec_stack;

/* As large as a thread's usually is; memory that no call reaches costs nothing. NULL: no memory. */
struct ec_stack *ec_stack_new(void);
void ec_stack_free(struct ec_stack *s);

/* Runs fn(arg) on the stack, which no call uses now. */
void ec_stack_call(struct ec_stack *s, void (*fn)(void *arg), void *arg);

#endif
