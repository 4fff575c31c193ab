#include "unwind.h"

#include <execinfo.h>

/* The first call loads libgcc_s.so.1, which allocates. */
bool ec_unwind_prepare(void)
{
	void *frames[1];

	return backtrace(frames, 1) == 1;
}

int ec_unwind(void **frames, int max)
{
	return backtrace(frames, max);
}
