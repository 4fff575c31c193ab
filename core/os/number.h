/*
 * Numbers in the environment and in files.
 */
#ifndef EC_NUMBER_H
#define EC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads the decimal digits at `*at`, and moves it behind them. False: there is none, or their number is larger than
 * `max`; then nothing is changed. strtoul() would take blanks and a sign before them.
 */
bool ec_number_read(const char **at, uint64_t max, uint64_t *ret);

/* The same of a whole string. */
bool ec_number_is(const char *s, uint64_t max, uint64_t *ret);

#endif
