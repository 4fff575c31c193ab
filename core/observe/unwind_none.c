#include "unwind.h"

bool ec_unwind_prepare(void)
{
	return false;
}

int ec_unwind(void **frames, int max)
{
	(void)frames;
	(void)max;
	return 0;
}
