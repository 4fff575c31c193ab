/* Without swapcontext(): musl. Its programs cannot have ThreadSanitizer either. */
#include "stack.h"

#include <stddef.h>

bool ec_stack_is_supported(void)
{
	return false;
}

struct ec_stack *ec_stack_new(void)
{
	return NULL;
}

void ec_stack_free(struct ec_stack *s)
{
	(void)s;
}

void ec_stack_call(struct ec_stack *s, void (*fn)(void *arg), void *arg)
{
	(void)s;
	fn(arg);
}
