/*
 * ec_mem_trim, where libc has malloc_trim: glibc.
 */
#include "mem.h"

#include <malloc.h>

void ec_mem_trim(void)
{
	(void)malloc_trim(0);
}
