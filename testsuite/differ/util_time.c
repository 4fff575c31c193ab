/*
 * evutil's monotonic timers and random bytes: all about them that is the same in each run.
 */
#include "trace.h"

#include <time.h>

#include <event2/util.h>

enum { READINGS = 20000 };

static void timer_with(int flags)
{
	struct evutil_monotonic_timer *timer = evutil_monotonic_timer_new();
	struct timeval tv, before = { 0, 0 };
	struct timespec ts;
	int r, back = 0, odd = 0;
	long off_s;

	must(timer != NULL, "make a timer");
	r = evutil_configure_monotonic_time(timer, flags);
	say("configure %#x: %d", (unsigned)flags, r);
	for (int i = 0; i < READINGS; i++) {
		must(evutil_gettime_monotonic(timer, &tv) == 0, "read a timer");
		back += evutil_timercmp(&tv, &before, <) != 0;
		odd += tv.tv_usec < 0 || tv.tv_usec >= 1000000;
		before = tv;
	}
	say("back %d, odd %d", back, odd);
	must(clock_gettime(CLOCK_MONOTONIC, &ts) == 0, "read the clock");
	off_s = (long)(ts.tv_sec - tv.tv_sec);
	say("the system's clock: %s", off_s >= -1 && off_s <= 1 ? "yes" : "no");

	/* Anew, it may say less than before, but nothing odd. */
	r = evutil_configure_monotonic_time(timer, 0);
	say("configure again: %d", r);
	r = evutil_gettime_monotonic(timer, &tv);
	say("read: %d", r);
	evutil_monotonic_timer_free(timer);
}

static void random_bytes(void)
{
	unsigned char a[64], b[64];
	bool inside_only = true;
	size_t same = 0;
	char none[] = "/no/such/device", zero[] = "/dev/zero";

	section("random");
	say("device none: %d", evutil_secure_rng_set_urandom_device_file(NULL));
	say("device missing: %d", evutil_secure_rng_set_urandom_device_file(none));
	say("device zero: %d", evutil_secure_rng_set_urandom_device_file(zero));
	say("init: %d", evutil_secure_rng_init());
	say("init again: %d", evutil_secure_rng_init());
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	evutil_secure_rng_get_bytes(a, sizeof(a));
	evutil_secure_rng_add_bytes("seed", 4);
	evutil_secure_rng_add_bytes(NULL, 0);
	evutil_secure_rng_get_bytes(b, sizeof(b));
	for (size_t i = 0; i < sizeof(a); i++)
		same += a[i] == b[i];
	say("differ: %d", same < 16);
	memset(a, 0x55, sizeof(a));
	evutil_secure_rng_get_bytes(a + 8, 0);
	evutil_secure_rng_get_bytes(a + 8, 40);
	for (size_t i = 0; i < sizeof(a); i++) {
		if (i < 8 || i >= 48)
			inside_only = inside_only && a[i] == 0x55;
	}
	say("inside only: %d", inside_only);
	say("init at last: %d", evutil_secure_rng_init());
}

int main(void)
{
	section("timers");
	timer_with(0);
	timer_with(EV_MONOT_PRECISE);
	timer_with(EV_MONOT_FALLBACK);
	timer_with(EV_MONOT_PRECISE | EV_MONOT_FALLBACK);
	timer_with(0x100);
	random_bytes();
	return 0;
}
