/*
 * The race checker: does the environment ask for it, and can it be had?
 *
 *   EVENT_CHECK_COLORS=1		two colors that use the same memory without an order are reported
 *   EVENT_CHECK_COLORS=descriptor		the same, as if each descriptor had a color of its own,
 *   EVENT_CHECK_COLORS=connection		… each argument of callbacks (a bufferevent, a connection),
 *   EVENT_CHECK_COLORS=callback		… each function
 *
 * The program must be compiled with -fsanitize=thread, and these libraries not. A set-user-id program reads none of
 * it. All bases have virtual workers then (loop/virtual.h), and each color is a fiber (fibers.h).
 */
#ifndef EC_CHECK_H
#define EC_CHECK_H

#include <stdint.h>

enum ec_check { EC_CHECK_OFF, EC_CHECK_COLORS, EC_CHECK_DESCRIPTOR, EC_CHECK_CONNECTION, EC_CHECK_CALLBACK };

/* How much was checked. With EVENT_CHECK_COLORS_COUNTS=FILE, in that file (evsmp/colors.c): it has room for it. */
struct ec_check_counts {
	/* atomic: grows; only other processes read it */
	uint64_t callbacks, colors;
};

extern struct ec_check_counts *ec_check_counts __attribute__((visibility("hidden")));

/* The same answer always. The first call says why nothing is checked, if that was asked for. any thread */
enum ec_check ec_check_mode(void);

#endif
