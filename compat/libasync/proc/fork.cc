/*
 * afork.
 */
#include "amisc.h"
#include "err.h"

pid_t afork()
{
	/* What is printed so far is the parent's to write, once. */
	err_flush();
	return fork();
}
