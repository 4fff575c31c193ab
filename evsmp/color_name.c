#include "color_name.h"

#include <stdbool.h>
#include <stdio.h>

/* As EVCONNLISTENER_COLOR_FRESH and event_color_new(), in <event2/smp.h>. */
#define FRESH UINT32_C(0x80000000)
#define NEW UINT32_C(0xc0000000)
enum { DESCRIPTORS_MAX = 1 << 24 };	/* beyond that it is a number that the program has computed */

enum { TEXT_LEN = 80 };

static char *next_text(void)
{
	static char texts[8][TEXT_LEN];
	static unsigned next;

	return texts[next++ % 8];
}

static bool is_fresh(uint32_t color)
{
	return color >= FRESH && color - FRESH < DESCRIPTORS_MAX;
}

const char *color_name(uint32_t color)
{
	char *s = next_text();

	if (color >= NEW)
		(void)snprintf(s, TEXT_LEN, "new+%u", color - NEW);
	else if (is_fresh(color))
		(void)snprintf(s, TEXT_LEN, "fresh+%u", color - FRESH);
	else
		(void)snprintf(s, TEXT_LEN, "%u", color);
	return s;
}

const char *color_in_words(uint32_t color)
{
	char *s = next_text();

	if (color >= NEW)
		(void)snprintf(s, TEXT_LEN, "color new+%u (of event_color_new)", color - NEW);
	else if (is_fresh(color))
		(void)snprintf(s, TEXT_LEN, "color fresh+%u (the connection on descriptor %u)", color - FRESH,
			       color - FRESH);
	else
		(void)snprintf(s, TEXT_LEN, "color %u", color);
	return s;
}
