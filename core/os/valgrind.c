/* With valgrind's headers. One order of both tools: DRD takes Helgrind's requests. */
#include "valgrind.h"

#include <stddef.h>
#include <stdint.h>

/* Helgrind's first: DRD's header is made for that. */
#include <valgrind/helgrind.h>

#include <valgrind/drd.h>

static bool is_helgrind(void)
{
	char byte = 0;

	return VALGRIND_DO_CLIENT_REQUEST_EXPR(0, _VG_USERREQ__HG_GET_ABITS, &byte, NULL, 1, 0, 0) == 1;
}

bool ec_valgrind_looks_for_races(void)
{
	return RUNNING_ON_VALGRIND && (is_helgrind() || DRD_GET_VALGRIND_THREADID != 0);
}

void ec_valgrind_acquire(const void *at)
{
	ANNOTATE_HAPPENS_AFTER((void *)(uintptr_t)at);
}

void ec_valgrind_release(const void *at)
{
	ANNOTATE_HAPPENS_BEFORE((void *)(uintptr_t)at);
}
