/*
 * afork.
 */
#include "amisc.h"

pid_t afork()
{
	return fork();
}
