/*
 * Preloaded: reference counts are atomic from the beginning, as if there were a second worker. The difference is what
 * atomic counts cost.
 */
#include "refcnt.h"

__attribute__((constructor)) static void begin()
{
	libasync::share_counts();
}
