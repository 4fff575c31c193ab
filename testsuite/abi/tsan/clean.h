/*
 * What the scenarios of clean.c share.
 */
#ifndef TSAN_CLEAN_H
#define TSAN_CLEAN_H

#include <stdbool.h>

#include "program.h"

enum { COLORS = 8, ROUNDS = 400, THREADS = 3, WORKERS = 4 };

/* Plain memory of one color each. */
struct color {
	struct event_base *base;	/* of the first one: everyone's, and const */
	unsigned long sum;
	unsigned runs;
};

extern struct color of[COLORS];

/* The loop ends after so many calls of note_done, from any color. */
extern unsigned tasks;
void note_done(void);
bool are_all_done(void);

/* A base, and everything else as it was at first. */
struct event_base *begin(unsigned workers);

void nothing(void *arg);

/* clean_net.c */
void bevs(void);
void https(void);
void lockeds(void);
void dnss(void);

#endif
