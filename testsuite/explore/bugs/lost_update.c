/*
 * Two clerks add to one account, each in a color of its own: one callback reads the balance, the next one writes it.
 */
#include "bug.h"

enum { CLERKS = 2, TIMES = 3 };

static int balance;
static int seen[CLERKS], done[CLERKS];

static void read_balance(void *arg);

static void write_balance(void *arg)
{
	int clerk = (int)(intptr_t)arg;

	balance = seen[clerk] + 1;
	if (++done[clerk] < TIMES)
		post((uint32_t)clerk + 1, read_balance, arg);
}

static void read_balance(void *arg)
{
	int clerk = (int)(intptr_t)arg;

	seen[clerk] = balance;
	post((uint32_t)clerk + 1, write_balance, arg);
}

int main(void)
{
	intptr_t clerk;

	begin();
	for (clerk = 0; clerk < CLERKS; clerk++)
		post((uint32_t)clerk + 1, read_balance, (void *)clerk);
	run();
	if (balance != CLERKS * TIMES)
		fail("an update of the account is lost");
	return 0;
}
