#include "watchdog.h"

#include <time.h>

#include "lock/sync.h"
#include "os/thread.h"

/* const while the thread lives */
static struct ec_osthread thread;
static void (*work)(void);
static struct timespec interval;
static bool is_on;

/* atomic, futex: 1: the thread is to end. ec_watchdog_stop meets watchdog_main */
static _Atomic(uint32_t) is_ending;

static void watchdog_main(void *arg)
{
	(void)arg;
	while (ec_load_acquire(&is_ending) == 0) {
		work();
		(void)ec_futex_wait(&is_ending, 0, &interval);
	}
}

int ec_watchdog_start(void (*fn)(void), unsigned interval_ms)
{
	int r;

	work = fn;
	interval.tv_sec = (time_t)(interval_ms / 1000);
	interval.tv_nsec = (long)(interval_ms % 1000) * 1000000;
	ec_store_release(&is_ending, 0);
	r = ec_osthread_start(&thread, watchdog_main, NULL);
	is_on = r == 0;
	return r;
}

void ec_watchdog_stop(void)
{
	if (!is_on)
		return;
	ec_store_release(&is_ending, 1);
	ec_futex_wake(&is_ending, 1);
	ec_osthread_join(&thread);
	is_on = false;
}

bool ec_watchdog_is_on(void)
{
	return is_on;
}

void ec_watchdog_reset(void)
{
	is_on = false;
}
