/*
 * What to do now: sentences that follow from the counters of some time, the most important first.
 */
#ifndef EVSMP_SENTENCES_H
#define EVSMP_SENTENCES_H

#include "stats.h"

enum { SENTENCES_MAX = 4, SENTENCE_LEN = 240 };

struct sentences {
	unsigned num;
	char at[SENTENCES_MAX][SENTENCE_LEN];
};

/* The name of a function in the process, not for a terminal without care; NULL: not known. */
typedef const char *(*sentences_name_fn)(void *arg, uint64_t site);

void sentences_make(const struct stats *s, sentences_name_fn name, void *arg, struct sentences *ret);

/* "0.8 µs", "12 ms": a time, for people. Returns `ret`, which has room for SENTENCES_TIME_LEN bytes. */
enum { SENTENCES_TIME_LEN = 24 };
const char *sentences_time(uint64_t ns, char *ret);

#endif
