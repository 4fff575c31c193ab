/*
 * ec_mem_trim, where libc has no such function: musl, which gives memory back when it is freed.
 */
#include "mem.h"

void ec_mem_trim(void)
{
}
