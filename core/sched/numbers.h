/*
 * Color numbers that the base hands out.
 *
 * They are EC_NUMBER_FIRST and above; the program's own numbers are below. A released number is not handed out again
 * while a pending event, a queued task or a run still has its color. (With one worker, where a color is no more than a
 * name, only while posts wait in the inbox.) Released numbers wait in a queue, so that the one
 * that was released longest ago comes first.
 *
 * Each number handed out has a word of memory for good. So releasing a number needs none, and cannot fail.
 */
#ifndef EC_NUMBERS_H
#define EC_NUMBERS_H

#include "color.h"

void ec_numbers_init(struct ec_numbers *n);
void ec_numbers_fini(struct ec_numbers *n);

#endif
