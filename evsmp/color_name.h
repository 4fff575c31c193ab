/*
 * Colors for people. Numbers that the library gave out are shown by what they are for.
 */
#ifndef EVSMP_COLOR_NAME_H
#define EVSMP_COLOR_NAME_H

#include <stdint.h>

/* Both are valid until the fourth call after. */

/* "4242"; "fresh+15": of a listener's connection on descriptor 15; "new+0": of event_color_new() */
const char *color_name(uint32_t color);

/* In a sentence: "color 4242", "color fresh+15 (the connection on descriptor 15)". */
const char *color_in_words(uint32_t color);

#endif
